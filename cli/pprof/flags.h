/* The table of pprof's flags. In the shell they are commands and options. */
#ifndef CLI_PPROF_FLAGS_H
#define CLI_PPROF_FLAGS_H

#include "cli/pprof/pprof.h"

enum flag_type {
    BOOL,
    INT,
    FLOAT,
    TEXT,
    TEXTS, /* may be repeated */
};
/* The section of the usage that lists a flag. At most one flag of GRANULARITY may be set, and at most one of
 * SORT. */
enum flag_group { FORMAT, OPTION, GRANULARITY, SORT, SOURCE, MISC, LEGACY };

struct pprof_flag {
    const char *name;
    enum flag_type type;
    enum flag_group group;
    /* The offset of the value: in struct pprof_options if the group is OPTION, else in struct values of
     * flags.c. */
    size_t offset;
    const char *default_value;
    const char *help;
    const char *note; /* what differs from upstream; NULL: nothing */
};

/* Returns row i, or NULL after the last. Rows of FORMAT are first, in the order of enum pprof_output. */
const struct pprof_flag *pprof_flag_at(size_t i);
/* Returns the row of the flag whose name is these n bytes, or NULL. */
const struct pprof_flag *pprof_flag_find(const char *name, size_t n);

/* Parses a boolean as Go does (1, t, TRUE, ...). Returns -1 for any other text. */
int pprof_read_bool(const char *s, bool *ret);
/* Parses a float as Go does. Returns NULL on success, or the error ("parse error", "value out of range"). */
const char *pprof_read_float(const char *s, double *ret);

/* Sets options->report.cum and .granularity from options->sort and options->granularity. */
void pprof_apply_choices(struct pprof_options *options);

#endif
