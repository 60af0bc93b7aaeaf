/*
 * The reaper ends our own ssh if we are killed or call _exit. Without a reaper ssh would stay logged in, and
 * any process of the user could open connections through it.
 *
 * The reaper is profgrab under another name, REAPER_NAME, a link in the gateway's private directory, like
 * askpass. ssh runs in the reaper's process group. The reaper waits for the end of a pipe that only we have
 * open, then ends the group and removes the directory.
 */
#ifndef GATEWAY_OPENSSH_REAPER_H
#define GATEWAY_OPENSSH_REAPER_H

#include <sys/types.h>

#include "base/base.h"

#define REAPER_NAME "profgrab-reaper"

/* ---- the gateway's side -------------------------------------------------------------------------------- */

struct reaper {
    pid_t pid; /* also its process group; 0: none */
    int pipe;  /* the write end of the pipe: when it closes, the reaper ends ssh */
};

/* Creates the link REAPER_NAME to `program` in the directory, and starts it. */
int reaper_start(struct reaper *r, const char *directory, const char *program, struct err *err);

/* Ends the process and its group, but keeps the directory. Does nothing if reaper_start did not succeed. */
void reaper_end(struct reaper *r);

/* ---- the program's side -------------------------------------------------------------------------------- */

/* Waits for the end of standard input, then ends its process group and removes the directory of `name`, the
 * path of this program. Returns only if reaper_start did not start this process. */
void reaper_run(const char *name);

#endif
