/*
 * The user's request, word by word (`cpu=30s`, `goroutines=text`, `incident`, `/debug/vars`): parsed before
 * the first connection, so that a mistake costs nothing.
 */
#ifndef FETCH_REQUEST_H
#define FETCH_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"
#include "fetch/fetch.h"

enum request_form {
    FORM_BARE, /* without an argument */
    FORM_PROTO,
    FORM_TEXT,    /* `text` */
    FORM_GROUPED, /* `grouped` of goroutines */
    FORM_GC,
    FORM_DELTA,
};

struct request {
    const struct kind *kind; /* NULL: the name of a profile in the index, or a raw path */
    char name[256];          /* as the user wrote it, without the argument; a raw path begins with a slash */
    char argument[32];       /* as the user wrote it; empty for none */
    enum request_form form;
    int64_t timed_ms; /* the duration of the profile; 0: a snapshot */
};

/* A list is compared with itself, once for each service: a stranger's work directory may ask for a million.
 */
enum { REQUESTS_MAX = 100 };

struct request_list {
    struct request *items; /* each once, in the user's order; at most REQUESTS_MAX */
    size_t n;
    size_t cap;
    bool all; /* adds every snapshot of the index, then cpu */
};

/* Parses words and expands sets; an empty list means the set `default`. ERR_USAGE names the wrong word, or
 * that the words have more than REQUESTS_MAX requests. */
int request_parse(const struct strlist *words, struct request_list *ret, struct err *err);
void request_release(struct request_list *l);

/* Returns whether the item is a snapshot that can be one of a pair. */
bool request_can_pair(const struct request *r);

/* Returns whether the list contains text or a trace, which compress well; profiles are compressed already. */
bool request_is_compressible(const struct request_list *l);

#endif
