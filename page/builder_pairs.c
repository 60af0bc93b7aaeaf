/* Two snapshots of one process: what has grown. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "page/builder_compare.h"
#include "pprof/pprof.h"

#include "base/banned.h"

/* Of one snapshot as it was collected. */
#define MAX_BYTES ((size_t)64 << 20)

/* ---- what belongs together -------------------------------------------------------------------------------
 */

static bool is_same_kind(const struct page_file *a, const struct page_file *b)
{
    return strcmp(a->entry.kind, b->entry.kind) == 0 &&
           strcmp(a->argument ? a->argument : "", b->argument ? b->argument : "") == 0;
}

/* The pair that waits for this one; NULL: there is none. */
static struct page_pair *partner(struct page_process *p, const struct page_file *f)
{
    for (size_t i = 0; i < p->n; i++)
        if (!p->pairs[i].of[1] && p->pairs[i].of[0] && is_same_kind(p->pairs[i].of[0], f))
            return &p->pairs[i];
    return NULL;
}

static int add_first(struct page_process *p, const struct page_file *f, struct err *err)
{
    if (array_reserve((void **)&p->pairs, &p->cap, p->n + 1, sizeof *p->pairs, err) < 0)
        return -1;
    p->pairs[p->n++] = (struct page_pair){
        .of = {f, NULL}, .title = f->title, .bytes = {BUF_INIT(MAX_BYTES), BUF_INIT(MAX_BYTES)}};
    return 0;
}

/* The first snapshots stand in front of the second ones. One that is alone is not compared. */
int page_process_plan(struct page_builder *d, struct page_file *f, struct err *err)
{
    struct page_comparisons *c = d->comparisons;
    bool profile = (f->how & PAGE_AS_PROFILE) && f->entry.kind;
    if (!profile || f->pair < 1 || f->pair > 2 || !f->entry.host || !f->entry.service)
        return 0;
    const struct page_comparisons_key key = {'p', {f->entry.host, f->entry.service}};
    size_t next = c->n_processes + 1;
    if (array_reserve((void **)&c->processes, &c->cap_processes, next, sizeof *c->processes, err) < 0 ||
        page_comparisons_number(c, &key, next, &f->process, err) < 0)
        return -1;
    if (f->process == next)
        c->processes[c->n_processes++] = (struct page_process){.n = 0};
    struct page_process *p = &c->processes[f->process - 1];
    p->missing++;
    if (f->pair == 1)
        return add_first(p, f, err);
    struct page_pair *pair = partner(p, f);
    f->later = pair != NULL;
    if (pair)
        pair->of[1] = f;
    return 0;
}

void page_process_release(struct page_process *p)
{
    for (size_t i = 0; i < p->n; i++) {
        buf_release(&p->pairs[i].bytes[0]);
        buf_release(&p->pairs[i].bytes[1]);
        growth_release(&p->pairs[i].growth);
    }
    free(p->pairs);
    *p = (struct page_process){.drawn = true};
}

/* ---- reading ---------------------------------------------------------------------------------------------
 */

static bool is_whole(const struct page_pair *p)
{
    return p->of[1] && p->bytes[0].len > 0 && p->bytes[1].len > 0 && !p->bytes[0].failed &&
           !p->bytes[1].failed;
}

/* The first of a pair that failed, and was fetched when a run went on, is the later one. */
static void put_in_order(struct page_pair *pair, struct profile *both[static 2])
{
    if (both[1]->time_ns <= 0 || both[0]->time_ns <= both[1]->time_ns)
        return;
    struct page_pair old = *pair;
    struct profile *first = both[1];
    for (size_t i = 0; i < 2; i++) {
        pair->of[i] = old.of[1 - i];
        pair->bytes[i] = old.bytes[1 - i];
    }
    both[1] = both[0];
    both[0] = first;
}

/* What cannot be read was said where it is drawn alone. */
static int read_pair(const struct page_builder *d, struct page_pair *pair, struct err *err)
{
    struct profile *both[2] = {NULL, NULL};
    struct err why = ERR_INIT;
    int rc = 0;
    for (size_t i = 0; i < 2 && rc == 0; i++)
        rc = profile_parse(pair->bytes[i].data, pair->bytes[i].len, d->limits->profile, &both[i], &why);
    if (rc == 0) {
        put_in_order(pair, both);
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

/* ---- drawing ---------------------------------------------------------------------------------------------
 */

static struct finding_subject subject_of(const struct page_pair *pair)
{
    const struct page_entry *e = &pair->of[1]->entry;
    return (struct finding_subject){.host = e->host,
                                    .service = e->service,
                                    .kind = e->kind,
                                    .file = e->file,
                                    .between_ns = pair->growth.between_ns};
}

/* Goroutines are no counter: what is said of two dumps is said of these. */
static int say_goroutines(struct page_builder *d, const struct page_pair *pair, struct err *err)
{
    struct str dumps[2];
    const char *names[2];
    struct finding_subject subject = subject_of(pair);
    struct goroutines *g = NULL;
    struct err why = ERR_INIT;
    for (size_t i = 0; i < 2; i++) {
        dumps[i] = (struct str){buf_str(&pair->bytes[i]), pair->bytes[i].len};
        names[i] = pair->of[i]->entry.file;
    }
    int rc = goroutines_read(dumps, names, 2, d->limits->profile, &g, &why);
    if (rc == 0)
        rc = findings_add_goroutines(&d->findings, g, &subject, &why);
    goroutines_free(g);
    if (rc < 0 && !page_builder_is_file_error(&why))
        *err = why;
    return rc < 0 && !page_builder_is_file_error(&why) ? -1 : 0;
}

static int say(struct page_builder *d, const struct page_pair *pair, struct err *err)
{
    struct finding_subject subject = subject_of(pair);
    if (d->has_summary)
        return 0;
    if (strcmp(pair->of[1]->entry.kind, "goroutines") == 0)
        return say_goroutines(d, pair, err);
    return findings_add_growth(&d->findings, &pair->growth, &subject, err);
}

/* What was allocated in a second, of its host; one of both is its group's. */
static int tell_rate(struct page_builder *d, const struct page_pair *pair, struct err *err)
{
    const struct page_file *f = pair->of[0]->member ? pair->of[0] : pair->of[1];
    return pair->growth.between_ns > 0 ? page_fleet_add(d, f, pair->growth.both, err) : 0;
}

static int draw_grown(struct page_builder *d, struct page_pair *pair, const struct page_entry *entry,
                      struct err *err)
{
    struct err why = ERR_INIT;
    if (say(d, pair, err) < 0)
        return -1;
    growth_subtract(&pair->growth);
    if (tell_rate(d, pair, err) < 0)
        return -1;
    if (page_writer_add_profile(d->page, entry, pair->growth.both, &why) == 0)
        return 0;
    if (page_builder_is_file_error(&why))
        return page_writer_add_nothing(d->page, entry, why.msg, err);
    *err = why;
    return -1;
}

/* `restarted`: why it is known that these are two processes; NULL: they are one. */
static int draw_pair(struct page_builder *d, struct page_pair *pair, const char *restarted, struct err *err)
{
    struct page_entry entry = pair->of[1]->entry;
    char *title = NULL, *why = NULL;
    int rc = -1;
    entry.from = FINDING_FROM_GROWTH;
    if (asprintf(&title, "%s: growth", pair->title) < 0 ||
        asprintf(&why, "the process was restarted in between: %s", restarted ? restarted : "") < 0) {
        err_nomem(err);
    } else {
        entry.title = title;
        rc =
            restarted ? page_writer_add_nothing(d->page, &entry, why, err) : draw_grown(d, pair, &entry, err);
    }
    free(title);
    free(why);
    return rc;
}

/* Said once, of the kind that shows it. */
static int find_restart(struct page_builder *d, struct page_process *p, const char **ret, struct err *err)
{
    *ret = NULL;
    for (size_t i = 0; i < p->n && !*ret; i++) {
        if (!p->pairs[i].usable || !(*ret = growth_restarted(&p->pairs[i].growth)))
            continue;
        struct finding_subject subject = subject_of(&p->pairs[i]);
        if (!d->has_summary && findings_add_restart(&d->findings, *ret, &subject, err) < 0)
            return -1;
    }
    return 0;
}

int page_process_draw(struct page_builder *d, struct page_process *p, struct err *err)
{
    const char *restarted = NULL;
    int rc = 0;
    if (p->drawn)
        return 0;
    for (size_t i = 0; i < p->n && rc == 0; i++)
        rc = is_whole(&p->pairs[i]) ? read_pair(d, &p->pairs[i], err) : 0;
    if (rc == 0)
        rc = find_restart(d, p, &restarted, err);
    for (size_t i = 0; i < p->n && rc == 0; i++)
        rc = p->pairs[i].usable ? draw_pair(d, &p->pairs[i], restarted, err) : 0;
    page_process_release(p);
    return rc;
}
