/* Functions that several rules share. */
#include <stdio.h>
#include <string.h>

#include "findings/rules.h"
#include "base/banned.h"

/* Decides by the request's kind, or else by the file's name. */
enum finding_topic rules_get_delay_topic(const struct finding_subject *s)
{
    const char *kind = s->kind && *s->kind ? s->kind : s->file;
    return kind && strstr(kind, "mutex")   ? FINDING_TOPIC_MUTEX
           : kind && strstr(kind, "block") ? FINDING_TOPIC_BLOCK
                                           : FINDING_TOPIC_NONE;
}

void rules_name_delay(const struct finding_case *c, struct finding_values *finding, size_t argument)
{
    enum finding_topic of = rules_get_delay_topic(c->subject);
    finding->part = (int)of;
    snprintf(finding->of[argument], SENTENCE_ARGUMENT, "%s",
             of == FINDING_TOPIC_MUTEX   ? " (mutex profile)"
             : of == FINDING_TOPIC_BLOCK ? " (block profile)"
                                         : "");
}

int rules_add_profilers(struct finding_case *c, const struct finding_rule *rule,
                        const struct rules_profiling *how)
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
