#include "cli/drawing.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/signals.h"
#include "cli/source.h"
#include "cli/talk.h"
#include "fetch/fetch.h"
#include "base/banned.h"

/* What is drawn of a profile, inflated, and how large the page may become: while somebody waits for their
 * bundle, and when somebody has asked for the page. */
static const struct limits {
    uint64_t profile, page;
    const char *too_large;
} at_capture = {8000000, UINT64_C(32) << 20, "inflates to more than 8 MB: `profgrab view FILE` draws it"},
  when_asked = {256000000, UINT64_C(2) << 30, "inflates to more than 256 MB: `profgrab pprof` shows it"};

/* How a file is drawn. */
enum { AS_PROFILE = 1, AS_DUMP = 2 };

/* A file that may be drawn. Texts are the manifest's. */
struct file {
    char *title;
    struct page_entry entry;
    unsigned how;    /* 0: not at all */
    const char *why; /* not */
    bool unsure;     /* it may be none of what is drawn: then it is passed over */
    bool met;
};

struct drawing {
    const struct limits *limits;
    struct page *page;
    json_t *root; /* the manifest; NULL: none */
    struct file *files;
    size_t n, cap;
    json_t *by_path; /* their numbers */
    struct words words;
    bool wordless; /* there is a summary already */
};

static const char *text(const json_t *o, const char *key)
{
    return json_string_value(json_object_get(o, key));
}

static bool is(const json_t *o, const char *key, const char *value)
{
    const char *s = text(o, key);
    return s && strcmp(s, value) == 0;
}

static bool ends_in(const char *s, const char *end)
{
    size_t n = strlen(s), n_end = strlen(end);
    return n >= n_end && strcmp(s + n - n_end, end) == 0;
}

/* ---- what there is ---------------------------------------------------------------------------------------
 */

/* Whether goroutines of the same service are there as a text, which says more than their profile. */
static bool has_text_of_goroutines(const json_t *items)
{
    for (size_t i = 0; i < json_array_size(items); i++) {
        const json_t *item = json_array_get(items, i);
        const char *file = text(item, "file");
        if (file && is(item, "kind", "goroutines") && is(item, "status", "ok") && ends_in(file, ".txt"))
            return true;
    }
    return false;
}

static void decide(struct file *f, const json_t *item, const json_t *beside)
{
    bool goroutines = is(item, "kind", "goroutines"), profile = json_object_get(item, "profile") != NULL;
    if (!is(item, "status", "ok")) {
        f->why = is(item, "status", "damaged") ? "it did not pass its checks" : "it is not whole";
        return;
    }
    if (profile)
        f->how = AS_PROFILE | (goroutines && !has_text_of_goroutines(beside) ? AS_DUMP : 0);
    else if (goroutines && ends_in(f->entry.file, ".txt"))
        f->how = AS_DUMP;
    else if (is(item, "kind", "text")) {
        f->how = AS_DUMP;
        f->unsure = true;
    }
}

/* "file-03 gitaly cpu"; of a local file its path. */
static char *title_of(const json_t *item, const char *host, const char *service)
{
    char *title = NULL;
    const char *argument = text(item, "argument"), *kind = text(item, "kind");
    if (!host)
        return strdup(text(item, "file"));
    if (asprintf(&title, "%s %s %s%s%s", host, service ? service : "", kind ? kind : "", argument ? "=" : "",
                 argument ? argument : "") < 0)
        return NULL;
    return title;
}

static int add_file(struct drawing *d, const json_t *item, const json_t *beside, const char *host,
                    const char *service, struct err *err)
{
    struct file f = {
        .entry = {.file = text(item, "file"), .kind = text(item, "kind"), .host = host, .service = service}};
    if (!f.entry.file || is(item, "kind", "trace"))
        return 0;
    decide(&f, item, beside);
    if (!f.how && !f.why)
        return 0;
    if (array_reserve((void **)&d->files, &d->cap, d->n + 1, sizeof *d->files, err) < 0)
        return -1;
    f.entry.title = f.title = title_of(item, host, service);
    if (!f.title || json_object_set_new(d->by_path, f.entry.file, json_integer((json_int_t)d->n)) < 0) {
        free(f.title);
        return err_nomem(err);
    }
    d->files[d->n++] = f;
    return 0;
}

static int add_files(struct drawing *d, const json_t *items, const char *host, const char *service,
                     struct err *err)
{
    for (size_t i = 0; i < json_array_size(items); i++)
        if (add_file(d, json_array_get(items, i), items, host, service, err) < 0)
            return -1;
    return 0;
}

/* All that the manifest names. */
static int list_files(struct drawing *d, struct err *err)
{
    const json_t *hosts = json_object_get(d->root, "hosts");
    for (size_t i = 0; i < json_array_size(hosts); i++) {
        const json_t *host = json_array_get(hosts, i), *services = json_object_get(host, "services");
        for (size_t k = 0; k < json_array_size(services); k++) {
            const json_t *service = json_array_get(services, k);
            if (add_files(d, json_object_get(service, "items"), text(host, "name"), text(service, "name"),
                          err) < 0)
                return -1;
        }
    }
    return add_files(d, json_object_get(d->root, "files"), NULL, NULL, err);
}

static int drawing_init(struct drawing *d, const struct limits *limits, struct str manifest,
                        page_sink_fn *sink, void *ctx, struct err *err)
{
    *d = (struct drawing){.limits = limits, .by_path = json_object()};
    if (!d->by_path)
        return err_nomem(err);
    if (manifest.n > 0 && !(d->root = json_loadb(manifest.p, manifest.n, 0, NULL)))
        return err_set(err, ERR_FAILED, "manifest.json is malformed");
    d->wordless = json_array_size(json_object_get(d->root, "summary")) > 0;
    return list_files(d, err) < 0 ? -1 : page_new(sink, ctx, limits->page, &d->page, err);
}

static void drawing_release(struct drawing *d)
{
    for (size_t i = 0; i < d->n; i++)
        free(d->files[i].title);
    free(d->files);
    json_decref(d->by_path);
    json_decref(d->root);
    words_release(&d->words);
    page_free(d->page);
}

/* ---- drawing one -----------------------------------------------------------------------------------------
 */

struct measure {
    uint64_t n, most;
};

static int measure(void *ctx, const void *p, size_t n, struct err *err)
{
    struct measure *m = ctx;
    (void)p;
    m->n += n;
    return m->n > m->most ? err_set(err, ERR_FAILED, "larger") : 0;
}

/* Whether that is why a profile could not be read: looked for afterwards, since it seldom is. */
static bool is_too_large(const struct drawing *d, const struct buf *bytes)
{
    struct measure m = {.n = 0, .most = d->limits->profile};
    struct gunzip *z = gunzip_new(measure, &m, UINT64_MAX, NULL);
    if (z)
        gunzip_feed(z, bytes->data, bytes->len, NULL);
    gunzip_free(z);
    return m.n > m.most || bytes->len > m.most;
}

/* An entry that could not be drawn says so, unless the page itself has failed. */
static int give_up(struct drawing *d, const struct file *f, const struct buf *bytes, const struct err *why,
                   struct err *err)
{
    if (why->kind != ERR_FAILED) {
        if (err)
            *err = *why;
        return -1;
    }
    if (f->unsure)
        return 0;
    return page_add_nothing(d->page, &f->entry, is_too_large(d, bytes) ? d->limits->too_large : why->msg,
                            err);
}

static struct words_subject subject_of(const struct file *f)
{
    const struct page_entry *e = &f->entry;
    return (struct words_subject){.host = e->host, .service = e->service, .kind = e->kind, .file = e->file};
}

static int add_profile(struct drawing *d, const struct file *f, struct profile *p, struct err *err)
{
    struct words_subject subject = subject_of(f);
    if (!d->wordless && words_add_profile(&d->words, p, &subject, err) < 0)
        return -1;
    return page_add_profile(d->page, &f->entry, p, err);
}

static int draw_profile(struct drawing *d, const struct file *f, const struct buf *bytes, struct err *err)
{
    struct profile *p = NULL;
    struct err why = ERR_INIT;
    int rc = profile_parse(bytes->data, bytes->len, d->limits->profile, &p, &why);
    if (rc == 0)
        rc = add_profile(d, f, p, &why);
    profile_free(p);
    return rc < 0 ? give_up(d, f, bytes, &why, err) : 0;
}

static int add_dump(struct drawing *d, const struct file *f, const struct goroutines *g, struct err *err)
{
    struct words_subject subject = subject_of(f);
    if (!d->wordless && words_add_goroutines(&d->words, g, &subject, err) < 0)
        return -1;
    return page_add_goroutines(d->page, &f->entry, g, err);
}

static int draw_dump(struct drawing *d, const struct file *f, const struct buf *bytes, struct err *err)
{
    struct goroutines *g = NULL;
    struct err why = ERR_INIT;
    struct str dump = {buf_str(bytes), bytes->len};
    int rc = goroutines_read(&dump, &f->entry.file, 1, d->limits->profile, &g, &why);
    if (rc == 0)
        rc = add_dump(d, f, g, &why);
    goroutines_free(g);
    return rc < 0 ? give_up(d, f, bytes, &why, err) : 0;
}

static int draw(struct drawing *d, const struct file *f, const struct buf *bytes, struct err *err)
{
    if ((f->how & AS_PROFILE) && draw_profile(d, f, bytes, err) < 0)
        return -1;
    return (f->how & AS_DUMP) ? draw_dump(d, f, bytes, err) : 0;
}

/* ---- the end ---------------------------------------------------------------------------------------------
 */

/* The sentences, of the manifest or new ones. *ret: freed by the caller. */
static int list_sentences(struct drawing *d, struct page_sentence **ret, size_t *ret_n, struct err *err)
{
    const json_t *list = json_object_get(d->root, "summary");
    size_t n = d->wordless ? json_array_size(list) : d->words.n;
    struct page_sentence *sentences = calloc(n + 1, sizeof *sentences);
    if (!sentences)
        return err_nomem(err);
    for (size_t i = 0; i < n; i++) {
        const json_t *one = d->wordless ? json_array_get(list, i) : NULL;
        const struct words_item *item = one ? NULL : &d->words.items[i];
        sentences[i] = one ? (struct page_sentence){text(one, "rule"), text(one, "text"), text(one, "file"),
                                                    text(one, "look")}
                           : (struct page_sentence){item->rule, item->text, item->file, item->look};
    }
    *ret = sentences;
    *ret_n = n;
    return 0;
}

/* The manifest as it stands in the page: without what the page has itself, and without the page's own hash.
 */
static int print_manifest(struct drawing *d, char **ret, struct err *err)
{
    json_object_del(d->root, "summary");
    json_object_del(d->root, "report");
    *ret = json_dumps(d->root, JSON_COMPACT | JSON_PRESERVE_ORDER);
    return *ret ? 0 : err_nomem(err);
}

/* `b` has what there is without a manifest. */
static int finish(struct drawing *d, struct page_bundle *b, struct err *err)
{
    struct page_sentence *sentences = NULL;
    char *manifest = NULL;
    int rc = d->wordless ? 0 : words_finish(&d->words, err);
    if (rc == 0)
        rc = list_sentences(d, &sentences, &b->n_summary, err);
    b->summary = sentences;
    b->tool = "profgrab " PROFGRAB_VERSION;
    /* The texts of the sentences may be those of the manifest's list, which goes. */
    json_t *kept = json_incref(json_object_get(d->root, "summary"));
    if (rc == 0 && d->root && (rc = print_manifest(d, &manifest, err)) == 0) {
        b->manifest = str_of(manifest);
        b->name = text(d->root, "name");
        b->made = text(d->root, "finished");
    }
    if (rc == 0)
        rc = page_finish(d->page, b, err);
    json_decref(kept);
    free(sentences);
    free(manifest);
    return rc;
}

/* What was not drawn for want of its file, and what could not be. */
static int add_rest(struct drawing *d, struct err *err)
{
    for (size_t i = 0; i < d->n; i++) {
        const struct file *f = &d->files[i];
        if (!f->met && !f->unsure &&
            page_add_nothing(d->page, &f->entry, f->why ? f->why : "it is not in the bundle", err) < 0)
            return -1;
    }
    return 0;
}

/* ---- bundles ---------------------------------------------------------------------------------------------
 */

static struct file *find_file(struct drawing *d, const char *path)
{
    const json_t *number = json_object_get(d->by_path, path);
    struct file *f = number ? &d->files[json_integer_value(number)] : NULL;
    return f && f->how ? f : NULL;
}

static bool wants_member(void *ctx, const struct bundle_member *member)
{
    struct drawing *d = ctx;
    struct file *f = find_file(d, member->path);
    if (f && member->size > d->limits->profile) {
        f->how = 0;
        f->why = d->limits->too_large;
    }
    return f && f->how;
}

static int take_member(void *ctx, const struct bundle_member *member, struct buf *bytes, struct err *err)
{
    struct drawing *d = ctx;
    struct file *f = find_file(d, member->path);
    f->met = true;
    return draw(d, f, bytes, err);
}

int drawing_bundle(const char *path, struct age_identities *by, page_sink_fn *sink, void *ctx,
                   struct err *err)
{
    struct drawing d = {0};
    struct page_bundle b = {0};
    char *manifest = NULL;
    if (bundle_manifest(path, by, &manifest, err) < 0)
        return -1;
    int rc = drawing_init(&d, &when_asked, str_of(manifest), sink, ctx, err);
    if (rc == 0)
        rc = bundle_visit(path, by, wants_member, take_member, &d, err);
    if (rc == 0)
        rc = add_rest(&d, err);
    if (rc == 0)
        rc = finish(&d, &b, err);
    drawing_release(&d);
    free(manifest);
    return rc;
}

/* ---- the summary alone -----------------------------------------------------------------------------------
 */

static int to_nowhere(void *ctx, const void *p, size_t n, struct err *err)
{
    (void)ctx, (void)p, (void)n, (void)err;
    return 0;
}

static int put_summary(struct drawing *d, struct err *err)
{
    json_t *list = json_array();
    if (json_object_set_new(d->root, "summary", list) < 0)
        return err_nomem(err);
    for (size_t i = 0; i < d->words.n; i++) {
        const struct words_item *w = &d->words.items[i];
        if (json_array_append_new(list, json_pack("{s:s, s:s, s:s*, s:s*}", "rule", w->rule, "text", w->text,
                                                  "file", w->file, "look", w->look)) < 0)
            return err_nomem(err);
    }
    return 0;
}

int drawing_manifest(const char *path, struct age_identities *by, char **ret, struct err *err)
{
    struct drawing d = {0};
    char *manifest = NULL, *with = NULL;
    if (bundle_manifest(path, by, &manifest, err) < 0)
        return -1;
    int rc = drawing_init(&d, &when_asked, str_of(manifest), to_nowhere, NULL, err);
    if (rc == 0 && !d.wordless) {
        rc = bundle_visit(path, by, wants_member, take_member, &d, err);
        if (rc == 0)
            rc = words_finish(&d.words, err);
        if (rc == 0)
            rc = put_summary(&d, err);
    }
    if (rc == 0 && !(with = json_dumps(d.root, JSON_PRESERVE_ORDER)))
        rc = err_nomem(err);
    drawing_release(&d);
    free(manifest);
    if (rc == 0)
        *ret = with;
    return rc;
}

/* ---- a work directory ------------------------------------------------------------------------------------
 */

/* Where report.html goes. */
struct output {
    int fd;
    uint64_t bytes;
    struct sha256 *hash;
};

static int to_output(void *ctx, const void *p, size_t n, struct err *err)
{
    struct output *o = ctx;
    sha256_add(o->hash, p, n);
    o->bytes += n;
    return fd_write_all(o->fd, p, n, err);
}

static int draw_from(struct drawing *d, struct file *f, const char *dir, struct err *err)
{
    struct buf bytes = BUF_INIT(d->limits->profile);
    struct err why = ERR_INIT;
    char *path = file_join(dir, f->entry.file);
    int rc = path ? file_read(path, &bytes, &why) : err_nomem(&why);
    f->met = true;
    if (rc == 0)
        rc = draw(d, f, &bytes, err);
    else if (bytes.failed && !bytes.starved)
        rc = page_add_nothing(d->page, &f->entry, d->limits->too_large, err);
    else
        rc = give_up(d, f, &bytes, &why, err);
    buf_release(&bytes);
    free(path);
    return rc;
}

/* Ctrl-C ends it, unless that was what ended the capture. */
static int draw_directory(struct drawing *d, const char *dir, struct err *err)
{
    bool interrupted = fd_cancelled(signals_cancel_fd());
    struct page_bundle b = {0};
    for (size_t i = 0; i < d->n; i++) {
        if (!interrupted && fd_cancelled(signals_cancel_fd()))
            return err_set(err, ERR_CANCELLED, "interrupted");
        if (d->files[i].how && draw_from(d, &d->files[i], dir, err) < 0)
            return -1;
    }
    return add_rest(d, err) < 0 ? -1 : finish(d, &b, err);
}

static int set_summary(struct manifest *m, const struct words *words, struct err *err)
{
    struct manifest_sentence sentences[WORDS_MAX];
    for (size_t i = 0; i < words->n; i++) {
        const struct words_item *w = &words->items[i];
        sentences[i] = (struct manifest_sentence){w->rule, w->text, w->file, w->look};
    }
    return manifest_set_summary(m, sentences, words->n, err);
}

static int draw_into(struct manifest *m, const struct workdir *w, struct output *o, struct err *err)
{
    struct drawing d = {0};
    struct buf manifest = BUF_INIT(BUNDLE_MAX_MANIFEST);
    char hex[SHA256_HEX];
    int rc = manifest_print(m, &manifest, err);
    if (rc == 0)
        rc = drawing_init(&d, &at_capture, (struct str){buf_str(&manifest), manifest.len}, to_output, o, err);
    if (rc == 0)
        rc = draw_directory(&d, workdir_path(w), err);
    if (rc == 0)
        rc = sha256_hex(o->hash, hex, err);
    if (rc == 0 && (set_summary(m, &d.words, err) < 0 || manifest_set_report(m, o->bytes, hex, err) < 0))
        rc = -1;
    drawing_release(&d);
    buf_release(&manifest);
    return rc;
}

int drawing_workdir(struct manifest *m, const struct workdir *w, struct err *err)
{
    struct output o = {.fd = -1, .hash = sha256_new(err)};
    char *path = file_join(workdir_path(w), BUNDLE_REPORT);
    int rc = -1;
    if (!path)
        err_nomem(err);
    else if (o.hash && (o.fd = file_create(path, err)) >= 0 && (rc = draw_into(m, w, &o, err)) < 0)
        file_remove(path, NULL);
    fd_close(&o.fd);
    sha256_free(o.hash);
    free(path);
    return rc;
}

void drawing_or_talk(struct manifest *m, const struct workdir *w)
{
    struct err err = ERR_INIT;
    if (drawing_workdir(m, w, &err) < 0)
        talk(BUNDLE_REPORT " could not be made, and the bundle goes without it: %s", err.msg);
}

/* ---- files -----------------------------------------------------------------------------------------------
 */

/* What somebody's file is: both, or the one that it can be read as. */
static int draw_named(struct drawing *d, struct file *f, struct err *err)
{
    struct buf bytes = BUF_INIT(0);
    struct profile *p = NULL;
    struct goroutines *g = NULL;
    int rc = source_read_inflated(f->entry.file, &bytes, err);
    struct str dump = {buf_str(&bytes), bytes.len};
    struct err why = ERR_INIT;
    if (rc == 0 && goroutines_read(&dump, &f->entry.file, 1, d->limits->profile, &g, &why) == 0) {
        f->entry.kind = "goroutines";
        rc = add_dump(d, f, g, err);
    }
    if (rc == 0 && (!g || g->dumps[0].form == GOROUTINES_PROFILE)) {
        rc = profile_parse(bytes.data, bytes.len, d->limits->profile, &p, err);
        for (size_t i = 0; rc == 0 && i < p->n_sample_types && !f->entry.kind; i++) {
            char type[64];
            struct str name = profile_str(p, p->sample_types[i].type);
            f->entry.kind = fetch_kind_of(text_printable(type, sizeof type, name.p, name.n));
        }
        if (rc == 0)
            rc = add_profile(d, f, p, err);
    }
    profile_free(p);
    goroutines_free(g);
    buf_release(&bytes);
    return rc < 0 ? err_wrap(err, "%s", f->entry.file) : 0;
}

int drawing_files(const struct strlist *files, page_sink_fn *sink, void *ctx, struct err *err)
{
    struct drawing d;
    char made[64], name[64];
    snprintf(name, sizeof name, "%zu files", files->n);
    struct page_bundle b = {.name = files->n == 1 ? file_base(files->items[0]) : name,
                            .made = clock_format(made, sizeof made, clock_utc())};
    int rc = drawing_init(&d, &when_asked, STR(""), sink, ctx, err);
    for (size_t i = 0; rc == 0 && i < files->n; i++) {
        struct file f = {.entry = {.file = files->items[i], .title = file_base(files->items[i])}};
        rc = draw_named(&d, &f, err);
    }
    if (rc == 0)
        rc = finish(&d, &b, err);
    drawing_release(&d);
    return rc;
}
