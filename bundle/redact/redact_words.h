/*
 * Words that were redacted in one string and are redacted in all others: servers and file names repeat them.
 *
 * A strong word can only be a secret: it is redacted in every string and every member. A weak one may be an
 * ordinary word (`?token=abcde`): it is redacted in the manifest, and in the text of a member whose request
 * contained a secret. Case does not matter. Frequent words of bundles (`true`, `heap`) are not learned.
 *
 * A value of a request with other bytes than those of words (`p4$w!x9`) is learned whole: as it is, decoded,
 * and escaped as servers repeat it.
 *
 * These values, strong words, and whole values of a request with six bytes or more are literals
 * (redact_literals.h): they are redacted inside longer words too. Other words are redacted only as parts of
 * `a.b-c`.
 */
#ifndef BUNDLE_REDACT_REDACT_WORDS_H
#define BUNDLE_REDACT_REDACT_WORDS_H

#include "base/base.h"
#include "bundle/redact/redact.h"
#include "bundle/redact/redact_literals.h"

struct redact_words {
    struct buf text;           /* all words, in lower case, concatenated */
    struct redact_word *items; /* by number */
    size_t cap;
    struct hash_index index;
    uint64_t seed;
    bool first_bytes[256]; /* first bytes of words */
    size_t longest;        /* the length of the longest word */
    struct redact_literals literals;
};
struct redact_word {
    uint32_t at, n; /* position and length in `text` */
    bool strong;
};

int redact_words_init(struct redact_words *w, struct err *err);
void redact_words_release(struct redact_words *w);

/* Learns the words of a redacted value. In a request's value: each word that is long or has a digit, and the
 * whole value if it has three bytes or more. In other values: each word that has both letters and digits. */
int redact_words_learn(struct redact_words *w, struct str value, bool of_request, struct err *err);

/* Prepares the search for literals. Call it after words were learned and before the next search. */
int redact_words_prepare(struct redact_words *w, struct err *err);

/* The learned words, and which of them to replace. */
struct redact_learned {
    const struct redact_words *words;
    bool weak;          /* replace weak words too */
    bool literals_only; /* only literals */
};

/* Adds the text to `ret` (NULL: only counts) with each word replaced, and counts the words in *ret_n. Also
 * replaces the beginning of a word at a place where profgrab cut the text. The time is linear in the text. */
void redact_words_apply(const struct redact_learned *learned, struct str text, struct buf *ret,
                        uint64_t *ret_n);

/* Works like redact_words_apply, without literals and cuts: the caller has searched for them. */
void redact_words_apply_words(const struct redact_learned *learned, struct str text, struct buf *ret,
                              uint64_t *ret_n);

/* Begins a search for literals. */
static inline void redact_words_search(const struct redact_learned *learned, struct str text,
                                       struct redact_literal_search *search)
{
    redact_literals_search(search, &learned->words->literals, text, learned->weak);
}

#endif
