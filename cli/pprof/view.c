/* Starts the programs that show a report. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/pprof/pprof.h"
#include "cli/term/signals.h"
#include "base/banned.h"

/* A browser may be a script that starts another program and ends before that program has opened the file. A
 * shell therefore keeps the file at least this long. */
#define VIEW_MS 1000

/* The failure of a viewer is an error only within this time: later, the viewer has shown the file. */
#define FAILURE_MS 5000

/* How often profgrab looks whether the viewer has ended. */
#define LOOK_MS 50

/* Waits for the viewer's end, or for a signal, after which the viewer goes on alone. */
static int wait_for_viewer(const char *viewer, pid_t pid, struct err *err)
{
    int64_t began = clock_now();
    while (!proc_has_ended(pid, NULL)) {
        fd_wait(-1, 0, clock_deadline(LOOK_MS), signals_cancel_fd(), NULL);
        if (signals_received())
            return 0;
    }
    int code = proc_end(pid);
    /* 127: the child process could not run the program. */
    if (code == 127)
        return err_set(err, ERR_NOT_FOUND, "%s is not installed", viewer);
    if (code != 0 && clock_now() - began < FAILURE_MS)
        return err_set(err, ERR_FAILED, "%s ended with exit code %d", viewer, code);
    return 0;
}

/* Starts the words of a command and then `path`. On success, waits for the viewer's end unless there is a
 * session. */
static int start_command(const struct strlist *words, const char *path, int error_fd,
                         struct pprof_session *session, struct err *err)
{
    const char **argv = calloc(words->n + 2, sizeof *argv);
    if (!argv)
        return err_nomem(err);
    for (size_t i = 0; i < words->n; i++)
        argv[i] = words->items[i];
    argv[words->n] = path;
    int fds[3] = {-1, -1, error_fd};
    pid_t pid;
    int rc = proc_start(argv, fds, &pid, err);
    free(argv);
    if (rc < 0)
        return -1;
    if (!session)
        return wait_for_viewer(words->items[0], pid, err);
    /* The viewer may outlive the shell; init then reaps it. */
    session->keep_until = clock_deadline(VIEW_MS);
    return 0;
}

/* Starts a viewer: a program, and its arguments after blanks as upstream splits $BROWSER. `error_fd` becomes
 * its standard error; -1: /dev/null. Without a session, waits until it ends. */
static int start_viewer(const char *viewer, const char *path, int error_fd, struct pprof_session *session,
                        struct err *err)
{
    struct strlist words = {0};
    int rc = 0;
    for (const char *word = viewer + strspn(viewer, " "); rc == 0 && *word;) {
        size_t n = strcspn(word, " ");
        rc = strlist_addn(&words, word, n, err);
        word += n + strspn(word + n, " ");
    }
    if (rc == 0)
        rc = start_command(&words, path, error_fd, session, err);
    strlist_release(&words);
    return rc;
}

/* Tries one browser after the other. Drops their messages, because a later browser may succeed. The error
 * names every installed browser that failed, and $BROWSER. */
static int start_browser(const char *path, struct pprof_session *session, struct err *err)
{
    const char *browsers[] = {getenv("BROWSER"),
                              "chrome",
                              "google-chrome",
                              "chromium",
                              "firefox",
                              "sensible-browser",
                              getenv("DISPLAY") ? "xdg-open" : NULL};
    struct buf failed = BUF_INIT(16384);
    int rc = -1;
    for (size_t i = 0; rc < 0 && i < sizeof browsers / sizeof *browsers; i++) {
        struct err why = ERR_INIT;
        if (!browsers[i] || !browsers[i][strspn(browsers[i], " ")])
            continue;
        rc = start_viewer(browsers[i], path, -1, session, &why);
        if (rc < 0 && (i == 0 || why.kind != ERR_NOT_FOUND))
            buf_addf(&failed, "%s%s", failed.len ? ", " : ": ", why.msg);
    }
    if (rc < 0)
        err_set(err, ERR_NOT_FOUND, failed.len ? "no browser could be started%s" : "no browser was found%s",
                buf_str(&failed));
    buf_release(&failed);
    return rc < 0 ? err_hint(err, "-svg -output FILE writes the picture") : 0;
}

int pprof_open_viewer(const char *viewer, const char *path, struct pprof_session *session, struct err *err)
{
    return *viewer ? start_viewer(viewer, path, STDERR_FILENO, session, err)
                   : start_browser(path, session, err);
}

int pprof_open_browser(const char *file, struct err *err)
{
    struct pprof_session no_wait = {.cancel_fd = -1};
    return pprof_open_viewer("", file, &no_wait, err);
}

void pprof_session_end(struct pprof_session *session)
{
    if (session->files.n)
        fd_wait(-1, 0, session->keep_until, session->cancel_fd, NULL);
    for (size_t i = 0; i < session->files.n; i++)
        unlink(session->files.items[i]);
    strlist_release(&session->files);
}
