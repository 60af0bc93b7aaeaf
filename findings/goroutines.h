/*
 * Dumps of goroutines, grouped by stack and state, with the number and the waits of each group.
 *
 * A dump is the response of /debug/pprof/goroutine with debug=2 (each goroutine with its state), debug=1
 * (grouped by stack, with labels) or as a profile. Any text may precede a text dump, such as the log of a
 * crashed program. Two dumps are compared, the older one first.
 *
 * Goroutines with the same state, frames and creator are one group. Addresses and arguments are not part of a
 * frame. Frames of the runtime below the program's own (runtime.gopark, …) and above them (runtime.goexit,
 * runtime.main) are left out, as debug=2 does. If the two dumps have different forms, only frames are
 * compared, because only debug=2 has states and creators.
 *
 * Source: runtime/traceback.go (goroutineheader, printcreatedby), runtime/pprof/pprof.go (printCountProfile).
 */
#ifndef FINDINGS_GOROUTINES_H
#define FINDINGS_GOROUTINES_H

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
    struct str place; /* "/src/main.go:12"; empty if unknown */
};

/* The labels of a group's goroutines, as debug=1 prints them: {"key":"value", …}. */
struct goroutine_label {
    struct str text;
    uint64_t count;
    size_t next; /* the group's next label, or GOROUTINES_NONE */
};

#define GOROUTINES_NONE SIZE_MAX
/* A group stores at most this many different labels. */
#define GOROUTINES_LABELS 16

/* Larger dumps are refused, to limit the memory of the table to 200 MB. Go writes at most a hundred frames of
 * a goroutine into a text and a few hundred into a profile. */
#define GOROUTINES_MAX_GROUPS 200000
#define GOROUTINES_MAX_FRAMES 1000000 /* of all groups */
#define GOROUTINES_MAX_DEPTH 65536    /* frames of one goroutine */

struct goroutine_group {
    struct str state; /* "chan receive"; empty if the form has no states */
    size_t frame_at;  /* frames[frame_at] and the next n_frames - 1, the innermost call first */
    size_t n_frames;
    struct goroutine_frame creator; /* no function: unknown */
    uint64_t count[2]; /* in the first and in the second dump; a single dump counts as the second */
    /* Waiting times in the last dump, in whole minutes; 0: less than one minute, or unknown. */
    uint32_t wait_min, wait_median, wait_max;
    size_t first_label;   /* in the last dump; GOROUTINES_NONE: none */
    uint64_t more_labels; /* goroutines whose labels exceed GOROUTINES_LABELS */
};

struct goroutine_dump {
    enum goroutine_form form;
    uint64_t total; /* goroutines in groups */
    bool cut;       /* the dump is incomplete; its last, incomplete goroutine is not counted */
};

/* Groups are sorted: for one dump the largest first, for two the largest growth first; then the longest wait.
 * All members are read-only. */
struct goroutines {
    struct goroutine_dump dumps[2];
    size_t n_dumps;
    struct goroutine_group *groups;
    size_t n_groups;
    struct goroutine_frame *frames;
    struct goroutine_label *labels;
    struct goroutines_store *store;
};

/* Returns the form of these bytes by their beginning; GOROUTINES_PROFILE for any bytes that are no text dump.
 */
enum goroutine_form goroutines_form(struct str dump);

/*
 * Reads one dump or two. The bytes must stay valid as long as the result. A profile may inflate to max_bytes.
 * ERR_FAILED: the named dump is no dump of goroutines, empty or too large. ERR_UNSUPPORTED: it is a profile
 * of another kind. Time and memory grow with the input.
 */
struct goroutines_input {
    const struct str *dumps;
    const char *const *names; /* of the dumps, for errors */
    size_t n;
    uint64_t max_bytes;
};
int goroutines_read(const struct goroutines_input *from, struct goroutines **ret, struct err *err);
void goroutines_free(struct goroutines *g);

#endif
