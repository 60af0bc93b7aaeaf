/*
 * Dumps of goroutines, grouped: which stacks there are, in which state, how many stand there and for how
 * long.
 *
 * A dump is what /debug/pprof/goroutine gives with debug=2 (each goroutine with its state), debug=1 (grouped
 * by stack, with labels) or as a profile; in front of a text anything may stand, such as what a crashed
 * program said before. Two dumps are compared: the older one first.
 *
 * Two goroutines are in one group if they have the same state, the same frames and the same creator.
 * Addresses and the words of arguments are no part of a frame, so that all who do the same are together.
 * Frames of the runtime below the program's own (runtime.gopark, …) and above it (runtime.goexit,
 * runtime.main) are left out as debug=2 does. If two dumps have different forms only frames are compared,
 * since only debug=2 has the rest.
 *
 * Source: runtime/traceback.go (goroutineheader, printcreatedby), runtime/pprof/pprof.go (printCountProfile).
 */
#ifndef REPORT_GOROUTINES_H
#define REPORT_GOROUTINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"

enum goroutine_form {
    GOROUTINES_STACKS,  /* debug=2 */
    GOROUTINES_GROUPED, /* debug=1 */
    GOROUTINES_PROFILE, /* profile.proto */
};

struct goroutine_frame {
    struct str function;
    struct str place; /* "/src/main.go:12"; empty if it is not known */
};

/* What goroutines of a group are labelled with, as debug=1 has it: {"key":"value", …}. */
struct goroutine_label {
    struct str text;
    uint64_t count;
    size_t next; /* of the group's, or GOROUTINES_NONE */
};

#define GOROUTINES_NONE SIZE_MAX
/* The most different labels that a group keeps. */
#define GOROUTINES_LABELS 16

/* A dump beyond these is refused: what it would take is memory for the table alone, up to 200 MB. Go writes
 * at most a hundred frames of a goroutine into a text and a few hundred into a profile. */
#define GOROUTINES_MAX_GROUPS 200000
#define GOROUTINES_MAX_FRAMES 1000000 /* of all groups */
#define GOROUTINES_MAX_DEPTH 65536    /* frames of one goroutine */

struct goroutine_group {
    struct str state; /* "chan receive"; empty where the form does not say it */
    size_t frame_at;  /* frames[frame_at] and the following, the innermost call first */
    size_t n_frames;
    struct goroutine_frame creator; /* no function: not known */
    uint64_t count[2];              /* before and now; of one dump alone, before is 0 */
    /* Of the last dump, in whole minutes as the runtime says them; 0: less than one, or not said. */
    uint32_t wait_min, wait_median, wait_max;
    size_t first_label;   /* of the last dump; GOROUTINES_NONE: there are none */
    uint64_t more_labels; /* goroutines whose labels are not kept */
};

struct goroutine_dump {
    enum goroutine_form form;
    uint64_t total; /* goroutines in groups */
    bool cut;       /* it breaks off; the goroutine in which it does is not counted */
};

/* The groups come in an order for reading: of one dump the largest first, of two those that grew most; then
 * those that wait longest. Everything is read only. */
struct goroutines {
    struct goroutine_dump dumps[2];
    size_t n_dumps;
    struct goroutine_group *groups;
    size_t n_groups;
    struct goroutine_frame *frames;
    struct goroutine_label *labels;
    struct goroutines_store *store;
};

/*
 * Reads one dump or two. The bytes must stay as they are for as long as the result lives. At most max_bytes
 * of a profile inflated. ERR_FAILED says which of the names is no dump of goroutines, empty, or too large;
 * ERR_UNSUPPORTED which is a profile of another kind.
 * Takes time and memory in proportion to what it reads.
 */
int goroutines_read(const struct str *dumps, const char *const *names, size_t n, uint64_t max_bytes,
                    struct goroutines **ret, struct err *err);
void goroutines_free(struct goroutines *g);

#endif
