/* Numbers in names: `file-[04-40]`, `web-[1,3,5-7]`, `rack[1-2]-node[01-16]`. */
#ifndef INVENTORY_RANGE_H
#define INVENTORY_RANGE_H

#include <stddef.h>

#include "base/base.h"

/*
 * Every name that `text` stands for, the last range counting fastest; a text without brackets stands for
 * itself. A leading zero keeps the width: both ends must then have the same number of digits. A bracket that
 * holds a colon is an IPv6 address and stays. At most `max` names, 8 ranges and 9 digits. `ret` must be
 * empty; it stays so on failure (ERR_USAGE).
 */
int range_expand(const char *text, size_t max, struct strlist *ret, struct err *err);

#endif
