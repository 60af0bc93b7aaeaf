/* Writes the page's JSON for one entry (docs/formats.md). */
#ifndef PAGE_DATA_H
#define PAGE_DATA_H

#include "page/flame.h"
#include "page/writer.h"

/* These functions, and page_data_profile (page.h), write into an initialised buffer. The caller checks the
 * buffer for a failure. */
int page_data_comparison(const struct comparison *comparison, struct buf *ret, struct err *err);
void page_data_fleet(const struct page_named_fleet *named, struct buf *ret);
int page_data_goroutines(const struct goroutines *goroutines, struct buf *ret, struct err *err);

/* ---- parts of an entry --------------------------------------------------------------------------------- */

/* Writes `{"types":[…],"default":…` of the first n_types sample types. */
void page_data_types(struct buf *buf, const struct profile *profile, size_t n_types, size_t default_type);
/* Writes `,"strings":[…],"functions":{…}` of a tree. */
int page_data_functions(struct buf *buf, const struct profile *profile, const struct flame *flame,
                        struct err *err);
/* Writes `,"nodes":{"depth":[…],"function":[…]` without the closing brace. */
void page_data_nodes(struct buf *buf, const struct flame *flame);
/* Values of nodes or functions: n_types for each. The sample types `from` to `to` - 1 are written. */
struct page_values {
    const int64_t *values;
    size_t n, n_types, from, to;
};
/* Writes `,"KEY":[[of the first type],…]`. */
void page_data_values(struct buf *buf, const char *key, const struct page_values *values);

#endif
