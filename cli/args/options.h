/*
 * Options. Each command declares its own in a table, which the parser and the help read.
 */
#ifndef CLI_ARGS_OPTIONS_H
#define CLI_ARGS_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/base.h"

enum option_type {
    OPTION_FLAG,          /* bool */
    OPTION_TEXT,          /* const char *, points into argv; if repeated, the last value counts */
    OPTION_TEXT_OPTIONAL, /* as OPTION_TEXT, but the value stands only after `=`; without it, the value is ""
                           */
    OPTION_TEXT_ONCE, /* as OPTION_TEXT, but an error if repeated, because the user may mean either value */
    OPTION_LIST,      /* struct strlist, entries between commas, repeatable */
    OPTION_NUMBER,    /* unsigned, at least 1, at most `max` */
    OPTION_COUNT,     /* as OPTION_NUMBER, but 0 is valid too */
    OPTION_DURATION,  /* int64_t milliseconds, more than 0 */
    OPTION_BYTES,     /* uint64_t, more than 0 */
};

struct option {
    const char *name; /* long, without dashes */
    char letter;      /* 0: none */
    enum option_type type;
    const char *argument; /* the value's name in the help; NULL for a flag */
    const char *help;
    size_t offset; /* of the member that receives the value, in the command's struct */
    unsigned max;  /* for OPTION_NUMBER and OPTION_COUNT */
};

/* A table ends with a row without a name. */
#define OPTIONS_END                                                                                          \
    {                                                                                                        \
        .name = NULL                                                                                         \
    }

/* The words of a command line, without the command's name. */
struct arguments {
    int n;
    char **words;
};

/*
 * Parses the options among the arguments into the command's struct `values`, and adds the other words to
 * `rest`. `--` ends the options. ERR_USAGE: an unknown option or a wrong value; the hint names the nearest
 * option.
 */
int options_parse(const struct option *table, const struct arguments *arguments, void *values,
                  struct strlist *rest, struct err *err);

#endif
