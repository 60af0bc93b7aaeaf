/*
 * Findings: the few sentences that an expert would write about profiles. Each finding gives a number, the
 * file that it comes from, and a function to look at. The table of rules (rules.c) gives each rule's
 * evidence, threshold, sentence, function to look at and source. docs/reading.md prints this table.
 *
 * A suspect's share of samples must exceed the threshold by two standard errors, so that a few samples give
 * no finding.
 *
 * Sentences name functions, files, hosts and services, always in printable form. They never contain values of
 * labels or command lines.
 */
#ifndef FINDINGS_FINDINGS_H
#define FINDINGS_FINDINGS_H

#include "proto/proto.h"
#include "findings/goroutines.h"
#include "findings/growth.h"
#include "findings/fleet.h"
#include "findings/comparison.h"
#include "findings/rule.h"

/* The largest number of findings after findings_finish. */
#define FINDINGS_MAX 8

/* Adds the findings on a profile; none for an unknown kind. Use findings_add_goroutines for dumps. Memory is
 * proportional to the number of functions, time to the number of frames. */
int findings_add_profile(struct findings *findings, const struct profile *profile,
                         const struct finding_subject *subject, struct err *err);
/* Adds the findings on a dump of goroutines, or on two dumps of one process, the older one first. */
int findings_add_goroutines(struct findings *findings, const struct goroutines *goroutines,
                            const struct finding_subject *subject, struct err *err);

/* Adds the findings on the differences between two sides; none if one side is empty. */
int findings_add_comparison(struct findings *findings, const struct comparison *comparison,
                            const struct finding_subject *subject, struct err *err);
/* Adds the findings on the growth between two snapshots. */
int findings_add_growth(struct findings *findings, const struct growth *growth,
                        const struct finding_subject *subject, struct err *err);
/* Adds the finding that the process was restarted between two snapshots. */
int findings_add_restart(struct findings *findings, const char *evidence,
                         const struct finding_subject *subject, struct err *err);
/* Adds the findings on hosts that differ from their group. Call fleet_compare first. */
int findings_add_fleet(struct findings *findings, const struct fleet *fleet,
                       const struct finding_subject *subject, struct err *err);

/* Returns the rule with that id, or NULL if `id` is NULL or unknown. */
const struct finding_rule *findings_find_rule(const char *id);

/*
 * Sorts the list: suspects by weight, then the facts (all other findings) in the order of the table. Drops
 * duplicates (see finding.duplicate_key). Merges findings of one rule on the same function of several
 * services. If there are several services, each sentence begins with the service, and with the host unless
 * the sentence names the host already. Call it once, at the end.
 *
 * While more than FINDINGS_MAX findings remain, drops one: first a fact that is not the heaviest of its rule;
 * then the last fact, if more than four facts remain or there is no suspect; then the lightest suspect.
 */
int findings_finish(struct findings *findings, struct err *err);

/* Returns rule i of the table, or NULL after the last. */
const struct finding_rule *findings_rule(size_t i);

#endif
