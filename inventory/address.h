/* An address in ssh's form: `[user@]host[:port]` or `ssh://[user@]host[:port]`, IPv6 in brackets or bare. */
#ifndef INVENTORY_ADDRESS_H
#define INVENTORY_ADDRESS_H

#include <stdbool.h>

#include "base/base.h"

struct address {
    char *user;    /* NULL: none */
    char *host;    /* without brackets */
    unsigned port; /* 0: none */
};

/* ERR_USAGE for an invalid address, above all for one that ssh could take as an option. */
int address_parse(const char *text, struct address *ret, struct err *err);
void address_release(struct address *a);

/* Returns a host's name made of the address: the host, or an IPv6 address with `-` for its colons. The caller
 * frees it. NULL without memory. */
char *address_name(const struct address *a);

/* Returns the address as ssh's destination. The caller frees it. NULL without memory. */
char *address_text(const struct address *a);

/* Checks whether the name or IP address means the machine itself. */
bool address_is_loopback(const char *address);

#endif
