/* The figures of each host. fleet_compare.c compares them. */
#include "findings/fleet.h"

#include <stdlib.h>
#include <string.h>

#include "findings/stats.h"
#include "findings/tally.h"
#include "base/banned.h"

/* The most names in a group. Later names get no share. */
#define MAX_NAMES 20000

/* Functions that preempt loops without calls. The number of their samples says nothing about the program. */
static const char *const passed_over[] = {"runtime.asyncPreempt*", NULL};

/* ---- names and rows ------------------------------------------------------------------------------------ */

struct wanted {
    const struct fleet *h;
    const char *name;
};

static bool is_wanted(const void *ctx, uint32_t number)
{
    const struct wanted *w = ctx;
    return strcmp(w->h->names.items[number], w->name) == 0;
}

/* *ret is FINDER_NONE if there are too many names. */
static int number_name(struct fleet *h, struct str name, uint32_t *ret, struct err *err)
{
    char shown[1024];
    text_printable(shown, sizeof shown, name.p, name.n);
    uint64_t hash = finder_mix_str(finder_seed(&h->by_name), str_of(shown));
    *ret = finder_find(&h->by_name, hash, is_wanted, &(struct wanted){h, shown});
    if (*ret != FINDER_NONE || h->names.n >= MAX_NAMES)
        return 0;
    *ret = (uint32_t)h->names.n;
    return finder_add(&h->by_name, hash, err) < 0 ? -1 : strlist_add(&h->names, shown, err);
}

static int find_row(struct fleet *h, const char *host, bool is_baseline, struct fleet_host **ret,
                    struct err *err)
{
    for (size_t i = 0; i < h->n; i++)
        if (strcmp(h->rows[i].host, host) == 0) {
            *ret = &h->rows[i];
            return 0;
        }
    if (array_reserve((void **)&h->rows, &h->cap, h->n + 1, sizeof *h->rows, err) < 0)
        return -1;
    struct fleet_host row = {.host = strdup(host), .is_baseline = is_baseline};
    if (!row.host)
        return err_nomem(err);
    h->rows[h->n] = row;
    *ret = &h->rows[h->n++];
    return 0;
}

void fleet_release(struct fleet *h)
{
    for (size_t i = 0; i < h->n; i++) {
        free(h->rows[i].host);
        for (size_t of = 0; of < FLEET_OF; of++) {
            free(h->rows[i].of[of].file);
            free(h->rows[i].of[of].shares);
        }
    }
    free(h->rows);
    strlist_release(&h->names);
    finder_release(&h->by_name);
    *h = (struct fleet){0};
}

/* ---- shares -------------------------------------------------------------------------------------------- */

static int compare_shares(const void *left, const void *right)
{
    const struct fleet_share *a = left, *b = right;
    return a->share != b->share ? (a->share > b->share ? -1 : 1) : (a->name > b->name) - (a->name < b->name);
}

static int compare_names(const void *left, const void *right)
{
    const struct fleet_share *a = left, *b = right;
    return (a->name > b->name) - (a->name < b->name);
}

/* A function's value in a tally: cum for CPU, own otherwise. */
static int64_t value_of(const struct tally *t, enum fleet_of of, uint32_t name)
{
    return of == FLEET_CPU ? t->of[name].cum : t->of[name].own;
}

/* The heaviest functions of a tally, by the profile's strings. The caller frees *ret. */
static int find_heaviest(const struct tally *t, enum fleet_of of, struct fleet_share **ret, size_t *ret_n,
                         struct err *err)
{
    const struct profile *p = t->profile;
    struct fleet_share *list = malloc((p->n_functions + 1) * sizeof *list);
    size_t n = 0, kept = 0;
    if (!list)
        return err_nomem(err);
    for (size_t i = 0; i < p->n_functions; i++) {
        uint32_t name = p->functions[i].name;
        if (name != 0 && value_of(t, of, name) > 0 && !functions_listed(profile_str(p, name), passed_over))
            list[n++] = (struct fleet_share){name, stats_share(value_of(t, of, name), t->total)};
    }
    /* Merge functions of one name. */
    qsort(list, n, sizeof *list, compare_names);
    for (size_t i = 0; i < n; i++)
        if (kept == 0 || list[kept - 1].name != list[i].name)
            list[kept++] = list[i];
    qsort(list, kept, sizeof *list, compare_shares);
    *ret = list;
    *ret_n = kept < FLEET_MAX_SHARES ? kept : FLEET_MAX_SHARES;
    return 0;
}

/* Stores the heaviest functions by the group's names. */
static int keep_shares(struct fleet *h, const struct tally *t, enum fleet_of of, struct fleet_figure *f,
                       struct err *err)
{
    struct fleet_share *list = NULL;
    size_t n = 0, kept = 0;
    if (find_heaviest(t, of, &list, &n, err) < 0)
        return -1;
    f->shares = calloc(n + 1, sizeof *f->shares);
    int rc = f->shares ? 0 : err_nomem(err);
    for (size_t i = 0; i < n && rc == 0; i++) {
        uint32_t name = 0;
        rc = number_name(h, profile_str(t->profile, list[i].name), &name, err);
        if (rc == 0 && name != FINDER_NONE)
            f->shares[kept++] = (struct fleet_share){name, list[i].share};
    }
    free(list);
    f->n_shares = kept;
    if (rc == 0)
        qsort(f->shares, kept, sizeof *f->shares, compare_names);
    return rc;
}

/* ---- profiles ------------------------------------------------------------------------------------------ */

/* The sample type that gives a figure, and the figure. */
struct column {
    size_t type; /* TALLY_NONE for a kind of profile that is not compared */
    enum fleet_of of;
};

static struct column column_of(const struct profile *p)
{
    static const struct {
        const char *type, *unit;
        enum fleet_of of;
        bool within, at_once; /* taken from differences over time, from other profiles */
    } columns[] = {{"cpu", "nanoseconds", FLEET_CPU, true, true},
                   {"inuse_space", "bytes", FLEET_HEAP, false, true},
                   {"goroutine", "count", FLEET_GOROUTINES, false, true},
                   {"alloc_space", "bytes", FLEET_ALLOCATED, true, false}};
    struct column found = {TALLY_NONE, FLEET_CPU};
    for (size_t i = 0; i < sizeof columns / sizeof *columns && found.type == TALLY_NONE; i++) {
        if (p->duration_ns > 0 ? columns[i].within : columns[i].at_once)
            found.type = tally_type(p, columns[i].type, columns[i].unit);
        found.of = columns[i].of;
    }
    return found;
}

static void set_value(struct fleet_figure *f, enum fleet_of of, const struct tally *t)
{
    const struct profile *p = t->profile;
    double total = (double)t->total;
    f->value = of == FLEET_CPU ? stats_share(t->total, p->duration_ns) : total;
    f->samples = of == FLEET_HEAP ? total / stats_heap_rate(p) : total;
    if (of == FLEET_CPU)
        f->samples = t->counts == TALLY_NONE ? (double)p->n_samples : (double)t->objects;
    if (of == FLEET_ALLOCATED)
        f->value = total * 1e9 / (double)p->duration_ns;
    f->known = true;
}

static int add_tally(struct fleet *h, struct fleet_figure *f, const struct column *c, const struct profile *p,
                     struct err *err)
{
    struct stack_filter filter = {0};
    struct tally t = {0};
    int rc = stack_filter_init(&filter, p, NULL, 0, err);
    if (rc == 0)
        rc = tally_make(&t, &filter, (struct tally_types){c->type, tally_type(p, "samples", "count")},
                        &(struct tally_choice){0}, err);
    if (rc == 0 && c->of != FLEET_ALLOCATED)
        rc = keep_shares(h, &t, c->of, f, err);
    if (rc == 0)
        set_value(f, c->of, &t);
    tally_release(&t);
    stack_filter_release(&filter);
    return rc;
}

int fleet_add(struct fleet *h, const struct fleet_member *from, const struct profile *p, struct err *err)
{
    struct fleet_host *row = NULL;
    const struct column column = column_of(p);
    if (column.type == TALLY_NONE || find_row(h, from->host, from->is_baseline, &row, err) < 0)
        return column.type == TALLY_NONE ? 0 : -1;
    struct fleet_figure *f = &row->of[column.of];
    if (f->known)
        return 0;
    free(f->file);
    free(f->shares);
    *f = (struct fleet_figure){.file = strdup(from->file)};
    return f->file ? add_tally(h, f, &column, p, err) : err_nomem(err);
}
