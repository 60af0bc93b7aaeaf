/* Numbers in names: `file-[04-40]`, `web-[1,3,5-7]`, `rack[1-2]-node[01-16]`. */
#ifndef INVENTORY_RANGE_H
#define INVENTORY_RANGE_H

#include <stddef.h>

#include "base/base.h"

/*
 * Expands `text` to names; the last range counts fastest. A text without brackets expands to itself. If one
 * end of a range has a leading zero, both ends must have the same number of digits. The numbers between them
 * are then padded with zeros to that number. A bracket with a colon is an IPv6 address and is not expanded.
 * At most `max` names, 8 ranges and 9 digits per number. `ret` must be empty; it stays empty on failure
 * (ERR_USAGE).
 */
int range_expand(const char *text, size_t max, struct strlist *ret, struct err *err);

#endif
