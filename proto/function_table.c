#include "proto/function_table.h"

#include "base/banned.h"

struct wanted {
    const struct function_table *table;
    const struct profile_function *function;
};

static bool is_wanted(const void *ctx, uint32_t index)
{
    const struct wanted *w = ctx;
    const struct profile_function *a = w->function,
                                  *b = &w->table->profile->functions[w->table->first + index];
    return a->name == b->name && a->filename == b->filename && a->start_line == b->start_line;
}

void function_table_init(struct function_table *t, struct profile *p)
{
    *t = (struct function_table){.profile = p, .first = p->n_functions};
}

void function_table_release(struct function_table *t)
{
    hash_index_release(&t->index);
}

int function_table_find_or_add(struct function_table *t, const struct profile_function *f, uint32_t *ret,
                               struct err *err)
{
    struct profile *p = t->profile;
    uint64_t hash = hash_index_mix(hash_index_mix(hash_index_seed(&t->index), f->name), f->filename);
    hash = hash_index_mix(hash, (uint64_t)f->start_line);
    uint32_t number = hash_index_find(&t->index, hash, is_wanted, &(struct wanted){t, f});
    if (number == HASH_INDEX_NONE) {
        struct profile_function new = *f;
        number = (uint32_t)(p->n_functions - t->first);
        new.id = p->n_functions + 1;
        if (hash_index_add(&t->index, hash, err) < 0 || profile_add_function(p, &new, err) < 0)
            return -1;
    }
    *ret = (uint32_t)t->first + number;
    return 0;
}
