/*
 * Who sees to it that an ssh of ours does not outlive us: whatever way we go, also killed or by _exit. Else
 * it would go on for ever, logged in, and any process of the user could open connections through it.
 *
 * It is this very program under another name, KEEPER_NAME, in the gateway's private directory, as with
 * askpass. ssh is started in its process group; it waits for the end of a pipe that only we hold, then ends
 * the group and removes the directory.
 */
#ifndef GATEWAY_KEEPER_H
#define GATEWAY_KEEPER_H

#include <sys/types.h>

#include "base/base.h"

#define KEEPER_NAME "profgrab-keeper"

/* ---- the gateway's side -------------------------------------------------------------------------------- */

struct keeper {
    pid_t pid; /* also its group's number; 0: there is none */
    int pipe;
};

/* Puts the name into the directory and starts it; `program` is the file that is run under that name. */
int keeper_start(struct keeper *k, const char *directory, const char *program, struct err *err);

/* Ends it with all that is in its group, and leaves the directory. Fine if there is none. */
void keeper_end(struct keeper *k);

/* ---- the program's side -------------------------------------------------------------------------------- */

/* Keeps watch at standard input over its own process group and the directory of `name`, the path this program
 * was started as. Does not return unless it was not started by keeper_start. */
void keeper_run(const char *name);

#endif
