/*
 * A label names its key and its value by their places in the string table, which usually stands behind the
 * samples, so the profile is walked three times: strings are found, labels are judged, everything is written.
 * A string may serve a label's value and a function's name at once. Labels therefore are pointed to a new
 * string at the end of the table, and the old one is emptied only if nobody else has a use for it.
 *
 * Labels are renumbered one by one, and with them the samples they are in; every other message is copied.
 */
#include <stdlib.h>
#include <string.h>

#include "proto/proto.h"
#include "base/banned.h"

enum { WIRE_NUMBER = 0, WIRE_FIXED64 = 1, WIRE_LENGTH = 2, WIRE_FIXED32 = 5 };
enum { PROFILE_SAMPLE = 2, PROFILE_STRING = 6, SAMPLE_LABEL = 3, LABEL_KEY = 1, LABEL_STR = 2 };

/* What the string at an index is used for. */
enum { KEPT = 1, HIDDEN = 2, JUDGED = 4, WANTED = 8 };

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

struct relabel {
    const struct profile_relabel *how;
    struct text *strings;
    unsigned char *uses;
    size_t n_strings, cap_strings;
    uint64_t labels;
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

/* ---- strings --------------------------------------------------------------------------------------------
 */

static int find_strings(struct relabel *r, struct text all, struct err *err)
{
    struct walk w = into(all);
    struct field f;
    while (next_field(&w, &f)) {
        if (f.number != PROFILE_STRING)
            continue;
        if (array_reserve((void **)&r->strings, &r->cap_strings, r->n_strings + 1, sizeof *r->strings, err) <
            0)
            return -1;
        r->strings[r->n_strings++] = f.region;
    }
    r->uses = calloc(r->n_strings ? r->n_strings : 1, 1);
    return r->uses ? 0 : err_nomem(err);
}

static void use(struct relabel *r, uint64_t index, unsigned how)
{
    if (index < r->n_strings)
        r->uses[index] |= (unsigned char)how;
}

static bool is_wanted(struct relabel *r, uint64_t key)
{
    if (key >= r->n_strings)
        return false;
    if (!(r->uses[key] & JUDGED)) {
        struct text t = r->strings[key];
        use(r, key, JUDGED | (r->how->wanted(r->how->ctx, (const char *)t.p, t.n) ? WANTED : 0));
    }
    return r->uses[key] & WANTED;
}

/* ---- who uses which string --------------------------------------------------------------------------------
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

static void judge(struct relabel *r, struct text all)
{
    /* Of sample and period types, mappings and functions: the fields that are strings. */
    static const unsigned inside[] = {
        [1] = 1 << 1 | 1 << 2, [3] = 1 << 5 | 1 << 6, [5] = 1 << 2 | 1 << 3 | 1 << 4, [11] = 1 << 1 | 1 << 2};
    enum { COMMENT = 13 };
    const unsigned own = 1 << 7 | 1 << 8 | 1 << COMMENT | 1 << 14 | 1 << 15;
    struct walk w = into(all);
    struct field f;
    while (next_field(&w, &f)) {
        if (f.number == PROFILE_SAMPLE)
            judge_sample(r, f.region);
        else if (f.wire == WIRE_LENGTH && f.number == COMMENT)
            keep_packed(r, f.region);
        else if (f.wire == WIRE_LENGTH && f.number < sizeof inside / sizeof *inside)
            keep_fields(r, f.region, inside[f.number]);
    }
    keep_fields(r, all, own);
}

/* ---- writing ----------------------------------------------------------------------------------------------
 */

static int put(const struct relabel *r, const void *p, size_t n, struct err *err)
{
    return n ? r->how->sink(r->how->sink_ctx, p, n, err) : 0;
}

/* A field of which `body` is the new region. */
static int put_field(const struct relabel *r, unsigned number, const struct buf *body, struct err *err)
{
    struct buf head = BUF_INIT(32);
    put_head(&head, number, body->len);
    int rc = buf_check(body, "a sample", err);
    if (rc == 0)
        rc = buf_check(&head, "a field", err);
    if (rc == 0)
        rc = put(r, head.data, head.len, err);
    if (rc == 0)
        rc = put(r, body->data, body->len, err);
    buf_release(&head);
    return rc;
}

/* The sample with its labels renumbered, or as it is if none is meant. */
static int put_sample(struct relabel *r, const struct field *sample, struct err *err)
{
    struct walk w = into(sample->region);
    struct field f;
    bool changed = false;
    buf_clear(&r->sample);
    while (next_field(&w, &f)) {
        struct label l = f.number == SAMPLE_LABEL ? read_label(f.region) : (struct label){0};
        if (f.number != SAMPLE_LABEL || !is_wanted(r, l.key)) {
            buf_add(&r->sample, f.whole.p, f.whole.n);
            continue;
        }
        changed = true;
        buf_clear(&r->label);
        put_number(&r->label, LABEL_KEY << 3);
        put_number(&r->label, l.key);
        put_number(&r->label, LABEL_STR << 3);
        put_number(&r->label, r->n_strings);
        if (buf_check(&r->label, "a label", err) < 0)
            return -1;
        put_head(&r->sample, SAMPLE_LABEL, r->label.len);
        buf_add(&r->sample, buf_str(&r->label), r->label.len);
    }
    if (buf_check(&r->sample, "a sample", err) < 0)
        return -1;
    return changed ? put_field(r, PROFILE_SAMPLE, &r->sample, err)
                   : put(r, sample->whole.p, sample->whole.n, err);
}

static int write_all(struct relabel *r, struct text all, struct err *err)
{
    struct walk w = into(all);
    struct field f;
    struct buf text = BUF_INIT(4096);
    size_t index = 0;
    int rc = 0;
    while (rc == 0 && next_field(&w, &f)) {
        bool empty = f.number == PROFILE_STRING && (r->uses[index++] & (HIDDEN | KEPT)) == HIDDEN;
        rc = f.number == PROFILE_SAMPLE ? put_sample(r, &f, err)
             : empty                    ? put_field(r, PROFILE_STRING, &text, err)
                                        : put(r, f.whole.p, f.whole.n, err);
    }
    buf_adds(&text, r->how->text);
    if (rc == 0)
        rc = put_field(r, PROFILE_STRING, &text, err);
    buf_release(&text);
    return rc;
}

static int check(struct text all, struct err *err)
{
    struct profile_summary unused;
    struct profile_scan *scan = profile_scan_new(err);
    if (!scan)
        return -1;
    int rc = profile_scan_feed(scan, all.p, all.n, err);
    if (rc == 0)
        rc = profile_scan_finish(scan, &unused, err);
    profile_scan_free(scan);
    return rc;
}

int profile_relabel(const void *p, size_t n, const struct profile_relabel *how, uint64_t *ret_labels,
                    struct err *err)
{
    struct text all = {p, n};
    struct relabel r = {.how = how, .sample = BUF_INIT(4 * n + 4096), .label = BUF_INIT(64)};
    int rc = check(all, err);
    if (rc == 0)
        rc = find_strings(&r, all, err);
    if (rc == 0) {
        use(&r, 0, KEPT);
        judge(&r, all);
        if (r.labels > 0)
            rc = write_all(&r, all, err);
    }
    if (rc == 0)
        *ret_labels = r.labels;
    buf_release(&r.sample);
    buf_release(&r.label);
    free(r.strings);
    free(r.uses);
    return rc;
}
