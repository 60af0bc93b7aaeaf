/* The table of pprof's flags, which the shell has as commands and options. */
#ifndef CLI_PPROF_FLAGS_H
#define CLI_PPROF_FLAGS_H

#include "cli/pprof/pprof.h"

enum flag_kind { BOOL, INT, FLOAT, TEXT };
/* Where the usage has it. Those of GRANULARITY and SORT exclude each other. */
enum flag_group { FORMAT, OPTION, GRANULARITY, SORT, SOURCE, MISC, LEGACY };

struct pprof_flag {
    const char *name;
    enum flag_kind kind;
    enum flag_group group;
    size_t offset;     /* of OPTION and SOURCE: within struct pprof_options */
    const char *usual; /* without the flag */
    const char *help;
    const char *note; /* where it is not all that upstream does; NULL: it is */
};

/* The rows, those of FORMAT first and in the order of enum pprof_output; NULL behind the last. */
const struct pprof_flag *pprof_flag_at(size_t i);
/* By name; NULL: there is none. */
const struct pprof_flag *pprof_flag_find(const char *name, size_t n);

/* As Go reads a truth value (1, t, TRUE, ...): 0, or -1 if it is none. */
int pprof_read_bool(const char *s, bool *ret);
/* As Go reads a float: *ret, and NULL, or what is wrong ("parse error", "value out of range"). */
const char *pprof_read_float(const char *s, double *ret);

/* Has the report's order and granularity be what options->sort and options->granularity name. */
void pprof_apply_choices(struct pprof_options *options);

#endif
