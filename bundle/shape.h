/* Checks JSON from elsewhere against a table of keys and types. */
#ifndef BUNDLE_SHAPE_H
#define BUNDLE_SHAPE_H

#include <jansson.h>
#include <stdbool.h>

#include "base/base.h"

enum shape_type {
    SHAPE_TEXT,
    SHAPE_NAME,   /* a text that can be a directory's name */
    SHAPE_WORD,   /* a text of `words` */
    SHAPE_NUMBER, /* an integer */
    SHAPE_COUNT,  /* an integer from 0 to `most` */
    SHAPE_FLAG,
    SHAPE_OBJECT,  /* with the keys of `inside` */
    SHAPE_OBJECTS, /* a list of such objects */
    SHAPE_TEXTS,   /* a list of texts */
};

/* A key that an object may have; the last row of a table has none. Other keys may have any value. */
struct shape {
    const char *key;
    enum shape_type type;
    bool needed;
    const struct shape *inside;
    const char *const *words; /* the last is NULL */
    json_int_t most;          /* the largest number, or length of a list; 0: any */
};
#define SHAPES_END                                                                                           \
    {                                                                                                        \
        .key = NULL                                                                                          \
    }

/* ERR_FAILED names the place of a fault: `hosts[2].services[0].name`. Also checks that all text is printable
 * (text_is_visible). */
int shape_check(const json_t *object, const struct shape *table, struct err *err);

#endif
