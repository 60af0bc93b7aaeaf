/*
 * Ends our own ssh after us, even if we are killed or call _exit. Otherwise ssh would stay logged in forever,
 * and any process of the user could open connections through it.
 *
 * It is profgrab under another name, REAPER_NAME, in the gateway's private directory, like askpass. ssh
 * starts in its process group. It waits for the end of a pipe that only we have open, then ends the group and
 * removes the directory.
 */
#ifndef GATEWAY_OPENSSH_REAPER_H
#define GATEWAY_OPENSSH_REAPER_H

#include <sys/types.h>

#include "base/base.h"

#define REAPER_NAME "profgrab-reaper"

/* ---- the gateway's side -------------------------------------------------------------------------------- */

struct reaper {
    pid_t pid; /* also the number of its group; 0: none */
    int pipe;
};

/* Creates the name in the directory and starts the process; `program` is the file to run under that name. */
int reaper_start(struct reaper *r, const char *directory, const char *program, struct err *err);

/* Ends the process and its group, and leaves the directory. Does nothing without a process. */
void reaper_end(struct reaper *r);

/* ---- the program's side -------------------------------------------------------------------------------- */

/* Waits for the end of standard input, then ends its process group and removes the directory of `name`, the
 * path of this program. Returns only if reaper_start did not start it. */
void reaper_run(const char *name);

#endif
