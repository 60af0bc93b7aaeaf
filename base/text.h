/* Words from and for people: making hostile text printable, reading numbers and durations, nearest names. */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/*
 * Copies n bytes of remote text into dst (cap bytes, always terminated), on one line and fit for a terminal,
 * a page or an issue: control characters and bytes that are not UTF-8 become `?`, runs of white space one
 * blank, blanks at the ends go, and the Unicode characters that reorder or hide text (bidirectional controls,
 * zero-width, line and paragraph separators) become `?` too. Text too long ends in `...`; what came of it
 * stays as it is when it is made fit again, with the same room. Returns dst.
 */
char *text_printable(char *dst, size_t cap, const char *src, size_t n);

/* Whether all of s can be shown as it is: UTF-8 without control characters and without those that reorder or
 * hide text. */
bool text_is_visible(const char *s);

/* Whether s is a name we print, use in paths and accept in inventories: letters, digits, `.`, `_`, `-`,
 * beginning with a letter or digit, 1 to 253 bytes, and neither `.` nor `..`. */
bool text_is_name(const char *s);

bool text_ends_in(const char *s, const char *ending);

/* The length of what stands in front of the first "; " or ": " that leaves 16 bytes or more; without one, of
 * all. */
size_t text_first_clause(const char *s);

/* A decimal number without sign or blanks, at most `max`. -1 if s is none; *ret is then untouched. */
int text_to_uint(const char *s, uint64_t max, uint64_t *ret);

/*
 * A duration in milliseconds: Go's form (`30s`, `1m30s`, `1.5h`, `250ms`), or a bare number of seconds.
 * Microseconds and nanoseconds are refused, as is anything over 24 hours.
 */
int text_to_duration(const char *s, int64_t *ret_ms, struct err *err);

/*
 * Writes a duration for people (`1m30s`, `1.5s`, `250ms`), to a tenth of a second, into dst, returns dst.
 */
char *text_duration(char *dst, size_t cap, int64_t ms);

/* A size in bytes: a number, with kB, MB or GB (powers of 1000) or KiB, MiB or GiB behind it where wanted. */
int text_to_bytes(const char *s, uint64_t *ret);

/* Writes a byte count for people (`512 B`, `1.4 kB`, `33.0 MB`, decimal units) into dst, returns dst. */
char *text_bytes(char *dst, size_t cap, uint64_t bytes);

/*
 * Of the candidates offered one after the other, keeps the few nearest to `wanted` (optimal string alignment:
 * insertions, deletions, substitutions, swapped neighbours), as long as they are near enough to be a slip.
 */
struct nearest {
    const char *wanted;
    struct {
        const char *name;
        size_t distance;
    } best[3];
    size_t n;
};
#define NEAREST_INIT(name)                                                                                   \
    {                                                                                                        \
        .wanted = (name)                                                                                     \
    }
/* `name` must stay valid as long as the struct is used. */
void nearest_offer(struct nearest *near, const char *name);
/* Writes `"a", "b" or "c"` into dst, nearest first, and returns it; "" when none was near. */
char *nearest_text(const struct nearest *near, char *dst, size_t cap);

/* The next line of a text in which lines are entries: neither empty nor a comment (#), without what a DOS
 * editor puts at its end, or blanks in front. *rest is what is left of the text, which is changed; *number
 * counts all lines. NULL: there is none. */
char *text_next_entry(char **rest, size_t *number);

#endif
