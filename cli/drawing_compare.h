/* What drawing_compare.c and drawing_pairs.c share: what belongs together, while it is read. */
#ifndef CLI_DRAWING_COMPARE_H
#define CLI_DRAWING_COMPARE_H

#include "cli/drawing_inside.h"

/* Sick and healthy hosts, of one service and kind. */
struct compared_sides {
    const struct drawing_file *first; /* of the sick */
    struct sides sides;
    size_t planned[2];
    struct strlist hosts[2];  /* whose are in it */
    char *names[2], *told[2]; /* who they are; the same with how many are missing */
};

/* One kind's two snapshots. */
struct compared_pair {
    const struct drawing_file *of[2]; /* in the order in which they were taken, once they are read */
    const char *title;
    struct buf bytes[2]; /* as they were collected, so that little is held */
    struct growth growth;
    bool usable; /* both could be read */
};

/* A process of which there are two snapshots: compared when all of them are there, since one kind may tell
 * that it was restarted. */
struct compared_process {
    struct compared_pair *pairs;
    size_t n, cap;
    size_t missing; /* files still to come */
    bool drawn;
};

/* Hosts of one service. */
struct compared_group {
    const char *service;
    json_t *planned; /* the hosts' names, as keys */
    struct peers hosts;
};

struct comparing {
    struct compared_sides *sides;
    struct compared_process *processes;
    struct compared_group *groups;
    size_t n_sides, cap_sides, n_processes, cap_processes, n_groups, cap_groups;
    json_t *numbers; /* of those, from 1 on, by what they have in common */
};

/* What something has in common with others; NULL is the same as "". */
struct comparing_key {
    char of; /* 's' sides, 'g' groups, 'p' processes */
    const char *words[3];
};

/* The number that stands for them; a new one is `next`. */
int comparing_number(struct comparing *c, const struct comparing_key *key, size_t next, size_t *ret,
                     struct err *err);

/* ---- drawing_pairs.c -------------------------------------------------------------------------------------
 */

int compared_process_plan(struct drawing *d, struct drawing_file *f, struct err *err);
/* Draws what is there of it, once. */
int compared_process_draw(struct drawing *d, struct compared_process *p, struct err *err);
void compared_process_release(struct compared_process *p);

#endif
