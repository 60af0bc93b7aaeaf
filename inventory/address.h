/* Addresses of hosts. */
#ifndef INVENTORY_ADDRESS_H
#define INVENTORY_ADDRESS_H

#include <stdbool.h>

#include "base/base.h"

/* An address in ssh's form: `[user@]host[:port]` or `ssh://[user@]host[:port]`, IPv6 in brackets or bare. */
struct address {
    char *user;    /* NULL: none */
    char *host;    /* without brackets */
    unsigned port; /* 0: none */
};

/* Parses `text`. ERR_USAGE for an invalid address, for example one that begins with `-`, which ssh would read
 * as an option. */
int address_parse(const char *text, struct address *ret, struct err *err);
void address_release(struct address *a);

/* Builds a valid name for the host at the address: a->host, with `-` instead of each colon of an IPv6
 * address. The caller frees the name. NULL if out of memory. */
char *address_name(const struct address *a);

/* Formats the address as a destination for ssh. The caller frees the text. NULL if out of memory. */
char *address_text(const struct address *a);

/* Converts a host's name or an IP address to its canonical form: lower case, no dot at the end, IP addresses
 * as inet_ntop writes them. -1 for any other text. */
#define ADDRESS_MAX 254 /* bytes, with the NUL */
int address_canonical(const char *host, char ret[static ADDRESS_MAX]);

/* Splits a text of n bytes of the form HOST, HOST:PORT, [V6] or [V6]:PORT. `ret_host` receives the
 * canonical form. If the text has no port, *ret_port is unchanged. -1 for any other text. */
int address_split(const char *text, size_t n, char ret_host[static ADDRESS_MAX], unsigned *ret_port);

#endif
