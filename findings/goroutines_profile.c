/*
 * Reads a dump in profile form. The texts of lines ("file:line") and of labels are added to the profile's
 * strings.
 *
 * A small profile can expand to a large text: many samples may share one location with many lines, and many
 * lines may share one long file name. Therefore each line's text is written once, and limits apply to the
 * expanded text.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "findings/goroutines_internal.h"
#include "base/banned.h"

#define MAX_SAMPLE_LABEL_BYTES 65536
/* Limits of the expanded text: the frames of all samples, the bytes of all "file:line", the bytes of
 * labels. */
#define MAX_FRAMES (UINT64_C(20) << 20)
#define MAX_FILE_LINE_BYTES ((size_t)32 << 20)
#define MAX_LABEL_BYTES ((size_t)32 << 20)

struct profile_reader {
    struct goroutines *g;
    struct profile *p;
    uint32_t *file_lines; /* by line: the string "file:line"; 0 until it is written */
    size_t file_line_bytes, label_bytes;
    uint64_t frames;
};

static int write_file_line(struct profile_reader *r, size_t at, struct str file, struct err *err)
{
    struct buf text = BUF_INIT(file.n + 32);
    buf_add(&text, file.p, file.n);
    buf_addf(&text, ":%" PRId64, r->p->lines[at].line);
    r->file_line_bytes += text.len;
    int rc = buf_check(&text, "a source line", err);
    if (rc == 0 && r->file_line_bytes > MAX_FILE_LINE_BYTES)
        rc = err_set(err, ERR_FAILED, "the source lines of its frames have more than %zu MB of text",
                     MAX_FILE_LINE_BYTES >> 20);
    if (rc == 0)
        rc = profile_intern(r->p, text.data, text.len, &r->file_lines[at], err);
    buf_release(&text);
    return rc;
}

static int add_line(struct profile_reader *r, size_t at, struct err *err)
{
    const struct profile_function *f = &r->p->functions[r->p->lines[at].function];
    struct goroutine_frame frame = {profile_str(r->p, f->name), STR("")};
    struct str file = profile_str(r->p, f->filename);
    if (file.n > 0 && r->file_lines[at] == 0 && write_file_line(r, at, file, err) < 0)
        return -1;
    if (file.n > 0)
        frame.file_line = profile_str(r->p, r->file_lines[at]);
    return goroutine_add_frame(r->g, frame, err);
}

/* Adds the address of a location without lines. */
static int add_address(struct profile_reader *r, uint64_t address, struct err *err)
{
    char text[32];
    uint32_t number;
    int n = snprintf(text, sizeof text, "0x%" PRIx64, address);
    if (profile_intern(r->p, text, (size_t)n, &number, err) < 0)
        return -1;
    return goroutine_add_frame(r->g, (struct goroutine_frame){profile_str(r->p, number), STR("")}, err);
}

static int add_stack(struct profile_reader *r, const struct profile_sample *s, struct err *err)
{
    for (uint32_t i = 0; i < s->depth; i++) {
        const struct profile_location *at = &r->p->locations[profile_frame(r->p, s, i)];
        r->frames += at->n_lines + 1;
        if (r->frames > MAX_FRAMES)
            return err_set(err, ERR_FAILED, "its stacks have more than %" PRIu64 " frames", MAX_FRAMES);
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
static int add_labels(struct profile_reader *r, const struct profile_sample *s, struct err *err)
{
    struct buf text = BUF_INIT(MAX_SAMPLE_LABEL_BYTES);
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

static int read_samples(struct profile_reader *r, size_t dump, struct err *err)
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

int goroutines_read_profile(struct goroutines *goroutines, size_t dump, struct str bytes, uint64_t max_bytes,
                            struct err *err)
{
    struct profile_reader r = {.g = goroutines};
    if (profile_parse(bytes.p, bytes.n, max_bytes, &r.p, err) < 0)
        return err && err->kind == ERR_UNRECOGNIZED ? err_set(err, ERR_FAILED, "not a dump of goroutines")
                                                    : err_wrap(err, "not a dump of goroutines");
    goroutines->store->profiles[dump] = r.p;
    if (r.p->n_sample_types == 0 || !str_begins(profile_str(r.p, r.p->sample_types[0].type), "goroutine"))
        return err_set(err, ERR_UNSUPPORTED, "this is a profile, but not of goroutines");
    if (!(r.file_lines = calloc(r.p->n_lines + 1, sizeof *r.file_lines)))
        return err_nomem(err);
    int rc = read_samples(&r, dump, err);
    free(r.file_lines);
    return rc;
}
