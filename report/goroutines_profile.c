/* A dump as a profile. What it has no text of, places and labels, is written among its own strings. */
#include <inttypes.h>
#include <stdio.h>

#include "report/goroutines_inside.h"
#include "base/banned.h"

#define MAX_LABELS 65536

static int add_line(struct goroutines *g, struct profile *p, const struct profile_line *line, struct err *err)
{
    const struct profile_function *f = &p->functions[line->function];
    struct goroutine_frame frame = {profile_str(p, f->name), STR("")};
    struct str file = profile_str(p, f->filename);
    if (file.n > 0) {
        struct buf place = BUF_INIT(file.n + 32);
        uint32_t number = 0;
        buf_add(&place, file.p, file.n);
        buf_addf(&place, ":%" PRId64, line->line);
        int rc = buf_check(&place, "a place", err);
        if (rc == 0)
            rc = profile_intern(p, place.data, place.len, &number, err);
        buf_release(&place);
        if (rc < 0)
            return -1;
        frame.place = profile_str(p, number);
    }
    return goroutine_add_frame(g, frame, err);
}

/* Where there are no lines its address stands for it. */
static int add_address(struct goroutines *g, struct profile *p, uint64_t address, struct err *err)
{
    char text[32];
    uint32_t number;
    int n = snprintf(text, sizeof text, "0x%" PRIx64, address);
    if (profile_intern(p, text, (size_t)n, &number, err) < 0)
        return -1;
    return goroutine_add_frame(g, (struct goroutine_frame){profile_str(p, number), STR("")}, err);
}

static int add_stack(struct goroutines *g, struct profile *p, const struct profile_sample *s, struct err *err)
{
    for (uint32_t i = 0; i < s->depth; i++) {
        const struct profile_location *at = &p->locations[profile_frame(p, s, i)];
        if (at->n_lines == 0 && add_address(g, p, at->address, err) < 0)
            return -1;
        for (uint32_t l = 0; l < at->n_lines; l++)
            if (add_line(g, p, &p->lines[at->line_at + l], err) < 0)
                return -1;
    }
    return 0;
}

static void add_quoted(struct buf *to, struct str s)
{
    buf_addc(to, '"');
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '"' || s.p[i] == '\\')
            buf_addc(to, '\\');
        buf_addc(to, s.p[i]);
    }
    buf_addc(to, '"');
}

/* As debug=1 writes them. Labels too long for that are left out. */
static int add_labels(struct goroutines *g, struct profile *p, const struct profile_sample *s,
                      struct err *err)
{
    struct buf text = BUF_INIT(MAX_LABELS);
    uint32_t number = 0;
    for (uint32_t i = 0; i < s->n_labels; i++) {
        const struct profile_label *label = &p->labels[s->label_at + i];
        buf_adds(&text, i ? ", " : "{");
        add_quoted(&text, profile_str(p, label->key));
        buf_addc(&text, ':');
        if (label->is_number)
            buf_addf(&text, "%" PRId64, label->num);
        else
            add_quoted(&text, profile_str(p, label->str));
    }
    if (s->n_labels > 0)
        buf_addc(&text, '}');
    int rc = 0;
    if (text.starved)
        rc = err_nomem(err);
    else if (!text.failed && text.len > 0 && (rc = profile_intern(p, text.data, text.len, &number, err)) == 0)
        g->store->current.labels = profile_str(p, number);
    buf_release(&text);
    return rc;
}

int goroutines_read_profile(struct goroutines *g, size_t dump, struct str bytes, uint64_t max_bytes,
                            struct err *err)
{
    struct profile *p = NULL;
    if (profile_parse(bytes.p, bytes.n, max_bytes, &p, err) < 0)
        return err_wrap(err, "not a dump of goroutines");
    g->store->profiles[dump] = p;
    if (p->n_sample_types == 0 || !str_begins(profile_str(p, p->sample_types[0].type), "goroutine"))
        return err_set(err, ERR_FAILED, "this is a profile, but not of goroutines");
    for (size_t i = 0; i < p->n_samples; i++) {
        int64_t count = p->values[i * p->n_sample_types];
        goroutine_begin(g, count > 0 ? (uint64_t)count : 0);
        if (count > 0 && (add_stack(g, p, &p->samples[i], err) < 0 ||
                          add_labels(g, p, &p->samples[i], err) < 0 || goroutine_end(g, dump, err) < 0))
            return -1;
    }
    return 0;
}
