/*
 * The index page of /debug/pprof/: which profiles a service has, and how many records each holds.
 *
 * Go's net/http/pprof serves it as HTML: a table with a row per profile, the count in one cell and a link
 * to `NAME?debug=1` in the next. How the cells and the link are written changed over the years (1.11 to 1.26
 * differ in end tags, quotes and attributes), and routers that have a page of their own write the path in
 * front of the name; all of them are understood.
 */
#ifndef FETCH_INDEX_H
#define FETCH_INDEX_H

#include <stddef.h>
#include <stdint.h>

#include "base/base.h"

#define INDEX_MAX_ENTRIES 1000

struct index_page {
    struct index_entry {
        /* Letters, digits, `.`, `_`, `-` and `/` between parts, each beginning with a letter, digit, `_` or
         * `-` (the first one with a letter or digit): nothing that leaves a directory or that a URL would
         * read differently. */
        char name[128];
        int64_t count; /* 0 for what is no collection: profile, trace, cmdline, symbol */
    } * items;
    size_t n;
};

/*
 * Reads the page. Rows whose name or count makes no sense are left out, as are names that were there already
 * and everything behind INDEX_MAX_ENTRIES. ERR_NOT_FOUND if no row is left. The caller releases *ret.
 */
int index_parse(const void *p, size_t n, struct index_page *ret, struct err *err);
void index_release(struct index_page *page);

/* NULL if there is none of that name. */
const struct index_entry *index_find(const struct index_page *page, const char *name);

#endif
