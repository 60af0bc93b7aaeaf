/*
 * Regular expressions as Go's package regexp reads them, matched by PCRE2.
 *
 * A pattern is parsed as Go's (RE2's syntax; Go 1.26, regexp/syntax) and written anew for PCRE2, so that
 * nothing that PCRE2 alone understands gets through, and nothing means something else: lookaround,
 * backreferences, possessive repeats and the like are refused in Go's words. What is asked is only whether a
 * text matches, never where.
 *
 * PCRE2 may take long where RE2 does not, and the texts are a stranger's. Every expression therefore takes
 * its steps out of a budget, which those of one profile or report share. Once the budget is spent, nothing is
 * matched any more, which is an error and never "no match". The count depends on patterns and texts alone,
 * not on the machine.
 */
#ifndef REPORT_REGEX_H
#define REPORT_REGEX_H

#include "proto/proto.h"

/* Steps that are left. A step is one item of the pattern tried at one place of the text, and another one for
 * each 32 bytes of the text, which an item may run through. */
struct regex_budget {
    uint64_t left;
};
/* For what a profile itself brings (drop_frames), and for what its reader has asked for. Each has a part that
 * grows with the profile's strings (and, of what is asked for, labels), so that it suffices for ordinary
 * expressions over every name. 10 million steps take about a third of a second. */
struct regex_budget regex_budget_own(const struct profile *p);
struct regex_budget regex_budget_asked(const struct profile *p);

struct regex;

/* The budget is the caller's, and stays until regex_free. ERR_USAGE with Go's words ("error parsing regexp:
 * missing closing ): `a(`"). */
int regex_new(struct str pattern, struct regex_budget *budget, struct regex **ret, struct err *err);
void regex_free(struct regex *r);

/* Whether it matches somewhere in the text. False if it cannot be told: regex_check says so later. */
bool regex_matches(struct regex *r, struct str text);
/* The same of a string of a profile, which must always be the same one: each is only looked at once. */
bool regex_matches_string(struct regex *r, const struct profile *p, uint32_t index);

/* 0, or -1 if some text could not be matched for want of budget or memory. NULL is fine. */
int regex_check(const struct regex *r, struct err *err);

/* The expression as PCRE2 gets it, into an initialised buffer: what is left of the pattern's own meaning. */
int regex_translate(struct str pattern, struct buf *ret, struct err *err);

#endif
