/* What the page is told of an entry, as JSON (docs/formats.md). */
#ifndef REPORT_PAGE_DATA_H
#define REPORT_PAGE_DATA_H

#include "report/flame.h"
#include "report/page.h"

/* Into an initialised buffer, whose failure the caller looks at. */
int page_data_profile(struct profile *profile, struct buf *ret, struct err *err);
int page_data_sides(const struct sides *s, struct buf *ret, struct err *err);
void page_data_group(const struct page_group *g, struct buf *ret);
int page_data_goroutines(const struct goroutines *g, struct buf *ret, struct err *err);

/* ---- inside ----------------------------------------------------------------------------------------------
 */

/* `{"types":[…],"default":…`, of the first n_types. */
void page_data_types(struct buf *b, const struct profile *p, size_t n_types, size_t default_type);
/* `,"strings":[…],"functions":{…}` of a tree. */
int page_data_functions(struct buf *b, const struct profile *p, const struct flame *f, struct err *err);
/* `,"nodes":{"depth":[…],"function":[…]`: without an end. */
void page_data_nodes(struct buf *b, const struct flame *f);
/* `,"KEY":[[…],…]`: of each of these sample types the nodes' own values. */
void page_data_self(struct buf *b, const char *key, const struct flame *f, size_t from, size_t to);

#endif
