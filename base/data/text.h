/* Text for people: makes untrusted text printable, parses numbers and durations, suggests names for a
 * mistyped name. */
#ifndef BASE_DATA_TEXT_H
#define BASE_DATA_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/data/err.h"

/*
 * Copies n bytes of remote text into dst (cap bytes, always terminated) as one line that is safe for a
 * terminal, a page or an issue. `?` replaces control characters, bytes that are not UTF-8, and Unicode
 * characters that reorder or hide text (bidirectional controls, zero-width characters, line and paragraph
 * separators). A run of white space becomes one blank; blanks at the ends are removed. A text that does not
 * fit ends in `...`. A second call with the same cap does not change the result. Returns dst.
 */
char *text_printable(char *dst, size_t cap, const char *src, size_t n);

/* Decodes the UTF-8 character at the beginning of n bytes, n > 0. Returns its length. If the character is
 * malformed (also overlong forms, surrogates and anything above U+10FFFF; RFC 3629), returns 0 and leaves
 * *ret unchanged. */
size_t text_decode(const char *s, size_t n, uint32_t *ret);

/* Returns the value of a hexadecimal digit, or -1. */
int text_hex_digit(char c);

/* Returns whether s is safe to show unchanged: UTF-8 without control characters and without characters that
 * reorder or hide text. */
bool text_is_visible(const char *s);

/* Returns whether s is a name for messages, paths and inventories: letters, digits, `.`, `_`, `-`, starting
 * with a letter or digit, 1 to 253 bytes, neither `.` nor `..`. */
bool text_is_name(const char *s);

bool text_ends_in(const char *s, const char *ending);

/* Returns the ending of the regular plural of `n` things: "" for one, else "s". */
const char *text_plural_s(uint64_t n);

/* Returns the length of the text before the first "; " or ": " at byte 16 or later; without either, the
 * length of the whole text. */
size_t text_first_clause_length(const char *s);

/* Parses a decimal number of at most `max` without sign or blanks. Returns -1 for other text and leaves *ret
 * unchanged. */
int text_to_uint(const char *s, uint64_t max, uint64_t *ret);

/*
 * Parses a duration into milliseconds: Go's form (`30s`, `1m30s`, `1.5h`, `250ms`), or a bare number of
 * seconds. Refuses microseconds, nanoseconds and anything over 24 hours.
 */
int text_to_duration(const char *s, int64_t *ret_ms, struct err *err);

/* Formats a duration (`1m30s`, `1.5s`, `250ms`) to a tenth of a second into dst. Returns dst. */
char *text_duration(char *dst, size_t cap, int64_t ms);

/* Parses a size in bytes: a number, optionally with kB, MB, GB (powers of 1000), KiB, MiB or GiB. Returns -1
 * for other text. */
int text_to_bytes(const char *s, uint64_t *ret);

/* Formats a byte count (`512 B`, `1.4 kB`, `33.0 MB`, decimal units) into dst. Returns dst. */
char *text_bytes(char *dst, size_t cap, uint64_t bytes);

/*
 * The three names nearest to the mistyped name `wanted`. The distance is the number of insertions, deletions,
 * substitutions and swaps of neighbours (optimal string alignment distance). Names that differ in more than a
 * third of their characters are ignored, unless they begin with `wanted`.
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

/* Adds a candidate. `name` must stay valid while the struct is in use. */
void nearest_add(struct nearest *near, const char *name);

/* Writes `"a", "b" or "c"` into dst, nearest first, or "" if no candidate is near. Returns dst. */
char *nearest_text(const struct nearest *near, char *dst, size_t cap);

/* Returns the next entry of a text with one entry per line, or NULL. Skips empty lines and comments (#).
 * Removes leading blanks, and everything from a carriage return on. Moves *rest to the next line and modifies
 * the text. Adds the number of lines read, skipped ones too, to *line_number. */
char *text_next_entry(char **rest, size_t *line_number);

#endif
