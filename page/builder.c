#include "page/builder_compare.h"

#include <jansson.h>
#include <stdlib.h>

#include "base/banned.h"

const struct page_limits page_limits_capture = {4000000, UINT64_C(32) << 20,
                                                "inflates to more than 4 MB: `profgrab view FILE` draws it"};
const struct page_limits page_limits_on_request = {256000000, UINT64_C(2) << 30,
                                                   "inflates to more than 256 MB: `profgrab pprof` shows it"};

int page_builder_init(struct page_builder *d, const struct page_limits *limits, struct str manifest,
                      const struct page_output *to, struct err *err)
{
    *d = (struct page_builder){.limits = limits, .by_path = json_object()};
    if (!d->by_path)
        return err_nomem(err);
    if (manifest.n > 0 && (bundle_manifest_parse(manifest.p, manifest.n, &d->root, err) < 0 ||
                           manifest_read_json(d->root, &d->manifest, err) < 0))
        return -1;
    d->has_summary = d->manifest && d->manifest->n_summary > 0;
    if (page_builder_list(d, err) < 0 || page_builder_compare_plan(d, err) < 0)
        return -1;
    uint64_t kept = page_builder_compares(d) ? limits->page / PAGE_RESERVED_PART : 0;
    return page_writer_new(to->sink, to->ctx, limits->page - kept, &d->page, err);
}

void page_builder_release(struct page_builder *d)
{
    for (size_t i = 0; i < d->n; i++)
        free(d->files[i].title);
    free(d->files);
    page_builder_compare_release(d);
    json_decref(d->by_path);
    manifest_free(d->manifest);
    json_decref(d->root);
    findings_release(&d->findings);
    page_writer_free(d->page);
}

/* ---- one file ------------------------------------------------------------------------------------------ */

struct measure {
    uint64_t n, most;
};

static int count_bytes(void *ctx, const void *p, size_t n, struct err *err)
{
    struct measure *m = ctx;
    (void)p;
    m->n += n;
    return m->n > m->most ? err_set(err, ERR_FAILED, "larger") : 0;
}

/* Whether a profile that could not be read is too large. Called only after a failure, because it inflates. */
static bool is_too_large(const struct page_builder *d, const struct buf *bytes)
{
    struct measure m = {.n = 0, .most = d->limits->profile};
    struct gunzip *z = gunzip_new(count_bytes, &m, UINT64_MAX, NULL);
    if (z)
        gunzip_feed(z, bytes->data, bytes->len, NULL);
    gunzip_free(z);
    return m.n > m.most || bytes->len > m.most;
}

int page_builder_add_failed(struct page_builder *d, const struct page_file *f, const struct buf *bytes,
                            const struct err *why, struct err *err)
{
    if (!page_builder_is_file_error(why)) {
        if (err)
            *err = *why;
        return -1;
    }
    if (f->unsure)
        return 0;
    return page_writer_add_nothing(d->page, &f->entry,
                                   is_too_large(d, bytes) ? d->limits->too_large : why->msg, err);
}

static struct finding_subject make_subject(const struct page_file *f)
{
    const struct page_entry *e = &f->entry;
    return (struct finding_subject){.host = e->host, .service = e->service, .kind = e->kind, .file = e->file};
}

int page_builder_add_profile(struct page_builder *d, const struct page_file *f, struct profile *p,
                             struct err *err)
{
    struct finding_subject subject = make_subject(f);
    if (!d->has_summary && !f->later && findings_add_profile(&d->findings, p, &subject, err) < 0)
        return -1;
    if (page_fleet_add(d, f, p, err) < 0)
        return -1;
    /* Merge even a profile without room on the page: the healthy hosts are read last. */
    struct err why = ERR_INIT;
    int drawn = page_writer_add_profile(d->page, &f->entry, p, &why);
    if ((drawn == 0 || page_builder_is_file_error(&why)) && page_builder_compare_merge(d, f, p, err) < 0)
        return -1;
    if (drawn < 0)
        *err = why;
    return drawn;
}

static int draw_profile(struct page_builder *d, const struct page_file *f, const struct buf *bytes,
                        struct err *err)
{
    struct profile *p = NULL;
    struct err why = ERR_INIT;
    int rc = profile_parse(bytes->data, bytes->len, d->limits->profile, &p, &why);
    if (rc == 0)
        rc = page_builder_add_profile(d, f, p, &why);
    profile_free(p);
    return rc < 0 ? page_builder_add_failed(d, f, bytes, &why, err) : 0;
}

int page_builder_add_dump(struct page_builder *d, const struct page_file *f, const struct goroutines *g,
                          struct err *err)
{
    struct finding_subject subject = make_subject(f);
    if (!d->has_summary && !f->later && findings_add_goroutines(&d->findings, g, &subject, err) < 0)
        return -1;
    return page_writer_add_goroutines(d->page, &f->entry, g, err);
}

static int draw_dump(struct page_builder *d, const struct page_file *f, const struct buf *bytes,
                     struct err *err)
{
    struct goroutines *g = NULL;
    struct err why = ERR_INIT;
    struct str dump = {buf_str(bytes), bytes->len};
    int rc =
        goroutines_read(&(struct goroutines_input){&dump, &f->entry.file, 1, d->limits->profile}, &g, &why);
    if (rc == 0)
        rc = page_builder_add_dump(d, f, g, &why);
    goroutines_free(g);
    return rc < 0 ? page_builder_add_failed(d, f, bytes, &why, err) : 0;
}

int page_builder_draw(struct page_builder *d, const struct page_file *f, const struct buf *bytes,
                      struct err *err)
{
    if ((f->how & PAGE_AS_PROFILE) && draw_profile(d, f, bytes, err) < 0)
        return -1;
    if ((f->how & PAGE_AS_DUMP) && draw_dump(d, f, bytes, err) < 0)
        return -1;
    return page_builder_compare_keep(d, f, bytes, err);
}

/* ---- the end ------------------------------------------------------------------------------------------- */

/* The sentences of the manifest, or new ones. The caller frees *ret. */
static int list_sentences(struct page_builder *d, struct page_sentence **ret, size_t *ret_n, struct err *err)
{
    size_t n = d->has_summary ? d->manifest->n_summary : d->findings.n;
    struct page_sentence *sentences = calloc(n + 1, sizeof *sentences);
    if (!sentences)
        return err_nomem(err);
    for (size_t i = 0; i < n; i++) {
        const struct manifest_sentence *known = d->has_summary ? &d->manifest->summary[i] : NULL;
        const struct finding *made = known ? NULL : &d->findings.items[i];
        sentences[i] =
            known ? (struct page_sentence){.rule = known->rule,
                                           .text = known->text,
                                           .file = known->file,
                                           .look = known->look}
                  : (struct page_sentence){
                        .rule = made->rule->id, .text = made->text, .file = made->file, .look = made->look};
        sentences[i].from = findings_input_of(sentences[i].rule);
    }
    *ret = sentences;
    *ret_n = n;
    return 0;
}

/* The manifest as the page contains it: without the summary, which the page has itself, and without the
 * page's own hash. Changes a copy, because the typed manifest uses the strings of d->root. */
static int print_manifest(const struct page_builder *d, char **ret, struct err *err)
{
    json_t *shown = json_copy(d->root);
    json_object_del(shown, "summary");
    json_object_del(shown, "report");
    /* Without memory for a key, jansson omits it from the copy. */
    bool whole = json_object_size(shown) + (json_object_get(d->root, "summary") != NULL) +
                     (json_object_get(d->root, "report") != NULL) ==
                 json_object_size(d->root);
    *ret = whole ? json_dumps(shown, JSON_COMPACT | JSON_PRESERVE_ORDER) : NULL;
    json_decref(shown);
    return *ret ? 0 : err_nomem(err);
}

int page_builder_finish(struct page_builder *d, struct page_bundle *b, struct err *err)
{
    struct page_sentence *sentences = NULL;
    struct page_group *groups = NULL;
    char *manifest = NULL;
    int rc = d->has_summary ? 0 : findings_finish(&d->findings, err);
    if (rc == 0)
        rc = list_sentences(d, &sentences, &b->n_summary, err);
    if (rc == 0)
        rc = page_builder_compare_groups(d, &groups, &b->n_groups, err);
    b->summary = sentences;
    b->groups = groups;
    b->tool = "profgrab " PROFGRAB_VERSION;
    if (rc == 0 && d->root && (rc = print_manifest(d, &manifest, err)) == 0) {
        b->manifest = str_of(manifest);
        b->name = d->manifest->name;
        b->made = d->manifest->finished;
    }
    if (rc == 0)
        rc = page_writer_finish(d->page, b, err);
    free(sentences);
    free(groups);
    free(manifest);
    return rc;
}

int page_builder_add_rest(struct page_builder *d, struct err *err)
{
    for (size_t i = 0; i < d->n; i++) {
        const struct page_file *f = &d->files[i];
        if (!f->met && !f->unsure &&
            page_writer_add_nothing(d->page, &f->entry, f->why ? f->why : "it is not in the bundle", err) < 0)
            return -1;
    }
    return 0;
}

int page_builder_finish_bundle(struct page_builder *d, struct err *err)
{
    struct page_bundle b = {0};
    if (page_builder_compare_finish(d, err) < 0 || page_builder_add_rest(d, err) < 0)
        return -1;
    return page_builder_finish(d, &b, err);
}
