#include "fetch/verdict.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

void verdicts_add(struct verdicts *l, const char *rule, bool note, const char *fmt, ...)
{
    va_list ap;
    if (array_reserve((void **)&l->items, &l->cap, l->n + 1, sizeof *l->items, NULL) < 0)
        return;
    struct verdict *v = &l->items[l->n++];
    v->rule = rule;
    v->note = note;
    va_start(ap, fmt);
    vsnprintf(v->text, sizeof v->text, fmt, ap);
    va_end(ap);
}

void verdicts_release(struct verdicts *l)
{
    free(l->items);
    *l = (struct verdicts){0};
}

/* A rule writes its sentence and returns true where it applies. */
typedef bool rule_fn(const struct fetch_item *item, const struct transfer_response *r, char *dst, size_t cap);

static bool is_contention(const struct fetch_item *item)
{
    return strcmp(item->kind, "mutex") == 0 || strcmp(item->kind, "block") == 0;
}

/* Sampling of locks is off by default: SetMutexProfileFraction and SetBlockProfileRate of package runtime. */
static bool empty_contention(const struct fetch_item *item, const struct transfer_response *r, char *dst,
                             size_t cap)
{
    (void)r;
    if (!item->has_profile || item->profile.samples > 0 || !is_contention(item))
        return false;
    snprintf(dst, cap, "the %s profile is empty: %s profiling is off in this process, or nothing waited",
             item->kind, item->kind);
    return true;
}

static bool empty_cpu(const struct fetch_item *item, const struct transfer_response *r, char *dst, size_t cap)
{
    (void)r;
    if (!item->has_profile || item->profile.samples > 0 || strcmp(item->kind, "cpu") != 0)
        return false;
    snprintf(dst, cap, "the CPU profile holds no samples: the process used almost no CPU");
    return true;
}

static bool empty_other(const struct fetch_item *item, const struct transfer_response *r, char *dst,
                        size_t cap)
{
    (void)r;
    if (!item->has_profile || item->profile.samples > 0 || is_contention(item) ||
        strcmp(item->kind, "cpu") == 0)
        return false;
    snprintf(dst, cap, "the profile holds no samples");
    return true;
}

/* CPU time over the time the profile covers, as Go states both in the profile itself. */
static bool cpu_share(const struct fetch_item *item, const struct transfer_response *r, char *dst, size_t cap)
{
    (void)r;
    const struct profile_summary *p = &item->profile;
    if (!item->has_profile || p->samples == 0 || p->duration_ns <= 0)
        return false;
    for (size_t i = 0; i < p->n_types; i++) {
        if (strcmp(p->types[i].type, "cpu") != 0 || strcmp(p->types[i].unit, "nanoseconds") != 0)
            continue;
        double percent = 100.0 * (double)p->types[i].total / (double)p->duration_ns;
        snprintf(dst, cap, "CPU was %.*f %% busy (100 %% is one core)", percent < 10 ? 1 : 0, percent);
        return true;
    }
    return false;
}

static bool reconnected(const struct fetch_item *item, const struct transfer_response *r, char *dst,
                        size_t cap)
{
    if (!r->reconnected || item->bytes == 0)
        return false;
    snprintf(dst, cap,
             "fetched over a new connection, since the one before had closed: it may come from another "
             "process than what was fetched before");
    return true;
}

static const struct {
    const char *name;
    rule_fn *applies;
} rules[] = {{"contention-off", empty_contention},
             {"cpu-idle", empty_cpu},
             {"no-samples", empty_other},
             {"cpu-share", cpu_share},
             {"reconnected", reconnected}};

void verdict_item(struct fetch_item *item, const struct transfer_response *response)
{
    char sentence[256];
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (rules[i].applies(item, response, sentence, sizeof sentence))
            verdicts_add(&item->verdicts, rules[i].name, false, "%s", sentence);
}

void verdict_build(struct fetch_item *item, char build_id[128])
{
    const char *own = item->profile.build_id;
    if (!item->has_profile || !*own)
        return;
    if (*build_id && strcmp(build_id, own) != 0) {
        verdicts_add(
            &item->verdicts, "build-changed", false,
            "the program's build id changed from %s to %s between two items: they come from different builds",
            build_id, own);
    }
    snprintf(build_id, 128, "%s", own);
}
