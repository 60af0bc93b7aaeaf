/* Reading what `ssh -G` prints: one `keyword value` per line, keywords in lower case. */
#ifndef INVENTORY_SSH_KEYWORDS_H
#define INVENTORY_SSH_KEYWORDS_H

#include "inventory/inventory.h"

/* What the lines say, before it is expanded and put in order. */
struct ssh_reading {
    struct ssh_config c;
    struct strlist global_known_hosts;
    bool agent_given;
    bool batch;             /* BatchMode */
    bool fd_pass;           /* ProxyUseFdpass */
    bool trusts_localhost;  /* NoHostAuthenticationForLocalhost */
    bool hash_names_a_jump; /* this ssh's %C is also over %j */
};

/* `r` is zero, or has what a line that is missing stands for. Keywords nobody here asks for, and those of
 * other versions, are passed over. The caller releases what was read, also after a failure. */
int ssh_keywords_read(struct ssh_reading *r, const char *p, size_t n, struct err *err);

/* Puts a copy of the value in place of *into: NULL for "none". */
int ssh_keywords_optional(char **into, const char *value, struct err *err);

#endif
