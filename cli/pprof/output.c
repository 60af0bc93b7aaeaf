/* Writes reports: to standard output, a file, graphviz or a viewer. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/pprof/pprof.h"
#include "cli/term/signals.h"
#include "cli/term/standard_streams.h"
#include "base/banned.h"

/* Limits of graphviz: large graphs take minutes. */
#define DOT_TIMEOUT_MS (INT64_C(15) * 60 * 1000)
#define DOT_CPU_MS (INT64_C(5) * 60 * 1000)
#define DOT_MEMORY (UINT64_C(2) << 30)
#define DOT_MOST ((size_t)1 << 30)

/* The system reports no event when a FIFO gets its reader. */
#define FIFO_POLL_MS 50

/* How each output is made. */
static const struct output_type {
    enum report_format format;
    const char *picture; /* graphviz's format; NULL: no picture */
    const char *suffix;  /* of the file if the output is binary or has a viewer; NULL: text */
    const char *viewer;  /* a program, or "" for browsers; NULL: none */
} output_types[PPROF_OUTPUTS] = {
    [PPROF_CALLGRIND] = {REPORT_CALLGRIND, NULL, ".callgraph.out", NULL},
    [PPROF_COMMENTS] = {REPORT_COMMENTS, NULL, NULL, NULL},
    [PPROF_DOT] = {REPORT_DOT, NULL, NULL, NULL},
    [PPROF_EOG] = {REPORT_DOT, "svg", ".svg", "eog"},
    [PPROF_EVINCE] = {REPORT_DOT, "pdf", ".pdf", "evince"},
    [PPROF_FOLDED] = {REPORT_FOLDED, NULL, NULL, NULL},
    [PPROF_GIF] = {REPORT_DOT, "gif", ".gif", NULL},
    [PPROF_GV] = {REPORT_DOT, "ps", ".ps", "gv"},
    [PPROF_KCACHEGRIND] = {REPORT_CALLGRIND, NULL, ".grind", "kcachegrind"},
    [PPROF_LIST] = {REPORT_LIST, NULL, NULL, NULL},
    [PPROF_PDF] = {REPORT_DOT, "pdf", ".pdf", NULL},
    [PPROF_PEEK] = {REPORT_PEEK, NULL, NULL, NULL},
    [PPROF_PNG] = {REPORT_DOT, "png", ".png", NULL},
    [PPROF_PROTO] = {REPORT_PROTO, NULL, ".pb.gz", NULL},
    [PPROF_PS] = {REPORT_DOT, "ps", ".ps", NULL},
    [PPROF_RAW] = {REPORT_RAW, NULL, NULL, NULL},
    [PPROF_SPEEDSCOPE] = {REPORT_SPEEDSCOPE, NULL, NULL, NULL},
    [PPROF_SVG] = {REPORT_DOT, "svg", ".svg", NULL},
    [PPROF_TAGS] = {REPORT_TAGS, NULL, NULL, NULL},
    [PPROF_TEXT] = {REPORT_TEXT, NULL, NULL, NULL},
    [PPROF_TOP] = {REPORT_TEXT, NULL, NULL, NULL},
    [PPROF_TOPPROTO] = {REPORT_TOPPROTO, NULL, ".pb.gz", NULL},
    [PPROF_TRACES] = {REPORT_TRACES, NULL, NULL, NULL},
    [PPROF_TREE] = {REPORT_TREE, NULL, NULL, NULL},
    [PPROF_WEB] = {REPORT_DOT, "svg", ".svg", ""},
};

/* The destination of a report. A file gets its name once the report is complete, so that a failure keeps the
 * old file. */
struct target {
    const char *output;           /* NULL: standard output */
    bool keep;                    /* do not replace a file */
    struct atomic_file *new_file; /* NULL: no new file, or not yet */
    const char *suffix; /* not NULL: write to a new file with this suffix instead of standard output */
    int fd;             /* -1: not open yet */
    bool owned;
    bool tame; /* a terminal: lines of the profile must not control it */
    struct buf line;
};

/* ---- targets ------------------------------------------------------------------------------------------- */

int pprof_new_file(const char *dir, const char *prefix, const char *suffix, char **ret_path, struct err *err)
{
    for (int i = 1; i < 10000; i++) {
        char *path = NULL;
        if (asprintf(&path, "%s%s%s%03d%s", dir, *dir ? "/" : "", prefix, i, suffix) < 0)
            return err_nomem(err);
        int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd >= 0) {
            *ret_path = path;
            return fd;
        }
        int rc = errno == EEXIST ? 0 : err_sys(err, "open %s", path);
        free(path);
        if (rc < 0)
            return -1;
    }
    return err_set(err, ERR_EXISTS, "could not create file of the form %s001%s", prefix, suffix);
}

static int target_create(struct target *t, struct err *err)
{
    char *path = NULL;
    t->fd = pprof_new_file("", "profile", t->suffix, &path, err);
    if (t->fd < 0)
        return -1;
    pprof_say("Generating report in %s", path);
    t->owned = true;
    free(path);
    return 0;
}

bool pprof_is_stream(const char *output)
{
    struct stat st;
    if (strncmp(output, "/dev/", 5) == 0 || strncmp(output, "/proc/", 6) == 0)
        return true;
    return lstat(output, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode) && !S_ISDIR(st.st_mode);
}

/* Opens a file that is no regular file. Waits for the reader of a FIFO, or until a signal arrives: an open
 * that waits would continue after the signal. */
static int target_open_stream(struct target *t, struct err *err)
{
    struct stat st;
    bool is_fifo = stat(t->output, &st) == 0 && S_ISFIFO(st.st_mode);
    while ((t->fd = open(t->output, O_WRONLY | O_TRUNC | O_CLOEXEC | (is_fifo ? O_NONBLOCK : 0))) < 0) {
        struct err wait = ERR_INIT;
        if (!is_fifo || errno != ENXIO)
            return err_set(err, ERR_LOCAL_IO, "open %s: %s", t->output, strerror(errno));
        if (fd_wait(-1, 0, clock_deadline(FIFO_POLL_MS), signals_cancel_fd(), &wait) < 0 &&
            wait.kind != ERR_TIMEOUT) {
            *err = wait;
            return err_wrap(err, "open %s", t->output);
        }
    }
    t->owned = true;
    return is_fifo ? fd_set_nonblocking(t->fd, false, err) : 0;
}

/* Creates a file next to the one that it will replace, with the same mode. */
static int target_open_file(struct target *t, struct err *err)
{
    struct stat st;
    mode_t mask = umask(077);
    umask(mask);
    mode_t mode = lstat(t->output, &st) == 0 && S_ISREG(st.st_mode) ? st.st_mode & 0777 : 0666 & ~mask;
    if (atomic_file_new(t->output, &t->new_file, err) < 0)
        return err_wrap(err, "open %s", t->output);
    t->fd = atomic_file_fd(t->new_file);
    return fchmod(t->fd, mode) < 0 ? err_sys(err, "open %s", t->output) : 0;
}

static int target_open(struct target *t, struct err *err)
{
    if (t->fd >= 0)
        return 0;
    if (t->suffix)
        return target_create(t, err);
    if (!t->output) {
        t->fd = STDOUT_FILENO;
        t->tame = isatty(t->fd);
        return 0;
    }
    pprof_say("Generating report in %s", t->output);
    return pprof_is_stream(t->output) ? target_open_stream(t, err) : target_open_file(t, err);
}

void pprof_tame(struct buf *line)
{
    for (size_t i = 0; i < line->len; i++)
        if (line->data[i] == '\t')
            line->data[i] = ' ';
    if (strlen(buf_str(line)) == line->len && text_is_visible(buf_str(line)))
        return;
    for (size_t i = 0; i < line->len; i++)
        if ((unsigned char)line->data[i] < ' ' || (unsigned char)line->data[i] > '~')
            line->data[i] = '?';
}

static int write_bytes(const struct target *t, const void *p, size_t n, struct err *err)
{
    int rc = standard_stream_write(t->fd, p, n, err);
    return rc < 0 && t->output && *t->output ? err_wrap(err, "%s", t->output) : rc;
}

static int write_line(struct target *t, bool end, struct err *err)
{
    pprof_tame(&t->line);
    if (end)
        buf_addc(&t->line, '\n');
    int rc = buf_check(&t->line, "a line", err);
    if (rc == 0)
        rc = write_bytes(t, buf_str(&t->line), t->line.len, err);
    buf_clear(&t->line);
    return rc;
}

static int target_write(void *ctx, const void *p, size_t n, struct err *err)
{
    struct target *t = ctx;
    const char *at = p;
    if (target_open(t, err) < 0)
        return -1;
    if (!t->tame)
        return write_bytes(t, p, n, err);
    while (n > 0) {
        const char *end = memchr(at, '\n', n);
        size_t length = end ? (size_t)(end - at) : n;
        buf_add(&t->line, at, length);
        if (end && write_line(t, true, err) < 0)
            return -1;
        length += end != NULL;
        at += length;
        n -= length;
    }
    return 0;
}

/* Writes the last line, and closes and names the file. */
static int target_end(struct target *t, int rc, struct err *err)
{
    if (rc == 0)
        rc = target_open(t, err);
    if (rc == 0 && t->line.len)
        rc = write_line(t, false, err);
    if (t->new_file && rc == 0)
        rc = t->keep ? atomic_file_give_name(t->new_file, t->output, err)
                     : atomic_file_replace(t->new_file, t->output, err);
    atomic_file_free(t->new_file);
    if (t->owned && close(t->fd) != 0 && rc == 0)
        rc = err_sys(err, "cannot write %s", t->output ? t->output : "the report");
    buf_release(&t->line);
    return rc;
}

static void print_line(void *ctx, const char *line)
{
    (void)ctx;
    pprof_say("%s", line);
}

static int make_into(struct profile *p, const struct report_settings *settings, struct target *t,
                     struct err *err)
{
    struct report_callbacks callbacks = {.sink = target_write, .say = print_line, .ctx = t};
    return report_make(p, settings, &callbacks, err);
}

/* ---- graphviz ------------------------------------------------------------------------------------------ */

static int run_dot(const char *picture, int input, struct target *to, struct err *err)
{
    char format[16];
    snprintf(format, sizeof format, "-T%s", picture);
    char *path = proc_find_program("dot");
    const char *const argv[] = {path ? path : "dot", format, NULL};
    struct proc_limits limits = {
        .timeout_ms = DOT_TIMEOUT_MS, .max_output = DOT_MOST, .memory = DOT_MEMORY, .cpu_ms = DOT_CPU_MS};
    struct proc_result result;
    struct err why = ERR_INIT;
    /* A picture may take minutes, and dot must not outlive this process. */
    int rc = signals_install(err);
    limits.cancel_fd = signals_cancel_fd();
    int started = rc == 0 ? proc_run_with_input(argv, input, &limits, &result, &why) : -1;
    free(path);
    if (rc < 0)
        return -1;
    if (started < 0) {
        if (why.kind == ERR_CANCELLED)
            return err_set(err, ERR_CANCELLED, "interrupted");
        err_set(err, ERR_NOT_FOUND, "failed to execute dot. Is Graphviz installed? Error: %s", why.msg);
        return err_hint(err, "-dot writes the graph as text, and -top or -tree need no graphviz");
    }
    if (result.exit_code) {
        if (result.error_output[0])
            pprof_say("%s", result.error_output);
        rc = err_set(err, ERR_FAILED, "failed to execute dot. Is Graphviz installed? Error: exit status %d",
                     result.exit_code);
    } else {
        rc = target_write(to, buf_str(&result.out), result.out.len, err);
    }
    proc_result_release(&result);
    return rc;
}

/* ---- all of it ----------------------------------------------------------------------------------------- */

/* A report and its destination. */
struct task {
    const struct output_type *type;
    const char *source;                   /* the name of the first source */
    const struct confined_budget *budget; /* NULL: none */
    struct profile *profile;
    struct report_settings settings;
    struct target to;
};

/* Has graphviz draw the graph in `text`, a file without a name. */
static int draw_graph(struct task *k, int text, struct err *err)
{
    if (lseek(text, 0, SEEK_SET) != 0)
        return err_sys(err, "cannot read the graph back");
    return run_dot(k->type->picture, text, &k->to, err);
}

/* ---- in a copy with limits ----------------------------------------------------------------------------- */

struct limited {
    struct task *task;
    struct target *to;
    bool end; /* the copy also ends the target */
};

static int make_in_copy(void *ctx, struct buf *ret, struct err *err)
{
    const struct limited *l = ctx;
    int rc = make_into(l->task->profile, &l->task->settings, l->to, err);
    (void)ret;
    return l->end ? target_end(l->to, rc, err) : rc;
}

static int make_limited(const struct limited *l, struct err *err)
{
    const struct task *k = l->task;
    struct proc_fork_limits limits = k->budget ? confined_budget_rest(k->budget, signals_cancel_fd())
                                               : confined_limits(k->profile->file_bytes, signals_cancel_fd());
    limits.kept[0] = l->to->fd;
    const struct confined_work work = {k->source, make_in_copy, (void *)(uintptr_t)l};
    return confined_run(&work, &limits, NULL, err);
}

/* Writes the graph into a file without a name, and has graphviz draw it. */
static int make_picture(struct task *k, struct err *err)
{
    const char *dir = getenv("TMPDIR");
    char *beside = file_join(dir && *dir ? dir : "/tmp", "pprof.dot");
    int fd = beside ? file_create_nameless(beside, err) : err_nomem(err);
    struct target text = {.output = "", .fd = fd, .line = BUF_INIT(1)};
    int rc = fd < 0 ? -1 : make_limited(&(struct limited){k, &text, false}, err);
    if (rc == 0)
        rc = draw_graph(k, fd, err);
    fd_close(&fd);
    free(beside);
    return rc;
}

static int run_task(struct task *k, struct err *err)
{
    if (k->type->picture)
        return target_end(&k->to, make_picture(k, err), err);
    /* The copy does not inherit the user's descriptors, such as /dev/fd/3. */
    if (k->to.fd < 0 && k->to.output && pprof_is_stream(k->to.output) && target_open(&k->to, err) < 0)
        return -1;
    int rc = make_limited(&(struct limited){k, &k->to, true}, err);
    if (k->to.owned)
        fd_close(&k->to.fd);
    return rc;
}

/* ---- a report of the shell ----------------------------------------------------------------------------- */

/* Prints the error, and returns the exit code of the copy of this process. */
static int run_task_in_copy(void *task)
{
    struct err err = ERR_INIT;
    if (run_task(task, &err) == 0)
        return 0;
    if (err.kind == ERR_CANCELLED)
        return 128 + SIGINT;
    pprof_say_error(&err);
    return 1;
}

/* In a shell, a copy of the process runs the task, so that Ctrl-C ends the report alone. That copy starts the
 * one with limits, and graphviz. */
static int run_task_apart(struct task *k, const struct pprof_session *session, struct err *err)
{
    struct confined_budget anew;
    struct task own = *k;
    int code = 0;
    if (!session)
        return run_task(k, err);
    /* Each report of a shell gets the whole time of the budget. */
    if (k->budget) {
        anew = *k->budget;
        anew.cpu_before_ms = proc_cpu_ms();
        own.budget = &anew;
    }
    int rc = proc_run_fork(run_task_in_copy, &own, session->cancel_fd, &code, err);
    if (k->to.owned)
        fd_close(&k->to.fd);
    if (rc < 0 || code == 0)
        return rc;
    if (code == 128 + SIGINT)
        return err_set(err, ERR_CANCELLED, "interrupted");
    return code > 128 ? err_set(err, ERR_FAILED, "signal %d ended the report", code - 128) : -1;
}

/* Writes the report to a temporary file and shows it. */
static int make_and_view(struct task *k, struct pprof_session *session, struct err *err)
{
    const char *dir = getenv("TMPDIR");
    char *path = NULL;
    k->to.fd = pprof_new_file(dir && *dir ? dir : "/tmp", "pprof", k->type->suffix, &path, err);
    if (k->to.fd < 0)
        return -1;
    k->to.output = path;
    k->to.owned = true;
    int rc = run_task_apart(k, session, err);
    if (rc == 0)
        rc = pprof_view(k->type->viewer, path, session, err);
    if (rc < 0 || !session || strlist_add(&session->files, path, err) < 0)
        unlink(path);
    free(path);
    return rc;
}

static int make_output(const struct pprof_options *o, struct profile *p, struct pprof_session *session,
                       struct err *err)
{
    const struct output_type *type = &output_types[o->wanted];
    const char *output = o->output && *o->output ? o->output : NULL;
    struct task k = {
        .type = type,
        .source = o->n_sources ? o->sources[0] : "the report",
        .budget = o->budget,
        .profile = p,
        .settings = o->report,
        .to = {.output = output, .keep = o->keep_output, .fd = -1, .line = BUF_INIT((size_t)64 << 20)}};
    k.settings.format = type->format;
    if (!output && type->viewer)
        return make_and_view(&k, session, err);
    /* A terminal cannot show binary output, so it goes to a file. */
    if (!output && (session || isatty(STDOUT_FILENO)))
        k.to.suffix = type->suffix;
    return run_task_apart(&k, session, err);
}

int pprof_output(const struct pprof_options *o, struct profile *p, struct err *err)
{
    int rc = make_output(o, p, NULL, err);
    profile_free(p);
    return rc;
}

int pprof_output_again(const struct pprof_options *o, struct profile *p, struct pprof_session *session,
                       struct err *err)
{
    return make_output(o, p, session, err);
}

int pprof_can_make(const struct pprof_options *o, struct err *err)
{
    if (o->wanted != PPROF_DISASM && o->wanted != PPROF_WEBLIST)
        return 0;
    err_set(err, ERR_UNSUPPORTED, "-%s needs the machine code of the binary, which is not read here",
            o->wanted == PPROF_DISASM ? "disasm" : "weblist");
    return err_hint(err, "-list shows sources; `go tool pprof` has -disasm and -weblist");
}
