/*
 * A label names its key and its value by their places in the string table, which usually stands behind the
 * samples, so the profile passes by several times, field by field, and only what is needed of it is kept:
 * first which strings are labels' keys, and which of those keys are wanted; then who else uses which string;
 * then everything is written. Most profiles have no such label, and pass by once.
 *
 * A string may serve a label's value and a function's name at once. Labels therefore are pointed to a new
 * string at the end of the table, and the old one is emptied only if nobody else has a use for it.
 *
 * Labels are renumbered one by one, and with them the samples they are in; every other field is copied.
 */
#include <stdlib.h>
#include <string.h>

#include "proto/proto.h"
#include "proto/wire.h"
#include "base/banned.h"

enum { PROFILE_SAMPLE = 2, PROFILE_STRING = 6, SAMPLE_LABEL = 3, LABEL_KEY = 1, LABEL_STR = 2 };

/* A field that is looked into is kept until all of it has come. Keys: far more than anybody has. */
enum { FIELD_SIZE = 16 << 20, TEXT_SIZE = 256 << 20, MAX_KEYS = 250, KEY_SLOTS = 1024 };

/* What the string at an index is used for. */
enum { KEPT = 1, HIDDEN = 2 };

/* A field, and all of it with its tag. */
struct field {
    struct wire_field body;
    const unsigned char *p;
    size_t n;
};

/* A string that is a label's key. */
struct key {
    uint64_t index;
    bool used; /* else the slot is empty */
    bool judged, wanted;
};

struct relabel;
typedef int field_fn(struct relabel *r, const struct field *f, struct err *err);

struct relabel {
    const struct profile_relabel *how;
    field_fn *each;            /* what is done with a field that passes by */
    struct profile_scan *scan; /* the first time */
    struct buf pending;        /* of the field that has not come whole */
    struct wire unchanged;     /* what lies in `pending` and is to be written as it is */
    struct key keys[KEY_SLOTS];
    size_t n_keys;
    uint64_t n_strings; /* those that have passed */
    unsigned char *uses;
    uint64_t n_uses;
    struct profile_relabelled found;
    struct buf sample, text;
    struct buf known, inner; /* a message without its unknown fields, and one inside of it */
};

/* ---- passing by ---- */

static int put(const struct relabel *r, const void *p, size_t n, struct err *err)
{
    return n ? r->how->sink(r->how->sink_ctx, p, n, err) : 0;
}

static int put_unchanged(struct relabel *r, struct err *err)
{
    struct wire all = r->unchanged;
    r->unchanged = (struct wire){0};
    return put(r, all.p, (size_t)(all.end - all.p), err);
}

/* The next field; false at the end, or where not all of it has come: profile_scan refuses what makes no
 * sense.
 */
static bool next_field(struct wire *w, struct wire_field *ret)
{
    return w->p < w->end && wire_field(w, ret);
}

static int take(void *ctx, const void *p, size_t n, struct err *err)
{
    struct relabel *r = ctx;
    if (r->scan && profile_scan_feed(r->scan, p, n, err) < 0)
        return -1;
    buf_add(&r->pending, p, n);
    if (buf_check(&r->pending, "a field", err) < 0)
        return -1;
    struct wire w = wire_of(buf_str(&r->pending), r->pending.len);
    struct field f = {.p = w.p};
    const unsigned char *begin = w.p;
    int rc = 0;
    while (rc == 0 && next_field(&w, &f.body)) {
        f.n = (size_t)(w.p - f.p);
        rc = r->each(r, &f, err);
        f.p = w.p;
    }
    if (rc == 0)
        rc = put_unchanged(r, err);
    buf_consume(&r->pending, (size_t)(f.p - begin));
    return rc;
}

static int pass(struct relabel *r, field_fn *each, struct err *err)
{
    r->each = each;
    r->n_strings = 0;
    buf_clear(&r->pending);
    return r->how->source(r->how->source_ctx, take, r, err);
}

/* ---- keys ---- */

struct label {
    uint64_t key, str, unit;
};

static struct label read_label(const struct wire_field *label)
{
    enum { NUM_UNIT = 4 };
    struct label l = {0};
    struct wire w = wire_into(label);
    struct wire_field f;
    while (next_field(&w, &f)) {
        uint64_t *numbers[] = {[LABEL_KEY] = &l.key, [LABEL_STR] = &l.str, [NUM_UNIT] = &l.unit};
        if (f.type == WIRE_NUMBER && f.number <= NUM_UNIT && numbers[f.number])
            *numbers[f.number] = f.value;
    }
    return l;
}

/* The slot of that key, or the empty one where it belongs: there always is one. */
static struct key *find_key(struct relabel *r, uint64_t index)
{
    size_t i = (size_t)(index * UINT64_C(0x9e3779b97f4a7c15) >> 32) % KEY_SLOTS;
    while (r->keys[i].used && r->keys[i].index != index)
        i = (i + 1) % KEY_SLOTS;
    return &r->keys[i];
}

static bool is_wanted(struct relabel *r, uint64_t index)
{
    const struct key *key = find_key(r, index);
    return key->used && key->wanted;
}

static int add_keys(struct relabel *r, const struct wire_field *sample, struct err *err)
{
    struct wire w = wire_into(sample);
    struct wire_field f;
    while (next_field(&w, &f)) {
        if (f.number != SAMPLE_LABEL)
            continue;
        uint64_t index = read_label(&f).key;
        struct key *key = find_key(r, index);
        if (!key->used && r->n_keys == MAX_KEYS)
            return err_set(err, ERR_FAILED, "its labels have more than %d keys", MAX_KEYS);
        if (!key->used) {
            *key = (struct key){.index = index, .used = true};
            r->n_keys++;
        }
    }
    return 0;
}

/* A string that passes by may be a key that is known to be one. */
static void judge_string(struct relabel *r, const struct wire_field *text)
{
    struct key *key = find_key(r, r->n_strings++);
    if (!key->used)
        return;
    key->judged = true;
    key->wanted = r->how->wanted(r->how->ctx, (const char *)text->p, text->n);
}

/* Whether a string is to be another one; that goes into `ret`, unless it is NULL. */
static bool is_rewritten(const struct relabel *r, const struct wire_field *text, struct buf *ret)
{
    return r->how->rewrite && r->how->rewrite(r->how->ctx, (const char *)text->p, text->n, ret);
}

static int find_keys(struct relabel *r, const struct field *f, struct err *err)
{
    if (f->body.number == PROFILE_STRING) {
        judge_string(r, &f->body);
        r->found.strings += is_rewritten(r, &f->body, NULL);
    }
    return f->body.number == PROFILE_SAMPLE ? add_keys(r, &f->body, err) : 0;
}

static int judge_strings(struct relabel *r, const struct field *f, struct err *err)
{
    (void)err;
    if (f->body.number == PROFILE_STRING)
        judge_string(r, &f->body);
    return 0;
}

/* The keys, and whether any of them is wanted. A key that passed before it was known to be one is looked at
 * again. */
static int look(struct relabel *r, bool *ret_any, struct err *err)
{
    struct profile_summary sum = {0};
    r->scan = profile_scan_new(err);
    int rc = r->scan ? pass(r, find_keys, err) : -1;
    if (rc == 0)
        rc = profile_scan_finish(r->scan, &sum, err);
    r->found.unknown = sum.unknown;
    profile_scan_free(r->scan);
    r->scan = NULL;
    bool late = false;
    for (size_t i = 0; i < KEY_SLOTS; i++)
        late = late || (r->keys[i].used && !r->keys[i].judged);
    if (rc == 0 && late)
        rc = pass(r, judge_strings, err);
    for (size_t i = 0; i < KEY_SLOTS; i++)
        *ret_any = *ret_any || r->keys[i].wanted;
    return rc;
}

/* ---- who uses which string ---- */

static void use(struct relabel *r, uint64_t index, unsigned how)
{
    if (index < r->n_uses)
        r->uses[index] |= (unsigned char)how;
}

static void judge_sample(struct relabel *r, const struct wire_field *sample)
{
    struct wire w = wire_into(sample);
    struct wire_field f;
    while (next_field(&w, &f)) {
        if (f.number != SAMPLE_LABEL)
            continue;
        struct label l = read_label(&f);
        bool wanted = is_wanted(r, l.key);
        use(r, l.key, KEPT);
        use(r, l.unit, wanted ? 0 : KEPT);
        use(r, l.str, wanted ? HIDDEN : KEPT);
        r->found.labels += wanted;
    }
}

/* Numbers of these fields of a message are strings; bit n stands for field n. */
static void keep_fields(struct relabel *r, struct wire w, unsigned which)
{
    struct wire_field f;
    while (next_field(&w, &f))
        if (f.number < 32 && f.type == WIRE_NUMBER && (which >> f.number & 1))
            use(r, f.value, KEPT);
}

static void keep_packed(struct relabel *r, struct wire w)
{
    uint64_t v = 0;
    while (w.p < w.end && wire_number(&w, &v))
        use(r, v, KEPT);
}

static int judge(struct relabel *r, const struct field *f, struct err *err)
{
    /* Of sample and period types, mappings and functions: the fields that are strings. */
    static const unsigned inside[] = {
        [1] = 1 << 1 | 1 << 2, [3] = 1 << 5 | 1 << 6, [5] = 1 << 2 | 1 << 3 | 1 << 4, [11] = 1 << 1 | 1 << 2};
    enum { COMMENT = 13 };
    const unsigned own = 1 << 7 | 1 << 8 | 1 << COMMENT | 1 << 14 | 1 << 15;
    (void)err;
    const struct wire_field *b = &f->body;
    if (b->number == PROFILE_SAMPLE)
        judge_sample(r, b);
    else if (b->type == WIRE_LENGTH && b->number == COMMENT)
        keep_packed(r, wire_into(b));
    else if (b->type == WIRE_LENGTH && b->number < sizeof inside / sizeof *inside)
        keep_fields(r, wire_into(b), inside[b->number]);
    else
        keep_fields(r, wire_of(f->p, f->n), own);
    return 0;
}

/* ---- writing ---- */

/* A field of n bytes in place of the one that passes by. */
static int put_field(struct relabel *r, unsigned number, const void *p, size_t n, struct err *err)
{
    unsigned char head[WIRE_FIELD_SIZE];
    size_t n_head = (size_t)(wire_write_head(head, number, n) - head);
    return put_unchanged(r, err) < 0 || put(r, head, n_head, err) < 0 ? -1 : put(r, p, n, err);
}

/* Fields that are copied lie one behind the other, and are written at once. */
static int leave(struct relabel *r, const struct field *f)
{
    if (!r->unchanged.p)
        r->unchanged.p = f->p;
    r->unchanged.end = f->p + f->n;
    return 0;
}

/* A label that says what others do in place of what it has said. */
static void renumber_label(struct relabel *r, uint64_t key)
{
    unsigned char label[4 * WIRE_FIELD_SIZE], *body = label + 2 * WIRE_FIELD_SIZE;
    unsigned char *end = wire_write_field(wire_write_field(body, LABEL_KEY, key), LABEL_STR, r->n_uses);
    const unsigned char *begin = wire_write_head_before(body, SAMPLE_LABEL, (uint64_t)(end - body));
    buf_add(&r->sample, begin, (size_t)(end - begin));
}

/* The sample with its labels renumbered, in r->sample; *ret_changed: it is another. */
static int renumber(struct relabel *r, const struct wire_field *sample, bool *ret_changed, struct err *err)
{
    struct wire w = wire_into(sample);
    struct wire_field f;
    buf_clear(&r->sample);
    for (const unsigned char *begin = w.p; next_field(&w, &f); begin = w.p) {
        uint64_t key = f.number == SAMPLE_LABEL ? read_label(&f).key : 0;
        bool wanted = f.number == SAMPLE_LABEL && is_wanted(r, key);
        if (wanted)
            renumber_label(r, key);
        else
            buf_add(&r->sample, begin, (size_t)(w.p - begin));
        *ret_changed = *ret_changed || wanted;
    }
    return buf_check(&r->sample, "a sample", err);
}

static int write_string(struct relabel *r, const struct field *f, struct err *err)
{
    uint64_t index = r->n_strings++;
    if (index < r->n_uses && r->uses[index] == HIDDEN)
        return put_field(r, PROFILE_STRING, "", 0, err);
    buf_clear(&r->text);
    if (!is_rewritten(r, &f->body, &r->text))
        return leave(r, f);
    if (buf_check(&r->text, "a string", err) < 0)
        return -1;
    return put_field(r, PROFILE_STRING, buf_str(&r->text), r->text.len, err);
}

/* Adds the fields of a message that are known. `shape`: bit n stands for field n. *ret_changed: others
 * were dropped. */
static void keep_known(struct wire w, unsigned shape, struct buf *ret, bool *ret_changed)
{
    struct wire_field f;
    for (const unsigned char *begin = w.p; next_field(&w, &f); begin = w.p) {
        bool known = f.number < 32 && (shape >> f.number & 1);
        if (known)
            buf_add(ret, begin, (size_t)(w.p - begin));
        *ret_changed = *ret_changed || !known;
    }
}

/* The fields of the messages of a profile, and the field that is a message itself: bit n stands for field n.
 */
static const struct {
    unsigned known, message, inside;
} shapes[] = {[1] = {0x6, 0, 0},   [2] = {0xe, SAMPLE_LABEL, 0x1e},
              [3] = {0x7fe, 0, 0}, [4] = {0x3e, 4, 0xe},
              [5] = {0x3e, 0, 0},  [11] = {0x6, 0, 0}};

/* The message without what is unknown in it and in the messages inside, into r->known. */
static int drop_unknown(struct relabel *r, unsigned number, struct wire w, bool *ret_changed, struct err *err)
{
    struct wire_field f;
    buf_clear(&r->known);
    for (const unsigned char *begin = w.p; next_field(&w, &f); begin = w.p) {
        bool known = f.number < 32 && (shapes[number].known >> f.number & 1), changed = false;
        buf_clear(&r->inner);
        if (known && f.number == shapes[number].message)
            keep_known(wire_into(&f), shapes[number].inside, &r->inner, &changed);
        if (known && changed) {
            unsigned char head[WIRE_FIELD_SIZE];
            buf_add(&r->known, head, (size_t)(wire_write_head(head, f.number, r->inner.len) - head));
            buf_add(&r->known, buf_str(&r->inner), r->inner.len);
        } else if (known) {
            buf_add(&r->known, begin, (size_t)(w.p - begin));
        }
        *ret_changed = *ret_changed || !known || changed;
    }
    return buf_check(&r->inner, "a field", err) < 0 ? -1 : buf_check(&r->known, "a field", err);
}

static int write_field(struct relabel *r, const struct field *f, struct err *err)
{
    enum { LAST_FIELD = 15 };
    const struct wire_field *b = &f->body;
    bool changed = false, dropped = false;
    if (b->number == PROFILE_STRING)
        return write_string(r, f, err);
    if (b->number == 0 || b->number > LAST_FIELD)
        return put_unchanged(r, err);
    if (b->number == PROFILE_SAMPLE && renumber(r, b, &changed, err) < 0)
        return -1;
    bool is_message = b->number < sizeof shapes / sizeof *shapes && shapes[b->number].known;
    if (r->found.unknown > 0 && is_message && b->type == WIRE_LENGTH) {
        struct wire body = changed ? wire_of(buf_str(&r->sample), r->sample.len) : wire_into(b);
        if (drop_unknown(r, b->number, body, &dropped, err) < 0)
            return -1;
    }
    if (dropped)
        return put_field(r, b->number, buf_str(&r->known), r->known.len, err);
    return changed ? put_field(r, PROFILE_SAMPLE, buf_str(&r->sample), r->sample.len, err) : leave(r, f);
}

static int write_all(struct relabel *r, struct err *err)
{
    if (pass(r, write_field, err) < 0)
        return -1;
    if (r->found.labels == 0)
        return 0;
    return put_field(r, PROFILE_STRING, r->how->text, strlen(r->how->text), err);
}

static int judge_all(struct relabel *r, struct err *err)
{
    r->n_uses = r->n_strings;
    r->uses = calloc(r->n_uses, 1);
    if (!r->uses)
        return err_nomem(err);
    use(r, 0, KEPT);
    return pass(r, judge, err);
}

int profile_relabel(const struct profile_relabel *how, struct profile_relabelled *ret, struct err *err)
{
    struct relabel *r = calloc(1, sizeof *r);
    bool any = false;
    if (!r)
        return err_nomem(err);
    r->how = how;
    buf_init(&r->pending, FIELD_SIZE);
    buf_init(&r->sample, 4u * FIELD_SIZE);
    buf_init(&r->text, TEXT_SIZE);
    buf_init(&r->known, 4u * FIELD_SIZE);
    buf_init(&r->inner, 4u * FIELD_SIZE);
    int rc = look(r, &any, err);
    if (rc == 0 && any)
        rc = judge_all(r, err);
    if (rc == 0 && (r->found.labels > 0 || r->found.strings > 0 || r->found.unknown > 0))
        rc = write_all(r, err);
    if (rc == 0)
        *ret = r->found;
    buf_release(&r->pending);
    buf_release(&r->sample);
    buf_release(&r->text);
    buf_release(&r->known);
    buf_release(&r->inner);
    free(r->uses);
    free(r);
    return rc;
}
