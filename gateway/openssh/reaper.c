#include "gateway/openssh/reaper.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/banned.h"

/* The time for ssh to exit after SIGTERM. */
#define EXIT_TIMEOUT_MS 300
/* The prefix of our private directories. We remove no other directory. */
#define DIRECTORY_PREFIX "profgrab-"

int reaper_start(struct reaper *r, const char *directory, const char *program, struct err *err)
{
    int rc = -1, fds[2] = {-1, -1};
    char *name = file_join(directory, REAPER_NAME);
    *r = (struct reaper){.pipe = -1};
    if (!name)
        return err_nomem(err);
    if (symlink(program, name) < 0)
        err_sys(err, "cannot make %s", name);
    else if (fd_pipe(fds, err) == 0)
        rc = proc_start((const char *const[]){name, NULL}, (int[]){fds[0], -1, -1}, &r->pid, err);
    if (rc == 0) {
        r->pipe = fds[1];
        fds[1] = -1;
    }
    fd_close(&fds[0]);
    fd_close(&fds[1]);
    free(name);
    return rc;
}

void reaper_end(struct reaper *r)
{
    if (r->pid)
        proc_end(r->pid);
    fd_close(&r->pipe);
    r->pid = 0;
}

static void remove_directory(const char *name)
{
    char *directory = file_dir(name);
    if (directory && strncmp(file_base(directory), DIRECTORY_PREFIX, strlen(DIRECTORY_PREFIX)) == 0)
        file_remove(directory, NULL);
    free(directory);
}

void reaper_run(const char *name)
{
    char byte;
    ssize_t n;
    /* Never end the process group of another program. */
    if (getpgrp() != getpid())
        return;
    do
        n = read(STDIN_FILENO, &byte, 1);
    while (n > 0 || (n < 0 && errno == EINTR));
    signal(SIGTERM, SIG_IGN);
    kill(0, SIGTERM);
    fd_wait(-1, 0, clock_deadline(EXIT_TIMEOUT_MS), -1, NULL);
    remove_directory(name);
    kill(0, SIGKILL);
}
