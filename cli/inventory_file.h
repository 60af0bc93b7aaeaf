/* The inventory as every command reads it. */
#ifndef CLI_INVENTORY_FILE_H
#define CLI_INVENTORY_FILE_H

#include "inventory/inventory.h"

/*
 * Finds and loads the inventory: `option` is what --inventory says, or NULL. Without any file it is empty and
 * has no inventory_path. Several mistakes in the file are printed on stderr, and err then says how many there
 * are. The caller frees *ret.
 */
int inventory_file_load(const char *option, struct inventory **ret, struct err *err);

#endif
