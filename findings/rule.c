#include "findings/rule.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "findings/sentence.h"
#include "base/banned.h"

/* The size of a text of a finding's subject, and of a function's name, with the NUL. */
#define MAX_TEXT 1024

const char *finding_topic_name(enum finding_topic topic)
{
    static const char *const names[] = {[FINDING_TOPIC_CPU] = "CPU",
                                        [FINDING_TOPIC_HEAP] = "heap",
                                        [FINDING_TOPIC_BLOCK] = "block",
                                        [FINDING_TOPIC_MUTEX] = "mutex",
                                        [FINDING_TOPIC_GOROUTINES] = "goroutines",
                                        [FINDING_TOPIC_COMPARISON] = "two sides",
                                        [FINDING_TOPIC_GROWTH] = "two snapshots",
                                        [FINDING_TOPIC_RESTART] = "two snapshots",
                                        [FINDING_TOPIC_FLEET] = "hosts",
                                        [FINDING_TOPIC_BODY] = "body",
                                        [FINDING_TOPIC_NONE] = ""};
    return names[topic];
}

char *finding_rule_describe(const struct finding_rule *rule)
{
    struct finding_values names = {.weight = 0};
    for (size_t i = 0; i < SENTENCE_MAX_ARGUMENTS && rule->arguments[i]; i++)
        snprintf(names.arguments[i], sizeof names.arguments[i], "{%s}", rule->arguments[i]);
    return sentence_make(rule->sentence, &names);
}

void finding_release(struct finding *f)
{
    free(f->text);
    free(f->file);
    free(f->look_at);
    free(f->host);
    free(f->service);
    *f = (struct finding){0};
}

/* Copies a string; returns NULL for an empty one. Sets *failed if memory is exhausted. */
static char *copy_string(struct str s, bool *failed)
{
    char *copy = s.n > 0 ? strndup(s.p, s.n) : NULL;
    *failed = *failed || (s.n > 0 && !copy);
    return copy;
}

/* Copies a function's name unchanged, because the page searches for it. Returns NULL if the name is too long
 * or not printable. */
static char *copy_look(struct str name, bool *failed)
{
    char *copy = name.n < MAX_TEXT ? copy_string(name, failed) : NULL;
    if (copy && (strlen(copy) == name.n && text_is_visible(copy)))
        return copy;
    free(copy);
    return NULL;
}

/* Makes a printable copy of the subject's text, which may come from a host. */
static char *copy_printable(const char *s, bool *failed)
{
    char room[MAX_TEXT];
    return copy_string(str_of(text_printable(room, sizeof room, s ? s : "", s ? strlen(s) : 0)), failed);
}

int finding_case_add(struct finding_case *c, const struct finding_rule *rule,
                     const struct finding_values *values)
{
    static const struct finding_subject unknown = {0};
    const struct finding_subject *subject = c->subject ? c->subject : &unknown;
    struct findings *list = c->findings;
    bool failed = false;
    if (array_reserve((void **)&list->items, &list->cap, list->n + 1, sizeof *list->items, c->err) < 0)
        return -1;
    struct finding finding = {.rule = rule,
                              .text = sentence_make(rule->sentence, values),
                              .file = copy_printable(subject->file, &failed),
                              .look_at = copy_look(values->look_at, &failed),
                              .weight = values->weight,
                              .host = copy_printable(subject->host, &failed),
                              .service = copy_printable(subject->service, &failed),
                              .names_host = values->names_host,
                              .duplicate_key = values->duplicate_key,
                              .detail = values->detail};
    if (failed || !finding.text) {
        finding_release(&finding);
        return err_nomem(c->err);
    }
    list->items[list->n++] = finding;
    return 0;
}

int finding_case_apply(struct finding_case *c, const struct finding_rule *rules, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (rules[i].topic == c->topic && rules[i].apply && rules[i].apply(c, &rules[i]) < 0)
            return -1;
    return 0;
}

void findings_release(struct findings *findings)
{
    for (size_t i = 0; i < findings->n; i++)
        finding_release(&findings->items[i]);
    free(findings->items);
    *findings = (struct findings){0};
}

void findings_move(struct findings *findings, struct findings *from)
{
    if (array_reserve((void **)&findings->items, &findings->cap, findings->n + from->n,
                      sizeof *findings->items, NULL) == 0) {
        for (size_t i = 0; i < from->n; i++)
            findings->items[findings->n++] = from->items[i];
        from->n = 0;
    }
    findings_release(from);
}
