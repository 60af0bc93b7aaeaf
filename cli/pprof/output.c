/*
 * Writes reports to standard output, a file or a viewer. A confined child makes the text of the report. For a
 * picture, the child writes the graph to a nameless file, and graphviz reads that file. For machine code, the
 * child runs nm, objdump, and llvm-symbolizer or addr2line.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/pprof/picture.h"
#include "cli/pprof/pprof.h"
#include "cli/term/signals.h"
#include "cli/term/standard_streams.h"
#include "pprof/machine/machine.h"
#include "base/banned.h"

/* The most bytes of a graph, which is in memory until graphviz has read it. */
#define GRAPH_BYTES_MAX ((size_t)64 << 20)

/* The interval between attempts to open a FIFO: the system reports no event when the FIFO gets its reader. */
#define FIFO_POLL_MS 50

/* The properties of each output format. */
static const struct output_type {
    enum report_format format;
    const char *picture; /* graphviz's format; NULL: no picture */
    const char *suffix;  /* of the file for a viewer or instead of a terminal; NULL: a terminal can show it */
    const char *viewer;  /* a command, or "" for browsers; NULL: none */
} output_types[PPROF_OUTPUTS] = {
    [PPROF_CALLGRIND] = {REPORT_CALLGRIND, NULL, ".callgraph.out", NULL},
    [PPROF_COMMENTS] = {REPORT_COMMENTS, NULL, NULL, NULL},
    [PPROF_DISASM] = {REPORT_DISASM, NULL, NULL, NULL},
    [PPROF_DOT] = {REPORT_DOT, NULL, NULL, NULL},
    [PPROF_EOG] = {REPORT_DOT, "svg", ".svg", "eog"},
    [PPROF_EVINCE] = {REPORT_DOT, "pdf", ".pdf", "evince"},
    [PPROF_FOLDED] = {REPORT_FOLDED, NULL, NULL, NULL},
    [PPROF_GIF] = {REPORT_DOT, "gif", ".gif", NULL},
    [PPROF_GV] = {REPORT_DOT, "ps", ".ps", "gv --noantialias"},
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
    [PPROF_WEBLIST] = {REPORT_WEBLIST, NULL, ".html", ""},
};

/* The destination of a report. A file gets its name once the report is complete, so that a failure keeps the
 * old file. */
struct destination {
    const char *output;           /* NULL: standard output */
    bool keep;                    /* do not replace a file */
    struct atomic_file *new_file; /* NULL: no new file, or not yet */
    const char *suffix;  /* not NULL: create a file with this suffix instead of writing to standard output */
    int fd;              /* -1: not open yet */
    bool owned;          /* close fd at the end */
    bool is_text;        /* a terminal can show the output */
    bool printable_only; /* fd is a terminal, which texts of the profile must not control */
    struct buf line;     /* an incomplete line for the terminal */
    size_t room;         /* the most bytes that follow; 0: no limit */
};

/* ---- destinations -------------------------------------------------------------------------------------- */

int pprof_create_numbered(const char *dir, const char *prefix, const char *suffix, char **ret_path,
                          struct err *err)
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

static int destination_create(struct destination *d, struct err *err)
{
    char *path = NULL;
    d->fd = pprof_create_numbered("", "profile", d->suffix, &path, err);
    if (d->fd < 0)
        return -1;
    pprof_print("Generating report in %s", path);
    d->owned = true;
    free(path);
    return 0;
}

/* Returns whether both paths lead to one directory, however they are spelled. */
static bool is_directory(const char *path, const char *other)
{
    struct stat a, b;
    return stat(path, &a) == 0 && stat(other, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* Returns the number of this process's descriptor that the path names, such as 1 for /dev/stdout; -1: none.
 * These paths are links. */
static int find_descriptor(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    char folder[PATH_MAX];
    int n = snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash + 1 - path) : 1, slash ? path : ".");
    bool is_number = *name && strlen(name) < 10 && !name[strspn(name, "0123456789")];
    if (n < 0 || (size_t)n >= sizeof folder)
        return -1;
    if (is_number && (is_directory(folder, "/proc/self/fd") || is_directory(folder, "/proc/thread-self/fd")))
        return (int)strtol(name, NULL, 10);
    if (strcmp(name, "stdout") == 0 && is_directory(folder, "/dev"))
        return STDOUT_FILENO;
    return strcmp(name, "stderr") == 0 && is_directory(folder, "/dev") ? STDERR_FILENO : -1;
}

bool pprof_is_stream(const char *output)
{
    struct stat st;
    if (find_descriptor(output) >= 0)
        return true;
    return lstat(output, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode) && !S_ISDIR(st.st_mode);
}

/* Opens a FIFO or a device. Waits until a FIFO has a reader or a signal arrives. A blocking open would
 * continue to wait after the signal. */
static int destination_open_stream(struct destination *d, struct err *err)
{
    struct stat st;
    bool is_fifo = stat(d->output, &st) == 0 && S_ISFIFO(st.st_mode);
    /* O_APPEND: a name below /dev/fd may refer to a file that already has bytes. */
    int flags = O_WRONLY | O_APPEND | O_CLOEXEC | (is_fifo ? O_NONBLOCK : 0);
    /* Any other link appeared after pprof_is_stream. */
    flags |= find_descriptor(d->output) >= 0 ? 0 : O_NOFOLLOW;
    while ((d->fd = open(d->output, flags)) < 0) {
        struct err wait = ERR_INIT;
        if (!is_fifo || errno != ENXIO)
            return err_set(err, ERR_LOCAL_IO, "open %s: %s", d->output, strerror(errno));
        if (fd_wait(-1, 0, clock_deadline(FIFO_POLL_MS), signals_cancel_fd(), &wait) < 0 &&
            wait.kind != ERR_TIMEOUT) {
            *err = wait;
            return err_wrap(err, "open %s", d->output);
        }
    }
    d->owned = true;
    return is_fifo ? fd_set_nonblocking(d->fd, false, err) : 0;
}

/* Creates a file next to the file that it will replace, with the same mode. */
static int destination_open_file(struct destination *d, struct err *err)
{
    struct stat st;
    mode_t mask = umask(077);
    umask(mask);
    mode_t mode = lstat(d->output, &st) == 0 && S_ISREG(st.st_mode) ? st.st_mode & 0777 : 0666 & ~mask;
    if (atomic_file_new(d->output, &d->new_file, err) < 0)
        return err_wrap(err, "open %s", d->output);
    d->fd = atomic_file_fd(d->new_file);
    return fchmod(d->fd, mode) < 0 ? err_sys(err, "open %s", d->output) : 0;
}

/* Returns whether the output is a name of standard output. Opening it would start at byte 0 of a redirected
 * file. */
static bool is_stdout(const char *output)
{
    return find_descriptor(output) == STDOUT_FILENO;
}

static int destination_open(struct destination *d, struct err *err)
{
    if (d->fd >= 0)
        return 0;
    if (d->suffix)
        return destination_create(d, err);
    if (d->output)
        pprof_print("Generating report in %s", d->output);
    if (d->output && !is_stdout(d->output) && !pprof_is_stream(d->output))
        return destination_open_file(d, err);
    if (!d->output || is_stdout(d->output))
        d->fd = STDOUT_FILENO;
    else if (destination_open_stream(d, err) < 0)
        return -1;
    d->printable_only = isatty(d->fd);
    if (!d->printable_only || d->is_text)
        return 0;
    err_set(err, ERR_USAGE, "a terminal cannot show this output");
    return err_hint(err, "-output FILE writes it into a file");
}

void pprof_make_printable(struct buf *line)
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

static int write_bytes(const struct destination *d, const void *p, size_t n, struct err *err)
{
    int rc = standard_stream_write(d->fd, p, n, err);
    return rc < 0 && d->output && *d->output ? err_wrap(err, "%s", d->output) : rc;
}

static int write_line(struct destination *d, bool with_line_feed, struct err *err)
{
    pprof_make_printable(&d->line);
    if (with_line_feed)
        buf_addc(&d->line, '\n');
    int rc = buf_check(&d->line, "a line", err);
    if (rc == 0)
        rc = write_bytes(d, buf_str(&d->line), d->line.len, err);
    buf_clear(&d->line);
    return rc;
}

static int destination_write(void *ctx, const void *p, size_t n, struct err *err)
{
    struct destination *d = ctx;
    const char *at = p;
    if (destination_open(d, err) < 0)
        return -1;
    if (d->room > 0 && n >= d->room)
        return err_set(err, ERR_LIMIT, "the graph is too large to draw: -nodecount shows fewer nodes");
    d->room -= d->room > 0 ? n : 0;
    if (!d->printable_only)
        return write_bytes(d, p, n, err);
    while (n > 0) {
        const char *end = memchr(at, '\n', n);
        size_t length = end ? (size_t)(end - at) : n;
        buf_add(&d->line, at, length);
        if (end && write_line(d, true, err) < 0)
            return -1;
        length += end != NULL;
        at += length;
        n -= length;
    }
    return 0;
}

/* Writes the last line, and closes and names the file. `rc` is -1 if the report failed: then only closes the
 * file. Returns -1 also for that failure. */
static int destination_end(struct destination *d, int rc, struct err *err)
{
    if (rc == 0)
        rc = destination_open(d, err);
    if (rc == 0 && d->line.len)
        rc = write_line(d, false, err);
    if (d->new_file && rc == 0)
        rc = d->keep ? atomic_file_give_name(d->new_file, d->output, err)
                     : atomic_file_replace(d->new_file, d->output, err);
    atomic_file_free(d->new_file);
    if (d->owned && close(d->fd) != 0 && rc == 0)
        rc = err_sys(err, "cannot write %s", d->output ? d->output : "the report");
    buf_release(&d->line);
    return rc;
}

static void print_line(void *ctx, const char *line)
{
    (void)ctx;
    pprof_print("%s", line);
}

/* ---- reports in a confined child ----------------------------------------------------------------------- */

/* A report and its destination. */
struct task {
    const struct output_type *type;
    const char *source;             /* the name of the first source */
    struct confined_budget *budget; /* NULL: none */
    struct profile *profile;
    struct report_settings settings;
    struct destination to;
    bool is_decrypted; /* a source is an encrypted bundle */
    const char *tools; /* directories of programs, or NULL */
};

/* Makes graphviz draw the graph in `graph_fd`, a nameless file. */
static int draw_graph(struct task *task, int graph_fd, struct err *err)
{
    struct buf picture = BUF_INIT(PICTURE_BYTES_MAX);
    int rc = picture_draw(task->type->picture, graph_fd, &picture, err);
    if (rc == 0)
        rc = destination_write(&task->to, buf_str(&picture), picture.len, err);
    buf_release(&picture);
    return rc;
}

struct confined_task {
    struct task *task;
    struct destination *to;
    bool ends_destination; /* the child calls destination_end */
};

/* Programs that the child starts end with the child, which the signals of the terminal end. */
static int prepare_cancellation(int *ret_cancel_fd, struct err *err)
{
    (void)err;
    *ret_cancel_fd = signals_cancel_fd();
    return 0;
}

static int write_report_in_child(void *ctx, struct buf *ret, struct err *err)
{
    const struct confined_task *c = ctx;
    struct programs programs = {.directories = c->task->tools, .begin = prepare_cancellation};
    const struct report_machine machine = {.write = machine_write, .run = programs_run, .ctx = &programs};
    const struct report_callbacks callbacks = {
        .sink = destination_write, .say = print_line, .ctx = c->to, .machine = &machine};
    int rc = report_make(c->task->profile, &c->task->settings, &callbacks, err);
    (void)ret;
    return c->ends_destination ? destination_end(c->to, rc, err) : rc;
}

static int run_confined(const struct confined_task *c, struct err *err)
{
    const struct task *task = c->task;
    struct proc_fork_limits limits = task->budget
                                         ? confined_budget_remaining(task->budget, signals_cancel_fd())
                                         : confined_limits(task->profile->file_bytes, signals_cancel_fd());
    if (task->type->format == REPORT_DISASM || task->type->format == REPORT_WEBLIST)
        programs_allow(task->profile, &limits);
    limits.kept[0] = c->to->fd;
    const struct confined_work work = {task->source, write_report_in_child, (void *)(uintptr_t)c};
    return confined_run(&work, &limits, NULL, err);
}

/* Writes the graph into a nameless file, and makes graphviz draw it. */
static int write_picture(struct task *task, struct err *err)
{
    int fd = file_create_scratch(err);
    struct destination text = {.output = "", .fd = fd, .line = BUF_INIT(1), .room = GRAPH_BYTES_MAX};
    int rc = fd < 0 ? -1 : run_confined(&(struct confined_task){task, &text, false}, err);
    if (rc == 0)
        rc = draw_graph(task, fd, err);
    fd_close(&fd);
    return rc;
}

static int run_task(struct task *task, struct err *err)
{
    if (task->type->picture)
        return destination_end(&task->to, write_picture(task, err), err);
    /* Opens a stream here, because the child does not inherit the user's descriptors, such as /dev/fd/3. */
    if (task->to.fd < 0 && task->to.output && pprof_is_stream(task->to.output) &&
        destination_open(&task->to, err) < 0)
        return -1;
    int rc = run_confined(&(struct confined_task){task, &task->to, true}, err);
    if (task->to.owned)
        fd_close(&task->to.fd);
    return rc;
}

/* ---- reports of the shell ------------------------------------------------------------------------------ */

/* Runs in a child process. Returns its exit code. */
static int run_task_and_print_error(void *task)
{
    struct err err = ERR_INIT;
    if (run_task(task, &err) == 0)
        return 0;
    if (err.kind == ERR_CANCELLED)
        return 128 + SIGINT;
    pprof_print_error(&err);
    return 1;
}

/* In a shell, a child process runs the task, so that Ctrl-C ends only the report. That child starts the
 * confined child, and graphviz. Without a session, this process runs the task. */
static int run_task_in_child(struct task *task, const struct pprof_session *session, struct err *err)
{
    struct confined_budget renewed;
    struct task own = *task;
    int code = 0;
    if (!session)
        return run_task(task, err);
    /* Each report of a shell gets the full time of the budget. */
    if (task->budget) {
        confined_budget_init(task->budget->bytes, &renewed);
        renewed.memory_before = task->budget->memory_before;
        own.budget = &renewed;
    }
    int rc = proc_run_in_fork(run_task_and_print_error, &own, session->cancel_fd, &code, err);
    if (task->to.owned)
        fd_close(&task->to.fd);
    if (rc < 0 || code == 0)
        return rc;
    if (code == 128 + SIGINT)
        return err_set(err, ERR_CANCELLED, "interrupted");
    return code > 128 ? err_set(err, ERR_FAILED, "signal %d ended the report", code - 128) : -1;
}

/* Writes the report to a temporary file and shows it. A report of an encrypted bundle stays in memory, if the
 * system has a directory there. */
static int write_and_view(struct task *task, struct pprof_session *session, struct err *err)
{
    const char *dir = getenv("TMPDIR"), *suffix = task->type->suffix;
    char *path = NULL;
    if (task->is_decrypted)
        task->to.fd = pprof_create_numbered("/dev/shm", "pprof", suffix, &path, NULL);
    if (task->to.fd < 0)
        task->to.fd = pprof_create_numbered(dir && *dir ? dir : "/tmp", "pprof", suffix, &path, err);
    if (task->to.fd < 0)
        return -1;
    task->to.output = path;
    task->to.owned = true;
    int rc = run_task_in_child(task, session, err);
    if (rc == 0)
        rc = pprof_open_viewer(task->type->viewer, path, session, err);
    if (rc < 0 || !session || strlist_add(&session->files, path, err) < 0)
        unlink(path);
    free(path);
    return rc;
}

static int write_output(const struct pprof_options *o, struct profile *p, struct pprof_session *session,
                        struct err *err)
{
    const struct output_type *type = &output_types[o->format];
    const char *output = o->output && *o->output ? o->output : NULL;
    struct task task = {.type = type,
                        .source = o->n_sources ? o->sources[0] : "the report",
                        .budget = o->budget,
                        .profile = p,
                        .settings = o->report,
                        .is_decrypted = o->keys && o->keys->opener,
                        .tools = o->tools,
                        .to = {.output = output,
                               .keep = o->keep_output,
                               .is_text = !type->suffix,
                               .fd = -1,
                               .line = BUF_INIT((size_t)64 << 20)}};
    task.settings.format = type->format;
    if (!output && type->viewer)
        return write_and_view(&task, session, err);
    /* A terminal cannot show binary output, so it goes to a file. */
    if (!output && (session || isatty(STDOUT_FILENO)))
        task.to.suffix = type->suffix;
    return run_task_in_child(&task, session, err);
}

int pprof_write_report(const struct pprof_options *o, struct profile *p, struct err *err)
{
    int rc = write_output(o, p, NULL, err);
    profile_free(p);
    return rc;
}

int pprof_write_shell_report(const struct pprof_options *o, struct profile *p, struct pprof_session *session,
                             struct err *err)
{
    return write_output(o, p, session, err);
}
