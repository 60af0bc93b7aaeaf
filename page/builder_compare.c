/* Plans the groups of files to compare, and compares target hosts with baseline hosts. */
#include "page/builder_compare.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

/* The most hosts of a side that are named. */
#define NAMED 3

/* ---- planning ------------------------------------------------------------------------------------------ */

static bool is_comparable(const struct page_file *f)
{
    return (f->how & PAGE_AS_PROFILE) && f->entry.host && f->entry.service && f->entry.kind && f->pair != 2;
}

static int plan_sides(struct page_comparisons *c, struct page_file *f, struct err *err)
{
    const struct page_comparisons_key key = {'s', {f->entry.service, f->entry.kind, f->argument}};
    size_t next = c->n_sides + 1;
    if (array_reserve((void **)&c->sides, &c->cap_sides, next, sizeof *c->sides, err) < 0 ||
        page_comparisons_number(c, &key, next, &f->sides, err) < 0)
        return -1;
    if (f->sides == next)
        c->sides[c->n_sides++] = (struct page_comparison){.first = NULL};
    struct page_comparison *s = &c->sides[f->sides - 1];
    s->first = s->first || f->is_baseline ? s->first : f;
    s->planned[f->is_baseline ? COMPARISON_BASELINE : COMPARISON_TARGET]++;
    return 0;
}

static bool has_both(const struct page_comparison *s)
{
    return s->planned[COMPARISON_TARGET] > 0 && s->planned[COMPARISON_BASELINE] > 0;
}

/* Removes a file from sides that lack the other side, and from groups of too few hosts. */
static void drop_incomplete(struct page_comparisons *c, struct page_file *f)
{
    if (f->sides > 0 && !has_both(&c->sides[f->sides - 1]))
        f->sides = 0;
    if (f->member > 0 && json_object_size(c->groups[f->member - 1].planned) < FLEET_LEAST)
        f->member = 0;
}

int page_builder_compare_plan(struct page_builder *d, struct err *err)
{
    struct page_comparisons *c = d->comparisons = calloc(1, sizeof *c);
    if (!c || !(c->numbers = json_object()))
        return err_nomem(err);
    for (size_t i = 0; i < d->n; i++) {
        struct page_file *f = &d->files[i];
        if (is_comparable(f) && (plan_sides(c, f, err) < 0 || page_fleet_plan(c, f, err) < 0))
            return -1;
        if (f->pair && page_process_plan(d, f, err) < 0)
            return -1;
    }
    /* Each file with sides also has a group. */
    for (size_t i = 0; c->sides && c->groups && i < d->n; i++)
        drop_incomplete(c, &d->files[i]);
    return 0;
}

bool page_builder_compares(const struct page_builder *d)
{
    for (size_t i = 0; i < d->n; i++)
        if (d->files[i].sides || d->files[i].process || d->files[i].member)
            return true;
    return false;
}

void page_builder_compare_release(struct page_builder *d)
{
    struct page_comparisons *c = d->comparisons;
    if (!c)
        return;
    for (size_t i = 0; i < c->n_sides; i++) {
        comparison_release(&c->sides[i].sides);
        for (int side = COMPARISON_TARGET; side <= COMPARISON_BASELINE; side++) {
            strlist_release(&c->sides[i].hosts[side]);
            free(c->sides[i].names[side]);
            free(c->sides[i].labels[side]);
        }
    }
    for (size_t i = 0; i < c->n_processes; i++)
        page_process_release(&c->processes[i]);
    for (size_t i = 0; i < c->n_groups; i++) {
        fleet_release(&c->groups[i].hosts);
        json_decref(c->groups[i].planned);
    }
    free(c->sides);
    free(c->processes);
    free(c->groups);
    json_decref(c->numbers);
    free(c);
    d->comparisons = NULL;
}

/* ---- reading ------------------------------------------------------------------------------------------- */

/* Leaves out a profile that cannot be read or that has other sample types, perhaps of another version. */
int page_builder_compare_merge(struct page_builder *d, const struct page_file *f, struct profile *p,
                               struct err *err)
{
    struct err why = ERR_INIT;
    enum comparison_side side = f->is_baseline ? COMPARISON_BASELINE : COMPARISON_TARGET;
    if (f->sides == 0)
        return 0;
    struct page_comparison *s = &d->comparisons->sides[f->sides - 1];
    if (comparison_add(&s->sides, side, p, &why) == 0)
        return strlist_add(&s->hosts[side], f->entry.host, err);
    if (page_builder_is_file_error(&why))
        return 0;
    *err = why;
    return -1;
}

int page_builder_compare_keep(struct page_builder *d, const struct page_file *f, const struct buf *bytes,
                              struct err *err)
{
    if (f->process == 0)
        return 0;
    struct page_process *process = &d->comparisons->processes[f->process - 1];
    for (size_t i = 0; i < process->n; i++)
        if (process->pairs[i].of[f->pair - 1] == f)
            buf_add(&process->pairs[i].bytes[f->pair - 1], bytes->data, bytes->len);
    return --process->missing > 0 ? 0 : page_process_draw(d, process, err);
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
    for (size_t i = 0; i < hosts->n && i < NAMED; i++)
        buf_addf(names, "%s%s", i > 0 ? ", " : "", hosts->items[i]);
    if (hosts->n > NAMED)
        buf_addf(names, " and %zu more", hosts->n - NAMED);
    if (hosts->n == 0)
        buf_adds(names, "nobody");
}

/* Names the hosts whose profiles are merged, and counts the others. */
static int name_side(struct page_comparison *s, enum comparison_side side, struct err *err)
{
    struct buf names = BUF_INIT(1 << 16);
    struct comparison_half *of = &s->sides.of[side];
    of->left_out = s->planned[side] - of->processes;
    add_names(&names, &s->hosts[side]);
    int rc = buf_check(&names, "names of hosts", err);
    if (rc == 0 && !(s->names[side] = buf_detach(&names)))
        rc = err_nomem(err);
    buf_release(&names);
    if (rc == 0 &&
        (of->left_out > 0 ? asprintf(&s->labels[side], "%s (%zu left out)", s->names[side], of->left_out)
                          : asprintf(&s->labels[side], "%s", s->names[side])) < 0) {
        s->labels[side] = NULL;
        rc = err_nomem(err);
    }
    return rc;
}

static int draw_sides(struct page_builder *d, const struct page_comparison *s, const struct page_entry *entry,
                      struct err *err)
{
    struct finding_subject subject = {.host = s->first->entry.host,
                                      .service = entry->service,
                                      .kind = entry->kind,
                                      .file = entry->file,
                                      .target = s->labels[COMPARISON_TARGET],
                                      .baseline = s->labels[COMPARISON_BASELINE]};
    struct err why = ERR_INIT;
    if (!comparison_has_both(&s->sides))
        return page_writer_add_nothing(d->page, entry, "one of the two sides has none that could be read",
                                       err);
    if (!d->has_summary && findings_add_comparison(&d->findings, &s->sides, &subject, err) < 0)
        return -1;
    if (page_writer_add_comparison(d->page, entry, &s->sides, &why) == 0)
        return 0;
    if (page_builder_is_file_error(&why))
        return page_writer_add_nothing(d->page, entry, why.msg, err);
    *err = why;
    return -1;
}

static int finish_sides(struct page_builder *d, struct page_comparison *s, struct err *err)
{
    const struct page_file *f = s->first;
    if (!has_both(s))
        return 0;
    if (name_side(s, COMPARISON_TARGET, err) < 0 || name_side(s, COMPARISON_BASELINE, err) < 0 ||
        comparison_finish(&s->sides, err) < 0)
        return -1;
    struct page_entry entry = {.file = f->entry.file,
                               .kind = f->entry.kind,
                               .service = f->entry.service,
                               .from = FINDING_FROM_COMPARISON,
                               .target = s->names[COMPARISON_TARGET],
                               .baseline = s->names[COMPARISON_BASELINE]};
    char *title = NULL;
    if (asprintf(&title, "%s %s%s%s: %s against %s", entry.service, entry.kind, f->argument ? "=" : "",
                 f->argument ? f->argument : "", s->labels[COMPARISON_TARGET],
                 s->labels[COMPARISON_BASELINE]) < 0)
        return err_nomem(err);
    entry.title = title;
    int rc = draw_sides(d, s, &entry, err);
    free(title);
    /* Free its memory for the next comparison. */
    comparison_release(&s->sides);
    return rc;
}

int page_builder_compare_finish(struct page_builder *d, struct err *err)
{
    struct page_comparisons *c = d->comparisons;
    if (page_builder_compares(d))
        page_writer_add_room(d->page, d->limits->page / PAGE_RESERVED_PART);
    for (size_t i = 0; i < c->n_sides; i++)
        if (finish_sides(d, &c->sides[i], err) < 0)
            return -1;
    for (size_t i = 0; i < c->n_processes; i++)
        if (page_process_draw(d, &c->processes[i], err) < 0)
            return -1;
    for (size_t i = 0; i < c->n_groups; i++)
        if (page_fleet_finish(d, &c->groups[i], err) < 0)
            return -1;
    return 0;
}

int page_builder_compare_groups(const struct page_builder *d, struct page_group **ret, size_t *ret_n,
                                struct err *err)
{
    const struct page_comparisons *c = d->comparisons;
    struct page_group *groups = calloc(c->n_groups + 1, sizeof *groups);
    size_t n = 0;
    if (!groups)
        return err_nomem(err);
    for (size_t i = 0; i < c->n_groups; i++)
        if (c->groups[i].hosts.n >= FLEET_LEAST)
            groups[n++] = (struct page_group){c->groups[i].service, &c->groups[i].hosts};
    *ret = groups;
    *ret_n = n;
    return 0;
}
