/* Expands the parts that `ssh -G` leaves to its caller: %-tokens, `~` and ${VARIABLES} (ssh_config(5)). */
#ifndef GATEWAY_CONFIG_TOKENS_H
#define GATEWAY_CONFIG_TOKENS_H

#include <stdbool.h>

#include "gateway/config/config.h"

/* The use of a text decides which tokens ssh accepts in it. */
enum tokens_use {
    TOKENS_PATH,  /* the path of a file: also `~` and ${VARIABLES} */
    TOKENS_PROXY, /* ProxyCommand and ProxyJump, where ssh refuses other tokens */
};

/* The values of the tokens. */
struct tokens {
    char *home; /* from the password database, as in ssh, not from $HOME */
    char *local_user;
    char local_host[256];
    char local_host_short[256]; /* local_host up to its first dot */
    char uid[24];
    char port[8];
    char hash[41];        /* %C */
    char jump[256];       /* the last jump host, without user and port; "" for none */
    const char *original; /* the requested host */
    const struct ssh_config *config;
};

/* Prepares the tokens' values. `c` (with hostname, user, port, jump and alias) and `original` must outlive
 * `t`. `hash_includes_jump`: this ssh's %C includes %j. Call tokens_release after a failure too. */
int tokens_init(struct tokens *t, const struct ssh_config *c, const char *original, bool hash_includes_jump,
                struct err *err);
void tokens_release(struct tokens *t);

/* Replaces *text by its expansion. In a path, unknown tokens and variables stay unchanged. In a ProxyCommand
 * or ProxyJump, an unknown token is ERR_FAILED, and no variable is expanded. */
int tokens_expand(const struct tokens *t, char **text, enum tokens_use use, struct err *err);

#endif
