/* Source: google/pprof profile/profile.go (CheckValid). */
#include "proto/id_map.h"
#include "base/banned.h"

static int check_samples(const struct profile *p, struct err *err)
{
    if (p->n_sample_types == 0 && p->n_samples)
        return err_set(err, ERR_FAILED, "malformed profile: missing sample type information");
    for (size_t i = 0; i < p->n_samples; i++) {
        const struct profile_sample *s = &p->samples[i];
        if (s->stack_at > p->n_stack || s->depth > p->n_stack - s->stack_at || s->label_at > p->n_labels ||
            s->n_labels > p->n_labels - s->label_at)
            return err_set(err, ERR_FAILED, "malformed profile: sample %zu has missing frames or labels", i);
        for (size_t k = 0; k < s->depth; k++)
            if (profile_frame(p, s, k) >= p->n_locations)
                return err_set(err, ERR_FAILED, "malformed profile: sample has nil location");
    }
    return 0;
}

static int check_location(const struct profile *p, const struct profile_location *l, struct err *err)
{
    if (l->mapping != PROFILE_NONE && l->mapping >= p->n_mappings)
        return err_set(err, ERR_FAILED, "malformed profile: inconsistent mapping");
    if (l->line_at > p->n_lines || l->n_lines > p->n_lines - l->line_at)
        return err_set(err, ERR_FAILED, "malformed profile: location id: %llu has missing lines",
                       (unsigned long long)l->id);
    for (size_t i = 0; i < l->n_lines; i++)
        if (p->lines[l->line_at + i].function >= p->n_functions)
            return err_set(err, ERR_FAILED,
                           "malformed profile: location id: %llu has a line with nil function",
                           (unsigned long long)l->id);
    return 0;
}

/* Checks that all string indices are in range. */
static int check_strings(const struct profile *p, struct err *err)
{
    size_t n = profile_n_strings(p);
    bool fine = p->drop_frames < n && p->keep_frames < n && p->doc_url < n && p->default_sample_type < n &&
                p->period_type.type < n && p->period_type.unit < n;
    for (size_t i = 0; i < p->n_sample_types; i++)
        fine = fine && p->sample_types[i].type < n && p->sample_types[i].unit < n;
    for (size_t i = 0; i < p->n_labels; i++)
        fine = fine && p->labels[i].key < n && p->labels[i].str < n && p->labels[i].unit < n;
    for (size_t i = 0; i < p->n_mappings; i++)
        fine = fine && p->mappings[i].file < n && p->mappings[i].build_id < n;
    for (size_t i = 0; i < p->n_functions; i++)
        fine = fine && p->functions[i].name < n && p->functions[i].system_name < n &&
               p->functions[i].filename < n;
    for (size_t i = 0; i < p->n_comments; i++)
        fine = fine && p->comments[i] < n;
    return fine ? 0 : err_set(err, ERR_FAILED, "malformed profile: a reference to a missing string");
}

static int check_parts(const struct profile *p, struct id_map maps[3], struct err *err)
{
    int rc = 0;
    id_map_init(&maps[0], p->n_mappings);
    id_map_init(&maps[1], p->n_functions);
    id_map_init(&maps[2], p->n_locations);
    for (size_t i = 0; rc == 0 && i < p->n_mappings; i++)
        rc = id_map_add(&maps[0], p->mappings[i].id, i, "mapping", err);
    for (size_t i = 0; rc == 0 && i < p->n_functions; i++)
        rc = id_map_add(&maps[1], p->functions[i].id, i, "function", err);
    for (size_t i = 0; rc == 0 && i < p->n_locations; i++) {
        rc = id_map_add(&maps[2], p->locations[i].id, i, "location", err);
        if (rc == 0)
            rc = check_location(p, &p->locations[i], err);
    }
    return rc;
}

int profile_check(const struct profile *p, struct err *err)
{
    struct id_map maps[3] = {{0}, {0}, {0}};
    int rc = check_samples(p, err) < 0 || check_strings(p, err) < 0 ? -1 : check_parts(p, maps, err);
    for (size_t i = 0; i < 3; i++)
        id_map_release(&maps[i]);
    return rc;
}
