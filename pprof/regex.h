/*
 * Regular expressions in the syntax of Go's package regexp, matched by PCRE2.
 *
 * A pattern is parsed by Go's rules (RE2's syntax; Go 1.26, regexp/syntax) and rewritten for PCRE2. Syntax
 * that only PCRE2 has (lookaround, backreferences, possessive repeats) is refused with Go's error, so that no
 * pattern changes its meaning. regex_matches reports only whether there is a match, not where.
 *
 * PCRE2 may take long where RE2 does not, and the texts are untrusted. Therefore every match subtracts its
 * steps from a budget, which all expressions of a profile or report share. After the budget is spent, every
 * match fails with an error, never with "no match". The count depends only on patterns and texts, not on the
 * machine.
 */
#ifndef PPROF_REGEX_H
#define PPROF_REGEX_H

#include "proto/proto.h"

/* The steps left. Each attempt of PCRE2 to match one item of the pattern at one position of the text costs
 * one step, and one more for each 32 bytes of the text, because an item may scan the text. An expression that
 * is too large for counting costs an estimate. Only pprof/regex.c can create or change a budget. */
struct regex_budget;
/* Return the budget for the expressions in a profile (drop_frames, keep_frames), and the budget for the
 * user's expressions. Each grows with the profile's strings, and the user's budget also with the
 * profile's labels, so that it suffices for ordinary expressions over every name. 10 million steps take about
 * a third of a second. NULL: out of memory. */
struct regex_budget *regex_budget_for_profile(const struct profile *p);
struct regex_budget *regex_budget_for_user(const struct profile *p);
/* For tests only (tools/check-calls): a budget of any size. */
struct regex_budget *regex_budget_new(uint64_t steps);
uint64_t regex_budget_left(const struct regex_budget *b);
void regex_budget_free(struct regex_budget *b);

struct regex;

/* Compiles a pattern. The caller keeps the budget until regex_free. If the budget is NULL, fails as if
 * memory were exhausted. An invalid pattern is ERR_USAGE with Go's text ("error parsing regexp: missing
 * closing ): `a(`"). */
int regex_new(struct str pattern, struct regex_budget *budget, struct regex **ret, struct err *err);
void regex_free(struct regex *r);

/* Returns whether the text has a match. Returns false after a failure, which regex_check reports. */
bool regex_matches(struct regex *r, struct str text);
/* Works like regex_matches for a string of a profile, and caches the result. Always pass the same profile. */
bool regex_matches_string(struct regex *r, const struct profile *p, uint32_t index);

/* Returns -1 with the error if the budget or memory was used up in any match, else 0. Accepts NULL. */
int regex_check(const struct regex *r, struct err *err);

/* Writes the expression for PCRE2 into an initialised buffer. */
int regex_translate(struct str pattern, struct buf *ret, struct err *err);

#endif
