/* Whole stacks with what each has itself, equal ones added up: what other people's tools draw. */
#ifndef REPORT_STACKS_H
#define REPORT_STACKS_H

#include "report/job.h"

struct stacks {
    struct job *job;
    struct graph g; /* a call tree */
    uint32_t *path; /* of the stack at hand, nodes from the root on */
    size_t n_path, cap_path;
    int64_t value;
};

/* Grows the tree. stacks_release is due whatever it says. */
int stacks_init(struct stacks *s, struct job *j);
void stacks_release(struct stacks *s);
/* Goes on to the next stack that has anything, of those that *at counts, from 0: 1; 0 if there is none, -1.
 * Sets path and value, which is divided by what the settings say. */
int stacks_next(struct stacks *s, size_t *at);

#endif
