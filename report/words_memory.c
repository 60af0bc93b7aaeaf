/* Rules on heaps, and on block and mutex profiles. */
#include <stdio.h>

#include "report/words_inside.h"
#include "base/banned.h"

static int64_t at_least_one(int64_t n)
{
    return n > 0 ? n : 1;
}

/* {0} bytes, {1} objects, {2} and {3} the heaviest function, {4} the function that covers half, {5} mean
 * size. */
static void write_most(const struct tally *t, struct words_said *finding)
{
    uint32_t top = tally_top_own(t);
    words_bytes(finding->of[0], t->total);
    words_count(finding->of[1], (uint64_t)t->objects, "object", "objects");
    finding->weight = (double)t->total;
    if (top == TALLY_NONE)
        return;
    finding->look = profile_str(t->profile, top);
    words_percent(finding->of[2], words_share(t->of[top].own, t->total));
    words_name(finding->of[3], finding->look);
    words_with_calls(finding->of[4], t, top);
    words_bytes(finding->of[5], t->of[top].own / at_least_one(t->of[top].objects));
}

static int say_heap(struct words_case *c, const struct words_rule *rule, const char *bytes,
                    const char *objects)
{
    const struct profile *p = c->profile;
    struct words_said finding = {.weight = 0};
    struct tally t = {0};
    size_t type = tally_type(p, bytes, "bytes");
    if (type == TALLY_NONE)
        return 0;
    int rc =
        tally_make(&t, &c->sieve, type, tally_type(p, objects, "count"), &(struct tally_choice){0}, c->err);
    if (rc == 0 && t.total > 0) {
        write_most(&t, &finding);
        rc = finding.look.n > 0 ? words_say(c, rule, &finding) : 0;
    }
    tally_release(&t);
    return rc;
}

int words_heap_in_use(struct words_case *c, const struct words_rule *rule)
{
    /* In a difference over time, inuse_space is a change, not an amount. */
    return c->profile->duration_ns > 0 ? 0 : say_heap(c, rule, "inuse_space", "inuse_objects");
}

int words_heap_allocated(struct words_case *c, const struct words_rule *rule)
{
    return say_heap(c, rule, "alloc_space", "alloc_objects");
}

/* {0} time waited, {1} number of waits, {2} and {3} the heaviest function, {4} duration. */
int words_delay(struct words_case *c, const struct words_rule *rule)
{
    const struct tally *t = &c->all;
    struct words_said finding = {.weight = (double)t->total};
    char time[WORDS_ARGUMENT];
    uint32_t top = tally_top_own(t);
    if (t->total <= 0 || top == TALLY_NONE)
        return 0;
    words_time(finding.of[0], t->total);
    words_count(finding.of[1], (uint64_t)t->objects, "time", "times");
    finding.look = profile_str(c->profile, top);
    words_percent(finding.of[2], words_share(t->of[top].own, t->total));
    words_name(finding.of[3], finding.look);
    words_time(time, c->profile->duration_ns);
    if (c->profile->duration_ns > 0)
        snprintf(finding.of[4], sizeof finding.of[4], " within %.40s", time);
    return words_say(c, rule, &finding);
}
