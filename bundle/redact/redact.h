/*
 * Redaction rules for the copy of a bundle made for a hand-off: secrets on command lines, and values of
 * labels.
 *
 * Command lines: the value of an option or a variable whose name means a secret (`--password=...`, `--api-key
 * ...`, `DB_PASSWORD=...`, `Authorization: ...`); the value of `-p`, unless it is a port; a long random value
 * of a name that may mean a secret (`--key=...`, `auth=...`); a password in a URL or before an @; every
 * string in the form of a well-known token (`ghp_...`, `glpat-...`, a JWT). A name that ends in file, path or
 * dir means the place of a secret, not the secret. The rules miss secrets of other forms.
 *
 * Labels: the rules check their keys, not their values, in profiles and in the text of goroutine dumps.
 */
#ifndef BUNDLE_REDACT_REDACT_H
#define BUNDLE_REDACT_REDACT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"

#define REDACTED "[redacted]"

enum redact_rule {
    REDACT_OPTION, /* the value of a name that means a secret */
    REDACT_URL,    /* a password before an @ */
    REDACT_TOKEN,  /* a string in the form of a well-known token */
    REDACT_LABEL,
    REDACT_REPEAT,  /* a word that was redacted in a string of the manifest */
    REDACT_NAME,    /* the name of a member */
    REDACT_UNKNOWN, /* data that no rule can parse: unknown fields of a profile, and the headers of gzip */
    REDACT_RULES
};
const char *redact_rule_name(enum redact_rule rule);

/* Whether a name means a secret. REDACT_MAYBE: only if the value looks random. REDACT_PLURAL: only if the
 * value is text, because a number counts secrets (`tokens=7`). */
enum redact_secrecy { REDACT_HARMLESS, REDACT_MAYBE, REDACT_PLURAL, REDACT_SECRET };

/* The number of matches of each rule. */
struct redact_tally {
    uint64_t n[REDACT_RULES];
};
uint64_t redact_sum(const struct redact_tally *t);

/* The destination of redacted text. `out` is NULL to count only. `on_match` (may be NULL) receives each value
 * that a rule matches; `learned` (may be NULL): words to redact in the text around these values. */
struct redact_learned;
typedef void redact_match_fn(void *ctx, struct str value);
struct redact_output {
    struct buf *out;
    struct redact_tally *tally;
    redact_match_fn *on_match;
    void *ctx;
    const struct redact_learned *learned;
    bool request; /* the text is a request: its path may contain a secret */
};

/* Redacts one string or one line: a server's text, a request, a string of a manifest. */
void redact_text(struct str text, const struct redact_output *into);

/* Redacts a command line, arguments with a NUL between or after them, into `ret`. */
void redact_cmdline(const void *p, size_t n, struct buf *ret, struct redact_tally *tally);

/* Works like redact_cmdline, with all members of `into`; the output is into->out. */
void redact_arguments(const void *p, size_t n, const struct redact_output *into);

/* Returns whether to redact the values of labels with this key: whether the key is a known one for people and
 * secrets (user, email, token, session, ...), or matches one of the globs in `more` (may be NULL). Ignores
 * case. */
bool redact_is_secret_label(const struct strlist *more, const char *key, size_t n);

/*
 * Redacts the values of secret labels in the text of a goroutine dump, in pieces of any size, with lines of
 * any length. If the text ends inside a value, redacts the beginning of that value. Uses no memory but the
 * struct.
 */
#define REDACT_KEY_MAX 255 /* no person writes a longer key: its value is redacted */
struct redact_dump {
    const struct strlist *more; /* as in redact_is_secret_label */
    struct redact_tally *tally;
    unsigned state;
    size_t n; /* bytes read of the line's beginning, or of the key */
    char key[REDACT_KEY_MAX];
    bool escaped, is_secret;
};
#define REDACT_DUMP_INIT(labels, counts)                                                                     \
    {                                                                                                        \
        .more = (labels), .tally = (counts)                                                                  \
    }
void redact_dump(struct redact_dump *d, const char *p, size_t n, struct buf *ret);

/* The format that a member is searched as. A dump is any text: it is searched for labels as in goroutine
 * dumps, and line by line with the rules of redact_text. In a profile these rules search each string. */
enum redact_form { REDACT_NOTHING, REDACT_CMDLINE, REDACT_PROFILE, REDACT_DUMP };

/*
 * Reads the member from the descriptor `from`, from its beginning, and writes the redacted member to `to`. No
 * other code may use the offset of `from`. If no rule matches, the caller must ignore the output.
 *
 * ERR_FAILED: the member has another format, or is too large, with the reason: a command line of more than 4
 * MiB, a gzip'ed text that inflates to more than 256 MiB, a profile that inflates to more than 4 GiB or has a
 * field of more than 16 MiB. Other kinds of errors are local: no memory, a full disk, those of stop_check.
 *
 * The time is linear in the bytes of any input; memory is bounded.
 */
struct redact_work {
    enum redact_form form;
    const struct strlist *labels;         /* more labels to redact, as in redact_is_secret_label */
    const struct redact_learned *learned; /* more words to redact; NULL: none */
    int from, to;
    const struct stop *stop;
};
int redact_member(const struct redact_work *work, struct redact_tally *tally, struct err *err);

#endif
