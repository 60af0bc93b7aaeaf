/* What the readers of dumps hand to the table of groups. */
#ifndef REPORT_GOROUTINES_INSIDE_H
#define REPORT_GOROUTINES_INSIDE_H

#include "proto/proto.h"
#include "report/goroutines.h"

/* The goroutine being read. Its frames are gathered in one array that is used again. */
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
    size_t cap_groups, n_frames, cap_frames, n_labels, cap_labels;
    struct finder by_place; /* the groups */
    struct goroutine_wait *waits;
    size_t n_waits, cap_waits;
    struct profile *profiles[2];
    bool frames_only;
};

/* Begins a goroutine, or as many as `count` that are alike. */
void goroutine_begin(struct goroutines *g, uint64_t count);
int goroutine_add_frame(struct goroutines *g, struct goroutine_frame frame, struct err *err);
/* Puts the current one into its group of this dump. */
int goroutine_end(struct goroutines *g, size_t dump, struct err *err);

/* The form of a dump; anything that is no text of goroutines is taken for a profile. */
enum goroutine_form goroutines_form(struct str dump);
int goroutines_read_stacks(struct goroutines *g, size_t dump, struct str text, struct err *err);
int goroutines_read_grouped(struct goroutines *g, size_t dump, struct str text, struct err *err);
int goroutines_read_profile(struct goroutines *g, size_t dump, struct str bytes, uint64_t max_bytes,
                            struct err *err);

#endif
