/*
 * Decodes profile.proto in three passes.
 *
 * The first pass counts the top-level messages of each kind and finds the first string. The second pass
 * decodes the tables that samples refer to. The third pass decodes the samples, and releases their bytes
 * after reading. If there are many samples, two threads decode one half each. References in the file are IDs
 * and string indices; they are converted to indices of the columns.
 *
 * If a profile has several faults, the error is the one that google/pprof reports: a malformed
 * message, even if a bad reference is earlier in the file.
 */
#include <stdlib.h>
#include <string.h>

#include "proto/two_threads.h"
#include "proto/profile_decode.h"
#include "base/banned.h"

/* The limit of memory for the columns: 3.5 bytes for each byte of the file, but at least 64 MiB. Real
 * profiles need up to three bytes for each byte; a hostile profile could need fifty. */
#define ROOM_AT_LEAST ((size_t)64 << 20)
#define ROOM_FOR(n) ((n) / 2 * 7 > ROOM_AT_LEAST ? (n) / 2 * 7 : ROOM_AT_LEAST)

/* ---- passes ---- */

static bool survey_messages(struct decoder *d)
{
    struct protobuf w = protobuf_of(d->bytes->p, d->bytes->n);
    struct protobuf_field f;
    while (w.p < w.end) {
        if (!protobuf_read_field(&w, &f))
            return false;
        if (f.number == PROFILE_STRING && d->counts[PROFILE_STRING] == 0)
            d->first_string = (size_t)(w.p - d->bytes->p) - f.n;
        if (f.number < PROFILE_N_FIELDS)
            d->counts[f.number]++;
    }
    return true;
}

/* Subtracts the memory of all counted messages from `room`. */
static bool charge_tables(struct decoder *d)
{
    const size_t *n = d->counts;
    const size_t id = 2 * sizeof(uint32_t);
    return decode_charge(&d->room, n[PROFILE_SAMPLE],
                         sizeof(struct profile_sample) + d->n_kept_values * sizeof(int64_t), d->err) &&
           decode_charge(&d->room, n[PROFILE_MAPPING], sizeof(struct profile_mapping) + id, d->err) &&
           decode_charge(&d->room, n[PROFILE_LOCATION],
                         sizeof(struct profile_location) + sizeof(uint64_t) + id, d->err) &&
           decode_charge(&d->room, n[PROFILE_FUNCTION], sizeof(struct profile_function) + id, d->err) &&
           decode_charge(&d->room, n[PROFILE_STRING], sizeof(struct str) + 2 * sizeof *d->strings, d->err);
}

/* The largest number of bytes of a location on a stack in a usual profile. */
#define LOCATION_BYTES 3

static bool make_room(struct decoder *d)
{
    struct profile *p = d->p;
    struct profile_store *s = p->store;
    const size_t *n = d->counts;
    /* Each value has at least one byte. If the samples need more values than there are bytes, values are
     * missing; check_counts reports that. */
    if (n[PROFILE_SAMPLE_TYPE] && n[PROFILE_SAMPLE] <= d->bytes->n / n[PROFILE_SAMPLE_TYPE])
        d->n_kept_values = n[PROFILE_SAMPLE_TYPE];
    if (n[PROFILE_LOCATION] >= PROFILE_NONE || n[PROFILE_FUNCTION] >= PROFILE_NONE ||
        n[PROFILE_MAPPING] >= PROFILE_NONE)
        return decode_fail(d, "too many locations, functions or mappings");
    if (!charge_tables(d))
        return false;
    /* The first pass does not count lines. Often a third of the locations have a second line. */
    size_t lines = n[PROFILE_LOCATION] + n[PROFILE_LOCATION] / 3 + 1;
    /* With two threads, one frame for each byte is reserved, so the number of bytes must fit into 32 bits. */
    if (d->bytes->n < UINT32_MAX && two_threads_are_faster(d->bytes->n / LOCATION_BYTES, 0))
        d->n_first_samples = n[PROFILE_SAMPLE] / 2;
    d->strings = malloc((n[PROFILE_STRING] + 1) * sizeof *d->strings);
    strtab_release(&s->strings);
    if (!d->strings)
        return err_nomem(d->err) == 0;
    return array_reserve((void **)&p->samples, &s->cap_samples, n[PROFILE_SAMPLE] + 1, sizeof *p->samples,
                         d->err) == 0 &&
           array_reserve((void **)&p->values, &s->cap_values, n[PROFILE_SAMPLE] * d->n_kept_values + 1,
                         sizeof *p->values, d->err) == 0 &&
           array_reserve((void **)&p->locations, &s->cap_locations, n[PROFILE_LOCATION] + 1,
                         sizeof *p->locations, d->err) == 0 &&
           array_reserve((void **)&d->location_mappings, &d->cap_location_mappings, n[PROFILE_LOCATION] + 1,
                         sizeof *d->location_mappings, d->err) == 0 &&
           array_reserve((void **)&p->lines, &s->cap_lines, lines, sizeof *p->lines, d->err) == 0 &&
           array_reserve((void **)&d->line_functions, &d->cap_line_functions, lines,
                         sizeof *d->line_functions, d->err) == 0 &&
           array_reserve((void **)&p->functions, &s->cap_functions, n[PROFILE_FUNCTION] + 1,
                         sizeof *p->functions, d->err) == 0 &&
           strtab_init(&s->strings, n[PROFILE_STRING], d->err) == 0 &&
           profile_widen_frames(p, n[PROFILE_LOCATION], d->err) == 0;
}

/* Counts the frames of a sample of the first half. The next field starts at the offset `next`. */
static void count_first_half(struct decoder *d, const struct protobuf_field *f, size_t next)
{
    if (f->type == PROTOBUF_LENGTH)
        d->n_first_frames += decode_count_frames(protobuf_of_field(f));
    d->second_half_at = next;
}

/* Reads everything but samples. */
static bool read_tables(struct decoder *d)
{
    struct protobuf w = protobuf_of(d->bytes->p, d->bytes->n);
    struct protobuf_field f;
    size_t n_samples = 0;
    while (w.p < w.end) {
        if (!protobuf_read_field(&w, &f))
            return false;
        if (f.number != PROFILE_SAMPLE && !decode_table(d, &f))
            return false;
        if (f.number == PROFILE_SAMPLE && n_samples++ < d->n_first_samples)
            count_first_half(d, &f, (size_t)(w.p - d->bytes->p));
    }
    return true;
}

/* ---- references ---- */

static bool convert_strings(struct decoder *d)
{
    struct profile *p = d->p;
    bool fine = decode_convert_string(d, &p->drop_frames) && decode_convert_string(d, &p->keep_frames) &&
                decode_convert_string(d, &p->doc_url) && decode_convert_string(d, &p->default_sample_type) &&
                decode_convert_string(d, &p->period_type.type) &&
                decode_convert_string(d, &p->period_type.unit);
    for (size_t i = 0; fine && i < p->n_sample_types; i++)
        fine = decode_convert_string(d, &p->sample_types[i].type) &&
               decode_convert_string(d, &p->sample_types[i].unit);
    for (size_t i = 0; fine && i < p->n_mappings; i++)
        fine = decode_convert_string(d, &p->mappings[i].file) &&
               decode_convert_string(d, &p->mappings[i].build_id);
    for (size_t i = 0; fine && i < p->n_functions; i++)
        fine = decode_convert_string(d, &p->functions[i].name) &&
               decode_convert_string(d, &p->functions[i].system_name) &&
               decode_convert_string(d, &p->functions[i].filename);
    for (size_t i = 0; fine && i < p->n_comments; i++)
        fine = decode_convert_string(d, &p->comments[i]);
    return fine;
}

static bool convert_mapping_ids(struct decoder *d, struct err *err)
{
    struct profile *p = d->p;
    struct id_map map;
    bool fine = true;
    id_map_init(&map, p->n_mappings);
    for (size_t i = 0; fine && i < p->n_mappings; i++)
        fine = id_map_add(&map, p->mappings[i].id, i, "mapping", err) == 0;
    for (size_t i = 0; fine && i < p->n_locations; i++)
        p->locations[i].mapping = id_map_get(&map, d->location_mappings[i]);
    id_map_release(&map);
    return fine;
}

static bool convert_function_ids(struct decoder *d, struct err *err)
{
    struct profile *p = d->p;
    struct id_map map;
    bool fine = true;
    id_map_init(&map, p->n_functions);
    for (size_t i = 0; fine && i < p->n_functions; i++)
        fine = id_map_add(&map, p->functions[i].id, i, "function", err) == 0;
    for (size_t i = 0; fine && i < p->n_locations; i++) {
        const struct profile_location *l = &p->locations[i];
        for (size_t at = l->line_at; fine && at < l->line_at + l->n_lines; at++) {
            p->lines[at].function = id_map_get(&map, d->line_functions[at]);
            if (p->lines[at].function == PROFILE_NONE)
                fine = err_set(err, ERR_FAILED,
                               "malformed profile: location id: %llu has a line with nil function",
                               (unsigned long long)l->id) == 0;
        }
    }
    id_map_release(&map);
    return fine;
}

static bool map_location_ids(struct decoder *d, struct err *err)
{
    const struct profile *p = d->p;
    bool fine = true;
    id_map_init(&d->locations, p->n_locations);
    for (size_t i = 0; fine && i < p->n_locations; i++)
        fine = id_map_add(&d->locations, p->locations[i].id, i, "location", err) == 0;
    return fine;
}

/* Real profiles have fewer than ten sample types. Merging and comparing takes time for each pair of types. */
#define SAMPLE_TYPES_MAX 1000

static bool check_counts(struct decoder *d)
{
    if (d->p->n_sample_types == 0 && d->p->n_samples)
        return err_set(d->err, ERR_FAILED, "malformed profile: missing sample type information") == 0;
    if (d->wrong_n_values == SIZE_MAX && d->p->n_sample_types > SAMPLE_TYPES_MAX)
        return err_set(d->err, ERR_LIMIT, "parsing profile: it has more than %d sample types",
                       SAMPLE_TYPES_MAX) == 0;
    if (d->wrong_n_values == SIZE_MAX)
        return true;
    return err_set(d->err, ERR_FAILED, "malformed profile: mismatch: sample has %zu values vs. %zu types",
                   d->wrong_n_values, d->p->n_sample_types) == 0;
}

static void drop_references(struct decoder *d)
{
    free(d->line_functions);
    free(d->location_mappings);
    d->line_functions = d->location_mappings = NULL;
}

/* Decodes everything. *ret_read becomes true if the bytes are a well-formed message; references or counts may
 * still be wrong. */
static bool decode_all(struct decoder *d, bool *ret_read)
{
    struct err wrong = ERR_INIT;
    if (!survey_messages(d) || !make_room(d) || !read_tables(d) || !convert_strings(d))
        return false;
    bool fine =
        convert_mapping_ids(d, &wrong) && convert_function_ids(d, &wrong) && map_location_ids(d, &wrong);
    drop_references(d);
    if (!decode_samples(d))
        return false;
    *ret_read = true;
    if (!check_counts(d))
        return false;
    if (fine && d->has_missing_location)
        fine = err_set(&wrong, ERR_FAILED, "malformed profile: sample has nil location") == 0;
    if (!fine)
        *d->err = wrong;
    return fine;
}

int profile_decode(struct region *bytes, struct profile **ret, bool *ret_other, struct err *err)
{
    struct decoder d = {.bytes = bytes, .wrong_n_values = SIZE_MAX, .room = ROOM_FOR(bytes->n), .err = err};
    bool read = false;
    *ret_other = false;
    if (bytes->n == 0)
        return err_set(err, ERR_FAILED, "parsing profile: empty input file");
    d.p = profile_new(err);
    if (!d.p)
        return -1;
    bool fine = decode_all(&d, &read);
    if (!fine && err->kind == ERR_NONE)
        decode_fail(&d, "malformed profile format");
    *ret_other = !read && err->kind == ERR_FAILED && !d.concatenated && d.released == 0;
    drop_references(&d);
    free(d.strings);
    id_map_release(&d.locations);
    if (!fine) {
        profile_free(d.p);
        return -1;
    }
    region_release_pages(bytes, d.released, d.first_string);
    d.p->store->bytes = *bytes;
    *bytes = (struct region){0};
    if (decode_check_expansion(d.p, err) < 0) {
        profile_free(d.p);
        return -1;
    }
    *ret = d.p;
    return 0;
}
