/*
 * Finds literal strings of any bytes in a text, in any letter case and also inside words: the values of
 * requests, and words that can only be a secret. Also finds the beginning of a string at a place where
 * profgrab cut the text.
 *
 * The search uses the automaton of Aho and Corasick (1975): its time is linear in the text, however many
 * strings there are.
 */
#ifndef BUNDLE_REDACT_REDACT_LITERALS_H
#define BUNDLE_REDACT_REDACT_LITERALS_H

#include "base/base.h"

/* All 0: no strings. */
struct redact_literals {
    struct redact_literal_node *nodes; /* the first is the root; NULL: no strings */
    size_t n, cap;
    size_t longest;          /* the length of the longest string */
    struct hash_index edges; /* node number - 1, by its parent and its byte */
    bool first_bytes[256];   /* first bytes of strings, in lower case */
};

void redact_literals_release(struct redact_literals *l);

/* When to find a string: only at a cut, also in a search with `weak`, or in every search (redact_words.h). */
enum redact_literal_kind { REDACT_LITERAL_AT_CUTS, REDACT_LITERAL_WEAK, REDACT_LITERAL_STRONG };

/* Adds a string of up to REDACT_LITERAL_MAX bytes; ignores an empty or a longer string. ERR_FAILED: the
 * strings have more than 500,000 different prefixes. */
#define REDACT_LITERAL_MAX 60000
int redact_literals_add(struct redact_literals *l, struct str text, enum redact_literal_kind kind,
                        struct err *err);

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
    size_t n_read;     /* bytes that were read so far, decoded */
    struct {
        size_t n_read; /* n_read and the node before the last byte that may begin a cut escape */
        uint32_t node;
    } escape;
};
struct redact_literal_search {
    const struct redact_literals *literals;
    struct str text;
    bool weak;                                   /* weak strings too */
    bool cuts;                                   /* beginnings of strings at cuts too */
    bool escapes;                                /* the text may contain escapes */
    size_t done;                                 /* the end of the last match */
    struct redact_literal_cursor plain, decoded; /* all 0 at the beginning */
    size_t begins[REDACT_ESCAPED_MAX];           /* where the last decoded bytes begin in the text */
};
void redact_literals_search(struct redact_literal_search *search, const struct redact_literals *literals,
                            struct str text, bool weak);

/*
 * Makes the search also find the beginning of a string, before `...` and at the end of a text that is long
 * enough to have been cut: profgrab cuts long messages. A beginning has at least six bytes, or four if no
 * letter or digit precedes it. Call this right after redact_literals_search.
 */
void redact_literals_search_cuts(struct redact_literal_search *search);

/* Finds the next match. Overlapping matches count as one. Returns false if there is none. */
bool redact_literals_next(struct redact_literal_search *search, size_t *ret_begin, size_t *ret_end);

#endif
