/* Hosts of one service, side by side. */
#include "page/builder_compare.h"

#include <stdlib.h>

#include "base/banned.h"

int page_comparisons_number(struct page_comparisons *c, const struct page_comparisons_key *key, size_t next,
                            size_t *ret, struct err *err)
{
    struct buf text = BUF_INIT(1 << 16);
    buf_addc(&text, key->kind);
    for (size_t i = 0; i < sizeof key->words / sizeof *key->words; i++)
        buf_addf(&text, "\x1f%s", key->words[i] ? key->words[i] : "");
    int rc = buf_check(&text, "a name", err);
    const json_t *known = rc == 0 ? json_object_get(c->numbers, buf_str(&text)) : NULL;
    *ret = known ? (size_t)json_integer_value(known) : next;
    if (rc == 0 && !known &&
        json_object_set_new(c->numbers, buf_str(&text), json_integer((json_int_t)next)) < 0)
        rc = err_nomem(err);
    buf_release(&text);
    return rc;
}

int page_fleet_plan(struct page_comparisons *c, struct page_file *f, struct err *err)
{
    const struct page_comparisons_key key = {'g', {f->entry.service}};
    size_t next = c->n_groups + 1;
    if (array_reserve((void **)&c->groups, &c->cap_groups, next, sizeof *c->groups, err) < 0 ||
        page_comparisons_number(c, &key, next, &f->member, err) < 0)
        return -1;
    if (f->member == next)
        c->groups[c->n_groups++] = (struct page_fleet){.service = f->entry.service, .planned = json_object()};
    json_t *planned = c->groups[f->member - 1].planned;
    return !planned || json_object_set_new(planned, f->entry.host, json_true()) < 0 ? err_nomem(err) : 0;
}

int page_fleet_add(struct page_builder *d, const struct page_file *f, const struct profile *p,
                   struct err *err)
{
    if (f->member == 0)
        return 0;
    return fleet_add(&d->comparisons->groups[f->member - 1].hosts,
                     &(struct fleet_member){f->entry.host, f->is_baseline, f->entry.file}, p, err);
}

/* Groups with baseline hosts are covered by the side comparison. */
static bool has_baseline(const struct page_fleet *g)
{
    for (size_t i = 0; i < g->hosts.n; i++)
        if (g->hosts.rows[i].is_baseline)
            return true;
    return false;
}

int page_fleet_finish(struct page_builder *d, struct page_fleet *g, struct err *err)
{
    struct finding_subject subject = {.service = g->service};
    if (g->hosts.n < FLEET_LEAST)
        return 0;
    if (fleet_compare(&g->hosts, err) < 0)
        return -1;
    return d->has_summary || has_baseline(g) ? 0 : findings_add_fleet(&d->findings, &g->hosts, &subject, err);
}
