/* Copies, merges and names of SSH settings. */
#ifndef INVENTORY_SSH_SETTINGS_H
#define INVENTORY_SSH_SETTINGS_H

#include "inventory/inventory.h"

/* Copies the settings with their strings. */
int ssh_settings_copy(const struct ssh_settings *s, struct ssh_settings *ret, struct err *err);
/* For copies, and for settings that were read from an inventory. */
void ssh_settings_release(struct ssh_settings *s);

/* Returns the values of `over` (may be NULL) where set, else those of `under`. Owns nothing. */
struct ssh_settings ssh_settings_merge(const struct ssh_settings *under, const struct ssh_settings *over);

#endif
