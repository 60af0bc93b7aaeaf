#include "page/flame_sums.h"

#include <stdlib.h>

#include "base/banned.h"

static void add_sample(const struct flame_stacks *stacks, size_t sample, struct flame_sums *to)
{
    const struct profile_sample *s = &stacks->p->samples[sample];
    const int64_t *values = stacks->p->values + sample * stacks->p->n_sample_types;
    int64_t *flat = NULL;
    for (uint32_t frame = 0; frame < s->depth; frame++) {
        uint32_t location = profile_frame_at(stacks->p, s->stack_at + frame);
        for (uint32_t at = stacks->calls_at[location + 1]; at-- > stacks->calls_at[location];) {
            struct flame_sum *sum = flame_sums_at(to, stacks->calls[at]);
            if (!flat)
                flame_stacks_add_values(flat = sum->values, values, to->n_types);
            if (sum->last_sample == sample + 1)
                continue;
            sum->last_sample = sample + 1;
            flame_stacks_add_values(sum->values + to->n_types, values, to->n_types);
        }
    }
}

int flame_sums_make(const struct flame_stacks *stacks, size_t n_types, struct flame_sums *ret,
                    struct err *err)
{
    *ret = (struct flame_sums){.n_types = n_types};
    ret->bytes = calloc(stacks->n_functions + 1, flame_sums_size(ret));
    if (!ret->bytes)
        return err_nomem(err);
    for (size_t i = 0; i < stacks->p->n_samples; i++)
        add_sample(stacks, i, ret);
    return 0;
}

void flame_sums_release(struct flame_sums *sums)
{
    free(sums->bytes);
    *sums = (struct flame_sums){0};
}
