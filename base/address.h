#ifndef BASE_ADDRESS_H
#define BASE_ADDRESS_H

#include <stdbool.h>

/* Returns whether the address, a number or `localhost`, is this host's own: 127.0.0.0/8 or ::1. */
bool address_is_loopback(const char *address);

#endif
