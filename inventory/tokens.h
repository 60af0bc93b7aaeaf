/* Expanding what `ssh -G` leaves to its caller: %-tokens, `~` and ${VARIABLES}, as ssh_config(5) has them. */
#ifndef INVENTORY_TOKENS_H
#define INVENTORY_TOKENS_H

#include <stdbool.h>

#include "inventory/inventory.h"

/* What the tokens stand for. */
struct tokens {
    char *home; /* of the password database, as ssh has it, whatever $HOME says */
    char *local_user;
    char local_host[256];
    char local_short[256];
    char uid[24];
    char port[8];
    const char *original; /* the host as it was asked for */
    const struct ssh_config *c;
};

/* `c` (hostname, user and port are read) and `original` must outlive it. Release it after a failure too. */
int tokens_init(struct tokens *t, const struct ssh_config *c, const char *original, struct err *err);
void tokens_release(struct tokens *t);

/* Replaces *text by its expansion; `~` and variables only in paths. A token or variable that is not known
 * stays as it is. */
int tokens_expand(const struct tokens *t, char **text, bool path, struct err *err);

#endif
