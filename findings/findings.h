/*
 * Findings: the few sentences that an expert would write about profiles. Each finding has its figure, its
 * file and the function to look at. One table of rules (rules.c) gives each rule's evidence, threshold,
 * sentence, function to look at and source. docs/reading.md is made from this table.
 *
 * A share exceeds its threshold only if the share minus two standard errors exceeds it. Thus a few samples
 * give no finding.
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

/* The largest number of findings after findings_finish. */
#define FINDINGS_MAX 8

/* Adds the findings on a profile; none for an unknown kind. Use findings_add_goroutines for dumps. Memory is
 * proportional to the number of functions, time to the number of frames. */
int findings_add_profile(struct findings *w, const struct profile *p, const struct finding_subject *subject,
                         struct err *err);
/* Adds the findings on a dump of goroutines, or on two dumps of one process, the older one first. */
int findings_add_goroutines(struct findings *w, const struct goroutines *g,
                            const struct finding_subject *subject, struct err *err);

/* Adds the differences between two sides; nothing if there is only one side. */
int findings_add_comparison(struct findings *w, const struct comparison *s,
                            const struct finding_subject *subject, struct err *err);
/* findings_add_growth adds the findings on growth between two snapshots. findings_add_restart adds the
 * finding that the process was restarted, with the evidence `why`. */
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
 * findings stay. The heaviest finding of each other rule takes precedence over a fifth suspect. Equal
 * findings on the same function of several hosts become one sentence. If there are several hosts or services,
 * each sentence begins with its host or service. Call it once, at the end.
 */
int findings_finish(struct findings *w, struct err *err);

/* Returns rule i of the table, or NULL after the last. */
const struct finding_rule *findings_rule(size_t i);

#endif
