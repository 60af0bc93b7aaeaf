/* The cost of taking profiles: a finding of its own, never charged to a function of the service. */
#include <stdio.h>

#include "findings/rules.h"
#include "base/banned.h"

int finding_case_add_profilers(struct finding_case *c, const struct finding_rule *rule,
                               const struct finding_profiling *how)
{
    struct finding_values finding = {.weight = stats_share(how->caused, how->total), .part = how->part};
    uint32_t top = tally_top_profilers(how->t);
    if (top == TALLY_NONE || how->caused <= 0 || finding.weight * 100 < rule->percent)
        return 0;
    if (finding.weight > 1)
        finding.weight = 1;
    sentence_percent(finding.of[0], finding.weight);
    snprintf(finding.of[1], sizeof finding.of[1], "%s", how->of);
    sentence_name(finding.of[2], profile_str(how->t->profile, top));
    finding.look = profile_str(how->t->profile, top);
    return finding_case_add(c, rule, &finding);
}

/* Checks the heap in use, unless the profile is a difference, and the allocations. */
static int say_heap(struct finding_case *c, const struct finding_rule *rule)
{
    static const struct {
        const char *type, *of;
    } types[] = {{"inuse_space", "the heap in use"}, {"alloc_space", "all that was allocated"}};
    int rc = 0;
    for (size_t i = c->profile->duration_ns > 0; i < sizeof types / sizeof *types && rc == 0; i++) {
        struct tally t = {0};
        size_t type = tally_type(c->profile, types[i].type, "bytes");
        if (type == TALLY_NONE)
            continue;
        rc = tally_make(&t, &c->sieve, type, TALLY_NONE, &(struct tally_choice){0}, c->err);
        if (rc == 0)
            rc = finding_case_add_profilers(
                c, rule,
                &(struct finding_profiling){
                    .t = &t, .caused = t.profilers, .total = t.total, .of = types[i].of, .part = (int)i});
        tally_release(&t);
    }
    return rc;
}

int rule_profilers_caused(struct finding_case *c, const struct finding_rule *rule)
{
    if (c->of == FINDING_TOPIC_HEAP)
        return say_heap(c, rule);
    return finding_case_add_profilers(
        c, rule,
        &(struct finding_profiling){.t = &c->all,
                                    .caused = c->all.profilers,
                                    .total = c->all.total,
                                    .of = c->of == FINDING_TOPIC_CPU ? "the CPU time" : "all that waiting"});
}
