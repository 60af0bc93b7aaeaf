#include "page/data.h"

#include <stdlib.h>

#include "page/jsontext.h"
#include "base/banned.h"

/* ---- strings ------------------------------------------------------------------------------------------- */

/* The texts of an entry, each written once, by number. Number 0 is the empty text. */
struct texts {
    struct str *items;
    size_t n, cap;
    struct hash_index by_text;
};

struct text_query {
    const struct texts *texts;
    struct str text;
};

static bool is_same_text(const void *ctx, uint32_t index)
{
    const struct text_query *query = ctx;
    return str_equal(query->texts->items[index], query->text);
}

/* *ret: the number of the text. */
static int find_or_add_text(struct texts *t, struct str text, uint32_t *ret, struct err *err)
{
    uint64_t hash = hash_index_mix_str(hash_index_seed(&t->by_text), text);
    uint32_t at = hash_index_find(&t->by_text, hash, is_same_text, &(struct text_query){t, text});
    if (at == HASH_INDEX_NONE) {
        at = (uint32_t)t->n;
        if (array_reserve((void **)&t->items, &t->cap, t->n + 1, sizeof *t->items, err) < 0 ||
            hash_index_add(&t->by_text, hash, err) < 0)
            return -1;
        t->items[t->n++] = text;
    }
    *ret = at;
    return 0;
}

static int texts_init(struct texts *t, struct err *err)
{
    uint32_t empty;
    *t = (struct texts){0};
    return find_or_add_text(t, STR(""), &empty, err);
}

static void texts_release(struct texts *t)
{
    free(t->items);
    hash_index_release(&t->by_text);
}

static void add_texts(struct buf *buf, const struct texts *t)
{
    buf_adds(buf, ",\"strings\":[");
    for (size_t i = 0; i < t->n; i++) {
        if (i > 0)
            buf_addc(buf, ',');
        jsontext_name(buf, t->items[i]);
    }
    buf_addc(buf, ']');
}

/* Writes `key`, which begins with a comma, then `:[` … `]` with the numbers. */
static void add_numbers(struct buf *buf, const char *key, const uint32_t *numbers, size_t n)
{
    buf_addf(buf, "%s:[", key);
    for (size_t i = 0; i < n; i++)
        jsontext_array_number(buf, i, numbers[i]);
    buf_addc(buf, ']');
}

/* ---- profiles ------------------------------------------------------------------------------------------ */

void page_data_types(struct buf *buf, const struct profile *profile, size_t n_types, size_t default_type)
{
    buf_adds(buf, "{\"types\":[");
    for (size_t i = 0; i < n_types; i++) {
        buf_adds(buf, i > 0 ? ",{\"type\":" : "{\"type\":");
        jsontext_name(buf, profile_str(profile, profile->sample_types[i].type));
        buf_adds(buf, ",\"unit\":");
        jsontext_name(buf, profile_str(profile, profile->sample_types[i].unit));
        buf_addc(buf, '}');
    }
    buf_addf(buf, "],\"default\":%zu", default_type);
}

void page_data_values(struct buf *buf, const char *key, const struct page_values *values)
{
    buf_addf(buf, ",\"%s\":[", key);
    for (size_t type = values->from; type < values->to; type++) {
        buf_adds(buf, type > values->from ? ",[" : "[");
        for (size_t i = 0; i < values->n; i++)
            jsontext_array_number(buf, i, values->values[i * values->n_types + type]);
        buf_addc(buf, ']');
    }
    buf_addc(buf, ']');
}

/* Writes the numbers of a folded tree's functions, and their sums. */
static void add_function_numbers(struct buf *buf, const struct flame *flame)
{
    size_t n = flame->n_functions, n_types = flame->n_types;
    buf_adds(buf, ",\"number\":[");
    for (size_t i = 0; i < n; i++)
        jsontext_array_number(buf, i, flame->functions[i].number);
    buf_addc(buf, ']');
    if (!flame->flat)
        return;
    page_data_values(buf, "flat", &(struct page_values){flame->flat, n, n_types, 0, n_types});
    page_data_values(buf, "cum", &(struct page_values){flame->cum, n, n_types, 0, n_types});
}

int page_data_functions(struct buf *buf, const struct profile *profile, const struct flame *flame,
                        struct err *err)
{
    struct texts texts;
    uint32_t *names = calloc(flame->n_functions + 1, sizeof *names);
    uint32_t *files = calloc(flame->n_functions + 1, sizeof *files);
    int rc = texts_init(&texts, err);
    if (rc == 0 && (!names || !files))
        rc = err_nomem(err);
    for (size_t i = 0; rc == 0 && i < flame->n_functions; i++)
        if (find_or_add_text(&texts, profile_str(profile, flame->functions[i].name), &names[i], err) < 0 ||
            find_or_add_text(&texts, profile_str(profile, flame->functions[i].file), &files[i], err) < 0)
            rc = -1;
    if (rc == 0) {
        add_texts(buf, &texts);
        add_numbers(buf, ",\"functions\":{\"name\"", names, flame->n_functions);
        add_numbers(buf, ",\"file\"", files, flame->n_functions);
        buf_adds(buf, ",\"line\":[");
        for (size_t i = 0; i < flame->n_functions; i++)
            jsontext_array_number(buf, i, flame->functions[i].line);
        buf_addc(buf, ']');
        if (flame->is_folded)
            add_function_numbers(buf, flame);
        buf_addc(buf, '}');
    }
    texts_release(&texts);
    free(names);
    free(files);
    return rc;
}

void page_data_nodes(struct buf *buf, const struct flame *flame)
{
    add_numbers(buf, ",\"nodes\":{\"depth\"", flame->depth, flame->n_nodes);
    buf_adds(buf, ",\"function\":[");
    for (size_t i = 0; i < flame->n_nodes; i++)
        jsontext_array_number(buf, i,
                              flame->function[i] == FLAME_ROOT     ? -1
                              : flame->function[i] == FLAME_FOLDED ? -2
                                                                   : (int64_t)flame->function[i]);
    buf_addc(buf, ']');
}

int page_data_profile(struct profile *profile, const struct page_tree *wanted, struct buf *ret,
                      struct err *err)
{
    struct flame *f = NULL;
    if (flame_new(profile, wanted, PAGE_MAX_NODES, &f, err) < 0)
        return -1;
    page_data_types(ret, profile, f->n_types, f->default_type);
    buf_addf(ret, ",\"duration_ns\":%lld,\"period\":%lld,\"time_ns\":%lld", (long long)profile->duration_ns,
             (long long)profile->period, (long long)profile->time_ns);
    int rc = page_data_functions(ret, profile, f, err);
    if (rc == 0) {
        page_data_nodes(ret, f);
        page_data_values(ret, "self", &(struct page_values){f->self, f->n_nodes, f->n_types, 0, f->n_types});
        buf_adds(ret, "}}");
    }
    flame_free(f);
    return rc;
}

/* ---- goroutines ---------------------------------------------------------------------------------------- */

/* Frames by number: equal frames are written once. */
struct frames {
    struct texts texts;
    struct frame {
        uint32_t function, file_line;
    } * items;
    size_t n, cap;
    struct hash_index by_frame;
};

struct frame_query {
    const struct frames *frames;
    struct frame frame;
};

static bool is_same_frame(const void *ctx, uint32_t index)
{
    const struct frame_query *query = ctx;
    const struct frame *frame = &query->frames->items[index];
    return frame->function == query->frame.function && frame->file_line == query->frame.file_line;
}

/* *ret: the number of the frame. */
static int find_or_add_frame(struct frames *f, const struct goroutine_frame *frame, uint32_t *ret,
                             struct err *err)
{
    struct frame numbers;
    if (find_or_add_text(&f->texts, frame->function, &numbers.function, err) < 0 ||
        find_or_add_text(&f->texts, frame->file_line, &numbers.file_line, err) < 0)
        return -1;
    uint64_t hash =
        hash_index_mix(hash_index_seed(&f->by_frame), (uint64_t)numbers.function << 32 | numbers.file_line);
    uint32_t at = hash_index_find(&f->by_frame, hash, is_same_frame, &(struct frame_query){f, numbers});
    if (at == HASH_INDEX_NONE) {
        at = (uint32_t)f->n;
        if (array_reserve((void **)&f->items, &f->cap, f->n + 1, sizeof *f->items, err) < 0 ||
            hash_index_add(&f->by_frame, hash, err) < 0)
            return -1;
        f->items[f->n++] = numbers;
    }
    *ret = at;
    return 0;
}

static void frames_release(struct frames *f)
{
    texts_release(&f->texts);
    free(f->items);
    hash_index_release(&f->by_frame);
}

static int add_group(struct buf *buf, struct frames *f, const struct goroutines *goroutines,
                     const struct goroutine_group *group, struct err *err)
{
    uint32_t number;
    if (find_or_add_text(&f->texts, group->state, &number, err) < 0)
        return -1;
    buf_addf(buf, "{\"state\":%u,\"count\":%llu,\"frames\":[", number, (unsigned long long)group->count[1]);
    for (size_t i = 0; i < group->n_frames; i++) {
        if (find_or_add_frame(f, &goroutines->frames[group->first_frame + i], &number, err) < 0)
            return -1;
        jsontext_array_number(buf, i, number);
    }
    if (group->creator.function.n > 0 && find_or_add_frame(f, &group->creator, &number, err) < 0)
        return -1;
    buf_addf(buf, "],\"creator\":%lld,\"wait\":[%u,%u,%u]}",
             group->creator.function.n > 0 ? (long long)number : -1, group->wait_min, group->wait_median,
             group->wait_max);
    return 0;
}

static void add_frames(struct buf *buf, const struct frames *f)
{
    add_texts(buf, &f->texts);
    buf_adds(buf, ",\"frames\":{\"function\":[");
    for (size_t i = 0; i < f->n; i++)
        jsontext_array_number(buf, i, f->items[i].function);
    buf_adds(buf, "],\"place\":[");
    for (size_t i = 0; i < f->n; i++)
        jsontext_array_number(buf, i, f->items[i].file_line);
    buf_adds(buf, "]}");
}

/* The groups are sorted: the first are the largest. */
static int add_groups(struct buf *buf, struct frames *f, const struct goroutines *goroutines, size_t shown,
                      struct err *err)
{
    unsigned long long hidden = 0;
    buf_adds(buf, ",\"groups\":[");
    for (size_t i = 0; i < shown && !buf->failed; i++) {
        if (i > 0)
            buf_addc(buf, ',');
        if (add_group(buf, f, goroutines, &goroutines->groups[i], err) < 0)
            return -1;
    }
    for (size_t i = shown; i < goroutines->n_groups; i++)
        hidden += goroutines->groups[i].count[1];
    buf_addf(buf, "],\"hidden\":{\"groups\":%zu,\"goroutines\":%llu}", goroutines->n_groups - shown, hidden);
    return 0;
}

int page_data_goroutines(const struct goroutines *goroutines, struct buf *ret, struct err *err)
{
    static const char *const forms[] = {"stacks", "grouped", "profile"};
    const struct goroutine_dump *dump = &goroutines->dumps[goroutines->n_dumps - 1];
    struct frames f = {.items = NULL};
    size_t shown = goroutines->n_groups < PAGE_MAX_GROUPS ? goroutines->n_groups : PAGE_MAX_GROUPS;
    int rc = texts_init(&f.texts, err);
    buf_addf(ret, "{\"form\":\"%s\",\"total\":%llu,\"cut\":%s", forms[dump->form],
             (unsigned long long)dump->total, dump->cut ? "true" : "false");
    if (rc == 0)
        rc = add_groups(ret, &f, goroutines, shown, err);
    if (rc == 0)
        add_frames(ret, &f);
    buf_addc(ret, '}');
    frames_release(&f);
    return rc;
}
