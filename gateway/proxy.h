/* ProxyCommand: a child process whose standard input and output are the connection to the server. */
#ifndef GATEWAY_PROXY_H
#define GATEWAY_PROXY_H

#include "base/base.h"

struct proxy;

/* Runs the command as ssh does, by the user's shell with `exec` in front. *ret_fd is a socket to its standard
 * input and output, the caller's. */
int proxy_start(const char *command, int *ret_fd, struct proxy **ret, struct err *err);

/* What it said on standard error, printable, the end of it where it is long; "" for nothing. Returns dst. */
char *proxy_complaint(struct proxy *p, char *dst, size_t cap);

/* Whether it has ended by itself, and with which exit code (128 + signal). For when its connection has come
 * to its end: the command's own end comes a moment later, for which this waits up to 100 ms. */
bool proxy_ended(struct proxy *p, int *ret_exit_code);

/* Ends it. NULL is fine. */
void proxy_end(struct proxy *p);

#endif
