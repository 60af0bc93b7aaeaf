/* `profgrab view`: shows the page of a bundle or of files in a browser. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bundle/bundle.h"
#include "cli/args/command.h"
#include "cli/http/serve.h"
#include "page/page.h"
#include "cli/term/exit.h"
#include "cli/pprof/pprof.h"
#include "cli/input/opener.h"
#include "cli/term/signals.h"
#include "cli/input/input.h"
#include "cli/input/prepare.h"
#include "cli/term/standard_streams.h"
#include "cli/term/message.h"
#include "base/banned.h"

struct view_options {
    struct strlist identities;
    const char *passphrase_file;
    bool no_browser;
    const char *http; /* the address to serve the page at; NULL: the page is a file */
};

static const struct option options[] = {
    {"no-browser", 0, OPTION_FLAG, NULL, "open no browser: only print the path or the address of the page",
     offsetof(struct view_options, no_browser), 0},
    {"http", 0, OPTION_TEXT_OPTIONAL, "HOST:PORT",
     "serve the page over HTTP until Ctrl-C; without HOST:PORT at localhost, on a free port",
     offsetof(struct view_options, http), 0},
    {"identity", 'i', OPTION_LIST, "FILE",
     "an age identity or SSH private key that decrypts the bundle (default: the usual keys of ~/.ssh)",
     offsetof(struct view_options, identities), 0},
    {"passphrase-file", 0, OPTION_TEXT, "FILE",
     "a file that only you can read, with the passphrase in its first line",
     offsetof(struct view_options, passphrase_file), 0},
    OPTIONS_END,
};

static const struct page_notes notes_on_stderr = {message_print_line, NULL};

/* The page. A confined child draws it. */
struct page_job {
    const struct strlist *words;
    struct age_identities *identities;
    struct input_keys keys; /* for encrypted bundles */
    int fd;                 /* of the page */
    const char *path;       /* of the page, for messages */
    struct page_progress *progress;
    struct confined_budget budget; /* for expanding the words and drawing the page */
};

static int write_piece(void *ctx, const void *p, size_t n, struct err *err)
{
    const struct page_job *job = ctx;
    int rc = fd_write_or_cancel(job->fd, p, n, signals_cancel_fd(), err);
    return rc < 0 && err->kind != ERR_CANCELLED ? err_wrap(err, "%s", job->path) : rc;
}

/* Treats every encrypted file as a bundle. */
static bool is_bundle(const char *path)
{
    char *manifest = NULL;
    bool found = input_is_encrypted(path) || bundle_read_manifest(path, NULL, &manifest, NULL) == 0;
    free(manifest);
    return found;
}

static int read_file(void *ctx, const char *name, struct buf *ret, struct err *err)
{
    return input_read_inflated(name, ctx, ret, err);
}

static int draw_files(struct page_job *job, const struct page_output *to, struct err *err)
{
    const struct strlist *words = job->words;
    const struct page_files files = {
        words, &job->keys, read_file, input_hint_type, input_check_dump, input_title,
    };
    return input_announce(words->items, words->n, &job->keys, err) < 0 ? -1
                                                                       : page_build_files(&files, to, err);
}

static int draw_in_child(void *ctx, struct buf *ret, struct err *err)
{
    struct page_job *job = ctx;
    const struct strlist *words = job->words;
    struct page_output to = {write_piece, job, job->progress};
    (void)ret;
    return words->n == 1 && is_bundle(words->items[0])
               ? page_build_bundle(words->items[0], job->identities, &to, err)
               : draw_files(job, &to, err);
}

/* Returns the size of all inputs on disk. Adjacent members of a bundle count its size once. */
static uint64_t total_size(const struct strlist *words)
{
    uint64_t bytes = 0;
    char *before = NULL;
    for (size_t i = 0; i < words->n; i++) {
        const char *member;
        char *bundle = file_exists(words->items[i]) ? NULL : input_bundle_of(words->items[i], &member);
        if (!bundle || !before || strcmp(bundle, before) != 0)
            bytes += input_size(words->items[i]);
        free(before);
        before = bundle;
    }
    free(before);
    return bytes;
}

static int draw_page(struct page_job *job, struct err *err)
{
    const struct strlist *words = job->words;
    char name[64];
    snprintf(name, sizeof name, "%zu files", words->n);
    struct proc_fork_limits limits = confined_budget_remaining(&job->budget, signals_cancel_fd());
    limits.kept[0] = job->fd;
    input_keep_descriptors(words, &limits);
    const char *input = words->n == 1 ? words->items[0] : name;
    if (page_progress_new(&job->progress, err) < 0)
        return -1;
    const struct page_attempts attempts = {input, limits, job->progress, job->fd, &notes_on_stderr};
    int rc = page_attempt(&attempts, draw_in_child, job, NULL, err);
    page_progress_free(job->progress);
    return rc;
}

/* Prompts for passphrases before a child starts, because the child's time is limited. */
static int unlock_words(const struct strlist *words, struct page_job *job, struct err *err)
{
    int rc = words->n == 1 && input_is_encrypted(words->items[0])
                 ? bundle_unlock(words->items[0], job->identities, err)
                 : 0;
    for (size_t i = 0; rc == 0 && i < words->n; i++)
        if (words->n > 1 || !file_exists(words->items[i]))
            rc = input_unlock(words->items[i], &job->keys, err);
    return rc;
}

/* Replaces each bundle by its files. Keeps a single bundle, because it has a page of its own. */
static int expand_words(const struct strlist *words, struct page_job *job, struct strlist *ret,
                        struct err *err)
{
    struct input_expand_options expand = {
        .content = INPUT_BOTH, .hint_prefix = "profgrab view", .keys = &job->keys};
    if (words->n == 1 && file_exists(words->items[0]))
        return strlist_add(ret, words->items[0], err);
    for (size_t i = 0; i < words->n; i++) {
        const struct proc_fork_limits limits = confined_budget_remaining(&job->budget, signals_cancel_fd());
        if (confined_budget_check(&job->budget, words->items[i], err) < 0 ||
            input_expand_confined(&expand, words->items[i], &limits, ret, err) < 0)
            return -1;
    }
    return 0;
}

static int write_page(const struct view_options *o, const struct strlist *words, int fd, const char *path,
                      struct err *err)
{
    struct strlist files = {0};
    struct page_job job = {.words = &files,
                           .fd = fd,
                           .path = path,
                           .keys = {&o->identities, o->passphrase_file, "--identity", NULL, NULL}};
    struct opener opener;
    if (input_buffer_stdin(words->items, words->n, signals_cancel_fd(), err) < 0 ||
        opener_init(&opener, &o->identities, o->passphrase_file, err) < 0)
        return -1;
    job.identities = opener.identities;
    int rc = unlock_words(words, &job, err);
    confined_budget_init(total_size(words), &job.budget);
    if (rc == 0)
        rc = expand_words(words, &job, &files, err);
    if (rc == 0)
        rc = draw_page(&job, err);
    input_keys_release(&job.keys);
    opener_release(&opener);
    strlist_release(&files);
    return rc;
}

static int show_page(const struct view_options *o, const char *path, struct err *err)
{
    printf("%s\n", path);
    if (standard_stream_flush(stdout, err) < 0)
        return -1;
    if (o->no_browser || pprof_open_viewer("", path, NULL, err) == 0)
        return 0;
    return err_hint(err, "set $BROWSER to a browser, or open %s yourself", path);
}

/* ---- over HTTP ------------------------------------------------------------------------------------------
 */

/* The page that is served. Its hash is its tag. */
struct served_page {
    int fd;
    struct sha256_file content;
};

static void answer_page(struct httpd_request *request, void *ctx)
{
    const struct served_page *page = ctx;
    const struct httpd_answer answer = {.status = 200,
                                        .type = "text/html; charset=utf-8",
                                        .policy = page_policy(),
                                        .etag = page->content.hex,
                                        .compress = true};
    int fd = fcntl(page->fd, F_DUPFD_CLOEXEC, 3);
    if (fd < 0)
        httpd_answer_text(request, 500, "no descriptor is left\n");
    else
        httpd_answer_file(request, &answer, fd, page->content.bytes);
}

/* Refuses the address that the user wrote as a word of its own: it would be a missing file. */
static int check_words(const struct view_options *o, const struct strlist *words, struct err *err)
{
    const char *word = words->items[0], *colon = strrchr(word, ':');
    if (*o->http || input_exists(word) || !colon || colon[1 + strspn(colon + 1, "0123456789")])
        return 0;
    err_set(err, ERR_USAGE, "%s is no file", word);
    return err_hint(err, "if it is the address, write --http=%s", word);
}

/* Listens before it draws the page, because a wrong address should not cost the time of drawing. */
static int serve_files(const struct view_options *o, const struct strlist *words, struct err *err)
{
    static const struct httpd_route routes[] = {{"/", HTTPD_GET, answer_page, 0}, {NULL, 0, NULL, 0}};
    struct served_page page = {.fd = -1};
    struct serve *serve = NULL;
    const struct serve_options options_of_page = {.address = o->http,
                                                  .title = "profgrab view",
                                                  .path = "/",
                                                  .routes = routes,
                                                  .ctx = &page,
                                                  .open_browser = o->no_browser ? NULL : pprof_open_browser};
    int rc = check_words(o, words, err);
    if (rc == 0)
        rc = serve_open(&options_of_page, &serve, err);
    if (rc == 0)
        rc = page.fd = file_create_scratch(err);
    if (rc >= 0)
        rc = write_page(o, words, page.fd, "the page", err);
    if (rc == 0)
        rc = sha256_file(page.fd, 0, signals_cancel_fd(), &page.content, err);
    if (rc == 0)
        rc = serve_run(serve, err);
    serve_close(serve);
    fd_close(&page.fd);
    return rc;
}

/* Returns whether a word names an encrypted bundle, or a member of one. */
static bool has_encrypted_bundle(const struct strlist *words)
{
    bool encrypted = false;
    for (size_t i = 0; !encrypted && i < words->n; i++) {
        const char *member;
        char *bundle = file_exists(words->items[i]) ? NULL : input_bundle_of(words->items[i], &member);
        encrypted = input_is_encrypted(bundle ? bundle : words->items[i]);
        free(bundle);
    }
    return encrypted;
}

/* Prefers a directory in memory for decrypted content. */
static int view_files(const struct view_options *o, const struct strlist *words, struct err *err)
{
    char *path = NULL;
    bool decrypted = has_encrypted_bundle(words);
    int fd = file_create_temporary("profgrab-view", ".html", decrypted ? "/dev/shm" : NULL, &path, err);
    if (fd < 0)
        return -1;
    int rc = write_page(o, words, fd, path, err);
    fd_close(&fd);
    if (rc == 0 && decrypted)
        message_print("the page is in plain text: `rm %s` when you have seen it", path);
    if (rc < 0)
        unlink(path);
    else
        rc = show_page(o, path, err);
    free(path);
    return rc;
}

static int run_view(int argc, char **argv, struct err *err)
{
    struct view_options o = {0};
    struct strlist words = {0};
    int rc = options_parse(options, &(struct arguments){argc, argv}, &o, &words, err);
    if (rc == 0 && words.n == 0) {
        err_set(err, ERR_USAGE, "view takes a bundle, or files");
        rc = err_hint(err, "profgrab view BUNDLE, or profgrab view cpu.pb.gz heap.pb.gz...");
    }
    if (rc == 0)
        rc = signals_install(err);
    if (rc == 0)
        rc = o.http ? serve_files(&o, &words, err) : view_files(&o, &words, err);
    strlist_release(&o.identities);
    strlist_release(&words);
    int code = rc < 0 ? exit_status_of(err) : EXIT_OK;
    /* A signal is the normal end of a server, not an error. */
    if (o.http && rc < 0 && err->kind == ERR_CANCELLED)
        *err = (struct err)ERR_INIT;
    return code;
}

const struct command command_view = {
    .name = "view",
    .synopsis = "[options] BUNDLE | FILE...",
    .summary = "show profiles and goroutine dumps as flame graphs and tables in a browser",
    .details =
        "FILE is a profile or a goroutine dump, a member of a bundle BUNDLE:MEMBER, several members\n"
        "BUNDLE:PATTERN, as in 'run.tar.gz:*/heap.pb.gz', or - for standard input. For a BUNDLE, view shows\n"
        "all its profiles and dumps. The page is one file that loads nothing else, under $XDG_RUNTIME_DIR,\n"
        "$TMPDIR or /tmp; only you can read it. The page of an encrypted bundle is in plain text, under\n"
        "/dev/shm if possible. The page stays until you remove it or the system clears that directory. The\n"
        "browser is $BROWSER, else an installed one.\n\n"
        "With --http the page is no file: profgrab serves it until Ctrl-C, for example to a browser at the\n"
        "other end of `ssh -L 9000:localhost:8080`. The printed address has a token; a browser without the\n"
        "token gets a page that asks for it.",
    .options = options,
    .words = ARGUMENTS_PROFILES_AND_DUMPS,
    .run = run_view,
};
