/* The functions of the rules on profiles, and their shared helpers. The table is in rules.c. */
#ifndef FINDINGS_RULES_H
#define FINDINGS_RULES_H

#include "findings/findings.h"
#include "findings/sentence.h"
#include "findings/stats.h"
#include "findings/tally.h"

/* Returns the table and the number of its rows. */
const struct finding_rule *rules_table(size_t *ret_n);

finding_rule_fn rule_cpu_hot, rule_cpu_spread, rule_cpu_idle, rule_cpu_share, rule_cpu_gc;
finding_rule_fn rule_heap_in_use, rule_heap_allocated, rule_delay;
finding_rule_fn rule_profilers_caused, rule_profilers_between;
finding_rule_fn rule_comparison_cpu, rule_comparison_alike, rule_comparison_heap, rule_comparison_allocated,
    rule_comparison_goroutines, rule_comparison_waits;
finding_rule_fn rule_heap_growth, rule_heap_between, rule_growth_allocated, rule_growth_waited,
    rule_restarted;
finding_rule_fn rule_host_share_differs, rule_host_figure_differs;
finding_rule_fn rule_goroutines_leak, rule_goroutines_grown, rule_goroutines_locked, rule_goroutines_states;

/* ---- shared by several rules (rules_shared.c) ---------------------------------------------------------- */

/* Returns FINDING_TOPIC_BLOCK or FINDING_TOPIC_MUTEX by the kind or the file name of the subject, because
 * both profiles have the same sample types; FINDING_TOPIC_NONE if unknown. */
enum finding_topic rules_get_delay_topic(const struct finding_subject *s);
/* Writes " (mutex profile)", " (block profile)" or "" into the argument with number `argument`, and sets
 * `duplicate_key` to the topic. */
void rules_write_profile_name(const struct finding_case *c, struct finding_values *finding, size_t argument);

/* The part of a total that the profilers caused. */
struct profiler_cost {
    const struct tally *tally; /* the finding names its heaviest profiler */
    int64_t caused, total;
    const char *total_name; /* "the CPU time" */
    int duplicate_key;
};
/* Adds a finding if `caused` reaches the rule's percentage of `total`. */
int rules_add_profiler_cost(struct finding_case *c, const struct finding_rule *rule,
                            const struct profiler_cost *cost);

#endif
