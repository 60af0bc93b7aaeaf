/* Rules on heaps, and on block and mutex profiles. */
#include <stdio.h>

#include "findings/rules.h"
#include "base/banned.h"

static int64_t at_least_one(int64_t n)
{
    return n > 0 ? n : 1;
}

static void write_heaviest(const struct tally *tally, struct finding_values *finding)
{
    uint32_t top = tally_top_own(tally);
    sentence_bytes(finding->arguments[0], tally->total);
    sentence_count(finding->arguments[1], (uint64_t)tally->objects, "object", "objects");
    finding->weight = (double)tally->total;
    if (top == TALLY_NONE)
        return;
    finding->look_at = profile_str(tally->profile, top);
    sentence_percent(finding->arguments[2], stats_share(tally->by_name[top].own, tally->total));
    sentence_name(finding->arguments[3], finding->look_at);
    sentence_top_cum(finding->arguments[4], tally, top);
    sentence_bytes(finding->arguments[5],
                   tally->by_name[top].own / at_least_one(tally->by_name[top].objects));
}

static int add_heap_finding(struct finding_case *c, const struct finding_rule *rule, const char *bytes_type,
                            const char *objects_type)
{
    const struct profile *p = c->profile;
    struct finding_values finding = {.weight = 0};
    struct tally t = {0};
    size_t type = tally_find_type(p, bytes_type, "bytes");
    if (type == TALLY_NONE)
        return 0;
    int rc = tally_make(&t, c->filter, (struct tally_types){type, tally_find_type(p, objects_type, "count")},
                        &(struct tally_choice){0}, c->err);
    if (rc == 0 && t.total > 0) {
        write_heaviest(&t, &finding);
        rc = finding.look_at.n > 0 ? finding_case_add(c, rule, &finding) : 0;
    }
    tally_release(&t);
    return rc;
}

int rule_heap_in_use(struct finding_case *c, const struct finding_rule *rule)
{
    /* In a difference over time, inuse_space is a change, not an amount. */
    return c->profile->duration_ns > 0 ? 0 : add_heap_finding(c, rule, "inuse_space", "inuse_objects");
}

int rule_heap_allocated(struct finding_case *c, const struct finding_rule *rule)
{
    return add_heap_finding(c, rule, "alloc_space", "alloc_objects");
}

int rule_delay(struct finding_case *c, const struct finding_rule *rule)
{
    const struct tally *t = c->all;
    struct finding_values finding = {.weight = (double)t->total};
    char time[SENTENCE_ARGUMENT_SIZE];
    uint32_t top = tally_top_own(t);
    if (t->total <= 0 || top == TALLY_NONE)
        return 0;
    sentence_time(finding.arguments[0], t->total);
    sentence_count(finding.arguments[1], (uint64_t)t->objects, "time", "times");
    finding.look_at = profile_str(c->profile, top);
    sentence_percent(finding.arguments[2], stats_share(t->by_name[top].own, t->total));
    sentence_name(finding.arguments[3], finding.look_at);
    sentence_time(time, c->profile->duration_ns);
    if (c->profile->duration_ns > 0)
        snprintf(finding.arguments[4], sizeof finding.arguments[4], " within %.40s", time);
    return finding_case_add(c, rule, &finding);
}
