/*
 * Findings: the few sentences that an expert would write about profiles. Each finding has its figure, its
 * file and the function to look at. One table of rules (rules.c) gives each rule's evidence, threshold,
 * sentence, function to look at and source. docs/reading.md is made from this table.
 *
 * A share is above its threshold only if it still is after subtracting two standard errors, so a handful of
 * samples proves nothing.
 *
 * Sentences name functions, files, hosts and services, all made printable, but never labels' values or
 * command lines.
 */
#ifndef FINDINGS_FINDINGS_H
#define FINDINGS_FINDINGS_H

#include "proto/proto.h"
#include "findings/goroutines.h"
#include "findings/growth.h"
#include "findings/fleet.h"
#include "findings/comparison.h"
#include "findings/rule.h"

/* The most findings that findings_finish leaves. */
#define FINDINGS_MAX 8

/* Adds the findings on a profile; none for an unknown kind. Use findings_add_goroutines for dumps. Memory
 * grows with the number of functions, time with a few walks over the samples. */
int findings_add_profile(struct findings *w, const struct profile *p, const struct finding_subject *subject,
                         struct err *err);
/* Adds the findings on a dump of goroutines, or on two dumps of one process, the older one first. */
int findings_add_goroutines(struct findings *w, const struct goroutines *g,
                            const struct finding_subject *subject, struct err *err);

/* Adds the differences between two sides; nothing if there is only one side. */
int findings_add_comparison(struct findings *w, const struct comparison *s,
                            const struct finding_subject *subject, struct err *err);
/* findings_add_growth adds what has grown in a process and its activity meanwhile. findings_add_restart adds
 * that the process was restarted, and the evidence `why`. */
int findings_add_growth(struct findings *w, const struct growth *g, const struct finding_subject *subject,
                        struct err *err);
int findings_add_restart(struct findings *w, const char *why, const struct finding_subject *subject,
                         struct err *err);
/* Adds the hosts that differ from their group. Call fleet_compare first. */
int findings_add_fleet(struct findings *w, const struct fleet *h, const struct finding_subject *subject,
                       struct err *err);

/* Returns the input of the figure of the rule with that id; FINDING_FROM_ONE for an unknown id. */
enum finding_input findings_input_of(const char *id);

/*
 * Sorts the list: suspects first, the heaviest first; then CPU, memory and waiting. At most FINDINGS_MAX
 * findings stay. The heaviest of each other rule takes precedence over a fifth suspect. The same finding on
 * the same function of several hosts becomes one sentence. If there are several hosts or services, each
 * sentence names its own. Call it once, at the end.
 */
int findings_finish(struct findings *w, struct err *err);

/* Returns rule i of the table, or NULL after the last. */
const struct finding_rule *findings_rule(size_t i);

#endif
