/* Adds stacks, samples and types to the profile that a text form is parsed into. */
#include "proto/profile_text.h"
#include "base/banned.h"

static bool is_same_address(const void *ctx, uint32_t index)
{
    const struct profile_location *const *pair = ctx; /* the wanted location, and the array of locations */
    return pair[0]->address == pair[1][index].address;
}

int text_push_location(struct text_reader *r, uint64_t address)
{
    struct profile_location l = {.address = address, .mapping = PROFILE_NONE};
    uint64_t hash = hash_index_mix(hash_index_seed(&r->addresses), address);
    uint32_t at = hash_index_find(&r->addresses, hash, is_same_address,
                                  (const struct profile_location *const[]){&l, r->p->locations});
    if (array_reserve((void **)&r->stack, &r->cap_stack, r->depth + 1, sizeof *r->stack, r->err) < 0)
        return -1;
    if (at == HASH_INDEX_NONE) {
        at = (uint32_t)r->p->n_locations;
        l.id = (uint64_t)at + 1;
        if (hash_index_add(&r->addresses, hash, r->err) < 0 ||
            profile_add_location(r->p, &l, NULL, r->err) < 0)
            return -1;
    }
    r->stack[r->depth++] = at;
    return 0;
}

int text_push_addresses(struct text_reader *r, struct str s, bool all_return, struct str line)
{
    while (text_match(r, PATTERN_HEX, s)) {
        uint64_t address = 0;
        struct str hex = r->groups[0];
        if (!text_uint(hex, 0, &address)) {
            char sample[200], number[100];
            return err_set(r->err, ERR_FAILED,
                           "malformed sample: %s: failed to parse as hex 64-bit number: %s",
                           text_printable(sample, sizeof sample, line.p, line.n),
                           text_printable(number, sizeof number, hex.p, hex.n));
        }
        if (text_push_location(r, address - (all_return || r->depth)) < 0)
            return -1;
        s.n -= (size_t)(hex.p + hex.n - s.p);
        s.p = hex.p + hex.n;
    }
    return r->err->kind == ERR_NONE ? 0 : -1;
}

int text_add_sample(struct text_reader *r, const int64_t *values, const struct profile_label *label)
{
    size_t depth = r->depth;
    r->depth = 0;
    return profile_add_sample(
        r->p, &(struct profile_new_sample){r->stack, depth, values, label, label != NULL}, r->err);
}

int text_add_type(struct text_reader *r, const char *type, const char *unit)
{
    struct profile_value_type t = {0};
    return profile_intern(r->p, type, strlen(type), &t.type, r->err) < 0 ||
                   profile_intern(r->p, unit, strlen(unit), &t.unit, r->err) < 0
               ? -1
               : profile_add_sample_type(r->p, t, r->err);
}

int text_set_period(struct text_reader *r, struct str type, const char *unit, int64_t period)
{
    r->p->period = period;
    return profile_intern(r->p, type.p, type.n, &r->p->period_type.type, r->err) < 0
               ? -1
               : profile_intern(r->p, unit, strlen(unit), &r->p->period_type.unit, r->err);
}
