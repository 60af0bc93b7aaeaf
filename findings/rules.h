/* The functions of the rules on profiles, and the helpers that several of them share. The table is in
 * rules.c.
 */
#ifndef FINDINGS_RULES_H
#define FINDINGS_RULES_H

#include "findings/findings.h"
#include "findings/sentence.h"
#include "findings/stats.h"
#include "findings/tally.h"

/* Returns the table, and the number of its rows. */
const struct finding_rule *rules_table(size_t *ret_n);

finding_rule_fn rule_cpu_hot, rule_cpu_spread, rule_cpu_idle, rule_cpu_share, rule_cpu_gc;
finding_rule_fn rule_heap_in_use, rule_heap_allocated, rule_delay;
finding_rule_fn rule_profilers_caused, rule_profilers_between;
finding_rule_fn rule_comparison_cpu, rule_comparison_alike, rule_comparison_heap, rule_comparison_allocated,
    rule_comparison_goroutines, rule_comparison_waits;
finding_rule_fn rule_growth_heap, rule_growth_held, rule_growth_allocated, rule_growth_waited, rule_restarted;
finding_rule_fn rule_host_differs, rule_host_exceeds;
finding_rule_fn rule_goroutines_leak, rule_goroutines_grown, rule_goroutines_locked, rule_goroutines_states;

/* ---- shared by several rules (rules_shared.c) ---------------------------------------------------------- */

/* Returns FINDING_TOPIC_BLOCK or FINDING_TOPIC_MUTEX by the subject's kind, because both have the same sample
 * types. FINDING_TOPIC_NONE: unknown. */
enum finding_topic rules_get_delay_topic(const struct finding_subject *s);
/* Writes " (mutex profile)" or the like into an argument, and sets `part` to keep the two kinds apart. */
void rules_name_delay(const struct finding_case *c, struct finding_values *finding, size_t argument);

/* Reports the profilers' part `caused` of `total`, whose name is `of` ("the CPU time"), if it reaches the
 * rule's percentage. `t` gives the heaviest profiler. {0} share, {1} of which total, {2} profiler. */
struct rules_profiling {
    const struct tally *t;
    int64_t caused, total;
    const char *of;
    int part;
};
int rules_add_profilers(struct finding_case *c, const struct finding_rule *rule,
                        const struct rules_profiling *how);

#endif
