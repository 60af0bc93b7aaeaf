#ifndef BASE_ADDRESS_H
#define BASE_ADDRESS_H

#include <stdbool.h>

/* Returns whether the address is a loopback address: 127.0.0.0/8, ::1 or `localhost`. Resolves no names. */
bool address_is_loopback(const char *address);

#endif
