/* The page of files that somebody names. */
#include <stdio.h>
#include <stdlib.h>

#include "cli/drawing_inside.h"
#include "cli/input/input.h"
#include "fetch/fetch.h"

#include "base/banned.h"

/* A file of another type that is known has a hint that names the type. */
static int parse(const struct buf *bytes, const char *name, uint64_t most, struct profile **ret,
                 struct err *err)
{
    if (profile_parse(bytes->data, bytes->len, most, ret, err) == 0)
        return 0;
    if (profile_is_unrecognized(err))
        err_set(err, ERR_FAILED, "neither a profile nor a dump of goroutines");
    return input_hint_type(name, bytes->data, bytes->len, err);
}

/* Adds the table of goroutines. A profile of another kind has none, which is no failure. */
static int draw_dump(struct drawing *d, struct drawing_file *f, struct str bytes, struct err *err)
{
    struct goroutines *g = NULL;
    struct err why = ERR_INIT;
    if (goroutines_read(&bytes, &f->entry.file, 1, d->limits->profile, &g, &why) < 0) {
        if (goroutines_form(bytes) == GOROUTINES_PROFILE)
            return 0;
        if (err)
            *err = why; /* it names the file */
        return -1;
    }
    f->entry.kind = "goroutines";
    int rc = drawing_add_dump(d, f, g, err);
    goroutines_free(g);
    return rc < 0 ? err_wrap(err, "%s", f->entry.file) : 0;
}

static int draw_profile(struct drawing *d, struct drawing_file *f, const struct buf *bytes, struct err *err)
{
    struct profile *p = NULL;
    int rc = parse(bytes, f->entry.file, d->limits->profile, &p, err);
    for (size_t i = 0; rc == 0 && i < p->n_sample_types && !f->entry.kind; i++) {
        char type[64];
        struct str name = profile_str(p, p->sample_types[i].type);
        f->entry.kind = fetch_kind_of(text_printable(type, sizeof type, name.p, name.n));
    }
    if (rc == 0)
        rc = drawing_add_profile(d, f, p, err);
    profile_free(p);
    return rc < 0 ? err_wrap(err, "%s", f->entry.file) : 0;
}

/* A goroutine profile is drawn twice: as a table of goroutines and as a flame graph. */
static int draw_named(struct drawing *d, struct drawing_file *f, struct input_keys *keys, struct err *err)
{
    struct buf bytes = BUF_INIT(0);
    int rc = input_read_inflated(f->entry.file, keys, &bytes, err);
    struct str dump = {buf_str(&bytes), bytes.len};
    if (rc < 0 && err->kind != ERR_NOT_FOUND) /* that error names the file */
        err_wrap(err, "%s", f->entry.file);
    if (rc == 0)
        rc = draw_dump(d, f, dump, err);
    if (rc == 0 && goroutines_form(dump) == GOROUTINES_PROFILE)
        rc = draw_profile(d, f, &bytes, err);
    buf_release(&bytes);
    return rc;
}

/* Notes that file `i` is being drawn. Of a single file nothing is left to draw without it. */
static void note_progress(struct drawing_progress *p, const struct strlist *files, size_t i)
{
    if (!p || files->n == 1)
        return;
    snprintf(p->file, sizeof p->file, "%s", files->items[i]);
    p->at = (uint32_t)i + 1;
}

int drawing_files(const struct strlist *files, struct input_keys *keys, const struct drawing_target *to,
                  struct err *err)
{
    struct drawing d;
    char made[64], name[64];
    snprintf(name, sizeof name, "%zu files", files->n);
    struct page_bundle b = {.name = files->n == 1 ? input_title(files->items[0]) : name,
                            .made = clock_format(made, sizeof made, clock_utc())};
    int rc = drawing_init(&d, &drawing_when_asked, STR(""), to->sink, to->ctx, err);
    if (rc == 0)
        rc = input_announce(files->items, files->n, keys, err);
    for (size_t i = 0; rc == 0 && i < files->n; i++) {
        if ((to->progress && to->progress->without == i + 1) || drawing_progress_is_over(to->progress))
            continue;
        note_progress(to->progress, files, i);
        struct drawing_file f = {.entry = {.file = files->items[i], .title = input_title(files->items[i])}};
        rc = draw_named(&d, &f, keys, err);
    }
    /* A failure above is of the file that was read. */
    if (rc == 0 && to->progress)
        to->progress->at = 0;
    if (rc == 0)
        rc = drawing_finish(&d, &b, err);
    drawing_release(&d);
    return rc;
}
