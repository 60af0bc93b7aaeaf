/*
 * Finds literal strings of any bytes in a text, in any letter case and also inside words: the values of
 * requests that redact_words.h cannot split into words, such as `p4$w!x9`.
 *
 * The automaton of Aho and Corasick (1975) makes the time linear in the text for all strings.
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

/* Adds a string of up to REDACT_LITERAL_MAX bytes; ignores an empty or a longer string. `strong`: as in
 * redact_words.h. ERR_FAILED: the strings have more than 4 million different prefixes. */
#define REDACT_LITERAL_MAX 60000
int redact_literals_add(struct redact_literals *l, struct str text, bool strong, struct err *err);

/* Links the nodes: call this after the last redact_literals_add and before the first search. */
int redact_literals_link(struct redact_literals *l, struct err *err);

/*
 * A search of the text as it is, and with its escapes decoded (redact_escape.h). A match with escapes has at
 * most REDACT_ESCAPED_MAX decoded bytes. A longer match is cut at its beginning.
 */
enum { REDACT_ESCAPED_MAX = 512 };
struct redact_literal_cursor {
    size_t at;
    uint32_t node;
    size_t begin, end; /* the next match; begin == end: not found yet */
    size_t n_decoded;  /* bytes that were decoded so far; 0 for the text as it is */
};
struct redact_literal_search {
    const struct redact_literals *literals;
    struct str text;
    bool weak;                                   /* weak strings too */
    bool escapes;                                /* the text may contain escapes */
    size_t done;                                 /* the end of the last match */
    struct redact_literal_cursor plain, decoded; /* all 0 at the beginning */
    size_t begins[REDACT_ESCAPED_MAX];           /* where the last decoded bytes begin in the text */
};
void redact_literals_search(struct redact_literal_search *search, const struct redact_literals *literals,
                            struct str text, bool weak);

/* Finds the next match. Overlapping matches count as one. Returns false if there is none. */
bool redact_literals_next(struct redact_literal_search *search, size_t *ret_begin, size_t *ret_end);

#endif
