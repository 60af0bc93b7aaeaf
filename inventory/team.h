/* The sections `teams` and `self`. Teams name trackers, so trackers are read before. */
#ifndef INVENTORY_TEAM_H
#define INVENTORY_TEAM_H

#include "inventory/schema.h"

int team_read_all(const struct schema *s, const struct yaml_node *section, struct err *err);
int self_read(const struct schema *s, const struct yaml_node *section, struct err *err);
void team_free(struct team *t);
void self_release(struct self *self);

#endif
