/* The interface between the readers of dumps and the table of groups. */
#ifndef FINDINGS_GOROUTINES_INTERNAL_H
#define FINDINGS_GOROUTINES_INTERNAL_H

#include "proto/proto.h"
#include "findings/goroutines.h"

/* The goroutine that is being read. */
struct goroutine {
    struct str state;
    uint32_t wait; /* minutes */
    struct goroutine_frame *frames;
    size_t n_frames, cap_frames;
    struct goroutine_frame creator;
    struct str labels;
    uint64_t count;
};

struct goroutines_store {
    struct goroutine current;
    size_t cap_groups, n_frames, cap_frames, n_labels, cap_labels; /* of the arrays in struct goroutines */
    struct hash_index by_stack;                                    /* finds groups */
    struct goroutine_wait *waits;
    size_t n_waits, cap_waits;
    struct profile *profiles[2];
    bool frames_only; /* states and creators are not compared */
};

/* Begins a goroutine, or `count` equal goroutines. */
void goroutine_begin(struct goroutines *goroutines, uint64_t count);
int goroutine_add_frame(struct goroutines *goroutines, struct goroutine_frame frame, struct err *err);
/* Adds the current goroutine to its group of this dump. */
int goroutine_end(struct goroutines *goroutines, size_t dump, struct err *err);

/* Creates an empty table. Free it with goroutines_free. */
struct goroutines *goroutines_new(struct err *err);
/* Sorts the groups. Call it once, after all goroutines. */
int goroutines_finish(struct goroutines *goroutines, struct err *err);

/* Read the three forms of a dump. */
int goroutines_read_stacks(struct goroutines *goroutines, size_t dump, struct str text, struct err *err);
int goroutines_read_grouped(struct goroutines *goroutines, size_t dump, struct str text, struct err *err);
int goroutines_read_profile(struct goroutines *goroutines, size_t dump, struct str bytes, uint64_t max_bytes,
                            struct err *err);

#endif
