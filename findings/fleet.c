/* Collects the figures of each host. fleet_compare.c compares them. */
#include "findings/fleet.h"

#include <stdlib.h>
#include <string.h>

#include "findings/stats.h"
#include "findings/tally.h"
#include "base/banned.h"

/* The maximum number of function names in a fleet. Further functions get no share. */
#define MAX_NAMES 20000

/* Functions by which Go preempts loops. The number of their samples depends on the scheduler, not on the
 * program. */
static const char *const ignored_functions[] = {"runtime.asyncPreempt*", NULL};

/* ---- names and rows ------------------------------------------------------------------------------------ */

struct name_query {
    const struct fleet *fleet;
    const char *name;
};

static bool has_name(const void *ctx, uint32_t index)
{
    const struct name_query *query = ctx;
    return strcmp(query->fleet->names.items[index], query->name) == 0;
}

/* Finds or adds a name. *ret is HASH_INDEX_NONE if there are too many names. */
static int intern_name(struct fleet *fleet, struct str name, uint32_t *ret, struct err *err)
{
    char shown[1024];
    text_printable(shown, sizeof shown, name.p, name.n);
    uint64_t hash = hash_index_mix_str(hash_index_seed(&fleet->by_name), str_of(shown));
    *ret = hash_index_find(&fleet->by_name, hash, has_name, &(struct name_query){fleet, shown});
    if (*ret != HASH_INDEX_NONE || fleet->names.n >= MAX_NAMES)
        return 0;
    *ret = (uint32_t)fleet->names.n;
    return hash_index_add(&fleet->by_name, hash, err) < 0 ? -1 : strlist_add(&fleet->names, shown, err);
}

static bool is_row_of_host(const void *ctx, uint32_t index)
{
    const struct name_query *query = ctx;
    return strcmp(query->fleet->rows[index].host, query->name) == 0;
}

static int find_or_add_host(struct fleet *fleet, const char *host, bool is_baseline, struct fleet_host **ret,
                            struct err *err)
{
    uint64_t hash = hash_index_mix_str(hash_index_seed(&fleet->by_host), str_of(host));
    uint32_t known =
        hash_index_find(&fleet->by_host, hash, is_row_of_host, &(struct name_query){fleet, host});
    if (known != HASH_INDEX_NONE) {
        *ret = &fleet->rows[known];
        return 0;
    }
    if (array_reserve((void **)&fleet->rows, &fleet->cap, fleet->n + 1, sizeof *fleet->rows, err) < 0)
        return -1;
    struct fleet_host row = {.host = strdup(host), .is_baseline = is_baseline};
    if (!row.host)
        return err_nomem(err);
    if (hash_index_add(&fleet->by_host, hash, err) < 0) {
        free(row.host);
        return -1;
    }
    fleet->rows[fleet->n] = row;
    *ret = &fleet->rows[fleet->n++];
    return 0;
}

void fleet_release(struct fleet *fleet)
{
    for (size_t i = 0; i < fleet->n; i++) {
        free(fleet->rows[i].host);
        for (size_t kind = 0; kind < FLEET_FIGURES; kind++) {
            free(fleet->rows[i].figures[kind].file);
            free(fleet->rows[i].figures[kind].shares);
        }
    }
    free(fleet->rows);
    strlist_release(&fleet->names);
    hash_index_release(&fleet->by_name);
    hash_index_release(&fleet->by_host);
    *fleet = (struct fleet){0};
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

/* Returns a function's value in a tally: cum for CPU, own otherwise. */
static int64_t get_value(const struct tally *tally, enum fleet_figure_kind kind, uint32_t name)
{
    return kind == FLEET_CPU ? tally->by_name[name].cum : tally->by_name[name].own;
}

/* Finds the heaviest functions of a tally. Their names are strings of the profile, not of the fleet. The
 * caller frees *ret. */
static int find_heaviest(const struct tally *tally, enum fleet_figure_kind kind, struct fleet_share **ret,
                         size_t *ret_n, struct err *err)
{
    const struct profile *p = tally->profile;
    struct fleet_share *list = malloc((p->n_functions + 1) * sizeof *list);
    size_t n = 0, kept = 0;
    if (!list)
        return err_nomem(err);
    for (size_t i = 0; i < p->n_functions; i++) {
        uint32_t name = p->functions[i].name;
        if (name != 0 && get_value(tally, kind, name) > 0 &&
            !functions_is_listed(profile_str(p, name), ignored_functions))
            list[n++] = (struct fleet_share){name, stats_share(get_value(tally, kind, name), tally->total)};
    }
    /* Keep one entry for each name: the tally has one value for all functions of a name. */
    qsort(list, n, sizeof *list, compare_names);
    for (size_t i = 0; i < n; i++)
        if (kept == 0 || list[kept - 1].name != list[i].name)
            list[kept++] = list[i];
    qsort(list, kept, sizeof *list, compare_shares);
    *ret = list;
    *ret_n = kept < FLEET_MAX_SHARES ? kept : FLEET_MAX_SHARES;
    return 0;
}

/* Stores the shares of the heaviest functions. */
static int store_shares(struct fleet *fleet, const struct tally *tally, enum fleet_figure_kind kind,
                        struct fleet_figure *f, struct err *err)
{
    struct fleet_share *list = NULL;
    size_t n = 0, kept = 0;
    if (find_heaviest(tally, kind, &list, &n, err) < 0)
        return -1;
    f->shares = calloc(n + 1, sizeof *f->shares);
    int rc = f->shares ? 0 : err_nomem(err);
    for (size_t i = 0; i < n && rc == 0; i++) {
        uint32_t name = 0;
        rc = intern_name(fleet, profile_str(tally->profile, list[i].name), &name, err);
        if (rc == 0 && name != HASH_INDEX_NONE)
            f->shares[kept++] = (struct fleet_share){name, list[i].share};
    }
    free(list);
    f->n_shares = kept;
    if (rc == 0)
        qsort(f->shares, kept, sizeof *f->shares, compare_names);
    return rc;
}

/* ---- profiles ------------------------------------------------------------------------------------------ */

/* The sample type that gives a figure, and the kind of the figure. */
struct column {
    size_t type; /* TALLY_NONE for a kind of profile that is not compared */
    enum fleet_figure_kind kind;
};

static struct column find_column(const struct profile *profile)
{
    static const struct {
        const char *type, *unit;
        enum fleet_figure_kind kind;
        bool in_differences, in_snapshots; /* the profiles that give this figure */
    } columns[] = {{"cpu", "nanoseconds", FLEET_CPU, true, true},
                   {"inuse_space", "bytes", FLEET_HEAP, false, true},
                   {"goroutine", "count", FLEET_GOROUTINES, false, true},
                   {"alloc_space", "bytes", FLEET_ALLOCATED, true, false}};
    struct column found = {TALLY_NONE, FLEET_CPU};
    for (size_t i = 0; i < sizeof columns / sizeof *columns && found.type == TALLY_NONE; i++) {
        if (profile->duration_ns > 0 ? columns[i].in_differences : columns[i].in_snapshots)
            found.type = tally_find_type(profile, columns[i].type, columns[i].unit);
        found.kind = columns[i].kind;
    }
    return found;
}

static void set_value(struct fleet_figure *f, enum fleet_figure_kind kind, const struct tally *tally)
{
    const struct profile *p = tally->profile;
    double total = (double)tally->total;
    f->value = kind == FLEET_CPU ? stats_share(tally->total, p->duration_ns) : total;
    f->samples = kind == FLEET_HEAP ? total / stats_heap_rate(p) : total;
    if (kind == FLEET_CPU)
        f->samples = tally->count_type == TALLY_NONE ? (double)p->n_samples : (double)tally->objects;
    if (kind == FLEET_ALLOCATED)
        f->value = total * 1e9 / (double)p->duration_ns;
    f->known = true;
}

static int add_tally(struct fleet *fleet, struct fleet_figure *f, const struct column *c,
                     const struct profile *profile, struct err *err)
{
    struct stack_filter filter = {0};
    struct tally t = {0};
    int rc = stack_filter_init(&filter, profile, NULL, 0, err);
    if (rc == 0)
        rc = tally_make(&t, &filter,
                        (struct tally_types){c->type, tally_find_type(profile, "samples", "count")},
                        &(struct tally_choice){0}, err);
    if (rc == 0 && c->kind != FLEET_ALLOCATED)
        rc = store_shares(fleet, &t, c->kind, f, err);
    if (rc == 0)
        set_value(f, c->kind, &t);
    tally_release(&t);
    stack_filter_release(&filter);
    return rc;
}

int fleet_add(struct fleet *fleet, const struct fleet_origin *from, const struct profile *profile,
              struct err *err)
{
    struct fleet_host *row = NULL;
    const struct column column = find_column(profile);
    if (column.type == TALLY_NONE || find_or_add_host(fleet, from->host, from->is_baseline, &row, err) < 0)
        return column.type == TALLY_NONE ? 0 : -1;
    struct fleet_figure *f = &row->figures[column.kind];
    if (f->known)
        return 0;
    free(f->file);
    free(f->shares);
    *f = (struct fleet_figure){.file = strdup(from->file)};
    return f->file ? add_tally(fleet, f, &column, profile, err) : err_nomem(err);
}
