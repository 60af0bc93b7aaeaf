#include <stdio.h>
#include <string.h>

#include "findings/rules.h"
#include "base/banned.h"

enum finding_topic rules_get_delay_topic(const struct finding_subject *s)
{
    static const enum finding_topic topics[] = {[KIND_DELAY_NONE] = FINDING_TOPIC_NONE,
                                                [KIND_DELAY_BLOCK] = FINDING_TOPIC_BLOCK,
                                                [KIND_DELAY_MUTEX] = FINDING_TOPIC_MUTEX};
    const char *name = s->kind && *s->kind ? s->kind : s->file;
    const struct kind *kind;
    enum kind_delay delay = KIND_DELAY_NONE;
    /* The name may also be the path of a request or of a file. If it has both names, the last row counts. */
    for (size_t i = 0; name && (kind = kind_at(i)); i++)
        if (kind->delay != KIND_DELAY_NONE && strstr(name, kind->name))
            delay = kind->delay;
    return topics[delay];
}

void rules_write_profile_name(const struct finding_case *c, struct finding_values *finding, size_t argument)
{
    enum finding_topic topic = rules_get_delay_topic(c->subject);
    finding->duplicate_key = (int)topic;
    snprintf(finding->arguments[argument], SENTENCE_ARGUMENT_SIZE, "%s",
             topic == FINDING_TOPIC_MUTEX   ? " (mutex profile)"
             : topic == FINDING_TOPIC_BLOCK ? " (block profile)"
                                            : "");
}

int rules_add_profiler_cost(struct finding_case *c, const struct finding_rule *rule,
                            const struct profiler_cost *cost)
{
    struct finding_values finding = {.weight = stats_share(cost->caused, cost->total),
                                     .duplicate_key = cost->duplicate_key};
    uint32_t top = tally_top_profiler(cost->tally);
    if (top == TALLY_NONE || cost->caused <= 0 || finding.weight * 100 < rule->percent)
        return 0;
    if (finding.weight > 1)
        finding.weight = 1;
    sentence_percent(finding.arguments[0], finding.weight);
    snprintf(finding.arguments[1], sizeof finding.arguments[1], "%s", cost->total_name);
    sentence_name(finding.arguments[2], profile_str(cost->tally->profile, top));
    finding.look_at = profile_str(cost->tally->profile, top);
    return finding_case_add(c, rule, &finding);
}
