/*
 * Regular expressions as Go's package regexp reads them, matched by PCRE2.
 *
 * A pattern is parsed as Go's (RE2's syntax; Go 1.26, regexp/syntax) and written anew for PCRE2, so that
 * nothing that PCRE2 alone understands gets through, and nothing means something else: lookaround,
 * backreferences, possessive repeats and the like are refused in Go's words. What is asked is only whether a
 * text matches, never where.
 *
 * PCRE2 may take long where RE2 does not: it gives up at a limit then, which is an error and never "no
 * match".
 */
#ifndef REPORT_REGEX_H
#define REPORT_REGEX_H

#include "proto/proto.h"

struct regex;

/* ERR_USAGE with Go's words ("error parsing regexp: missing closing ): `a(`"). */
int regex_new(struct str pattern, struct regex **ret, struct err *err);
void regex_free(struct regex *r);

/* Whether it matches somewhere in the text. False if it cannot be told: regex_check says so later. */
bool regex_matches(struct regex *r, struct str text);
/* The same of a string of a profile, which must always be the same one: each is only looked at once. */
bool regex_matches_string(struct regex *r, const struct profile *p, uint32_t index);

/* 0, or -1 if some text could not be matched. NULL is fine. */
int regex_check(const struct regex *r, struct err *err);

/* The expression as PCRE2 gets it, into an initialised buffer: what is left of the pattern's own meaning. */
int regex_translate(struct str pattern, struct buf *ret, struct err *err);

#endif
