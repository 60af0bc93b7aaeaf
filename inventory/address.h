/* An address as ssh takes it: `[user@]host[:port]` or `ssh://[user@]host[:port]`, IPv6 in brackets or bare.
 */
#ifndef INVENTORY_ADDRESS_H
#define INVENTORY_ADDRESS_H

#include "base/base.h"

struct address {
    char *user;    /* NULL: none given */
    char *host;    /* without brackets */
    unsigned port; /* 0: none given */
};

/* ERR_USAGE for what is no address, above all for what ssh could take as an option. */
int address_parse(const char *text, struct address *ret, struct err *err);
void address_release(struct address *a);

/* A new string that serves as a host's name: the host, an IPv6 address with `-` for its colons. NULL if there
 * is no memory. */
char *address_name(const struct address *a);

/* A new string that ssh takes as its destination. NULL if there is no memory. */
char *address_text(const struct address *a);

#endif
