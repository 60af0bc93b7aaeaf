/* The service that a selection describes itself, by a port or a Unix socket. */
#ifndef INVENTORY_ONEOFF_H
#define INVENTORY_ONEOFF_H

#include "inventory/model.h"

/* *ret: that service, which belongs to the inventory, the same one for the same description; NULL if the
 * selection has none. */
int oneoff_service(struct inventory *inv, const struct selection *sel, const struct service **ret,
                   struct err *err);

#endif
