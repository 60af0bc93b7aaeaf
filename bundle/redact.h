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

#define REDACTED "[redacted]"

enum redact_rule {
    REDACT_OPTION, /* the value of a name that says it is a secret */
    REDACT_URL,    /* a password before an @ */
    REDACT_TOKEN,  /* the form of a well-known token */
    REDACT_LABEL,
    REDACT_RULES
};
const char *redact_rule_name(enum redact_rule rule);

/* How often each rule has struck. */
struct redact_tally {
    uint64_t n[REDACT_RULES];
};
uint64_t redact_sum(const struct redact_tally *t);

/* A command line: arguments with a NUL between them (or at the end of each), into `ret`. */
void redact_cmdline(const void *p, size_t n, struct buf *ret, struct redact_tally *tally);

/* Whether the values of labels with that key go: a key of those that are known to name people and secrets
 * (user, email, token, session, ...), or one of `more`, globs; letters' case does not count. `more` may be
 * NULL. */
bool redact_wants_label(const struct strlist *more, const char *key, size_t n);

/* One line of a goroutine dump, with or without its end. */
void redact_dump_line(const char *p, size_t n, const struct strlist *more, struct buf *ret,
                      struct redact_tally *tally);

/* What of a member is looked at. */
enum redact_form { REDACT_NOTHING, REDACT_CMDLINE, REDACT_PROFILE, REDACT_DUMP };

/*
 * Writes the member in `from` (open, at its beginning) to `to`, redacted. A profile may inflate to 256 MiB, a
 * command line may have 4 MiB and a line of a dump 1 MiB: more is an error, since it could not be looked at.
 * With nothing found what was written is of no use.
 */
struct redact_work {
    enum redact_form form;
    const struct strlist *labels;
    int from, to;
};
int redact_member(const struct redact_work *work, struct redact_tally *tally, struct err *err);

#endif
