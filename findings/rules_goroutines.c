/* Rules on goroutines: long waits, growth, waits for locks, and the states. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "findings/rules.h"
#include "base/banned.h"

/* A leak has LEAK_COUNT goroutines with the same stack, half of which have waited LEAK_MINUTES; or it has
 * LEAK_COUNT_ALONE goroutines. */
#define LEAK_COUNT 100
#define LEAK_MINUTES 10
#define LEAK_COUNT_ALONE 10000
/* The smallest reported number of goroutines that wait for a lock. */
#define MIN_LOCKED 10
/* The smallest reported growth: a number of goroutines, and a share of the number before. */
#define MIN_GROWTH 100
#define MIN_GROWTH_SHARE 0.1
/* The most states that a sentence names. */
#define MAX_STATES 3

static const char *const locks[] = {"sync.(*Mutex).Lock", "sync.(*RWMutex).Lock", "sync.(*RWMutex).RLock",
                                    "internal/sync.(*Mutex).Lock", NULL};
/* The innermost functions of goroutines that wait for the network, such as those of idle connections. */
static const char *const network[] = {"internal/poll.*", NULL};

/* The number of goroutines in one function or in one state. */
struct name_count {
    struct str name;
    uint64_t count;
};

static int compare_names(const void *left, const void *right)
{
    return str_compare(((const struct name_count *)left)->name, ((const struct name_count *)right)->name);
}

static int compare_counts(const void *left, const void *right)
{
    const struct name_count *a = left, *b = right;
    if (a->count != b->count)
        return a->count > b->count ? -1 : 1;
    return compare_names(a, b);
}

/* Adds up the counts of each name, and sorts them, the largest first. Returns the number of names. */
static size_t merge_counts(struct name_count *counts, size_t n)
{
    size_t kept = 0;
    qsort(counts, n, sizeof *counts, compare_names);
    for (size_t i = 0; i < n; i++) {
        if (kept > 0 && str_equal(counts[kept - 1].name, counts[i].name))
            counts[kept - 1].count += counts[i].count;
        else
            counts[kept++] = counts[i];
    }
    qsort(counts, kept, sizeof *counts, compare_counts);
    return kept;
}

/* Returns the innermost function of the program on a group's stack, else the outermost function. */
static struct str find_function(const struct goroutines *goroutines, const struct goroutine_group *group)
{
    for (size_t i = group->first_frame; i < group->first_frame + group->n_frames; i++)
        if (functions_origin_of(goroutines->frames[i].function) == FUNCTION_OF_PROGRAM)
            return goroutines->frames[i].function;
    return group->n_frames ? goroutines->frames[group->first_frame + group->n_frames - 1].function : STR("");
}

static uint64_t total_of(const struct goroutines *goroutines)
{
    return goroutines->dumps[goroutines->n_dumps - 1].total;
}

static double share_of(uint64_t count, uint64_t total)
{
    return total > 0 ? (double)count / (double)total : 0;
}

static bool has_frame(const struct goroutines *goroutines, const struct goroutine_group *group,
                      const char *const *list)
{
    for (size_t i = group->first_frame; i < group->first_frame + group->n_frames; i++)
        if (functions_is_listed(goroutines->frames[i].function, list))
            return true;
    return false;
}

/* ---- suspects ------------------------------------------------------------------------------------------ */

static bool is_leak(const struct goroutines *goroutines, const struct goroutine_group *group)
{
    bool is_network_wait =
        group->n_frames > 0 && functions_is_listed(goroutines->frames[group->first_frame].function, network);
    bool has_waited = group->count[1] >= LEAK_COUNT && group->wait_median >= LEAK_MINUTES;
    return !is_network_wait && (has_waited || group->count[1] >= LEAK_COUNT_ALONE);
}

int rule_goroutines_leak(struct finding_case *c, const struct finding_rule *rule)
{
    const struct goroutines *g = c->goroutines;
    const struct goroutine_group *largest = NULL;
    struct finding_values finding = {.weight = 0};
    for (size_t i = 0; i < g->n_groups; i++)
        if (is_leak(g, &g->groups[i]) && (!largest || g->groups[i].count[1] > largest->count[1]))
            largest = &g->groups[i];
    if (!largest)
        return 0;
    finding.weight = share_of(largest->count[1], total_of(g));
    finding.look_at = find_function(g, largest);
    finding.detail = largest->wait_median > 0;
    sentence_count(finding.arguments[0], largest->count[1], "goroutine", "goroutines");
    sentence_name(finding.arguments[1], finding.look_at);
    if (largest->state.n > 0) {
        sentence_name(finding.arguments[3], largest->state);
        snprintf(finding.arguments[2], sizeof finding.arguments[2], " (%.160s)", finding.arguments[3]);
    }
    finding.arguments[3][0] = '\0';
    if (largest->wait_median > 0)
        snprintf(finding.arguments[3], sizeof finding.arguments[3],
                 ", half of them for %" PRIu32 " minutes or longer", largest->wait_median);
    return finding_case_add(c, rule, &finding);
}

/* Writes "; 12,000 more an hour at that rate". */
static void write_rate(const struct finding_case *c, uint64_t more, char dst[SENTENCE_ARGUMENT_SIZE])
{
    char per_hour[SENTENCE_ARGUMENT_SIZE];
    double rate = stats_per_hour((double)more, c->subject->between_ns);
    *dst = '\0';
    if (rate < 1)
        return;
    sentence_count(per_hour, (uint64_t)stats_to_integer(rate), "more", "more");
    snprintf(dst, SENTENCE_ARGUMENT_SIZE, "; %.40s an hour at that rate", per_hour);
}

int rule_goroutines_grown(struct finding_case *c, const struct finding_rule *rule)
{
    const struct goroutines *g = c->goroutines;
    const struct goroutine_group *largest = g->n_dumps == 2 && g->n_groups > 0 ? &g->groups[0] : NULL;
    struct finding_values finding = {.weight = 0};
    uint64_t more =
        largest && largest->count[1] > largest->count[0] ? largest->count[1] - largest->count[0] : 0;
    if (more < MIN_GROWTH || (double)more < MIN_GROWTH_SHARE * (double)largest->count[0])
        return 0;
    finding.weight = share_of(more, total_of(g));
    finding.look_at = find_function(g, largest);
    sentence_count(finding.arguments[0], more, "goroutine", "goroutines");
    sentence_name(finding.arguments[1], finding.look_at);
    snprintf(finding.arguments[2], sizeof finding.arguments[2], "%" PRIu64, largest->count[0]);
    snprintf(finding.arguments[3], sizeof finding.arguments[3], "%" PRIu64, largest->count[1]);
    write_rate(c, more, finding.arguments[4]);
    return finding_case_add(c, rule, &finding);
}

/* Adds up the groups with a frame in the list (NULL: all groups) by function or by state. The caller frees
 * *ret. */
static int make_counts(struct finding_case *c, const char *const *list, bool by_state,
                       struct name_count **ret, size_t *ret_n)
{
    const struct goroutines *g = c->goroutines;
    struct name_count *counts = malloc((g->n_groups + 1) * sizeof *counts);
    size_t n = 0;
    if (!counts)
        return err_nomem(c->err);
    for (size_t i = 0; i < g->n_groups; i++)
        if (!list || has_frame(g, &g->groups[i], list))
            counts[n++] = (struct name_count){by_state ? g->groups[i].state : find_function(g, &g->groups[i]),
                                              g->groups[i].count[1]};
    *ret_n = merge_counts(counts, n);
    *ret = counts;
    return 0;
}

int rule_goroutines_locked(struct finding_case *c, const struct finding_rule *rule)
{
    struct name_count *counts = NULL;
    struct finding_values finding = {.weight = 0};
    size_t n = 0;
    if (make_counts(c, locks, false, &counts, &n) < 0)
        return -1;
    int rc = 0;
    if (n > 0 && counts[0].count >= MIN_LOCKED) {
        finding.weight = share_of(counts[0].count, total_of(c->goroutines));
        finding.look_at = counts[0].name;
        sentence_count(finding.arguments[0], counts[0].count, "goroutine", "goroutines");
        sentence_name(finding.arguments[1], finding.look_at);
        rc = finding_case_add(c, rule, &finding);
    }
    free(counts);
    return rc;
}

/* ---- facts --------------------------------------------------------------------------------------------- */

/* Writes ": 1180 chan receive, 12 select, 3 others" if the form of the dump has states. */
static int write_states(struct finding_case *c, struct finding_values *finding)
{
    char *dst = finding->arguments[1], name[SENTENCE_ARGUMENT_SIZE];
    struct name_count *counts = NULL;
    size_t n = 0, at = 0, n_named = 0;
    uint64_t others = total_of(c->goroutines);
    if (make_counts(c, NULL, true, &counts, &n) < 0)
        return -1;
    for (size_t i = 0; i < n && n_named < MAX_STATES && at < SENTENCE_NAME_SIZE; i++) {
        if (counts[i].name.n == 0 || counts[i].count == 0)
            continue;
        text_printable(name, 60, counts[i].name.p, counts[i].name.n);
        at += (size_t)snprintf(dst + at, SENTENCE_ARGUMENT_SIZE - at, "%s%" PRIu64 " %.60s",
                               n_named++ ? ", " : ": ", counts[i].count, name);
        others -= counts[i].count < others ? counts[i].count : others;
    }
    if (n_named && others)
        snprintf(dst + at, SENTENCE_ARGUMENT_SIZE - at, ", %" PRIu64 " other%s", others,
                 text_plural_s(others));
    free(counts);
    return 0;
}

/* Writes "; most in one place: 1,180 of them in main.wait" if that place has more than one goroutine. */
static void write_function(const struct name_count *largest, struct finding_values *finding)
{
    char name[SENTENCE_ARGUMENT_SIZE], count[SENTENCE_ARGUMENT_SIZE];
    sentence_name(name, largest->name);
    sentence_count(count, largest->count, "of them", "of them");
    if (largest->count > 1)
        snprintf(finding->arguments[2], sizeof finding->arguments[2], "; most in one place: %.40s in %.160s",
                 count, name);
}

int rule_goroutines_states(struct finding_case *c, const struct finding_rule *rule)
{
    const struct goroutines *g = c->goroutines;
    struct finding_values finding = {.weight = (double)total_of(g)};
    struct name_count *counts = NULL;
    uint32_t longest = 0;
    size_t n = 0;
    if (total_of(g) == 0 || write_states(c, &finding) < 0 || make_counts(c, NULL, false, &counts, &n) < 0)
        return total_of(g) == 0 ? 0 : -1;
    for (size_t i = 0; i < g->n_groups; i++)
        longest = g->groups[i].wait_max > longest ? g->groups[i].wait_max : longest;
    sentence_count(finding.arguments[0], total_of(g), "goroutine", "goroutines");
    finding.look_at = n > 0 ? counts[0].name : STR("");
    if (n > 0)
        write_function(&counts[0], &finding);
    if (longest > 0)
        snprintf(finding.arguments[3], sizeof finding.arguments[3],
                 "; the longest has waited %" PRIu32 " minute%s", longest, text_plural_s(longest));
    finding.detail = g->dumps[g->n_dumps - 1].form == GOROUTINES_STACKS;
    free(counts);
    return finding.look_at.n > 0 ? finding_case_add(c, rule, &finding) : 0;
}
