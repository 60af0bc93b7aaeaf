/*
 * Shared by the parsers of the text forms, which Go's runtime writes with debug=1, and which older tools
 * wrote. A parser makes a profile, or reports that the text has another form.
 *
 * Source: google/pprof profile/legacy_profile.go.
 */
#ifndef PROTO_PROFILE_TEXT_H
#define PROTO_PROFILE_TEXT_H

#include "proto/profile_store.h"

/* The lines of a text. A line of 64 KiB or more ends the reading and sets `too_long`. */
struct lines {
    const char *p, *end;
    struct str text; /* the current line without its end; empty after the last */
    bool too_long;
};

bool lines_next(struct lines *l);
/* Checks that no line was too long. The error is google/pprof's message. */
int lines_check(const struct lines *l, struct err *err);

#define TEXT_MAX_GROUPS 8

struct text_pattern;

/* A text that is being parsed into a profile. */
struct text_reader {
    struct lines lines;
    struct profile *p;
    struct hash_index addresses; /* finds locations by address */
    uint32_t *stack;
    size_t depth, cap_stack;
    struct text_pattern **patterns;     /* N_PATTERNS; NULL: not compiled yet */
    struct str groups[TEXT_MAX_GROUPS]; /* the match of the last pattern, then each group */
    struct err *err;
};

/* The patterns for lines. proto/profile_text_match.c defines them. */
enum text_pattern_id {
    PATTERN_COUNT_START,
    PATTERN_COUNT,
    PATTERN_HEAP_HEADER,
    PATTERN_GROWTH_HEADER,
    PATTERN_FRAGMENTATION_HEADER,
    PATTERN_HEAP_SAMPLE,
    PATTERN_CONTENTION_SAMPLE,
    PATTERN_HEX,
    PATTERN_THREADZ_START,
    PATTERN_THREAD_START,
    PATTERN_PROC_MAPS,
    PATTERN_BRIEF_MAPS,
    PATTERN_LOG_INFO,
    PATTERN_LIBRARY,
    N_PATTERNS
};

/* Returns whether s contains the pattern; sets r->groups. Returns false if the match takes too many steps, or
 * with r->err if memory runs out. */
bool text_match(struct text_reader *r, enum text_pattern_id id, struct str s);
void text_match_release(struct text_reader *r);

/* Parse as Go's ParseInt and ParseUint do: base 0 uses the prefix (0x, 0o, 0b, 0). */
bool text_int(struct str s, unsigned base, int64_t *ret);
bool text_uint(struct str s, unsigned base, uint64_t *ret);

bool text_contains(struct str s, const char *part);
/* Returns whether the line has no data: it is empty or a comment. */
bool text_has_no_data(struct str line);
/* Returns whether the line is the heading of the memory map. */
bool text_is_maps_heading(struct str line);

enum text_result { TEXT_READ, TEXT_OTHER_FORM, TEXT_FAILED };

/* Adds a location to the current stack; `address` is the address of the call itself. */
int text_push_location(struct text_reader *r, uint64_t address);
/*
 * Adds a location for each hexadecimal number of s. A return address points after the call, so 1 is
 * subtracted. The first number, the innermost address, is a return address only if `all_return` is true.
 * Returns -1 if a number exceeds 64 bits; then r->err shows `line`.
 */
int text_push_addresses(struct text_reader *r, struct str s, bool all_return, struct str line);
/* Adds a sample with the current stack, and empties the stack. */
int text_add_sample(struct text_reader *r, const int64_t *values, const struct profile_label *label);
int text_add_type(struct text_reader *r, const char *type, const char *unit);
int text_set_period(struct text_reader *r, struct str type, const char *unit, int64_t period);

/* Reads the mappings after the samples, and assigns the locations to them. */
int text_read_maps(struct text_reader *r);
/* Assigns each location to the first mapping that contains its address. Extends a mapping, or adds one, for
 * locations outside all mappings. */
int text_assign_mappings(struct profile *p, struct err *err);

/* Sets drop_frames and keep_frames according to the kind of profile. */
int text_set_dropped_frames(struct profile *p, struct err *err);

enum text_result text_read_heap(struct text_reader *r);
enum text_result text_read_count(struct text_reader *r);
enum text_result text_read_thread(struct text_reader *r);
enum text_result text_read_contention(struct text_reader *r);

#endif
