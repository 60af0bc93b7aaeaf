/* Finds and loads the inventory for every command. */
#ifndef CLI_HOSTS_INVENTORY_FILE_H
#define CLI_HOSTS_INVENTORY_FILE_H

#include "inventory/inventory.h"

/*
 * Loads the inventory. `option` is the value of --inventory, or NULL. If there is no file, the inventory is
 * empty and has no inventory_path. If the file has several errors, prints them on stderr, and sets err to
 * their number. The caller frees *ret.
 */
int inventory_file_load(const char *option, struct inventory **ret, struct err *err);

#endif
