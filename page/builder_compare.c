/* Plans which files to compare, and compares target hosts with baseline hosts. */
#include "page/builder_compare.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

/* The most hosts of a side that are named. */
#define MAX_NAMED 3

/* ---- planning ------------------------------------------------------------------------------------------ */

static bool is_comparable(const struct page_file *file)
{
    return (file->draw_as & PAGE_AS_PROFILE) && file->entry.host && file->entry.service && file->entry.kind &&
           file->pair != 2;
}

static int plan_comparison(struct page_comparisons *comparisons, struct page_file *file, struct err *err)
{
    const struct page_comparisons_key key = {'c', {file->entry.service, file->entry.kind, file->argument}};
    size_t next = comparisons->n_comparisons + 1;
    if (array_reserve((void **)&comparisons->comparisons, &comparisons->cap_comparisons, next,
                      sizeof *comparisons->comparisons, err) < 0 ||
        page_comparisons_find_number(comparisons, &key, next, &file->comparison, err) < 0)
        return -1;
    if (file->comparison == next)
        comparisons->comparisons[comparisons->n_comparisons++] = (struct page_comparison){.first = NULL};
    struct page_comparison *comparison = &comparisons->comparisons[file->comparison - 1];
    comparison->first = comparison->first || file->is_baseline ? comparison->first : file;
    comparison->n_planned[file->is_baseline ? COMPARISON_BASELINE : COMPARISON_TARGET]++;
    return 0;
}

static bool has_both_sides(const struct page_comparison *comparison)
{
    return comparison->n_planned[COMPARISON_TARGET] > 0 && comparison->n_planned[COMPARISON_BASELINE] > 0;
}

/* Takes a file out of a comparison that has only one side, and out of a fleet of too few hosts. */
static void drop_incomplete(struct page_comparisons *comparisons, struct page_file *file)
{
    if (file->comparison > 0 && !has_both_sides(&comparisons->comparisons[file->comparison - 1]))
        file->comparison = 0;
    if (file->fleet > 0 && comparisons->fleets[file->fleet - 1].planned.n < FLEET_MIN_HOSTS)
        file->fleet = 0;
}

int page_builder_compare_plan(struct page_builder *builder, struct err *err)
{
    struct page_comparisons *c = builder->comparisons = calloc(1, sizeof *c);
    if (!c)
        return err_nomem(err);
    c->numbers.copies_names = true;
    for (size_t i = 0; i < builder->n; i++) {
        struct page_file *f = &builder->files[i];
        if (is_comparable(f) && (plan_comparison(c, f, err) < 0 || page_fleet_plan(c, f, err) < 0))
            return -1;
        if (f->pair && page_process_plan(builder, f, err) < 0)
            return -1;
    }
    /* Every planned file is in a comparison and in a fleet, so both arrays exist or neither. */
    for (size_t i = 0; c->comparisons && c->fleets && i < builder->n; i++)
        drop_incomplete(c, &builder->files[i]);
    return 0;
}

bool page_builder_compares(const struct page_builder *builder)
{
    for (size_t i = 0; i < builder->n; i++)
        if (builder->files[i].comparison || builder->files[i].process || builder->files[i].fleet)
            return true;
    return false;
}

void page_builder_compare_release(struct page_builder *builder)
{
    struct page_comparisons *c = builder->comparisons;
    if (!c)
        return;
    for (size_t i = 0; i < c->n_comparisons; i++) {
        comparison_release(&c->comparisons[i].profiles);
        for (int side = COMPARISON_TARGET; side <= COMPARISON_BASELINE; side++) {
            strlist_release(&c->comparisons[i].hosts[side]);
            free(c->comparisons[i].names[side]);
            free(c->comparisons[i].labels[side]);
        }
    }
    for (size_t i = 0; i < c->n_processes; i++)
        page_process_release(&c->processes[i]);
    for (size_t i = 0; i < c->n_fleets; i++) {
        fleet_release(&c->fleets[i].hosts);
        name_map_release(&c->fleets[i].planned);
    }
    free(c->comparisons);
    free(c->processes);
    free(c->pair_rows);
    free(c->fleets);
    name_map_release(&c->numbers);
    free(c);
    builder->comparisons = NULL;
}

/* ---- reading ------------------------------------------------------------------------------------------- */

/* Leaves out a profile that cannot be merged, for example because it has other sample types: another version
 * of the service may have written it. */
int page_builder_compare_merge(struct page_builder *builder, const struct page_file *file,
                               struct profile *profile, struct err *err)
{
    struct err why = ERR_INIT;
    enum comparison_side side = file->is_baseline ? COMPARISON_BASELINE : COMPARISON_TARGET;
    if (file->comparison == 0)
        return 0;
    struct page_comparison *comparison = &builder->comparisons->comparisons[file->comparison - 1];
    if (comparison_add(&comparison->profiles, side, profile, &why) == 0)
        return strlist_add(&comparison->hosts[side], file->entry.host, err);
    if (page_builder_is_file_error(&why))
        return 0;
    *err = why;
    return -1;
}

int page_builder_compare_store(struct page_builder *builder, const struct page_file *file,
                               const struct buf *bytes, struct err *err)
{
    if (file->process == 0)
        return 0;
    struct page_process *process = &builder->comparisons->processes[file->process - 1];
    if (file->pair_number > 0)
        buf_add(&process->pairs[file->pair_number - 1].bytes[file->pair - 1], bytes->data, bytes->len);
    return --process->n_unread > 0 ? 0 : page_process_draw(builder, process, err);
}

/* ---- the end ------------------------------------------------------------------------------------------- */

static int compare_names(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

/* Appends "file-03, file-04, file-05 and 12 more", sorted. */
static void add_names(struct buf *names, struct strlist *hosts)
{
    if (hosts->n > 0)
        qsort(hosts->items, hosts->n, sizeof *hosts->items, compare_names);
    for (size_t i = 0; i < hosts->n && i < MAX_NAMED; i++)
        buf_addf(names, "%s%s", i > 0 ? ", " : "", hosts->items[i]);
    if (hosts->n > MAX_NAMED)
        buf_addf(names, " and %zu more", hosts->n - MAX_NAMED);
    if (hosts->n == 0)
        buf_adds(names, "no host");
}

/* Names the hosts whose profiles are merged, and counts the others. */
static int name_side(struct page_comparison *comparison, enum comparison_side side, struct err *err)
{
    struct buf names = BUF_INIT(1 << 16);
    struct comparison_profiles *profiles = &comparison->profiles.sides[side];
    profiles->n_left_out = comparison->n_planned[side] - profiles->n_processes;
    add_names(&names, &comparison->hosts[side]);
    int rc = buf_check(&names, "names of hosts", err);
    if (rc == 0 && !(comparison->names[side] = buf_detach(&names)))
        rc = err_nomem(err);
    buf_release(&names);
    if (rc == 0 &&
        (profiles->n_left_out > 0 ? asprintf(&comparison->labels[side], "%s (%zu left out)",
                                             comparison->names[side], profiles->n_left_out)
                                  : asprintf(&comparison->labels[side], "%s", comparison->names[side])) < 0) {
        comparison->labels[side] = NULL;
        rc = err_nomem(err);
    }
    return rc;
}

static int draw_comparison(struct page_builder *builder, const struct page_comparison *comparison,
                           const struct page_entry *entry, struct err *err)
{
    struct finding_subject subject = {.host = comparison->first->entry.host,
                                      .service = entry->service,
                                      .kind = entry->kind,
                                      .file = entry->file,
                                      .target = comparison->labels[COMPARISON_TARGET],
                                      .baseline = comparison->labels[COMPARISON_BASELINE]};
    struct err why = ERR_INIT;
    if (!comparison_has_both(&comparison->profiles))
        return page_writer_add_undrawn(builder->page, entry,
                                       "at least one of the two sides has no readable profile", err);
    if (builder->makes_findings &&
        findings_add_comparison(&builder->findings, &comparison->profiles, &subject, err) < 0)
        return -1;
    if (page_writer_add_comparison(builder->page, entry, &comparison->profiles, &why) == 0)
        return 0;
    if (page_builder_is_file_error(&why))
        return page_writer_add_undrawn(builder->page, entry, why.msg, err);
    *err = why;
    return -1;
}

static int finish_comparison(struct page_builder *builder, struct page_comparison *comparison,
                             struct err *err)
{
    const struct page_file *f = comparison->first;
    if (!has_both_sides(comparison))
        return 0;
    if (name_side(comparison, COMPARISON_TARGET, err) < 0 ||
        name_side(comparison, COMPARISON_BASELINE, err) < 0 ||
        comparison_finish(&comparison->profiles, err) < 0)
        return -1;
    struct page_entry entry = {.file = f->entry.file,
                               .kind = f->entry.kind,
                               .service = f->entry.service,
                               .from = FINDING_FROM_COMPARISON,
                               .target = comparison->names[COMPARISON_TARGET],
                               .baseline = comparison->names[COMPARISON_BASELINE]};
    char *title = NULL;
    if (asprintf(&title, "%s %s%s%s: %s against %s", entry.service, entry.kind, f->argument ? "=" : "",
                 f->argument ? f->argument : "", comparison->labels[COMPARISON_TARGET],
                 comparison->labels[COMPARISON_BASELINE]) < 0)
        return err_nomem(err);
    entry.title = title;
    int rc = draw_comparison(builder, comparison, &entry, err);
    free(title);
    /* Free the merged profiles, because the next comparison needs the memory. */
    comparison_release(&comparison->profiles);
    return rc;
}

int page_builder_compare_finish(struct page_builder *builder, struct err *err)
{
    struct page_comparisons *c = builder->comparisons;
    if (builder->without_end)
        return 0;
    page_builder_record_end(builder);
    if (page_builder_compares(builder))
        page_writer_raise_limit(builder->page, builder->limits->page / PAGE_RESERVED_PART);
    for (size_t i = 0; i < c->n_comparisons; i++)
        if (finish_comparison(builder, &c->comparisons[i], err) < 0)
            return -1;
    for (size_t i = 0; i < c->n_processes; i++)
        if (page_process_draw(builder, &c->processes[i], err) < 0)
            return -1;
    for (size_t i = 0; i < c->n_fleets; i++)
        if (page_fleet_finish(builder, &c->fleets[i], err) < 0)
            return -1;
    return 0;
}

int page_builder_list_fleets(const struct page_builder *builder, struct page_named_fleet **ret, size_t *ret_n,
                             struct err *err)
{
    const struct page_comparisons *c = builder->comparisons;
    struct page_named_fleet *fleets = calloc(c->n_fleets + 1, sizeof *fleets);
    size_t n = 0;
    if (!fleets)
        return err_nomem(err);
    for (size_t i = 0; i < c->n_fleets; i++)
        if (c->fleets[i].hosts.n >= FLEET_MIN_HOSTS)
            fleets[n++] = (struct page_named_fleet){c->fleets[i].service, &c->fleets[i].hosts};
    *ret = fleets;
    *ret_n = n;
    return 0;
}
