/*
 * Words that redaction took out of one string and that go from all others: servers and file names repeat
 * them.
 *
 * A strong word looks like nothing but a secret: it goes from every string and every member. A weak one may
 * be an ordinary word (`?token=abcde`): it goes from the manifest, and from the text of a member whose
 * request held a secret. Letters' case does not count. Words that bundles are full of (`true`, `heap`) are
 * not learned.
 */
#ifndef BUNDLE_REDACT_WORDS_H
#define BUNDLE_REDACT_WORDS_H

#include "base/base.h"
#include "bundle/redact.h"

struct redact_words {
    struct buf text;        /* of all words, in lower case, one behind the other */
    struct redact_word *of; /* by number */
    size_t cap;
    struct finder finder;
    uint64_t seed;
    bool first[256]; /* bytes that words begin with */
    size_t longest;  /* of all words, in bytes */
};
struct redact_word {
    uint32_t at, n; /* in the text */
    bool strong;
};

int redact_words_init(struct redact_words *w, struct err *err);
void redact_words_release(struct redact_words *w);

/* Learns the words of a value that went. Of a request's value each word counts that is long or has a digit,
 * and the whole of it from three bytes on; of another value each word of letters and digits. */
int redact_words_learn(struct redact_words *w, struct str value, bool of_request, struct err *err);

/* Whether all of `run` is a word, weak or strong. */
bool redact_words_has(const struct redact_words *w, struct str run);

/* Adds the text to `ret` (NULL: it is only counted) with each word replaced, and counts these in *ret_n.
 * The time grows with the text. */
struct redact_repeats {
    const struct redact_words *words;
    bool weak; /* weak ones too */
};
void redact_words_apply(const struct redact_repeats *which, struct str text, struct buf *ret,
                        uint64_t *ret_n);

#endif
