/*
 * What the user asked for, word by word (`cpu=30s`, `goroutines=text`, `incident`, `/debug/vars`): read
 * before anything is opened, so that a slip costs nothing.
 */
#ifndef FETCH_WANTED_H
#define FETCH_WANTED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"
#include "fetch/fetch.h"
#include "fetch/kind.h"

enum wanted_form {
    FORM_BARE,
    FORM_PROTO,
    FORM_TEXT,    /* `text` */
    FORM_GROUPED, /* `grouped` of goroutines */
    FORM_GC,
    FORM_DELTA,
};

struct wanted {
    const struct kind *kind; /* NULL: a profile of the index by its name, or a raw path */
    char name[256];          /* as the user wrote it, without the argument; a raw path begins with a slash */
    char argument[32];       /* as the user wrote it; empty for none */
    enum wanted_form form;
    int64_t timed_ms; /* how long the server takes by design; 0 for a snapshot */
};

struct wanted_list {
    struct wanted *items; /* each once, in the user's order */
    size_t n;
    size_t cap;
    bool all; /* every snapshot of the index too, then cpu */
};

/* Reads words (sets expanded); none at all means the set `default`. ERR_USAGE says what is wrong with which.
 */
int wanted_parse(const struct strlist *words, struct wanted_list *ret, struct err *err);
void wanted_release(struct wanted_list *l);

/* Whether the snapshot can be one of a pair. */
bool wanted_pairs(const struct wanted *w);

/* Whether text or a trace is among it, which shrink to a fraction when they are compressed; profiles are
 * compressed by themselves. */
bool wanted_shrinks(const struct wanted_list *l);

#endif
