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
#include "base/banned.h"

enum { WIRE_NUMBER = 0, WIRE_FIXED64 = 1, WIRE_LENGTH = 2, WIRE_FIXED32 = 5 };
enum { PROFILE_SAMPLE = 2, PROFILE_STRING = 6, SAMPLE_LABEL = 3, LABEL_KEY = 1, LABEL_STR = 2 };

/* A field that is looked into is kept until all of it has come. Keys: far more than anybody has. */
enum { FIELD_SIZE = 16 << 20, MAX_KEYS = 250, KEY_SLOTS = 1024 };

/* What the string at an index is used for. */
enum { KEPT = 1, HIDDEN = 2 };

struct text {
    const unsigned char *p;
    size_t n;
};

struct walk {
    const unsigned char *p, *end;
};

/* A field: its number, and its value or region. */
struct field {
    unsigned number, wire;
    uint64_t value;
    struct text region;
    struct text whole; /* with its tag */
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
    struct text unchanged;     /* what lies in `pending` and is to be written as it is */
    struct key keys[KEY_SLOTS];
    size_t n_keys;
    uint64_t n_strings; /* those that have passed */
    unsigned char *uses;
    uint64_t n_uses, labels;
    struct buf sample, label;
};

/* ---- the wire -------------------------------------------------------------------------------------------
 */

static bool next_number(struct walk *w, uint64_t *ret)
{
    uint64_t v = 0;
    for (unsigned shift = 0; w->p < w->end && shift < 70; shift += 7) {
        unsigned char c = *w->p++;
        v |= shift < 64 ? (uint64_t)(c & 0x7f) << shift : 0;
        if (c < 0x80) {
            *ret = v;
            return true;
        }
    }
    return false;
}

static bool next_region(struct walk *w, uint64_t n, struct text *ret)
{
    if (n > (uint64_t)(w->end - w->p))
        return false;
    *ret = (struct text){w->p, (size_t)n};
    w->p += n;
    return true;
}

/* The next field; false at the end, or where the bytes make no sense: profile_scan has refused such already.
 */
static bool next_field(struct walk *w, struct field *ret)
{
    struct field f = {0};
    const unsigned char *begin = w->p;
    uint64_t tag = 0, n = 0;
    if (w->p == w->end || !next_number(w, &tag))
        return false;
    f.number = (unsigned)(tag >> 3);
    f.wire = (unsigned)(tag & 7);
    bool fine = f.wire == WIRE_NUMBER   ? next_number(w, &f.value)
                : f.wire == WIRE_LENGTH ? next_number(w, &n) && next_region(w, n, &f.region)
                                        : next_region(w, f.wire == WIRE_FIXED64 ? 8 : 4, &f.region);
    f.whole = (struct text){begin, (size_t)(w->p - begin)};
    *ret = f;
    return fine;
}

static struct walk into(struct text t)
{
    return (struct walk){t.p, t.p + t.n};
}

static void put_number(struct buf *b, uint64_t v)
{
    for (; v >= 0x80; v >>= 7)
        buf_addc(b, (char)(v | 0x80));
    buf_addc(b, (char)v);
}

static void put_head(struct buf *b, unsigned field, size_t n)
{
    put_number(b, (uint64_t)field << 3 | WIRE_LENGTH);
    put_number(b, n);
}

/* ---- passing by -------------------------------------------------------------------------------------------
 */

static int put(const struct relabel *r, const void *p, size_t n, struct err *err)
{
    return n ? r->how->sink(r->how->sink_ctx, p, n, err) : 0;
}

static int put_unchanged(struct relabel *r, struct err *err)
{
    struct text t = r->unchanged;
    r->unchanged = (struct text){0};
    return put(r, t.p, t.n, err);
}

static int take(void *ctx, const void *p, size_t n, struct err *err)
{
    struct relabel *r = ctx;
    if (r->scan && profile_scan_feed(r->scan, p, n, err) < 0)
        return -1;
    buf_add(&r->pending, p, n);
    if (buf_check(&r->pending, "a field", err) < 0)
        return -1;
    struct walk w = into((struct text){(const unsigned char *)buf_str(&r->pending), r->pending.len});
    const unsigned char *begin = w.p, *done = w.p;
    struct field f;
    int rc = 0;
    while (rc == 0 && next_field(&w, &f)) {
        rc = r->each(r, &f, err);
        done = w.p;
    }
    if (rc == 0)
        rc = put_unchanged(r, err);
    buf_consume(&r->pending, (size_t)(done - begin));
    return rc;
}

static int pass(struct relabel *r, field_fn *each, struct err *err)
{
    r->each = each;
    r->n_strings = 0;
    buf_clear(&r->pending);
    return r->how->source(r->how->source_ctx, take, r, err);
}

/* ---- keys -------------------------------------------------------------------------------------------------
 */

struct label {
    uint64_t key, str, unit;
};

static struct label read_label(struct text region)
{
    enum { NUM_UNIT = 4 };
    struct label l = {0};
    struct walk w = into(region);
    struct field f;
    while (next_field(&w, &f)) {
        uint64_t *numbers[] = {[LABEL_KEY] = &l.key, [LABEL_STR] = &l.str, [NUM_UNIT] = &l.unit};
        if (f.number <= NUM_UNIT && numbers[f.number])
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

static int add_keys(struct relabel *r, struct text sample, struct err *err)
{
    struct walk w = into(sample);
    struct field f;
    while (next_field(&w, &f)) {
        if (f.number != SAMPLE_LABEL)
            continue;
        uint64_t index = read_label(f.region).key;
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
static void judge_string(struct relabel *r, struct text text)
{
    struct key *key = find_key(r, r->n_strings++);
    if (!key->used)
        return;
    key->judged = true;
    key->wanted = r->how->wanted(r->how->ctx, (const char *)text.p, text.n);
}

static int find_keys(struct relabel *r, const struct field *f, struct err *err)
{
    if (f->number == PROFILE_STRING)
        judge_string(r, f->region);
    return f->number == PROFILE_SAMPLE ? add_keys(r, f->region, err) : 0;
}

static int judge_strings(struct relabel *r, const struct field *f, struct err *err)
{
    (void)err;
    if (f->number == PROFILE_STRING)
        judge_string(r, f->region);
    return 0;
}

/* The keys, and whether any of them is wanted. A key that passed before it was known to be one is looked at
 * again. */
static int look(struct relabel *r, bool *ret_any, struct err *err)
{
    struct profile_summary unused;
    r->scan = profile_scan_new(err);
    int rc = r->scan ? pass(r, find_keys, err) : -1;
    if (rc == 0)
        rc = profile_scan_finish(r->scan, &unused, err);
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

/* ---- who uses which string --------------------------------------------------------------------------------
 */

static void use(struct relabel *r, uint64_t index, unsigned how)
{
    if (index < r->n_uses)
        r->uses[index] |= (unsigned char)how;
}

static void judge_sample(struct relabel *r, struct text region)
{
    struct walk w = into(region);
    struct field f;
    while (next_field(&w, &f)) {
        if (f.number != SAMPLE_LABEL)
            continue;
        struct label l = read_label(f.region);
        bool wanted = is_wanted(r, l.key);
        use(r, l.key, KEPT);
        use(r, l.unit, wanted ? 0 : KEPT);
        use(r, l.str, wanted ? HIDDEN : KEPT);
        r->labels += wanted;
    }
}

/* Numbers of these fields of a message are strings; bit n stands for field n. */
static void keep_fields(struct relabel *r, struct text region, unsigned which)
{
    struct walk w = into(region);
    struct field f;
    while (next_field(&w, &f))
        if (f.number < 32 && f.wire == WIRE_NUMBER && (which >> f.number & 1))
            use(r, f.value, KEPT);
}

static void keep_packed(struct relabel *r, struct text region)
{
    struct walk w = into(region);
    uint64_t v = 0;
    while (w.p < w.end && next_number(&w, &v))
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
    if (f->number == PROFILE_SAMPLE)
        judge_sample(r, f->region);
    else if (f->wire == WIRE_LENGTH && f->number == COMMENT)
        keep_packed(r, f->region);
    else if (f->wire == WIRE_LENGTH && f->number < sizeof inside / sizeof *inside)
        keep_fields(r, f->region, inside[f->number]);
    else
        keep_fields(r, f->whole, own);
    return 0;
}

/* ---- writing ----------------------------------------------------------------------------------------------
 */

/* A field of which `body` is the new region, in place of the one that passes by. */
static int put_field(struct relabel *r, unsigned number, const struct buf *body, struct err *err)
{
    struct buf head = BUF_INIT(32);
    put_head(&head, number, body->len);
    int rc = put_unchanged(r, err);
    if (rc == 0)
        rc = buf_check(body, "a sample", err);
    if (rc == 0)
        rc = buf_check(&head, "a field", err);
    if (rc == 0)
        rc = put(r, head.data, head.len, err);
    if (rc == 0)
        rc = put(r, body->data, body->len, err);
    buf_release(&head);
    return rc;
}

/* Fields that are copied lie one behind the other, and are written at once. */
static int leave(struct relabel *r, const struct field *f)
{
    if (r->unchanged.n == 0)
        r->unchanged.p = f->whole.p;
    r->unchanged.n += f->whole.n;
    return 0;
}

/* The sample with its labels renumbered, in r->sample; *ret_changed: it is another. */
static int renumber(struct relabel *r, struct text region, bool *ret_changed, struct err *err)
{
    struct walk w = into(region);
    struct field f;
    buf_clear(&r->sample);
    while (next_field(&w, &f)) {
        struct label l = f.number == SAMPLE_LABEL ? read_label(f.region) : (struct label){0};
        if (f.number != SAMPLE_LABEL || !is_wanted(r, l.key)) {
            buf_add(&r->sample, f.whole.p, f.whole.n);
            continue;
        }
        *ret_changed = true;
        buf_clear(&r->label);
        put_number(&r->label, LABEL_KEY << 3);
        put_number(&r->label, l.key);
        put_number(&r->label, LABEL_STR << 3);
        put_number(&r->label, r->n_uses);
        if (buf_check(&r->label, "a label", err) < 0)
            return -1;
        put_head(&r->sample, SAMPLE_LABEL, r->label.len);
        buf_add(&r->sample, buf_str(&r->label), r->label.len);
    }
    return buf_check(&r->sample, "a sample", err);
}

static int write_field(struct relabel *r, const struct field *f, struct err *err)
{
    static const struct buf nothing = BUF_INIT(1);
    bool changed = false;
    if (f->number == PROFILE_STRING && r->n_strings < r->n_uses && r->uses[r->n_strings++] == HIDDEN)
        return put_field(r, PROFILE_STRING, &nothing, err);
    if (f->number == PROFILE_SAMPLE && renumber(r, f->region, &changed, err) < 0)
        return -1;
    return changed ? put_field(r, PROFILE_SAMPLE, &r->sample, err) : leave(r, f);
}

static int write_all(struct relabel *r, struct err *err)
{
    struct buf text = BUF_INIT(4096);
    buf_adds(&text, r->how->text);
    int rc = pass(r, write_field, err);
    if (rc == 0)
        rc = put_field(r, PROFILE_STRING, &text, err);
    buf_release(&text);
    return rc;
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

int profile_relabel(const struct profile_relabel *how, uint64_t *ret_labels, struct err *err)
{
    struct relabel *r = calloc(1, sizeof *r);
    bool any = false;
    if (!r)
        return err_nomem(err);
    r->how = how;
    buf_init(&r->pending, FIELD_SIZE);
    buf_init(&r->sample, 4u * FIELD_SIZE);
    buf_init(&r->label, 64);
    int rc = look(r, &any, err);
    if (rc == 0 && any)
        rc = judge_all(r, err);
    if (rc == 0 && r->labels > 0)
        rc = write_all(r, err);
    if (rc == 0)
        *ret_labels = r->labels;
    buf_release(&r->pending);
    buf_release(&r->sample);
    buf_release(&r->label);
    free(r->uses);
    free(r);
    return rc;
}
