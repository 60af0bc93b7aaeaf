/* What builder_compare.c, builder_fleet.c and builder_pairs.c share: what belongs together, while it is read.
 */
#ifndef PAGE_BUILDER_COMPARE_H
#define PAGE_BUILDER_COMPARE_H

#include "page/builder.h"

/* Sick and healthy hosts, of one service and kind. */
struct page_comparison {
    const struct page_file *first; /* of the sick */
    struct comparison sides;
    size_t planned[2];
    struct strlist hosts[2];  /* whose are in it */
    char *names[2], *told[2]; /* who they are; the same with how many are missing */
};

/* One kind's two snapshots. */
struct page_pair {
    const struct page_file *of[2]; /* in the order in which they were taken, once they are read */
    const char *title;
    struct buf bytes[2]; /* as they were collected, so that little is held */
    struct growth growth;
    bool usable; /* both could be read */
};

/* A process of which there are two snapshots: compared when all of them are there, since one kind may tell
 * that it was restarted. */
struct page_process {
    struct page_pair *pairs;
    size_t n, cap;
    size_t missing; /* files still to come */
    bool drawn;
};

/* Hosts of one service. */
struct page_fleet {
    const char *service;
    json_t *planned; /* the hosts' names, as keys */
    struct fleet hosts;
};

struct page_comparisons {
    struct page_comparison *sides;
    struct page_process *processes;
    struct page_fleet *groups;
    size_t n_sides, cap_sides, n_processes, cap_processes, n_groups, cap_groups;
    json_t *numbers; /* of those, from 1 on, by what they have in common */
};

/* What something has in common with others; NULL is the same as "". */
struct page_comparisons_key {
    char of; /* 's' sides, 'g' groups, 'p' processes */
    const char *words[3];
};

/* The number that stands for them; a new one is `next`. */
int page_comparisons_number(struct page_comparisons *c, const struct page_comparisons_key *key, size_t next,
                            size_t *ret, struct err *err);

/* ---- builder_fleet.c -------------------------------------------------------------------------------------
 */

int page_fleet_plan(struct page_comparisons *c, struct page_file *f, struct err *err);
/* Adds a profile as it was read, or a growth, to the figures of its host. */
int page_fleet_add(struct page_builder *d, const struct page_file *f, const struct profile *p,
                   struct err *err);
/* Compares the hosts, and adds the findings on them. */
int page_fleet_finish(struct page_builder *d, struct page_fleet *g, struct err *err);

/* ---- builder_pairs.c -------------------------------------------------------------------------------------
 */

int page_process_plan(struct page_builder *d, struct page_file *f, struct err *err);
/* Draws what is there of it, once. */
int page_process_draw(struct page_builder *d, struct page_process *p, struct err *err);
void page_process_release(struct page_process *p);

#endif
