/*
 * Finds literal strings of any bytes in a text, in any letter case and also inside of words: the values of
 * requests that redact_words.h cannot split into words, such as `p4$w!x9`.
 *
 * An automaton of Aho and Corasick (1975), so that the time is linear in the text, whatever the strings are.
 */
#ifndef BUNDLE_REDACT_REDACT_LITERALS_H
#define BUNDLE_REDACT_REDACT_LITERALS_H

#include "base/base.h"

/* All 0: no strings. */
struct redact_literals {
    struct redact_literal_node *nodes; /* the first is the root; NULL: no strings */
    size_t n, cap;
    struct finder edges; /* node number + 1, by its parent and its byte */
    bool first[256];     /* first bytes of strings, in lower case */
};

void redact_literals_release(struct redact_literals *l);

/* Adds a string of up to REDACT_LITERAL_MOST bytes; ignores an empty or a longer one. `strong`: as in
 * redact_words.h. ERR_FAILED: the strings have more than 4 million different prefixes. */
#define REDACT_LITERAL_MOST 60000
int redact_literals_add(struct redact_literals *l, struct str text, bool strong, struct err *err);

/* Links the nodes: call this after the last redact_literals_add and before the first search. */
int redact_literals_link(struct redact_literals *l, struct err *err);

/* A search; `at` and `node` begin as 0. */
struct redact_literal_search {
    const struct redact_literals *literals;
    struct str text;
    bool weak; /* weak strings too */
    size_t at;
    uint32_t node;
};

/* Finds the next place of strings, overlapping ones as one place; false: there is none. */
bool redact_literals_next(struct redact_literal_search *search, size_t *ret_begin, size_t *ret_end);

#endif
