/*
 * Reads a dump in profile form. Places and labels, which a profile has no text of, become strings of the
 * profile.
 *
 * A small profile can expand to a large text: many samples may share one location with many lines, and many
 * lines one long file name. Therefore each line's place is written once, and limits apply to the expanded
 * text.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "findings/goroutines_internal.h"
#include "base/banned.h"

#define MAX_LABELS 65536
/* Limits of the expanded text: frames of all samples, bytes of different places, bytes of labels. */
#define MAX_SPELLED_FRAMES (UINT64_C(20) << 20)
#define MAX_PLACES ((size_t)32 << 20)
#define MAX_LABEL_BYTES ((size_t)32 << 20)

/* A profile while its samples are read. */
struct reading {
    struct goroutines *g;
    struct profile *p;
    uint32_t *places; /* by line: the string "file:line"; 0 until it is written */
    size_t place_bytes, label_bytes;
    uint64_t frames;
};

static int write_place(struct reading *r, size_t at, struct str file, struct err *err)
{
    struct buf place = BUF_INIT(file.n + 32);
    buf_add(&place, file.p, file.n);
    buf_addf(&place, ":%" PRId64, r->p->lines[at].line);
    r->place_bytes += place.len;
    int rc = buf_check(&place, "a place", err);
    if (rc == 0 && r->place_bytes > MAX_PLACES)
        rc = err_set(err, ERR_FAILED, "the places of its frames have more than %zu MB of text",
                     MAX_PLACES >> 20);
    if (rc == 0)
        rc = profile_intern(r->p, place.data, place.len, &r->places[at], err);
    buf_release(&place);
    return rc;
}

static int add_line(struct reading *r, size_t at, struct err *err)
{
    const struct profile_function *f = &r->p->functions[r->p->lines[at].function];
    struct goroutine_frame frame = {profile_str(r->p, f->name), STR("")};
    struct str file = profile_str(r->p, f->filename);
    if (file.n > 0 && r->places[at] == 0 && write_place(r, at, file, err) < 0)
        return -1;
    if (file.n > 0)
        frame.place = profile_str(r->p, r->places[at]);
    return goroutine_add_frame(r->g, frame, err);
}

/* A location without lines becomes its address. */
static int add_address(struct reading *r, uint64_t address, struct err *err)
{
    char text[32];
    uint32_t number;
    int n = snprintf(text, sizeof text, "0x%" PRIx64, address);
    if (profile_intern(r->p, text, (size_t)n, &number, err) < 0)
        return -1;
    return goroutine_add_frame(r->g, (struct goroutine_frame){profile_str(r->p, number), STR("")}, err);
}

static int add_stack(struct reading *r, const struct profile_sample *s, struct err *err)
{
    for (uint32_t i = 0; i < s->depth; i++) {
        const struct profile_location *at = &r->p->locations[profile_frame(r->p, s, i)];
        r->frames += at->n_lines + 1;
        if (r->frames > MAX_SPELLED_FRAMES)
            return err_set(err, ERR_FAILED, "its stacks have more than %" PRIu64 " frames",
                           MAX_SPELLED_FRAMES);
        if (at->n_lines == 0 && add_address(r, at->address, err) < 0)
            return -1;
        for (uint32_t l = 0; l < at->n_lines; l++)
            if (add_line(r, at->line_at + l, err) < 0)
                return -1;
    }
    return 0;
}

static void add_quoted(struct buf *to, struct str s)
{
    buf_addc(to, '"');
    for (size_t i = 0; i < s.n && !to->failed; i++) {
        if (s.p[i] == '"' || s.p[i] == '\\')
            buf_addc(to, '\\');
        buf_addc(to, s.p[i]);
    }
    buf_addc(to, '"');
}

/* Writes labels as debug=1 does. Omits labels that are too long, and all labels after the first
 * MAX_LABEL_BYTES. */
static int add_labels(struct reading *r, const struct profile_sample *s, struct err *err)
{
    struct buf text = BUF_INIT(MAX_LABELS);
    uint32_t number = 0;
    if (r->label_bytes > MAX_LABEL_BYTES)
        return 0;
    for (uint32_t i = 0; i < s->n_labels && !text.failed; i++) {
        const struct profile_label *label = &r->p->labels[s->label_at + i];
        buf_adds(&text, i ? ", " : "{");
        add_quoted(&text, profile_str(r->p, label->key));
        buf_addc(&text, ':');
        if (label->is_number)
            buf_addf(&text, "%" PRId64, label->num);
        else
            add_quoted(&text, profile_str(r->p, label->str));
    }
    if (s->n_labels > 0)
        buf_addc(&text, '}');
    r->label_bytes += text.len;
    int rc = 0;
    if (text.out_of_memory)
        rc = err_nomem(err);
    else if (!text.failed && text.len > 0 &&
             (rc = profile_intern(r->p, text.data, text.len, &number, err)) == 0)
        r->g->store->current.labels = profile_str(r->p, number);
    buf_release(&text);
    return rc;
}

static int read_samples(struct reading *r, size_t dump, struct err *err)
{
    const struct profile *p = r->p;
    for (size_t i = 0; i < p->n_samples; i++) {
        int64_t count = p->values[i * p->n_sample_types];
        goroutine_begin(r->g, count > 0 ? (uint64_t)count : 0);
        if (count > 0 && (add_stack(r, &p->samples[i], err) < 0 || add_labels(r, &p->samples[i], err) < 0 ||
                          goroutine_end(r->g, dump, err) < 0))
            return -1;
    }
    return 0;
}

int goroutines_read_profile(struct goroutines *g, size_t dump, struct str bytes, uint64_t max_bytes,
                            struct err *err)
{
    struct reading r = {.g = g};
    if (profile_parse(bytes.p, bytes.n, max_bytes, &r.p, err) < 0)
        return profile_is_unrecognized(err) ? err_set(err, ERR_FAILED, "not a dump of goroutines")
                                            : err_wrap(err, "not a dump of goroutines");
    g->store->profiles[dump] = r.p;
    if (r.p->n_sample_types == 0 || !str_begins(profile_str(r.p, r.p->sample_types[0].type), "goroutine"))
        return err_set(err, ERR_UNSUPPORTED, "this is a profile, but not of goroutines");
    if (!(r.places = calloc(r.p->n_lines + 1, sizeof *r.places)))
        return err_nomem(err);
    int rc = read_samples(&r, dump, err);
    free(r.places);
    return rc;
}
