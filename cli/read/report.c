/* `profgrab report`: writes the page of a bundle again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bundle/bundle.h"
#include "cli/args/command.h"
#include "handoff/handoff.h"
#include "page/page.h"
#include "cli/term/exit.h"
#include "cli/input/opener.h"
#include "cli/term/signals.h"
#include "cli/input/input.h"
#include "cli/term/message.h"
#include "base/banned.h"

/* The maximum size of the output of --text and --markdown. */
#define TEXT_MAX ((size_t)64 << 20)

struct report_options {
    const char *output;
    struct strlist identities;
    const char *passphrase_file;
    bool text, markdown;
};

static const struct option options[] = {
    {"output", 'o', OPTION_TEXT, "FILE",
     "the file to write; - is standard output (default: NAME.report.html beside the bundle; with --text or "
     "--markdown: standard output). For the page of an encrypted bundle there is no default, because the "
     "page "
     "is not encrypted",
     offsetof(struct report_options, output), 0},
    {"text", 0, OPTION_FLAG, NULL, "print findings and items as text, instead of the page",
     offsetof(struct report_options, text), 0},
    {"markdown", 0, OPTION_FLAG, NULL,
     "print findings and items as Markdown, with more detail than --text, instead of the page",
     offsetof(struct report_options, markdown), 0},
    {"identity", 'i', OPTION_LIST, "FILE",
     "an age identity or SSH private key that decrypts the bundle (default: the usual keys of ~/.ssh)",
     offsetof(struct report_options, identities), 0},
    {"passphrase-file", 0, OPTION_TEXT, "FILE",
     "a file that only you can read, with the passphrase in its first line",
     offsetof(struct report_options, passphrase_file), 0},
    OPTIONS_END,
};

static size_t length_without(const char *s, const char *ending)
{
    size_t n = strlen(s), n_ending = strlen(ending);
    return n > n_ending && strcmp(s + n - n_ending, ending) == 0 ? n - n_ending : n;
}

/* Returns NAME.report.html for NAME.tar.gz, a new string. */
static char *default_output(const char *bundle)
{
    char *path = NULL;
    if (asprintf(&path, "%.*s.report.html", (int)length_without(bundle, ".tar.gz"), bundle) < 0)
        path = NULL;
    return path;
}

/* ---- in a confined child ------------------------------------------------------------------------------- */

static const struct page_notes notes_on_stderr = {message_print_line, NULL};

/* One report. A confined child writes it. */
struct report_job {
    const struct report_options *o;
    const char *bundle;
    struct age_identities *identities;
    int fd;           /* of the page */
    const char *path; /* of the page, for messages; NULL: standard output */
    struct page_progress *progress;
};

static int write_piece(void *ctx, const void *p, size_t n, struct err *err)
{
    const struct report_job *r = ctx;
    int rc = fd_write_or_cancel(r->fd, p, n, signals_cancel_fd(), err);
    return rc < 0 && r->path && err->kind != ERR_CANCELLED ? err_wrap(err, "%s", r->path) : rc;
}

static int draw_in_child(void *ctx, struct buf *ret, struct err *err)
{
    struct report_job *r = ctx;
    struct page_output to = {write_piece, r, r->progress};
    (void)ret;
    return page_build_bundle(r->bundle, r->identities, &to, err);
}

static int compose_text(const struct report_options *o, const char *manifest, struct buf *ret,
                        struct err *err)
{
    char *text = NULL;
    if (o->markdown)
        return bundle_readme(manifest, ret, err);
    if (summary_text(manifest, &text, err) < 0)
        return -1;
    buf_adds(ret, text);
    free(text);
    return buf_check(ret, "the report", err);
}

static int write_text_in_child(void *ctx, struct buf *ret, struct err *err)
{
    struct report_job *r = ctx;
    char *manifest = NULL;
    int rc = page_read_manifest(r->bundle, r->identities, r->progress, &manifest, err);
    if (rc == 0)
        rc = compose_text(r->o, manifest, ret, err);
    free(manifest);
    return rc;
}

static struct proc_fork_limits make_limits(const struct report_job *r)
{
    struct proc_fork_limits limits = confined_limits(input_size(r->bundle), signals_cancel_fd());
    limits.max_result = TEXT_MAX;
    return limits;
}

/* ---- output -------------------------------------------------------------------------------------------- */

static int write_page_to(struct report_job *r, int fd, struct err *err)
{
    struct proc_fork_limits limits = make_limits(r);
    limits.kept[0] = r->fd = fd;
    const struct page_attempts attempts = {r->bundle, limits, r->progress, fd, &notes_on_stderr};
    return page_attempt(&attempts, draw_in_child, r, NULL, err);
}

static int copy_to_output(int from, struct err *err)
{
    char chunk[65536];
    for (off_t at = 0;;) {
        ssize_t n = pread(from, chunk, sizeof chunk, at);
        if (n < 0)
            return err_sys(err, "cannot read the page back");
        if (n == 0)
            return 0;
        if (fd_write_or_cancel(STDOUT_FILENO, chunk, (size_t)n, signals_cancel_fd(), err) < 0)
            return -1;
        at += n;
    }
}

/* Draws the page into memory before it writes the page to standard output: if a file of the bundle exceeds
 * the limits, page_attempt begins the page again without that file, but bytes on standard output cannot be
 * taken back. The page never reaches a disk, because the bundle may be encrypted. */
static int write_page_to_stdout(struct report_job *r, struct err *err)
{
    struct err why = ERR_INIT;
    int fd = file_create_in_memory(&why);
    if (fd < 0 && why.kind == ERR_UNSUPPORTED)
        return write_page_to(r, STDOUT_FILENO, err);
    if (fd < 0) {
        *err = why;
        return -1;
    }
    int rc = write_page_to(r, fd, err);
    if (rc == 0)
        rc = copy_to_output(fd, err);
    fd_close(&fd);
    return rc;
}

static int refuse_existing(const char *path, struct err *err)
{
    if (!file_exists(path))
        return 0;
    err_set(err, ERR_EXISTS, "%s exists already", path);
    return err_hint(err, "-o FILE names another");
}

/* Writes the page to a new file, which gets its name once it is complete. */
static int write_page_file(struct report_job *r, const char *path, struct err *err)
{
    struct atomic_file *new_file = NULL;
    if (refuse_existing(path, err) < 0 || atomic_file_new(path, &new_file, err) < 0)
        return -1;
    r->path = path;
    int rc = write_page_to(r, atomic_file_fd(new_file), err);
    if (rc == 0 && (rc = atomic_file_sync(new_file, err)) == 0)
        rc = atomic_file_give_name(new_file, path, err);
    atomic_file_free(new_file);
    if (rc == 0)
        printf("%s\n", path);
    return rc;
}

/* Returns whether -o names a file: no -o, or "-", is standard output. */
static bool is_file(const char *output)
{
    return output && strcmp(output, "-") != 0;
}

/* Writes the text to a new file, or to standard output. */
static int write_text(const struct report_options *o, const struct buf *text, struct err *err)
{
    struct atomic_file *new_file = NULL;
    if (!is_file(o->output))
        return fd_write_or_cancel(STDOUT_FILENO, buf_str(text), text->len, signals_cancel_fd(), err);
    if (atomic_file_new(o->output, &new_file, err) < 0)
        return -1;
    int rc = fd_write_all(atomic_file_fd(new_file), buf_str(text), text->len, err);
    if (rc < 0)
        err_wrap(err, "%s", o->output);
    else if ((rc = atomic_file_sync(new_file, err)) == 0)
        rc = atomic_file_give_name(new_file, o->output, err);
    atomic_file_free(new_file);
    return rc;
}

static int write_text_report(struct report_job *r, struct err *err)
{
    struct buf text = BUF_INIT(0);
    const struct page_attempts attempts = {r->bundle, make_limits(r), r->progress, -1, &notes_on_stderr};
    int rc = is_file(r->o->output) ? refuse_existing(r->o->output, err) : 0;
    if (rc == 0)
        rc = page_attempt(&attempts, write_text_in_child, r, &text, err);
    if (rc == 0)
        rc = write_text(r->o, &text, err);
    buf_release(&text);
    return rc;
}

static int write_output(struct report_job *r, struct err *err)
{
    const char *output = r->o->output;
    if (r->o->text || r->o->markdown)
        return write_text_report(r, err);
    if (output && strcmp(output, "-") == 0)
        return write_page_to_stdout(r, err);
    char *path = output ? strdup(output) : default_output(r->bundle);
    int rc = path ? write_page_file(r, path, err) : err_nomem(err);
    free(path);
    return rc;
}

/* Requires -o for an encrypted bundle, so that its content is not written next to it in plain text. */
static int check_output(const struct report_options *o, const char *bundle, struct err *err)
{
    if (o->output || o->text || o->markdown || !input_is_encrypted(bundle))
        return 0;
    err_set(err, ERR_USAGE, "%s is encrypted, and its page would be in plain text", bundle);
    return err_hint(err, "-o FILE names a file for the page, and -o - writes it to standard output");
}

static int write_report(const struct report_options *o, const char *bundle, struct err *err)
{
    struct opener opener;
    if (check_output(o, bundle, err) < 0)
        return -1;
    if (signals_install(err) < 0 || opener_init(&opener, &o->identities, o->passphrase_file, err) < 0)
        return -1;
    struct report_job r = {.o = o, .bundle = bundle, .identities = opener.identities, .fd = -1};
    /* Unlock before the child starts: its limits must not include the user's time and scrypt's memory. */
    int rc = bundle_unlock(bundle, opener.identities, err);
    if (rc == 0)
        rc = page_progress_new(&r.progress, err);
    if (rc == 0)
        rc = write_output(&r, err);
    page_progress_free(r.progress);
    opener_release(&opener);
    return rc;
}

static int run_report(int argc, char **argv, struct err *err)
{
    struct report_options o = {0};
    struct strlist words = {0};
    int rc = options_parse(options, &(struct arguments){argc, argv}, &o, &words, err);
    if (rc == 0 && words.n != 1) {
        err_set(err, ERR_USAGE, "report takes one bundle, not %zu", words.n);
        rc = err_hint(err, "`profgrab view FILE...` draws single files");
    }
    if (rc == 0 && o.text && o.markdown)
        rc = err_set(err, ERR_USAGE, "--text and --markdown cannot both be given");
    if (rc == 0)
        rc = write_report(&o, words.items[0], err);
    strlist_release(&o.identities);
    strlist_release(&words);
    return rc < 0 ? exit_status_of(err) : EXIT_OK;
}

const struct command command_report = {
    .name = "report",
    .synopsis = "[options] BUNDLE",
    .summary = "make the page of a bundle (report.html) again",
    .details =
        "Every bundle contains this page as report.html. The new page also has profiles that were too large\n"
        "for that one, because the limit is higher here.",
    .options = options,
    .words = ARGUMENTS_FILES,
    .run = run_report,
};
