/* What the page is told of an entry, as JSON (docs/formats.md). */
#ifndef REPORT_PAGE_DATA_H
#define REPORT_PAGE_DATA_H

#include "report/page.h"

/* Into an initialised buffer, whose failure the caller looks at. */
int page_data_profile(struct profile *profile, struct buf *ret, struct err *err);
int page_data_goroutines(const struct goroutines *g, struct buf *ret, struct err *err);

#endif
