/* Expanding what `ssh -G` leaves to its caller: %-tokens, `~` and ${VARIABLES}, as ssh_config(5) has them. */
#ifndef INVENTORY_TOKENS_H
#define INVENTORY_TOKENS_H

#include <stdbool.h>

#include "inventory/inventory.h"

/* Where a token stands decides which of them ssh knows there. */
enum tokens_place {
    TOKENS_PATH,  /* of a file: also `~` and ${VARIABLES} */
    TOKENS_PROXY, /* ProxyCommand and ProxyJump, which ssh refuses with any other token */
};

/* What the tokens stand for. */
struct tokens {
    char *home; /* of the password database, as ssh has it, whatever $HOME says */
    char *local_user;
    char local_host[256];
    char local_short[256];
    char uid[24];
    char port[8];
    char hash[41];        /* %C */
    char jump[256];       /* the host the target is reached through, without user and port; "" for none */
    const char *original; /* the host as it was asked for */
    const struct ssh_config *c;
};

/* `c` (hostname, user, port, jump and alias are read) and `original` must outlive it. `hash_names_a_jump`
 * says whether this ssh's %C is also over %j. Release it after a failure too. */
int tokens_init(struct tokens *t, const struct ssh_config *c, const char *original, bool hash_names_a_jump,
                struct err *err);
void tokens_release(struct tokens *t);

/* Replaces *text by its expansion. In a path, a token or variable that is not known stays as it is; in a
 * proxy's command or name it is ERR_FAILED. */
int tokens_expand(const struct tokens *t, char **text, enum tokens_place place, struct err *err);

#endif
