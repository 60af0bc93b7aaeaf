#include "page/flame_stacks.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "page/jsontext.h"
#include "pprof/pprof.h"
#include "base/banned.h"

/* The most inlined calls of one location. Real locations have dozens, but a small hostile file could have
 * very many. */
#define MAX_INLINED 100

/* ---- functions ----------------------------------------------------------------------------------------- */

struct function_key {
    const struct flame_stacks *stacks;
    uint32_t name, file;
};

static bool is_same_function(const void *ctx, uint32_t index)
{
    const struct function_key *key = ctx;
    return key->stacks->functions[index].name == key->name && key->stacks->functions[index].file == key->file;
}

static int intern_function(struct flame_stacks *stacks, struct flame_function function, uint32_t *ret,
                           struct err *err)
{
    uint64_t hash =
        hash_index_mix(hash_index_seed(&stacks->by_name), (uint64_t)function.name << 32 | function.file);
    uint32_t at = hash_index_find(&stacks->by_name, hash, is_same_function,
                                  &(struct function_key){stacks, function.name, function.file});
    if (at == HASH_INDEX_NONE) {
        at = (uint32_t)stacks->n_functions;
        if (array_reserve((void **)&stacks->functions, &stacks->cap_functions, at + 1,
                          sizeof *stacks->functions, err) < 0 ||
            hash_index_add(&stacks->by_name, hash, err) < 0)
            return -1;
        function.number = at;
        stacks->functions[stacks->n_functions++] = function;
    }
    *ret = at;
    return 0;
}

/* Numbers the profile's functions. `ret` has room for all of them. */
static int intern_functions(struct flame_stacks *stacks, uint32_t *ret, struct err *err)
{
    for (size_t i = 0; i < stacks->p->n_functions; i++) {
        const struct profile_function *known = &stacks->p->functions[i];
        struct flame_function function = {.name = known->name ? known->name : known->system_name,
                                          .file = known->filename,
                                          .line = known->start_line};
        if (intern_function(stacks, function, &ret[i], err) < 0)
            return -1;
    }
    return 0;
}

/* Finds or adds the function that stands for a location without lines, named after its mapping's file. */
static int intern_unnamed(struct flame_stacks *stacks, const struct profile_location *location, uint32_t *ret,
                          struct err *err)
{
    struct flame_function function = {0};
    char name[300] = "<unknown>";
    if (location->mapping != PROFILE_NONE) {
        char file[256];
        struct str path = profile_str(stacks->p, stacks->p->mappings[location->mapping].file);
        text_printable(file, sizeof file, path.p, path.n);
        if (*file_base(file))
            snprintf(name, sizeof name, "[%s]", file_base(file));
    }
    return profile_intern(stacks->p, name, strlen(name), &function.name, err) < 0
               ? -1
               : intern_function(stacks, function, ret, err);
}

/* ---- locations ----------------------------------------------------------------------------------------- */

static uint32_t count_lines(const struct profile_location *l)
{
    return l->n_lines < MAX_INLINED ? l->n_lines : MAX_INLINED;
}

/* Finds the calls of each location, the outermost first. */
static int find_calls(struct flame_stacks *stacks, const uint32_t *functions, struct err *err)
{
    const struct profile *p = stacks->p;
    uint32_t n = 0;
    for (size_t i = 0; i < p->n_locations; i++) {
        const struct profile_location *l = &p->locations[i];
        stacks->calls_at[i] = n;
        if (l->n_lines == 0 && intern_unnamed(stacks, l, &stacks->calls[n++], err) < 0)
            return -1;
        for (uint32_t line = count_lines(l); line-- > 0;) {
            uint32_t function = p->lines[l->line_at + line].function;
            if (function != PROFILE_NONE)
                stacks->calls[n++] = functions[function];
        }
    }
    stacks->calls_at[p->n_locations] = n;
    return 0;
}

static int make_calls(struct flame_stacks *stacks, struct err *err)
{
    const struct profile *p = stacks->p;
    size_t room = 1;
    for (size_t i = 0; i < p->n_locations; i++)
        room += p->locations[i].n_lines ? count_lines(&p->locations[i]) : 1;
    uint32_t *functions = calloc(p->n_functions + 1, sizeof *functions);
    stacks->calls_at = calloc(p->n_locations + 1, sizeof *stacks->calls_at);
    stacks->calls = room < UINT32_MAX ? calloc(room, sizeof *stacks->calls) : NULL;
    int rc = functions && stacks->calls_at && stacks->calls ? 0 : err_nomem(err);
    if (rc == 0)
        rc = intern_functions(stacks, functions, err) < 0 ? -1 : find_calls(stacks, functions, err);
    free(functions);
    return rc;
}

int flame_stacks_init(struct flame_stacks *stacks, struct profile *profile, struct err *err)
{
    *stacks = (struct flame_stacks){.p = profile};
    return make_calls(stacks, err);
}

/* ---- samples ------------------------------------------------------------------------------------------- */

struct sample_query {
    const struct flame_stacks *stacks;
    const struct page_tree *wanted;
    const bool *through; /* by function; NULL: any stack */
};

static bool is_wanted(void *ctx, struct profile *p, struct profile_sample *s)
{
    const struct sample_query *query = ctx;
    const struct flame_stacks *stacks = query->stacks;
    const struct page_tree *wanted = query->wanted;
    size_t n_equal = 0;
    bool is_through = !query->through;
    for (uint32_t frame = s->depth; frame-- > 0 && (n_equal < wanted->n_under || !is_through);) {
        uint32_t location = profile_frame_at(p, s->stack_at + frame);
        for (uint32_t at = stacks->calls_at[location]; at < stacks->calls_at[location + 1]; at++) {
            if (n_equal < wanted->n_under && stacks->calls[at] != wanted->under[n_equal++])
                return false;
            is_through = is_through || query->through[stacks->calls[at]];
        }
    }
    return is_through && n_equal == wanted->n_under;
}

/* Whether the text is NAME, or NAME FILE. */
static bool is_name(struct str text, struct str name, struct str file)
{
    if (text.n < name.n || memcmp(text.p, name.p, name.n) != 0)
        return false;
    struct str rest = {text.p + name.n, text.n - name.n};
    return rest.n == 0 || (rest.p[0] == ' ' && str_equal((struct str){rest.p + 1, rest.n - 1}, file));
}

/* Whether the text names the function by its name in the profile, or by its name on the page. */
static bool is_named(const struct flame_stacks *stacks, const struct flame_function *function,
                     struct str text)
{
    char shown_name[JSONTEXT_MAX_NAME], shown_file[JSONTEXT_MAX_NAME];
    struct str name = profile_str(stacks->p, function->name), file = profile_str(stacks->p, function->file);
    if (is_name(text, name, file))
        return true;
    text_printable(shown_name, sizeof shown_name, name.p, name.n);
    text_printable(shown_file, sizeof shown_file, file.p, file.n);
    return is_name(text, str_of(shown_name), str_of(shown_file));
}

/* Marks the functions that a stack of the tree must have one of. `ret` has room for all functions. */
static int mark_through(const struct flame_stacks *stacks, const struct page_tree *wanted, bool *ret,
                        struct err *err)
{
    size_t n = 0;
    if (wanted->through && *wanted->through < stacks->n_functions)
        ret[*wanted->through] = true;
    for (size_t i = 0; wanted->through_name && i < stacks->n_functions; i++) {
        if (!is_named(stacks, &stacks->functions[i], str_of(wanted->through_name)))
            continue;
        ret[i] = true;
        n++;
    }
    return wanted->through_name && n == 0
               ? err_set(err, ERR_NOT_FOUND, "no function has the name %s", wanted->through_name)
               : 0;
}

int flame_stacks_keep(const struct flame_stacks *stacks, const struct page_tree *wanted, struct err *err)
{
    bool has_through = wanted->through || wanted->through_name;
    bool *through = has_through ? calloc(stacks->n_functions + 1, sizeof *through) : NULL;
    int rc = has_through && !through ? err_nomem(err) : 0;
    if (rc == 0 && through)
        rc = mark_through(stacks, wanted, through, err);
    if (rc == 0)
        report_keep(stacks->p, is_wanted, &(struct sample_query){stacks, wanted, through});
    free(through);
    return rc;
}

void flame_stacks_scale(const struct flame_stacks *stacks, size_t n_types, double *ret)
{
    const struct profile *p = stacks->p;
    for (size_t type = 0; type < n_types; type++) {
        double all = 0;
        for (size_t i = 0; i < p->n_samples; i++)
            all += fabs((double)p->values[i * p->n_sample_types + type]);
        ret[type] = all > 0 ? 1 / all : 0;
    }
}

void flame_stacks_release(struct flame_stacks *stacks)
{
    free(stacks->functions);
    hash_index_release(&stacks->by_name);
    free(stacks->calls_at);
    free(stacks->calls);
    *stacks = (struct flame_stacks){0};
}
