/*
 * The cost of parsers: each runs on the worst inputs of its grammar, at n, 2n and 4n bytes.
 *
 * The table of parsers has the bytes of memory that each may take for a byte of input. Twice the input may
 * take at most COST_MAX_GROWTH times the processor time.
 */
#ifndef TESTS_COST_COST_H
#define TESTS_COST_COST_H

#include <stddef.h>
#include <stdint.h>

#include "base/base.h"

#define COST_MAX_GROWTH 2.6

/* An input of about n bytes: `head`, then `unit` as often as it fits, then `tail`. A byte 1 in `unit`
 * stands for the unit's number, in hexadecimal. `make`, if it is set, writes the input instead. */
struct cost_grammar {
    const char *name;
    const char *head, *unit, *tail;
    void (*make)(struct buf *to, size_t n);
    /* Growth counts only for runs of at least this many milliseconds, because another limit of profgrab
     * bounds the work of shorter runs, or because a quadratic step is a small part of them; 0: COST_MIN_MS.
     */
    unsigned min_ms;
};

/* A parser. `run` parses the n bytes once, and frees all memory; its result is ignored.
 * The byte at p[n] is 0. */
struct cost_parser {
    const char *name;
    void (*run)(const char *p, size_t n);
    const struct cost_grammar *grammars; /* the last one has no name */
    double max_memory;                   /* bytes for each byte of an input of 1 MB */
    size_t max_bytes;                    /* the largest input, at 4n; 0: COST_MAX_BYTES */
};

#define COST_MAX_BYTES ((size_t)4 << 20)
/* A run of n bytes takes at least this long, so that the clock's resolution and a parser's setup do not
 * affect the result. */
#define COST_MIN_MS 1

/* Each table ends with a row without a name. */
extern const struct cost_parser cost_text_parsers[];
extern const struct cost_parser cost_json_parsers[];
extern const struct cost_parser cost_ssh_parsers[];
extern const struct cost_parser cost_profile_parsers[];
extern const struct cost_parser cost_archive_parsers[];
extern const struct cost_parser cost_binary_parsers[];
extern const struct cost_parser cost_answer_parsers[];
/* Slow and memory-hungry parsers that the runner must fail. */
extern const struct cost_parser cost_broken_parsers[];

#endif
