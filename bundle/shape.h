/* Whether JSON from elsewhere has the shape that a table says. */
#ifndef BUNDLE_SHAPE_H
#define BUNDLE_SHAPE_H

#include <jansson.h>
#include <stdbool.h>

#include "base/base.h"

enum shape_type {
    SHAPE_TEXT,
    SHAPE_NAME,   /* a text that can be a directory's */
    SHAPE_WORD,   /* a text that is one of `words` */
    SHAPE_NUMBER, /* an integer */
    SHAPE_COUNT,  /* one of 0 and more, at most `most` */
    SHAPE_FLAG,
    SHAPE_OBJECT,  /* of `inside` */
    SHAPE_OBJECTS, /* a list of such */
    SHAPE_TEXTS,   /* a list of texts */
};

/* A key that an object may have; the last row of a table has none. Other keys may hold what they like. */
struct shape {
    const char *key;
    enum shape_type type;
    bool needed;
    const struct shape *inside;
    const char *const *words; /* the last is NULL */
    json_int_t most;          /* the largest number, the length of the longest list; 0: any */
};
#define SHAPES_END                                                                                           \
    {                                                                                                        \
        .key = NULL                                                                                          \
    }

/* ERR_FAILED says where it has another one: `hosts[2].services[0].name`. Besides, all text anywhere in it is
 * fit to be shown (text_is_visible). */
int shape_check(const json_t *object, const struct shape *table, struct err *err);

#endif
