/*
 * The text forms of profiles, as Go's runtime writes them with debug=1 and older tools did: what their
 * parsers share. Each makes a profile, or says that the text is of another form.
 *
 * Source: google/pprof profile/legacy_profile.go.
 */
#ifndef PROTO_PROFILE_TEXT_H
#define PROTO_PROFILE_TEXT_H

#include "proto/profile_store.h"

/* The lines of a text. One of 64 KiB or more ends it: `too_long`. */
struct lines {
    const char *p, *end;
    struct str text; /* the line in hand, without its end; empty behind the last */
    bool too_long;
};

bool lines_next(struct lines *l);
/* Whether all lines that there were could be read; else what google/pprof says. */
int lines_check(const struct lines *l, struct err *err);

#define TEXT_MAX_GROUPS 8

struct text_pattern;

/* A text being read into a profile. */
struct text_reader {
    struct lines lines;
    struct profile *p;
    struct finder addresses; /* of the locations */
    uint32_t *stack;
    size_t depth, cap_stack;
    struct text_pattern **patterns;     /* N_PATTERNS, those compiled so far */
    struct str groups[TEXT_MAX_GROUPS]; /* what the last pattern matched: whole, then each group */
    struct err *err;
};

/* What a line is matched against; profile_text_match.c has them. */
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

/* Whether it is found in s: r->groups tell where. What takes too many steps is not found. */
bool text_match(struct text_reader *r, enum text_pattern_id id, struct str s);
void text_match_release(struct text_reader *r);

/* Go's ParseInt and ParseUint: base 0 looks at the prefix (0x, 0o, 0b, 0). */
bool text_int(struct str s, unsigned base, int64_t *ret);
bool text_uint(struct str s, unsigned base, uint64_t *ret);

bool text_contains(struct str s, const char *part);
/* Whether the line says nothing. */
bool text_is_comment(struct str line);
bool text_is_maps_sentinel(struct str line);

enum text_result { TEXT_READ, TEXT_OTHER_FORM, TEXT_FAILED };

/* Adds a location at the top of the stack in hand; `address` is that of the call itself. */
int text_push(struct text_reader *r, uint64_t address);
/*
 * The hexadecimal numbers of s. Return addresses point behind the call: one less is in it. The innermost is
 * one too with `all_return`. -1 with err if a number has more than 64 bits.
 */
int text_push_all(struct text_reader *r, struct str s, bool all_return, struct str line);
/* Adds a sample with the stack in hand, and empties that. */
int text_add_sample(struct text_reader *r, const int64_t *values, const struct profile_label *label);
int text_add_type(struct text_reader *r, const char *type, const char *unit);
int text_set_period(struct text_reader *r, struct str type, const char *unit, int64_t period);

/* What stands behind the samples: the mappings, which locations are then put into. */
int text_read_maps(struct text_reader *r);

/* Which frames are of no interest, by what the profile counts. */
int text_add_frame_info(struct profile *p, struct err *err);

enum text_result text_read_heap(struct text_reader *r);
enum text_result text_read_count(struct text_reader *r);
enum text_result text_read_thread(struct text_reader *r);
enum text_result text_read_contention(struct text_reader *r);

#endif
