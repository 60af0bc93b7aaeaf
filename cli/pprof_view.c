/* Programs that show what was made. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/pprof.h"
#include "base/banned.h"

/* A browser may be a script that hands the file on: so long it has until it goes. */
#define LOOK_MS 1000

/* Runs to its end: whoever looks takes the time they need. */
static int wait_for(const char *viewer, pid_t pid, struct err *err)
{
    siginfo_t info;
    while (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) < 0 && errno == EINTR)
        continue;
    /* Started through a shim, a program that is not there ends with this. */
    return proc_end(pid) == 127 ? err_set(err, ERR_NOT_FOUND, "%s is not installed", viewer) : 0;
}

static int view_with(const char *viewer, const char *path, struct pprof_session *session, struct err *err)
{
    const char *argv[4] = {viewer, path, NULL, NULL};
    if (strcmp(viewer, "gv") == 0) {
        argv[1] = "--noantialias";
        argv[2] = path;
    }
    int fds[3] = {-1, -1, STDERR_FILENO};
    pid_t pid;
    if (proc_start(argv, fds, &pid, err) < 0)
        return -1;
    if (!session)
        return wait_for(viewer, pid, err);
    /* It may stay when the shell ends; the system collects it then. */
    session->look_until = clock_deadline(LOOK_MS);
    return 0;
}

int pprof_view(const char *viewer, const char *path, struct pprof_session *session, struct err *err)
{
    const char *browsers[] = {getenv("BROWSER"),
                              "chrome",
                              "google-chrome",
                              "chromium",
                              "firefox",
                              "sensible-browser",
                              getenv("DISPLAY") ? "xdg-open" : NULL};
    if (*viewer)
        return view_with(viewer, path, session, err);
    for (size_t i = 0; i < sizeof browsers / sizeof *browsers; i++)
        if (browsers[i] && *browsers[i] && view_with(browsers[i], path, session, err) == 0)
            return 0;
    err_set(err, ERR_NOT_FOUND, "no browser was found");
    return err_hint(err, "-svg -output FILE writes the picture");
}

void pprof_session_end(struct pprof_session *session)
{
    if (session->files.n)
        fd_wait(-1, 0, session->look_until, session->cancel_fd, NULL);
    for (size_t i = 0; i < session->files.n; i++)
        unlink(session->files.items[i]);
    strlist_release(&session->files);
}
