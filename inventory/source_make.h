/* Making a source from an entry of the inventory or from the text of --from. */
#ifndef INVENTORY_SOURCE_MAKE_H
#define INVENTORY_SOURCE_MAKE_H

#include "inventory/model.h"

bool source_kind_has_url(enum source_kind kind);
/* -1 for an unknown name. */
int source_kind_parse(struct str name, enum source_kind *ret);

/* Sets the source's request from its URL. ERR_USAGE. */
int source_set_url(struct source *s, const char *url, struct err *err);

/* Returns the length of a URL's path without the path of one of Prometheus' own pages, because users copy
 * those. */
size_t source_length_without_page(const char *path, size_t n);

/* Names a source KIND, KIND-2, KIND-3, ..., unless it has a name. The count of a kind continues after the
 * last number in both lists, which may be the same. */
int source_give_name(const struct sources *others, struct sources *l, struct source *s, struct err *err);

/* Takes ownership of the source, also on failure. */
int sources_add(struct sources *l, struct source *s, struct err *err);

void source_free(struct source *s);

#endif
