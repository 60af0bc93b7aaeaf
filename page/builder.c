#include "page/builder_compare.h"

#include <stdlib.h>

#include "base/banned.h"

const struct page_limits page_limits_capture = {4000000, UINT64_C(32) << 20,
                                                "inflates to more than 4 MB: `profgrab view FILE` draws it"};
const struct page_limits page_limits_on_request = {256000000, UINT64_C(2) << 30,
                                                   "inflates to more than 256 MB: `profgrab pprof` shows it"};

int page_builder_init(struct page_builder *builder, const struct page_limits *limits,
                      const struct manifest *manifest, const struct page_output *to, struct err *err)
{
    *builder = (struct page_builder){
        .limits = limits, .manifest = manifest, .makes_findings = !manifest || manifest->n_summary == 0};
    if (page_builder_list(builder, err) < 0 || page_builder_compare_plan(builder, err) < 0)
        return -1;
    uint64_t reserved = page_builder_compares(builder) ? limits->page / PAGE_RESERVED_PART : 0;
    return page_writer_new(to->sink, to->ctx, limits->page - reserved, &builder->page, err);
}

void page_builder_release(struct page_builder *builder)
{
    for (size_t i = 0; i < builder->n; i++)
        free(builder->files[i].title);
    free(builder->files);
    page_builder_compare_release(builder);
    name_map_release(&builder->by_path);
    findings_release(&builder->findings);
    page_writer_free(builder->page);
}

/* ---- one file ------------------------------------------------------------------------------------------ */

struct size_check {
    uint64_t n, most;
};

static int count_bytes(void *ctx, const void *p, size_t n, struct err *err)
{
    struct size_check *check = ctx;
    (void)p;
    check->n += n;
    return check->n > check->most ? err_set(err, ERR_FAILED, "larger") : 0;
}

/* Returns whether a profile that could not be read is too large. Call this only after a failure, because it
 * inflates the profile. */
static bool is_too_large(const struct page_builder *builder, const struct buf *bytes)
{
    struct size_check check = {.n = 0, .most = builder->limits->profile};
    struct gunzip *z = gunzip_new(count_bytes, &check, UINT64_MAX, NULL);
    if (z)
        gunzip_feed(z, bytes->data, bytes->len, NULL);
    gunzip_free(z);
    return check.n > check.most || bytes->len > check.most;
}

int page_builder_add_failed(struct page_builder *builder, const struct page_file *file,
                            const struct buf *bytes, const struct err *why, struct err *err)
{
    if (!page_builder_is_file_error(why)) {
        if (err)
            *err = *why;
        return -1;
    }
    if (file->is_unknown_type)
        return 0;
    return page_writer_add_undrawn(builder->page, &file->entry,
                                   is_too_large(builder, bytes) ? builder->limits->too_large : why->msg, err);
}

static struct finding_subject make_subject(const struct page_file *file)
{
    const struct page_entry *e = &file->entry;
    return (struct finding_subject){.host = e->host, .service = e->service, .kind = e->kind, .file = e->file};
}

int page_builder_add_profile(struct page_builder *builder, const struct page_file *file,
                             struct profile *profile, struct err *err)
{
    struct finding_subject subject = make_subject(file);
    if (builder->makes_findings && !file->is_later &&
        findings_add_profile(&builder->findings, profile, &subject, err) < 0)
        return -1;
    if (page_fleet_add(builder, file, profile, err) < 0)
        return -1;
    /* Merge a profile even if the page has no room for it: the baseline hosts may be read last, and a
     * comparison needs both sides. */
    struct err why = ERR_INIT;
    int drawn = page_writer_add_profile(builder->page, &file->entry, profile, &why);
    if ((drawn == 0 || page_builder_is_file_error(&why)) &&
        page_builder_compare_merge(builder, file, profile, err) < 0)
        return -1;
    if (drawn < 0)
        *err = why;
    return drawn;
}

static int draw_profile(struct page_builder *builder, const struct page_file *file, const struct buf *bytes,
                        struct err *err)
{
    struct profile *p = NULL;
    struct err why = ERR_INIT;
    int rc = profile_parse(bytes->data, bytes->len, builder->limits->profile, &p, &why);
    if (rc == 0)
        rc = page_builder_add_profile(builder, file, p, &why);
    profile_free(p);
    return rc < 0 ? page_builder_add_failed(builder, file, bytes, &why, err) : 0;
}

int page_builder_add_dump(struct page_builder *builder, const struct page_file *file,
                          const struct goroutines *goroutines, struct err *err)
{
    struct finding_subject subject = make_subject(file);
    if (builder->makes_findings && !file->is_later &&
        findings_add_goroutines(&builder->findings, goroutines, &subject, err) < 0)
        return -1;
    return page_writer_add_goroutines(builder->page, &file->entry, goroutines, err);
}

static int draw_dump(struct page_builder *builder, const struct page_file *file, const struct buf *bytes,
                     struct err *err)
{
    struct goroutines *g = NULL;
    struct err why = ERR_INIT;
    struct str dump = {buf_str(bytes), bytes->len};
    int rc = goroutines_read(
        &(struct goroutines_input){&dump, &file->entry.file, 1, builder->limits->profile}, &g, &why);
    if (rc == 0)
        rc = page_builder_add_dump(builder, file, g, &why);
    goroutines_free(g);
    return rc < 0 ? page_builder_add_failed(builder, file, bytes, &why, err) : 0;
}

int page_builder_draw(struct page_builder *builder, const struct page_file *file, const struct buf *bytes,
                      struct err *err)
{
    if ((file->draw_as & PAGE_AS_PROFILE) && draw_profile(builder, file, bytes, err) < 0)
        return -1;
    if ((file->draw_as & PAGE_AS_DUMP) && draw_dump(builder, file, bytes, err) < 0)
        return -1;
    return page_builder_compare_store(builder, file, bytes, err);
}

/* ---- the end ------------------------------------------------------------------------------------------- */

/* Lists the sentences of the manifest's summary; without a summary, those of the builder's findings. The
 * caller frees *ret. */
static int list_sentences(struct page_builder *builder, struct page_sentence **ret, size_t *ret_n,
                          struct err *err)
{
    const struct manifest *manifest = builder->makes_findings ? NULL : builder->manifest;
    size_t n = manifest ? manifest->n_summary : builder->findings.n;
    struct page_sentence *sentences = calloc(n + 1, sizeof *sentences);
    if (!sentences)
        return err_nomem(err);
    for (size_t i = 0; i < n; i++) {
        const struct manifest_sentence *known = manifest ? &manifest->summary[i] : NULL;
        const struct finding *made = known ? NULL : &builder->findings.items[i];
        sentences[i] = known ? (struct page_sentence){.rule = known->rule,
                                                      .text = known->text,
                                                      .file = known->file,
                                                      .look_at = known->look_at}
                             : (struct page_sentence){.rule = made->rule->id,
                                                      .text = made->text,
                                                      .file = made->file,
                                                      .look_at = made->look_at};
        const struct finding_rule *rule = findings_find_rule(sentences[i].rule);
        sentences[i].from = rule ? rule->input : FINDING_FROM_ONE;
        sentences[i].look_type = rule ? rule->look_type : NULL;
    }
    *ret = sentences;
    *ret_n = n;
    return 0;
}

int page_builder_finish(struct page_builder *builder, struct page_bundle *bundle, struct err *err)
{
    struct page_sentence *sentences = NULL;
    struct page_named_fleet *fleets = NULL;
    struct buf manifest = BUF_INIT(BUNDLE_MAX_MANIFEST);
    int rc = builder->makes_findings ? findings_finish(&builder->findings, err) : 0;
    if (rc == 0)
        rc = list_sentences(builder, &sentences, &bundle->n_summary, err);
    if (rc == 0)
        rc = page_builder_list_fleets(builder, &fleets, &bundle->n_fleets, err);
    bundle->summary = sentences;
    bundle->fleets = fleets;
    bundle->tool = "profgrab " PROFGRAB_VERSION;
    if (rc == 0 && builder->manifest &&
        (rc = manifest_print_for_page(builder->manifest, &manifest, err)) == 0) {
        bundle->manifest = (struct str){buf_str(&manifest), manifest.len};
        bundle->name = builder->manifest->name;
        bundle->made = builder->manifest->finished;
    }
    if (rc == 0)
        rc = page_writer_finish(builder->page, bundle, err);
    free(sentences);
    free(fleets);
    buf_release(&manifest);
    return rc;
}

int page_builder_add_rest(struct page_builder *builder, struct err *err)
{
    for (size_t i = 0; i < builder->n; i++) {
        const struct page_file *f = &builder->files[i];
        if (!f->was_read && !f->is_unknown_type &&
            page_writer_add_undrawn(builder->page, &f->entry, f->why ? f->why : "it is not in the bundle",
                                    err) < 0)
            return -1;
    }
    return 0;
}

/* Adds an entry that says why the page has neither comparisons nor findings. */
static int add_missing_end(struct page_builder *builder, struct err *err)
{
    static const struct page_entry entry = {.title = "comparisons and findings"};
    return page_writer_add_undrawn(builder->page, &entry, "making them exceeds the limit of memory or time",
                                   err);
}

int page_builder_finish_bundle(struct page_builder *builder, struct err *err)
{
    struct page_bundle b = {0};
    if (page_builder_compare_finish(builder, err) < 0 || page_builder_add_rest(builder, err) < 0 ||
        (builder->without_end && add_missing_end(builder, err) < 0))
        return -1;
    return page_builder_finish(builder, &b, err);
}
