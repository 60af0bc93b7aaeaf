/* The files that are compared with each other: shared by builder_compare.c, builder_fleet.c and
 * builder_pairs.c. */
#ifndef PAGE_BUILDER_COMPARE_H
#define PAGE_BUILDER_COMPARE_H

#include "page/builder.h"

/* Target and baseline hosts, for one service and kind. */
struct page_comparison {
    const struct page_file *first; /* the first file of the target hosts */
    struct comparison profiles;
    size_t n_planned[2];     /* the number of files, by enum comparison_side */
    struct strlist hosts[2]; /* the hosts whose profiles are merged */
    char *names[2];          /* the names of these hosts, as one text */
    char *labels[2];         /* the same text, with the number of profiles that were left out */
};

/* Two snapshots of one kind. */
struct page_pair {
    const struct page_file *files[2]; /* the earlier one first, once both are read */
    size_t next;                      /* the number of the next pair of the same kind and argument; 0: none */
    const char *title;
    struct buf bytes[2]; /* compressed, to save memory */
    struct growth growth;
    bool usable; /* both were read */
};

/* The pairs of one process, kind and argument, as numbers from 1 on in the process; 0: none. */
struct page_pair_row {
    size_t incomplete; /* the first pair that lacks its second snapshot */
    size_t last;
};

/* A process with two snapshots. All kinds are compared together, because any of them may show a restart. */
struct page_process {
    struct page_pair *pairs;
    size_t n, cap;
    size_t n_unread; /* files not read yet */
    bool drawn;
};

/* Hosts of one service. */
struct page_fleet {
    const char *service;
    struct name_map planned; /* the names of the hosts */
    struct fleet hosts;
};

struct page_comparisons {
    struct page_comparison *comparisons;
    struct page_process *processes;
    struct page_fleet *fleets;
    struct page_pair_row *pair_rows;
    size_t n_comparisons, cap_comparisons, n_processes, cap_processes, n_fleets, cap_fleets;
    size_t n_pair_rows, cap_pair_rows;
    struct name_map numbers; /* by key: the number of the comparison, fleet, process or row, from 1 on */
};

/* The key of a comparison, fleet, process or row of pairs; a NULL word is the same as "". */
struct page_comparisons_key {
    char type; /* 'c' comparisons, 'f' fleets, 'p' processes, 'k' rows of pairs */
    const char *words[3];
};

/* Returns the number of a key. A new key gets the number `next`. */
int page_comparisons_find_number(struct page_comparisons *comparisons, const struct page_comparisons_key *key,
                                 size_t next, size_t *ret, struct err *err);

/* ---- builder_fleet.c ----------------------------------------------------------------------------------- */

/* Adds a file to the fleet of its service. The first file creates the fleet. */
int page_fleet_plan(struct page_comparisons *comparisons, struct page_file *file, struct err *err);
/* Adds a profile as it was read, or a growth, to the figures of its host. */
int page_fleet_add(struct page_builder *builder, const struct page_file *file, const struct profile *profile,
                   struct err *err);
/* Compares the hosts, and adds the findings on them. */
int page_fleet_finish(struct page_builder *builder, struct page_fleet *fleet, struct err *err);

/* ---- builder_pairs.c ----------------------------------------------------------------------------------- */

/* Adds a snapshot to the process that it shows. The first snapshot creates the process. Does nothing for
 * other files. */
int page_process_plan(struct page_builder *builder, struct page_file *file, struct err *err);
/* Draws the pairs of the process, once. */
int page_process_draw(struct page_builder *builder, struct page_process *process, struct err *err);
void page_process_release(struct page_process *process);

#endif
