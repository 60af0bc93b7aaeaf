/*
 * The values of addresses, and the addresses that match.
 *
 * Source: google/pprof internal/report/source.go (newSourcePrinter), synth.go.
 */
#include <stdlib.h>
#include <string.h>

#include "pprof/filter.h"
#include "pprof/machine/formats.h"
#include "pprof/machine/listing.h"
#include "base/banned.h"

struct finder {
    struct report *report;
    struct addresses *addresses;
    uint64_t *by_location; /* address of each location, then its index in `addresses` */
    uint32_t *seen;        /* by address: the last sample that has it, plus 1 */
    bool has_wanted;       /* the expression is an address */
    uint64_t wanted;
};

/* ---- addresses ----------------------------------------------------------------------------------------- */

static int compare_addresses(const void *left, const void *right)
{
    const struct address *a = left, *b = right;
    return (a->address > b->address) - (a->address < b->address);
}

/* The index of the first address that is at least `address`. */
static size_t first_from(const struct addresses *a, uint64_t address)
{
    size_t low = 0, high = a->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (a->items[middle].address < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Gives each location an address. Some profiles have locations without one. */
static void set_addresses(const struct finder *f)
{
    const struct profile *p = f->report->profile;
    uint64_t next = 1;
    for (size_t i = 0; i < p->n_mappings; i++)
        next = p->mappings[i].limit > next ? p->mappings[i].limit : next;
    for (size_t i = 0; i < p->n_locations; i++)
        f->by_location[i] = p->locations[i].address ? p->locations[i].address : next++;
}

static void sort_addresses(const struct finder *f)
{
    struct addresses *a = f->addresses;
    size_t n = f->report->profile->n_locations;
    for (size_t i = 0; i < n; i++)
        a->items[i] = (struct address){.address = f->by_location[i], .location = PROFILE_NONE};
    qsort(a->items, n, sizeof *a->items, compare_addresses);
    for (size_t i = 0; i < n; i++)
        if (a->n == 0 || a->items[a->n - 1].address != a->items[i].address)
            a->items[a->n++] = a->items[i];
    for (size_t i = 0; i < n; i++)
        f->by_location[i] = first_from(a, f->by_location[i]);
}

/* ---- matches ------------------------------------------------------------------------------------------- */

static void mark(const struct finder *f, uint32_t location, uint32_t line)
{
    const struct profile *p = f->report->profile;
    uint32_t function = p->lines[p->locations[location].line_at + line].function;
    struct address *a = &f->addresses->items[f->by_location[location]];
    if (function == PROFILE_NONE)
        return;
    f->addresses->any = true;
    f->addresses->interest[p->functions[function].name] = 1;
    f->addresses->interest[p->functions[function].system_name] = 1;
    if (a->location == PROFILE_NONE)
        a->location = location;
}

static bool line_matches(const struct finder *f, const struct profile_line *line)
{
    const struct profile *p = f->report->profile;
    struct regex *r = f->report->symbol;
    if (line->function == PROFILE_NONE)
        return false;
    const struct profile_function *function = &p->functions[line->function];
    return regex_matches_string(r, p, function->name) || regex_matches_string(r, p, function->system_name) ||
           regex_matches_string(r, p, function->filename);
}

/* Marks the matching functions of a location. The outermost one matches if there is no expression, or if the
 * expression is the location's address. */
static void match_location(const struct finder *f, uint32_t location)
{
    const struct profile *p = f->report->profile;
    const struct profile_location *l = &p->locations[location];
    uint64_t address = f->addresses->items[f->by_location[location]].address;
    if (!f->report->symbol || (f->has_wanted && address == f->wanted)) {
        if (l->n_lines > 0)
            mark(f, location, l->n_lines - 1);
        return;
    }
    bool file_matches = filter_matches_mapping(f->report->symbol, p, l);
    for (uint32_t i = 0; i < l->n_lines; i++)
        if ((i == 0 && file_matches) || line_matches(f, &p->lines[l->line_at + i]))
            mark(f, location, i);
}

static void note_names(const struct finder *f, uint32_t location)
{
    const struct profile *p = f->report->profile;
    const struct profile_location *l = &p->locations[location];
    for (uint32_t i = 0; i < l->n_lines; i++) {
        uint32_t function = p->lines[l->line_at + i].function;
        if (function != PROFILE_NONE)
            f->addresses->names[p->functions[function].system_name] = p->functions[function].name + 1;
    }
}

/* ---- samples ------------------------------------------------------------------------------------------- */

static int64_t value_of(const struct report *report, size_t sample)
{
    const int64_t *values = &report->profile->values[sample * report->profile->n_sample_types];
    int64_t value = values[report->value_index];
    return report->settings->mean ? measure_divide(value, values[0]) : value;
}

/* Adds a sample's value to its addresses, once for each, however often a recursive function is on the
 * stack. */
static void add_sample(const struct finder *f, size_t sample)
{
    const struct profile *p = f->report->profile;
    const struct profile_sample *s = &p->samples[sample];
    int64_t value = value_of(f->report, sample);
    for (uint32_t i = s->depth; i-- > 0;) {
        uint32_t location = profile_frame(p, s, i);
        size_t at = f->by_location[location];
        struct address *a = &f->addresses->items[at];
        if (f->seen[at] != sample + 1)
            a->cum = measure_sum(a->cum, value);
        f->seen[at] = (uint32_t)sample + 1;
        if (i == 0)
            a->flat = measure_sum(a->flat, value);
        note_names(f, location);
        match_location(f, location);
    }
}

int addresses_init(struct addresses *a, struct report *report)
{
    const struct profile *p = report->profile;
    *a = (struct addresses){.n_strings = profile_n_strings(p)};
    struct finder f = {.report = report, .addresses = a};
    f.has_wanted = report->symbol && machine_parse_address(report->settings->symbol, &f.wanted);
    f.by_location = calloc(p->n_locations + 1, sizeof *f.by_location);
    f.seen = calloc(p->n_locations + 1, sizeof *f.seen);
    a->items = calloc(p->n_locations + 1, sizeof *a->items);
    a->interest = calloc(a->n_strings + 1, sizeof *a->interest);
    a->names = calloc(a->n_strings + 1, sizeof *a->names);
    int rc = f.by_location && f.seen && a->items && a->interest && a->names ? 0 : err_nomem(report->err);
    if (rc == 0) {
        set_addresses(&f);
        sort_addresses(&f);
        for (size_t i = 0; i < p->n_samples; i++)
            add_sample(&f, i);
        rc = regex_check(report->symbol, report->err);
    }
    free(f.by_location);
    free(f.seen);
    return rc;
}

void addresses_release(struct addresses *a)
{
    free(a->items);
    free(a->interest);
    free(a->names);
    *a = (struct addresses){0};
}

void addresses_sum(const struct addresses *a, uint64_t from, uint64_t to, int64_t *ret_flat, int64_t *ret_cum)
{
    *ret_flat = *ret_cum = 0;
    for (size_t i = first_from(a, from); i < a->n && a->items[i].address < to; i++) {
        *ret_flat = measure_sum(*ret_flat, a->items[i].flat);
        *ret_cum = measure_sum(*ret_cum, a->items[i].cum);
    }
}

const struct address *addresses_find(const struct addresses *a, uint64_t from, uint64_t to)
{
    for (size_t i = first_from(a, from); i < a->n && a->items[i].address < to; i++)
        if (a->items[i].location != PROFILE_NONE)
            return &a->items[i];
    return NULL;
}
