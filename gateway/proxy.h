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

/* Ends it. NULL is fine. */
void proxy_end(struct proxy *p);

#endif
