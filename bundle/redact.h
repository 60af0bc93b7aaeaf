/*
 * What is taken out of the copy of a bundle that is handed off: secrets on command lines, and values of
 * labels.
 *
 * Command lines: the value of an option or a variable whose name says that it is a secret (`--password=…`,
 * `--api-key …`, `DB_PASSWORD=…`, `Authorization: …`); the value of `-p`, unless it is a port; a long random
 * value of one whose name may say so (`--key=…`, `auth=…`); a password in a URL or before an @; anything that
 * has the form of a well-known token (`ghp_…`, `glpat-…`, a JWT). A name that ends in file, path or dir names
 * the place of a secret, not the secret. This is a net with holes: what looks like nothing is not found.
 *
 * Labels: their keys are looked at, never their values. In profiles and in the text of goroutine dumps.
 */
#ifndef BUNDLE_REDACT_H
#define BUNDLE_REDACT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"
#include "bundle/stop.h"

#define REDACTED "[redacted]"

enum redact_rule {
    REDACT_OPTION, /* the value of a name that says it is a secret */
    REDACT_URL,    /* a password before an @ */
    REDACT_TOKEN,  /* the form of a well-known token */
    REDACT_LABEL,
    REDACT_REPEAT,  /* a word that went from a string of the manifest */
    REDACT_NAME,    /* the name of a member */
    REDACT_UNKNOWN, /* what no rule can read: unknown fields of a profile, and the headers of gzip */
    REDACT_RULES
};
const char *redact_rule_name(enum redact_rule rule);

/* How sure a name is. */
enum redact_name { REDACT_HARMLESS, REDACT_MAYBE, REDACT_SECRET };

/* How often each rule has struck. */
struct redact_tally {
    uint64_t n[REDACT_RULES];
};
uint64_t redact_sum(const struct redact_tally *t);

/* Where redacted text goes; NULL: it is only counted. `taken` (may be NULL) gets each value that a rule took;
 * `repeats` (may be NULL): words that go too, from the text around these values. */
struct redact_repeats;
typedef void redact_taken_fn(void *ctx, struct str value);
struct redact_into {
    struct buf *out;
    struct redact_tally *tally;
    redact_taken_fn *taken;
    void *ctx;
    const struct redact_repeats *repeats;
    bool request; /* the text is a request: a part of its path may be a secret */
};

/* One string or one line: what a server said, a request, a string of a manifest. */
void redact_text(struct str text, const struct redact_into *into);

/* What a line says of the values in the next ones: `name: DB_PASSWORD` of the `value:` below, a cell of a
 * table of the one behind it. */
struct redact_context {
    enum redact_name pair, cell;
    unsigned lines; /* since then */
};

/* A text in pieces of any size, searched line by line. Of a longer line each part is searched by itself, so
 * that a secret may be missed that stands where it is cut. */
#define REDACT_LINE_MAX (256u << 10)
struct redact_lines {
    struct buf line;    /* that has not ended */
    unsigned key_lines; /* how many more lines may belong to the body of a private key */
    struct redact_context said;
};
#define REDACT_LINES_INIT                                                                                    \
    {                                                                                                        \
        .line = BUF_INIT(REDACT_LINE_MAX)                                                                    \
    }
void redact_lines_add(struct redact_lines *l, struct str text, const struct redact_into *into);
void redact_lines_end(struct redact_lines *l, const struct redact_into *into);

/* A command line: arguments with a NUL between them (or at the end of each), into `ret`. */
void redact_cmdline(const void *p, size_t n, struct buf *ret, struct redact_tally *tally);

/* The same into into->out, with all that `into` has. */
void redact_arguments(const void *p, size_t n, const struct redact_into *into);

/* Whether the values of labels with that key go: a key of those that are known to name people and secrets
 * (user, email, token, session, ...), or one of `more`, globs; letters' case does not count. `more` may be
 * NULL. */
bool redact_wants_label(const struct strlist *more, const char *key, size_t n);

/*
 * The text of a goroutine dump, in pieces of any size: lines may be as long as they like. Of a value whose
 * end is missing, since the text was cut, all that is there goes. Memory: the struct.
 */
#define REDACT_KEY_MAX 255 /* a longer key is none that a person has written: its value goes */
struct redact_dump {
    const struct strlist *more; /* as redact_wants_label has it */
    struct redact_tally *tally;
    unsigned state;
    size_t n; /* of the line's beginning, or of the key */
    char key[REDACT_KEY_MAX];
    bool escaped, goes;
};
#define REDACT_DUMP_INIT(labels, counts)                                                                     \
    {                                                                                                        \
        .more = (labels), .tally = (counts)                                                                  \
    }
void redact_dump(struct redact_dump *d, const char *p, size_t n, struct buf *ret);

/* What a member is looked at as. A dump is any text: labels as goroutine dumps have them, and the rules of
 * redact_text line by line. Of a profile these rules search each string. */
enum redact_form { REDACT_NOTHING, REDACT_CMDLINE, REDACT_PROFILE, REDACT_DUMP };

/*
 * Writes the member in `from` (open, at its beginning, nobody else's) to `to`, redacted. With nothing found
 * what was written, if anything, is of no use.
 *
 * ERR_FAILED: it is not what it is said to be, or larger than what can be looked at, and the message says
 * why: a command line of more than 4 MiB, a profile that inflates to more than 4 GiB or has a field of more
 * than 16 MiB. Every other kind is ours: no memory, no room, those of stop_check.
 *
 * The time grows with the bytes, whatever they are; memory is bounded.
 */
struct redact_work {
    enum redact_form form;
    const struct strlist *labels;
    const struct redact_repeats *repeats; /* words that go too; NULL: none */
    int from, to;
    const struct stop *stop;
};
int redact_member(const struct redact_work *work, struct redact_tally *tally, struct err *err);

#endif
