/*
 * A label refers to its key and value by index in the string table, which usually follows the samples.
 * Therefore the profile is read in several passes, field by field. The first pass finds the labels' keys, and
 * asks the caller which keys have values to replace. The next pass finds the other uses of each string. The
 * last pass writes the new profile. Most profiles need no change, and only the first pass.
 *
 * A string may be both a label's value and a function's name. Therefore replaced labels refer to a new string
 * at the end of the table, and the old string becomes empty only if nothing else uses it.
 *
 * A field is copied unless it contains a replaced label, a rewritten string or an unknown field.
 */
#include <stdlib.h>
#include <string.h>

#include "proto/proto.h"
#include "proto/protobuf.h"
#include "base/banned.h"

enum { PROFILE_SAMPLE = 2, PROFILE_STRING = 6, SAMPLE_LABEL = 3, LABEL_KEY = 1, LABEL_STR = 2 };

/* Limits. A field is buffered until it is complete. Real profiles have far fewer keys. */
enum { FIELD_SIZE = 16 << 20, TEXT_SIZE = 256 << 20, MAX_KEYS = 250, KEY_SLOTS = 1024 };

/* The uses of a string. */
enum { USE_KEPT = 1, USE_REPLACED = 2 };

/* A field, and its bytes with the tag. */
struct field {
    struct protobuf_field body;
    const unsigned char *p;
    size_t n;
};

/* A string that is a label's key. */
struct key {
    uint64_t index;
    bool used; /* else the slot is empty */
    bool checked, replaced;
};

struct relabel;
typedef int field_fn(struct relabel *r, const struct field *f, struct err *err);

struct relabel {
    const struct profile_relabel *options;
    field_fn *each;            /* called for each field of the pass */
    struct profile_scan *scan; /* set in the first pass */
    struct buf pending;        /* an incomplete field */
    struct protobuf unchanged; /* bytes of `pending` to copy unchanged */
    struct key keys[KEY_SLOTS];
    size_t n_keys;
    uint64_t n_strings; /* strings seen in this pass */
    unsigned char *uses;
    uint64_t n_uses;
    struct profile_relabelled found;
    struct buf sample, text;
    struct buf known, inner; /* a message without unknown fields, and one nested in it */
};

/* ---- passes ---- */

static int write_bytes(const struct relabel *r, const void *p, size_t n, struct err *err)
{
    return n ? r->options->sink(r->options->sink_ctx, p, n, err) : 0;
}

static int flush_unchanged(struct relabel *r, struct err *err)
{
    struct protobuf all = r->unchanged;
    r->unchanged = (struct protobuf){0};
    return write_bytes(r, all.p, (size_t)(all.end - all.p), err);
}

/* Reads the next field; false at the end, or if the field is incomplete. profile_scan reports malformed
 * bytes. */
static bool next_field(struct protobuf *w, struct protobuf_field *ret)
{
    return w->p < w->end && protobuf_read_field(w, ret);
}

static int feed_fields(void *ctx, const void *p, size_t n, struct err *err)
{
    struct relabel *r = ctx;
    if (r->scan && profile_scan_feed(r->scan, p, n, err) < 0)
        return -1;
    buf_add(&r->pending, p, n);
    if (buf_check(&r->pending, "a field", err) < 0)
        return -1;
    struct protobuf w = protobuf_of(buf_str(&r->pending), r->pending.len);
    struct field f = {.p = w.p};
    const unsigned char *begin = w.p;
    int rc = 0;
    while (rc == 0 && next_field(&w, &f.body)) {
        f.n = (size_t)(w.p - f.p);
        rc = r->each(r, &f, err);
        f.p = w.p;
    }
    if (rc == 0)
        rc = flush_unchanged(r, err);
    buf_consume(&r->pending, (size_t)(f.p - begin));
    return rc;
}

static int run_pass(struct relabel *r, field_fn *each, struct err *err)
{
    r->each = each;
    r->n_strings = 0;
    buf_clear(&r->pending);
    return r->options->source(r->options->source_ctx, feed_fields, r, err);
}

/* ---- keys ---- */

struct label {
    uint64_t key, str, unit;
};

static struct label read_label(const struct protobuf_field *label)
{
    enum { NUM_UNIT = 4 };
    struct label l = {0};
    struct protobuf w = protobuf_of_field(label);
    struct protobuf_field f;
    while (next_field(&w, &f)) {
        uint64_t *numbers[] = {[LABEL_KEY] = &l.key, [LABEL_STR] = &l.str, [NUM_UNIT] = &l.unit};
        if (f.type == PROTOBUF_NUMBER && f.number <= NUM_UNIT && numbers[f.number])
            *numbers[f.number] = f.value;
    }
    return l;
}

/* Finds the slot of that key, or the empty slot for it. There is always an empty one, because KEY_SLOTS
 * exceeds MAX_KEYS. */
static struct key *find_key(struct relabel *r, uint64_t index)
{
    size_t i = (size_t)(index * UINT64_C(0x9e3779b97f4a7c15) >> 32) % KEY_SLOTS;
    while (r->keys[i].used && r->keys[i].index != index)
        i = (i + 1) % KEY_SLOTS;
    return &r->keys[i];
}

static bool is_replaced(struct relabel *r, uint64_t index)
{
    const struct key *key = find_key(r, index);
    return key->used && key->replaced;
}

static int add_keys(struct relabel *r, const struct protobuf_field *sample, struct err *err)
{
    struct protobuf w = protobuf_of_field(sample);
    struct protobuf_field f;
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

/* If the string is a label's key, asks the caller whether to replace the values of that key. */
static void check_string(struct relabel *r, const struct protobuf_field *text)
{
    struct key *key = find_key(r, r->n_strings++);
    if (!key->used)
        return;
    key->checked = true;
    key->replaced = r->options->is_replaced(r->options->ctx, (const char *)text->p, text->n);
}

/* Returns whether a string is rewritten. Appends the new text to `ret`, unless `ret` is NULL. */
static bool is_rewritten(const struct relabel *r, const struct protobuf_field *text, struct buf *ret)
{
    return r->options->rewrite && r->options->rewrite(r->options->ctx, (const char *)text->p, text->n, ret);
}

static int find_keys(struct relabel *r, const struct field *f, struct err *err)
{
    if (f->body.number == PROFILE_STRING) {
        check_string(r, &f->body);
        r->found.strings += is_rewritten(r, &f->body, NULL);
    }
    return f->body.number == PROFILE_SAMPLE ? add_keys(r, &f->body, err) : 0;
}

static int check_strings(struct relabel *r, const struct field *f, struct err *err)
{
    (void)err;
    if (f->body.number == PROFILE_STRING)
        check_string(r, &f->body);
    return 0;
}

/* Finds the keys with values to replace. A key whose string precedes its first label in the file needs
 * another pass. */
static int find_replaced_keys(struct relabel *r, bool *ret_found, struct err *err)
{
    struct profile_summary summary = {0};
    r->scan = profile_scan_new(err);
    int rc = r->scan ? run_pass(r, find_keys, err) : -1;
    if (rc == 0)
        rc = profile_scan_finish(r->scan, &summary, err);
    r->found.unknown = summary.unknown;
    profile_scan_free(r->scan);
    r->scan = NULL;
    bool has_unchecked = false;
    for (size_t i = 0; i < KEY_SLOTS; i++)
        has_unchecked = has_unchecked || (r->keys[i].used && !r->keys[i].checked);
    if (rc == 0 && has_unchecked)
        rc = run_pass(r, check_strings, err);
    for (size_t i = 0; i < KEY_SLOTS; i++)
        *ret_found = *ret_found || r->keys[i].replaced;
    return rc;
}

/* ---- uses of strings ---- */

static void mark_use(struct relabel *r, uint64_t index, unsigned use)
{
    if (index < r->n_uses)
        r->uses[index] |= (unsigned char)use;
}

static void mark_sample_uses(struct relabel *r, const struct protobuf_field *sample)
{
    struct protobuf w = protobuf_of_field(sample);
    struct protobuf_field f;
    while (next_field(&w, &f)) {
        if (f.number != SAMPLE_LABEL)
            continue;
        struct label l = read_label(&f);
        bool replaced = is_replaced(r, l.key);
        mark_use(r, l.key, USE_KEPT);
        mark_use(r, l.unit, replaced ? 0 : USE_KEPT);
        mark_use(r, l.str, replaced ? USE_REPLACED : USE_KEPT);
        r->found.labels += replaced;
    }
}

/* Marks the strings that some fields of a message refer to. Bit n of `field_bits` is field n. */
static void mark_fields(struct relabel *r, struct protobuf w, unsigned field_bits)
{
    struct protobuf_field f;
    while (next_field(&w, &f))
        if (f.number < 32 && f.type == PROTOBUF_NUMBER && (field_bits >> f.number & 1))
            mark_use(r, f.value, USE_KEPT);
}

static void mark_packed(struct relabel *r, struct protobuf w)
{
    uint64_t v = 0;
    while (w.p < w.end && protobuf_read_number(&w, &v))
        mark_use(r, v, USE_KEPT);
}

static int mark_uses(struct relabel *r, const struct field *f, struct err *err)
{
    /* The string fields of sample and period types, mappings and functions. */
    static const unsigned nested[] = {
        [1] = 1 << 1 | 1 << 2, [3] = 1 << 5 | 1 << 6, [5] = 1 << 2 | 1 << 3 | 1 << 4, [11] = 1 << 1 | 1 << 2};
    enum { COMMENT = 13 };
    const unsigned top_level = 1 << 7 | 1 << 8 | 1 << COMMENT | 1 << 14 | 1 << 15;
    (void)err;
    const struct protobuf_field *b = &f->body;
    if (b->number == PROFILE_SAMPLE)
        mark_sample_uses(r, b);
    else if (b->type == PROTOBUF_LENGTH && b->number == COMMENT)
        mark_packed(r, protobuf_of_field(b));
    else if (b->type == PROTOBUF_LENGTH && b->number < sizeof nested / sizeof *nested)
        mark_fields(r, protobuf_of_field(b), nested[b->number]);
    else
        mark_fields(r, protobuf_of(f->p, f->n), top_level);
    return 0;
}

/* ---- writing ---- */

/* Writes a field of n bytes in place of the current one. */
static int put_field(struct relabel *r, unsigned number, const void *p, size_t n, struct err *err)
{
    unsigned char head[PROTOBUF_FIELD_SIZE];
    size_t n_head = (size_t)(protobuf_write_tag_and_length(head, number, n) - head);
    return flush_unchanged(r, err) < 0 || write_bytes(r, head, n_head, err) < 0 ? -1
                                                                                : write_bytes(r, p, n, err);
}

/* Keeps a field unchanged. Adjacent fields are written together. */
static int keep_field(struct relabel *r, const struct field *f)
{
    if (!r->unchanged.p)
        r->unchanged.p = f->p;
    r->unchanged.end = f->p + f->n;
    return 0;
}

/* Adds the label with the replacement string as its value. */
static void renumber_label(struct relabel *r, uint64_t key)
{
    unsigned char label[4 * PROTOBUF_FIELD_SIZE], *body = label + 2 * PROTOBUF_FIELD_SIZE;
    unsigned char *end =
        protobuf_write_field(protobuf_write_field(body, LABEL_KEY, key), LABEL_STR, r->n_uses);
    const unsigned char *begin = protobuf_prepend_tag_and_length(body, SAMPLE_LABEL, (uint64_t)(end - body));
    buf_add(&r->sample, begin, (size_t)(end - begin));
}

/* Builds a copy of the sample in r->sample, in which replaced labels refer to the replacement string.
 * *ret_changed becomes true if a label was replaced. */
static int renumber_sample(struct relabel *r, const struct protobuf_field *sample, bool *ret_changed,
                           struct err *err)
{
    struct protobuf w = protobuf_of_field(sample);
    struct protobuf_field f;
    buf_clear(&r->sample);
    for (const unsigned char *begin = w.p; next_field(&w, &f); begin = w.p) {
        uint64_t key = f.number == SAMPLE_LABEL ? read_label(&f).key : 0;
        bool replaced = f.number == SAMPLE_LABEL && is_replaced(r, key);
        if (replaced)
            renumber_label(r, key);
        else
            buf_add(&r->sample, begin, (size_t)(w.p - begin));
        *ret_changed = *ret_changed || replaced;
    }
    return buf_check(&r->sample, "a sample", err);
}

static int write_string(struct relabel *r, const struct field *f, struct err *err)
{
    uint64_t index = r->n_strings++;
    if (index < r->n_uses && r->uses[index] == USE_REPLACED)
        return put_field(r, PROFILE_STRING, "", 0, err);
    buf_clear(&r->text);
    if (!is_rewritten(r, &f->body, &r->text))
        return keep_field(r, f);
    if (buf_check(&r->text, "a string", err) < 0)
        return -1;
    return put_field(r, PROFILE_STRING, buf_str(&r->text), r->text.len, err);
}

/* Appends the known fields of a message; bit n of `known_fields` is field n. Sets *ret_changed if it drops a
 * field. */
static void keep_known(struct protobuf w, unsigned known_fields, struct buf *ret, bool *ret_changed)
{
    struct protobuf_field f;
    for (const unsigned char *begin = w.p; next_field(&w, &f); begin = w.p) {
        bool known = f.number < 32 && (known_fields >> f.number & 1);
        if (known)
            buf_add(ret, begin, (size_t)(w.p - begin));
        *ret_changed = *ret_changed || !known;
    }
}

/* Row N describes the message in field N of the profile. Bit n of `known` is its known field n. `message` is
 * the number of the known field that is itself a message; `inside` has the known fields of that message. */
static const struct {
    unsigned known, message, inside;
} messages[] = {[1] = {0x6, 0, 0},   [2] = {0xe, SAMPLE_LABEL, 0x1e},
                [3] = {0x7fe, 0, 0}, [4] = {0x3e, 4, 0xe},
                [5] = {0x3e, 0, 0},  [11] = {0x6, 0, 0}};

/* Builds the message in r->known, without its unknown fields and those of nested messages. */
static int drop_unknown(struct relabel *r, unsigned number, struct protobuf w, bool *ret_changed,
                        struct err *err)
{
    struct protobuf_field f;
    buf_clear(&r->known);
    for (const unsigned char *begin = w.p; next_field(&w, &f); begin = w.p) {
        bool known = f.number < 32 && (messages[number].known >> f.number & 1), changed = false;
        buf_clear(&r->inner);
        if (known && f.number == messages[number].message)
            keep_known(protobuf_of_field(&f), messages[number].inside, &r->inner, &changed);
        if (known && changed) {
            unsigned char head[PROTOBUF_FIELD_SIZE];
            buf_add(&r->known, head,
                    (size_t)(protobuf_write_tag_and_length(head, f.number, r->inner.len) - head));
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
    const struct protobuf_field *b = &f->body;
    bool changed = false, dropped = false;
    if (b->number == PROFILE_STRING)
        return write_string(r, f, err);
    if (b->number == 0 || b->number > LAST_FIELD)
        return flush_unchanged(r, err);
    if (b->number == PROFILE_SAMPLE && renumber_sample(r, b, &changed, err) < 0)
        return -1;
    bool is_message = b->number < sizeof messages / sizeof *messages && messages[b->number].known;
    if (r->found.unknown > 0 && is_message && b->type == PROTOBUF_LENGTH) {
        struct protobuf body =
            changed ? protobuf_of(buf_str(&r->sample), r->sample.len) : protobuf_of_field(b);
        if (drop_unknown(r, b->number, body, &dropped, err) < 0)
            return -1;
    }
    if (dropped)
        return put_field(r, b->number, buf_str(&r->known), r->known.len, err);
    return changed ? put_field(r, PROFILE_SAMPLE, buf_str(&r->sample), r->sample.len, err) : keep_field(r, f);
}

static int write_all(struct relabel *r, struct err *err)
{
    if (run_pass(r, write_field, err) < 0)
        return -1;
    if (r->found.labels == 0)
        return 0;
    return put_field(r, PROFILE_STRING, r->options->text, strlen(r->options->text), err);
}

static int find_uses(struct relabel *r, struct err *err)
{
    r->n_uses = r->n_strings;
    r->uses = calloc(r->n_uses, 1);
    if (!r->uses)
        return err_nomem(err);
    mark_use(r, 0, USE_KEPT);
    return run_pass(r, mark_uses, err);
}

int profile_relabel(const struct profile_relabel *options, struct profile_relabelled *ret, struct err *err)
{
    struct relabel *r = calloc(1, sizeof *r);
    bool found = false;
    if (!r)
        return err_nomem(err);
    r->options = options;
    buf_init(&r->pending, FIELD_SIZE);
    buf_init(&r->sample, 4u * FIELD_SIZE);
    buf_init(&r->text, TEXT_SIZE);
    buf_init(&r->known, 4u * FIELD_SIZE);
    buf_init(&r->inner, 4u * FIELD_SIZE);
    int rc = find_replaced_keys(r, &found, err);
    if (rc == 0 && found)
        rc = find_uses(r, err);
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
