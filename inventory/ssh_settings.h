/* SSH settings that are kept, put over one another, or named by a word. */
#ifndef INVENTORY_SSH_SETTINGS_H
#define INVENTORY_SSH_SETTINGS_H

#include "inventory/inventory.h"

/* Makes *ret a copy with strings of its own. */
int ssh_settings_copy(const struct ssh_settings *s, struct ssh_settings *ret, struct err *err);
/* Of copies, and of what an inventory was read into. */
void ssh_settings_release(struct ssh_settings *s);

/* What `over` (may be NULL) says, else what `under` says. Owns nothing. */
struct ssh_settings ssh_settings_merge(const struct ssh_settings *under, const struct ssh_settings *over);

#endif
