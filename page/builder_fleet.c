/* Hosts of one service, side by side. */
#include "page/builder_compare.h"

#include <stdlib.h>

#include "base/banned.h"

int page_comparisons_find_number(struct page_comparisons *comparisons, const struct page_comparisons_key *key,
                                 size_t next, size_t *ret, struct err *err)
{
    struct buf text = BUF_INIT(1 << 16);
    buf_addc(&text, key->type);
    for (size_t i = 0; i < sizeof key->words / sizeof *key->words; i++)
        buf_addf(&text, "\x1f%s", key->words[i] ? key->words[i] : "");
    int rc = buf_check(&text, "a name", err);
    const void *known = rc == 0 ? name_map_get(&comparisons->numbers, buf_str(&text)) : NULL;
    *ret = known ? (size_t)(uintptr_t)known : next;
    if (rc == 0 && !known)
        rc = name_map_add(&comparisons->numbers, buf_str(&text), (const void *)(uintptr_t)next, err);
    buf_release(&text);
    return rc;
}

int page_fleet_plan(struct page_comparisons *comparisons, struct page_file *file, struct err *err)
{
    const struct page_comparisons_key key = {'f', {file->entry.service}};
    size_t next = comparisons->n_fleets + 1;
    if (array_reserve((void **)&comparisons->fleets, &comparisons->cap_fleets, next,
                      sizeof *comparisons->fleets, err) < 0 ||
        page_comparisons_find_number(comparisons, &key, next, &file->fleet, err) < 0)
        return -1;
    if (file->fleet == next)
        comparisons->fleets[comparisons->n_fleets++] = (struct page_fleet){.service = file->entry.service};
    return name_map_set(&comparisons->fleets[file->fleet - 1].planned, file->entry.host, NULL, err);
}

int page_fleet_add(struct page_builder *builder, const struct page_file *file, const struct profile *profile,
                   struct err *err)
{
    if (file->fleet == 0)
        return 0;
    return fleet_add(&builder->comparisons->fleets[file->fleet - 1].hosts,
                     &(struct fleet_origin){file->entry.host, file->is_baseline, file->entry.file}, profile,
                     err);
}

static bool has_baseline(const struct page_fleet *fleet)
{
    for (size_t i = 0; i < fleet->hosts.n; i++)
        if (fleet->hosts.rows[i].is_baseline)
            return true;
    return false;
}

int page_fleet_finish(struct page_builder *builder, struct page_fleet *fleet, struct err *err)
{
    struct finding_subject subject = {.service = fleet->service};
    if (fleet->hosts.n < FLEET_MIN_HOSTS)
        return 0;
    if (fleet_compare(&fleet->hosts, err) < 0)
        return -1;
    /* A fleet with baseline hosts gets no findings, because its hosts are compared as two sides instead. */
    return !builder->makes_findings || has_baseline(fleet)
               ? 0
               : findings_add_fleet(&builder->findings, &fleet->hosts, &subject, err);
}
