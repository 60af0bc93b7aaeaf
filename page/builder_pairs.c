/* Compares two snapshots of one process: draws the growth between them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "page/builder_compare.h"
#include "pprof/pprof.h"

#include "base/banned.h"

/* The most bytes of one snapshot, as the service sent it. */
#define MAX_BYTES ((size_t)64 << 20)

/* ---- planning ------------------------------------------------------------------------------------------ */

/* Finds the row for the pairs of the file's process, kind and argument. */
static int find_pair_row(struct page_comparisons *c, const struct page_file *file, struct page_pair_row **ret,
                         struct err *err)
{
    char process[32];
    const struct page_comparisons_key key = {'k', {process, file->entry.kind, file->argument}};
    size_t next = c->n_pair_rows + 1, number;
    snprintf(process, sizeof process, "%zu", file->process);
    if (array_reserve((void **)&c->pair_rows, &c->cap_pair_rows, next, sizeof *c->pair_rows, err) < 0 ||
        page_comparisons_find_number(c, &key, next, &number, err) < 0)
        return -1;
    if (number == next)
        c->pair_rows[c->n_pair_rows++] = (struct page_pair_row){0};
    *ret = &c->pair_rows[number - 1];
    return 0;
}

static int add_pair(struct page_process *process, struct page_file *file, struct page_pair_row *row,
                    struct err *err)
{
    if (array_reserve((void **)&process->pairs, &process->cap, process->n + 1, sizeof *process->pairs, err) <
        0)
        return -1;
    process->pairs[process->n++] = (struct page_pair){
        .files = {file, NULL}, .title = file->title, .bytes = {BUF_INIT(MAX_BYTES), BUF_INIT(MAX_BYTES)}};
    file->pair_number = process->n;
    if (row->last > 0)
        process->pairs[row->last - 1].next = process->n;
    row->last = process->n;
    row->incomplete = row->incomplete ? row->incomplete : process->n;
    return 0;
}

/* Adds a second snapshot to the first pair that lacks it, if there is one. */
static void complete_pair(struct page_process *process, struct page_file *file, struct page_pair_row *row)
{
    if (row->incomplete == 0)
        return;
    struct page_pair *pair = &process->pairs[row->incomplete - 1];
    pair->files[1] = file;
    file->is_later = true;
    file->pair_number = row->incomplete;
    row->incomplete = pair->next;
}

/* Expects the first snapshots of a process before its second ones. A snapshot without its partner is not
 * compared. */
int page_process_plan(struct page_builder *builder, struct page_file *file, struct err *err)
{
    struct page_comparisons *c = builder->comparisons;
    bool is_profile = (file->draw_as & PAGE_AS_PROFILE) && file->entry.kind;
    if (!is_profile || file->pair < 1 || file->pair > 2 || !file->entry.host || !file->entry.service)
        return 0;
    const struct page_comparisons_key key = {'p', {file->entry.host, file->entry.service}};
    size_t next = c->n_processes + 1;
    if (array_reserve((void **)&c->processes, &c->cap_processes, next, sizeof *c->processes, err) < 0 ||
        page_comparisons_find_number(c, &key, next, &file->process, err) < 0)
        return -1;
    if (file->process == next)
        c->processes[c->n_processes++] = (struct page_process){.n = 0};
    struct page_process *p = &c->processes[file->process - 1];
    struct page_pair_row *row = NULL;
    p->n_unread++;
    if (find_pair_row(c, file, &row, err) < 0)
        return -1;
    if (file->pair == 1)
        return add_pair(p, file, row, err);
    complete_pair(p, file, row);
    return 0;
}

void page_process_release(struct page_process *process)
{
    for (size_t i = 0; i < process->n; i++) {
        buf_release(&process->pairs[i].bytes[0]);
        buf_release(&process->pairs[i].bytes[1]);
        growth_release(&process->pairs[i].growth);
    }
    free(process->pairs);
    *process = (struct page_process){.drawn = true};
}

/* ---- reading ------------------------------------------------------------------------------------------- */

static bool is_complete(const struct page_pair *p)
{
    return p->files[1] && p->bytes[0].len > 0 && p->bytes[1].len > 0 && !p->bytes[0].failed &&
           !p->bytes[1].failed;
}

/* Swaps the snapshots if the first one is the later one: it had failed, and resume fetched it again. */
static void order_by_time(struct page_pair *pair, struct profile *both[static 2])
{
    if (both[1]->time_ns <= 0 || both[0]->time_ns <= both[1]->time_ns)
        return;
    struct page_pair old = *pair;
    struct profile *first = both[1];
    for (size_t i = 0; i < 2; i++) {
        pair->files[i] = old.files[1 - i];
        pair->bytes[i] = old.bytes[1 - i];
    }
    both[1] = both[0];
    both[0] = first;
}

/* Ignores a file that cannot be read: its own entry reports that. */
static int read_pair(const struct page_builder *builder, struct page_pair *pair, struct err *err)
{
    struct profile *both[2] = {NULL, NULL};
    struct err why = ERR_INIT;
    int rc = 0;
    for (size_t i = 0; i < 2 && rc == 0; i++)
        rc = profile_parse(pair->bytes[i].data, pair->bytes[i].len, builder->limits->profile, &both[i], &why);
    if (rc == 0) {
        order_by_time(pair, both);
        rc = report_prune(both[0], &why) < 0 || report_prune(both[1], &why) < 0
                 ? -1
                 : growth_make(&pair->growth, both[0], both[1], &why);
    }
    profile_free(both[0]);
    profile_free(both[1]);
    pair->usable = rc == 0;
    if (rc == 0 || page_builder_is_file_error(&why))
        return 0;
    *err = why;
    return -1;
}

/* ---- drawing ------------------------------------------------------------------------------------------- */

static struct finding_subject make_subject(const struct page_pair *pair)
{
    const struct page_entry *e = &pair->files[1]->entry;
    return (struct finding_subject){.host = e->host,
                                    .service = e->service,
                                    .kind = e->kind,
                                    .file = e->file,
                                    .between_ns = pair->growth.between_ns};
}

/* Goroutines are no counter, so two goroutine profiles get the findings of two dumps. */
static int add_goroutine_findings(struct page_builder *builder, const struct page_pair *pair, struct err *err)
{
    struct str dumps[2];
    const char *names[2];
    struct finding_subject subject = make_subject(pair);
    struct goroutines *g = NULL;
    struct err why = ERR_INIT;
    for (size_t i = 0; i < 2; i++) {
        dumps[i] = (struct str){buf_str(&pair->bytes[i]), pair->bytes[i].len};
        names[i] = pair->files[i]->entry.file;
    }
    int rc = goroutines_read(&(struct goroutines_input){dumps, names, 2, builder->limits->profile}, &g, &why);
    if (rc == 0)
        rc = findings_add_goroutines(&builder->findings, g, &subject, &why);
    goroutines_free(g);
    if (rc < 0 && !page_builder_is_file_error(&why))
        *err = why;
    return rc < 0 && !page_builder_is_file_error(&why) ? -1 : 0;
}

static int add_findings(struct page_builder *builder, const struct page_pair *pair, struct err *err)
{
    struct finding_subject subject = make_subject(pair);
    if (!builder->makes_findings)
        return 0;
    if (strcmp(pair->files[1]->entry.kind, "goroutines") == 0)
        return add_goroutine_findings(builder, pair, err);
    return findings_add_growth(&builder->findings, &pair->growth, &subject, err);
}

/* Adds the growth to the figures of the host. Only one of the two files belongs to a fleet. */
static int add_figures(struct page_builder *builder, const struct page_pair *pair, struct err *err)
{
    const struct page_file *f = pair->files[0]->fleet ? pair->files[0] : pair->files[1];
    return pair->growth.between_ns > 0 ? page_fleet_add(builder, f, pair->growth.merged, err) : 0;
}

static int draw_growth(struct page_builder *builder, struct page_pair *pair, const struct page_entry *entry,
                       struct err *err)
{
    struct err why = ERR_INIT;
    if (add_findings(builder, pair, err) < 0)
        return -1;
    growth_subtract(&pair->growth);
    if (add_figures(builder, pair, err) < 0)
        return -1;
    if (page_writer_add_profile(builder->page, entry, pair->growth.merged, &why) == 0)
        return 0;
    if (page_builder_is_file_error(&why))
        return page_writer_add_undrawn(builder->page, entry, why.msg, err);
    *err = why;
    return -1;
}

/* `evidence` shows a restart of the process between the snapshots; NULL: none. */
static int draw_pair(struct page_builder *builder, struct page_pair *pair, const char *evidence,
                     struct err *err)
{
    struct page_entry entry = pair->files[1]->entry;
    char *title = NULL, *why = NULL;
    int rc = -1;
    entry.from = FINDING_FROM_GROWTH;
    if (asprintf(&title, "%s: growth", pair->title) < 0 ||
        asprintf(&why, "the process was restarted in between: %s", evidence ? evidence : "") < 0) {
        err_nomem(err);
    } else {
        entry.title = title;
        rc = evidence ? page_writer_add_undrawn(builder->page, &entry, why, err)
                      : draw_growth(builder, pair, &entry, err);
    }
    free(title);
    free(why);
    return rc;
}

/* Adds one finding, on the first kind that shows a restart. *ret is the evidence, or NULL. */
static int find_restart(struct page_builder *builder, struct page_process *process, const char **ret,
                        struct err *err)
{
    *ret = NULL;
    for (size_t i = 0; i < process->n && !*ret; i++) {
        if (!process->pairs[i].usable || !(*ret = growth_find_restart(&process->pairs[i].growth)))
            continue;
        struct finding_subject subject = make_subject(&process->pairs[i]);
        if (builder->makes_findings && findings_add_restart(&builder->findings, *ret, &subject, err) < 0)
            return -1;
    }
    return 0;
}

int page_process_draw(struct page_builder *builder, struct page_process *process, struct err *err)
{
    const char *evidence = NULL;
    int rc = 0;
    if (process->drawn)
        return 0;
    for (size_t i = 0; i < process->n && rc == 0; i++)
        rc = is_complete(&process->pairs[i]) ? read_pair(builder, &process->pairs[i], err) : 0;
    if (rc == 0)
        rc = find_restart(builder, process, &evidence, err);
    for (size_t i = 0; i < process->n && rc == 0; i++)
        rc = process->pairs[i].usable ? draw_pair(builder, &process->pairs[i], evidence, err) : 0;
    page_process_release(process);
    return rc;
}
