#include <stdio.h>
#include <string.h>

#include "findings/rules.h"
#include "base/banned.h"

enum finding_topic rules_get_delay_topic(const struct finding_subject *s)
{
    const char *kind = s->kind && *s->kind ? s->kind : s->file;
    return kind && strstr(kind, "mutex")   ? FINDING_TOPIC_MUTEX
           : kind && strstr(kind, "block") ? FINDING_TOPIC_BLOCK
                                           : FINDING_TOPIC_NONE;
}

void rules_name_delay(const struct finding_case *c, struct finding_values *finding, size_t argument)
{
    enum finding_topic topic = rules_get_delay_topic(c->subject);
    finding->part = (int)topic;
    snprintf(finding->arguments[argument], SENTENCE_ARGUMENT_SIZE, "%s",
             topic == FINDING_TOPIC_MUTEX   ? " (mutex profile)"
             : topic == FINDING_TOPIC_BLOCK ? " (block profile)"
                                            : "");
}

int rules_add_profilers(struct finding_case *c, const struct finding_rule *rule,
                        const struct rules_profiling *profiling)
{
    struct finding_values finding = {.weight = stats_share(profiling->caused, profiling->total),
                                     .part = profiling->part};
    uint32_t top = tally_top_profilers(profiling->tally);
    if (top == TALLY_NONE || profiling->caused <= 0 || finding.weight * 100 < rule->percent)
        return 0;
    if (finding.weight > 1)
        finding.weight = 1;
    sentence_percent(finding.arguments[0], finding.weight);
    snprintf(finding.arguments[1], sizeof finding.arguments[1], "%s", profiling->total_name);
    sentence_name(finding.arguments[2], profile_str(profiling->tally->profile, top));
    finding.look = profile_str(profiling->tally->profile, top);
    return finding_case_add(c, rule, &finding);
}
