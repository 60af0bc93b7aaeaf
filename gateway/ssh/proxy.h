/* ProxyCommand: a child process whose standard input and output are the connection to the server. */
#ifndef GATEWAY_SSH_PROXY_H
#define GATEWAY_SSH_PROXY_H

#include "base/base.h"

struct proxy;

/* Runs the command as ssh does: by the user's shell, with `exec` before it. *ret_fd is a socket to its
 * standard input and output; the caller closes it. */
int proxy_start(const char *command, int *ret_fd, struct proxy **ret, struct err *err);

/* Copies the end of the text that the process wrote to standard error, made printable. Returns dst. */
char *proxy_stderr_tail(struct proxy *p, char *dst, size_t cap);

/* Checks whether the process has exited by itself. *ret_exit_code is its exit code, or 128 + its signal. Call
 * it after the end of the connection; it waits up to 100 ms for the exit. */
bool proxy_has_ended(struct proxy *p, int *ret_exit_code);

/* Ends the process. Accepts NULL. */
void proxy_stop(struct proxy *p);

#endif
