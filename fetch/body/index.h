/*
 * The index page of /debug/pprof/: the profiles of a service, and the number of records in each.
 *
 * Go's net/http/pprof serves HTML: a table with a row for each profile, the count in one cell and a link to
 * `NAME?debug=1` in the next. Go 1.11 to 1.26 differ in end tags, quotes and attributes, and routers that
 * write their own page put a path before the name. The parser accepts all of these pages.
 */
#ifndef FETCH_BODY_INDEX_H
#define FETCH_BODY_INDEX_H

#include <stddef.h>
#include <stdint.h>

#include "base/base.h"

#define INDEX_MAX_ENTRIES 1000

struct index_page {
    struct index_entry {
        /* Letters, digits, `.`, `_`, `-` and `/` between parts, each beginning with a letter, digit, `_` or
         * `-` (the first one with a letter or digit): the name cannot leave a directory or change a URL's
         * meaning. */
        char name[128];
        int64_t count; /* 0 for a handler without records: profile, trace, cmdline, symbol */
    } * items;
    size_t n;
};

/*
 * Parses the page. Skips rows with an invalid name or count, repeated names, and rows after
 * INDEX_MAX_ENTRIES. ERR_NOT_FOUND if no row is left. The caller releases *ret.
 */
int index_parse(const void *p, size_t n, struct index_page *ret, struct err *err);
void index_release(struct index_page *page);

/* Returns the entry of that name, or NULL if the page lacks it. */
const struct index_entry *index_find(const struct index_page *page, const char *name);

#endif
