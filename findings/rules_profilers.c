/* Rules on the cost of taking profiles (see struct tally_choice). */
#include "findings/rules.h"
#include "base/banned.h"

/* Checks the allocations, and the heap in use unless the profile is a difference over time. */
static int add_heap_findings(struct finding_case *c, const struct finding_rule *rule)
{
    static const struct {
        const char *type, *total_name;
    } types[] = {{"inuse_space", "the heap in use"}, {"alloc_space", "all that was allocated"}};
    int rc = 0;
    for (size_t i = c->profile->duration_ns > 0; i < sizeof types / sizeof *types && rc == 0; i++) {
        struct tally t = {0};
        size_t type = tally_find_type(c->profile, types[i].type, "bytes");
        if (type == TALLY_NONE)
            continue;
        rc = tally_make(&t, c->filter, (struct tally_types){type, TALLY_NONE}, &(struct tally_choice){0},
                        c->err);
        if (rc == 0)
            rc = rules_add_profiler_cost(c, rule,
                                         &(struct profiler_cost){.tally = &t,
                                                                 .caused = t.profilers,
                                                                 .total = t.total,
                                                                 .total_name = types[i].total_name,
                                                                 .duplicate_key = (int)i});
        tally_release(&t);
    }
    return rc;
}

int rule_profilers_caused(struct finding_case *c, const struct finding_rule *rule)
{
    if (c->topic == FINDING_TOPIC_HEAP)
        return add_heap_findings(c, rule);
    return rules_add_profiler_cost(c, rule,
                                   &(struct profiler_cost){.tally = c->all,
                                                           .caused = c->all->profilers,
                                                           .total = c->all->total,
                                                           .total_name = c->topic == FINDING_TOPIC_CPU
                                                                             ? "the CPU time"
                                                                             : "all that waiting time"});
}
