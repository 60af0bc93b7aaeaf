/* The service that a selection describes by a port or a Unix socket. */
#ifndef INVENTORY_ADHOC_H
#define INVENTORY_ADHOC_H

#include "inventory/model.h"

/* Returns that service, the same one for the same description; the inventory owns it. *ret is NULL if the
 * selection has none. */
int adhoc_service(struct inventory *inv, const struct selection *sel, const struct service **ret,
                  struct err *err);

#endif
