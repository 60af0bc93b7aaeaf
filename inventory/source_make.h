/* Makes sources from entries of the inventory and from the text of --from. */
#ifndef INVENTORY_SOURCE_MAKE_H
#define INVENTORY_SOURCE_MAKE_H

#include "inventory/model.h"

bool source_kind_has_url(enum source_kind kind);
/* Parses the name of a kind. Returns -1 for an unknown name. */
int source_kind_parse(struct str name, enum source_kind *ret);

/* Sets the source's endpoint from a URL. ERR_USAGE for an invalid URL. */
int source_set_url(struct source *s, const char *url, struct err *err);

/* Sets `n_literal` of a source that is read from a file, from the path as the user wrote it. */
void source_set_literal(struct source *s, const char *written);

/* Returns the length of a URL's path without the page of Prometheus at its end, such as "/graph", because
 * users copy the URLs of these pages. */
size_t source_length_without_page(const char *path, size_t n);

/* Sets the name of a source without a name: KIND, KIND-2, KIND-3, ... The number follows the last number of
 * that kind in both lists, which may be the same list. */
int source_set_name(const struct sources *others, struct sources *l, struct source *s, struct err *err);

/* Takes ownership of the source, also on failure. */
int sources_add(struct sources *l, struct source *s, struct err *err);

void source_free(struct source *s);

#endif
