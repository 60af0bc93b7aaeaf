/* Writes the page of files that the user names. */
#include <stdio.h>
#include <stdlib.h>

#include "page/builder.h"

#include "base/banned.h"

/* The error for another known type of file has a hint that names the type. */
static int parse_profile(const struct page_files *files, const struct buf *bytes, const char *name,
                         struct profile **ret, struct err *err)
{
    if (profile_parse(bytes->data, bytes->len, page_limits_on_request.profile, ret, err) == 0)
        return 0;
    if (err && err->kind == ERR_UNRECOGNIZED)
        err_set(err, ERR_FAILED, "neither a profile nor a dump of goroutines");
    return files->hint(name, bytes->data, bytes->len, err);
}

/* Adds the table of goroutines. Returns 0 for a profile of another kind, which has none. */
static int draw_dump(struct page_builder *builder, const struct page_files *files, struct page_file *file,
                     const struct buf *bytes, struct err *err)
{
    struct goroutines *g = NULL;
    struct err why = ERR_INIT;
    struct str dump = {buf_str(bytes), bytes->len};
    const char *name = file->entry.file;
    bool is_profile = goroutines_detect_form(dump) == GOROUTINES_PROFILE;
    int rc = goroutines_read(&(struct goroutines_input){&dump, &name, 1, builder->limits->profile}, &g, &why);
    if (rc < 0 && is_profile)
        return 0;
    if (!is_profile && files->check_dump(name, bytes, rc == 0, &why) < 0)
        rc = -1;
    if (rc < 0) {
        goroutines_free(g);
        if (err)
            *err = why; /* this error names the file */
        return -1;
    }
    file->entry.kind = "goroutines";
    rc = page_builder_add_dump(builder, file, g, err);
    goroutines_free(g);
    return rc < 0 ? err_wrap(err, "%s", name) : 0;
}

static int draw_profile(struct page_builder *builder, const struct page_files *files, struct page_file *file,
                        const struct buf *bytes, struct err *err)
{
    struct profile *p = NULL;
    int rc = parse_profile(files, bytes, file->entry.file, &p, err);
    for (size_t i = 0; rc == 0 && i < p->n_sample_types && !file->entry.kind; i++) {
        char type[64];
        struct str name = profile_str(p, p->sample_types[i].type);
        file->entry.kind = kind_of_sample_type(text_printable(type, sizeof type, name.p, name.n));
    }
    if (rc == 0)
        rc = page_builder_add_profile(builder, file, p, err);
    profile_free(p);
    return rc < 0 ? err_wrap(err, "%s", file->entry.file) : 0;
}

/* A goroutine profile is drawn twice: as a table of goroutines and as a flame graph. */
static int draw_file(struct page_builder *builder, const struct page_files *files, struct page_file *file,
                     struct err *err)
{
    struct buf bytes = BUF_INIT(0);
    int rc = files->read(files->ctx, file->entry.file, &bytes, err);
    if (rc < 0 && err->kind != ERR_NOT_FOUND) /* ERR_NOT_FOUND already names the file */
        err_wrap(err, "%s", file->entry.file);
    if (rc == 0)
        rc = draw_dump(builder, files, file, &bytes, err);
    if (rc == 0 && goroutines_detect_form((struct str){buf_str(&bytes), bytes.len}) == GOROUTINES_PROFILE)
        rc = draw_profile(builder, files, file, &bytes, err);
    buf_release(&bytes);
    return rc;
}

/* Records that file `i` is being drawn. A single file cannot be left out. */
static void record_progress(struct page_progress *progress, const struct strlist *files, size_t i)
{
    if (!progress || files->n == 1)
        return;
    snprintf(progress->file, sizeof progress->file, "%s", files->items[i]);
    progress->at = (uint32_t)i + 1;
}

int page_build_files(const struct page_files *files, const struct page_output *to, struct err *err)
{
    struct page_builder builder;
    const struct strlist *names = files->names;
    char made[64], name[64];
    snprintf(name, sizeof name, "%zu files", names->n);
    struct page_bundle b = {.name = names->n == 1 ? files->title(names->items[0]) : name,
                            .made = clock_format(made, sizeof made, clock_utc())};
    int rc = page_builder_init(&builder, &page_limits_on_request, NULL, to, err);
    for (size_t i = 0; rc == 0 && i < names->n; i++) {
        if ((to->progress && to->progress->without == i + 1) || page_progress_leaves_out_next(to->progress))
            continue;
        record_progress(to->progress, names, i);
        struct page_file f = {.entry = {.file = names->items[i], .title = files->title(names->items[i])}};
        rc = draw_file(&builder, files, &f, err);
    }
    /* Keep the record after a failure, because this file caused it. */
    if (rc == 0 && to->progress)
        to->progress->at = 0;
    if (rc == 0)
        rc = page_builder_finish(&builder, &b, err);
    page_builder_release(&builder);
    return rc;
}
