/*
 * Dumps of goroutines, grouped by stack and state. Each group has its number of goroutines and their waiting
 * times.
 *
 * A dump is the response of /debug/pprof/goroutine in one of three forms: debug=2 (each goroutine with its
 * state), debug=1 (grouped by stack, with labels) or a profile. Any text, such as the log of a crashed
 * program, may precede a text dump. Two dumps are compared, the older one first.
 *
 * Goroutines with the same state, frames and creator are one group. Addresses and arguments are not part of a
 * frame. The runtime's frames at both ends of a stack (runtime.gopark, …; runtime.goexit, runtime.main) are
 * left out, as in debug=2. If two dumps have different forms, only frames are compared, because only
 * debug=2 has states and creators.
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
    struct str file_line; /* "/src/main.go:12"; empty if unknown */
};

/* One set of labels, as debug=1 prints it ({"key":"value", …}), and the number of the group's goroutines that
 * have it. */
struct goroutine_label_set {
    struct str text;
    uint64_t count;
    size_t next; /* the group's next label, or GOROUTINES_NONE */
};

#define GOROUTINES_NONE SIZE_MAX
/* The largest number of different sets of labels that a group stores. */
#define GOROUTINES_MAX_LABELS 16

/* Larger dumps are refused, so that the table has at most 200 MB. Go writes at most a hundred frames of a
 * goroutine into a text, and a few hundred into a profile. */
#define GOROUTINES_MAX_GROUPS 200000
#define GOROUTINES_MAX_FRAMES 1000000 /* of all groups */
#define GOROUTINES_MAX_DEPTH 65536    /* frames of one goroutine */

struct goroutine_group {
    struct str state;   /* "chan receive"; empty if the form has no states */
    size_t first_frame; /* index in `frames`; the innermost call is first */
    size_t n_frames;
    struct goroutine_frame creator; /* empty if unknown */
    uint64_t count[2];              /* in the older and in the newer dump; a single dump is the newer one */
    /* Waiting times in the newer dump, in whole minutes; 0: less than one minute, or unknown. */
    uint32_t wait_min, wait_median, wait_max;
    size_t first_label;   /* in the newer dump: index in `labels`, or GOROUTINES_NONE */
    uint64_t more_labels; /* goroutines whose labels are not stored */
};

struct goroutine_dump {
    enum goroutine_form form;
    uint64_t total; /* goroutines in groups */
    bool cut;       /* the dump ends early; its last goroutine is incomplete and not counted */
};

/* Groups are sorted by size, or by growth if there are two dumps, then by the longest wait. All members are
 * read-only. */
struct goroutines {
    struct goroutine_dump dumps[2];
    size_t n_dumps;
    struct goroutine_group *groups;
    size_t n_groups;
    struct goroutine_frame *frames;
    struct goroutine_label_set *labels;
    struct goroutines_store *store;
};

/* Returns the form of a dump; GOROUTINES_PROFILE for all bytes that are no text dump. */
enum goroutine_form goroutines_detect_form(struct str dump);

struct goroutines_input {
    const struct str *dumps;
    const char *const *names; /* of the dumps, for errors */
    size_t n;
    uint64_t max_bytes; /* of an inflated profile */
};
/*
 * Reads one or two dumps. The result has pointers into the bytes of the dumps. ERR_FAILED: an input is not a
 * dump of goroutines, is empty or is too large. ERR_UNSUPPORTED: an input is a profile of another kind. The
 * message names that input. Time and memory are proportional to the input.
 */
int goroutines_read(const struct goroutines_input *from, struct goroutines **ret, struct err *err);
void goroutines_free(struct goroutines *goroutines);

#endif
