/* The cost of taking profiles: a finding of its own, never charged to a function of the service. */
#include <stdio.h>

#include "report/words_inside.h"
#include "base/banned.h"

int words_tell_profilers(struct words_case *c, const struct words_rule *rule,
                         const struct words_profiling *how)
{
    struct words_said finding = {.weight = words_share(how->caused, how->total), .part = how->part};
    uint32_t top = tally_top_profilers(how->t);
    if (top == TALLY_NONE || how->caused <= 0 || finding.weight * 100 < rule->percent)
        return 0;
    if (finding.weight > 1)
        finding.weight = 1;
    words_percent(finding.of[0], finding.weight);
    snprintf(finding.of[1], sizeof finding.of[1], "%s", how->of);
    words_name(finding.of[2], profile_str(how->t->profile, top));
    finding.look = profile_str(how->t->profile, top);
    return words_say(c, rule, &finding);
}

/* Checks the heap in use, unless the profile is a difference, and the allocations. */
static int say_heap(struct words_case *c, const struct words_rule *rule)
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
            rc = words_tell_profilers(
                c, rule,
                &(struct words_profiling){
                    .t = &t, .caused = t.profilers, .total = t.total, .of = types[i].of, .part = (int)i});
        tally_release(&t);
    }
    return rc;
}

int words_profilers_caused(struct words_case *c, const struct words_rule *rule)
{
    if (c->of == WORDS_OF_HEAP)
        return say_heap(c, rule);
    return words_tell_profilers(
        c, rule,
        &(struct words_profiling){.t = &c->all,
                                  .caused = c->all.profilers,
                                  .total = c->all.total,
                                  .of = c->of == WORDS_OF_CPU ? "the CPU time" : "all that waiting"});
}
