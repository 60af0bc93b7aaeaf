/* Answers of sources of services. The first byte chooses the form and the length of the pieces in which JSON
 * is parsed. */
#include "tests/fuzz/fuzz.h"

#include "discovery/discovery.h"
#include "base/banned.h"

static void check_discovered(const struct discovered *f)
{
    for (size_t i = 0; i < f->n_jobs; i++) {
        const struct discovered_job *job = &f->jobs[i];
        assert(fuzz_is_printable(job->name));
        assert(!job->path || !*job->path || (job->path[0] == '/' && !strpbrk(job->path, " ?#\r\n")));
        for (size_t k = 0; k < job->kinds.n; k++)
            assert(job->kinds.items[k][0] && fuzz_has_no_controls(job->kinds.items[k], false));
    }
    for (size_t i = 0; i < f->n; i++) {
        const struct discovered_target *t = &f->targets[i];
        assert(t->job < f->n_jobs && t->port >= 1 && t->port <= 65535);
        assert(text_is_name(t->address) || strchr(t->address, ':'));
        assert(fuzz_is_printable(t->address) && !strpbrk(t->address, " /@%"));
    }
    for (size_t i = 0; i < f->n_label_sets; i++)
        for (size_t k = 0; k < f->label_sets[i].n; k++)
            assert(fuzz_is_printable(f->label_sets[i].items[k]) && strchr(f->label_sets[i].items[k], '='));
    for (size_t i = 0; i < f->notes.n; i++)
        assert(fuzz_is_printable(f->notes.items[i]));
}

/* Compares the labels of x, a target of f, with those of y, a target of g. */
static bool has_same_labels(const struct discovered *f, const struct discovered_target *x,
                            const struct discovered *g, const struct discovered_target *y)
{
    if (!x->label_set || !y->label_set)
        return x->label_set == y->label_set;
    assert(x->label_set <= f->n_label_sets && y->label_set <= g->n_label_sets);
    const struct strlist *a = &f->label_sets[x->label_set - 1], *b = &g->label_sets[y->label_set - 1];
    for (size_t i = 0; i < a->n && a->n == b->n; i++)
        if (strcmp(a->items[i], b->items[i]) != 0)
            return false;
    return a->n == b->n;
}

static int read_pieces(enum source_kind kind, size_t piece, const uint8_t *p, size_t n, struct discovered *f,
                       struct err *err)
{
    struct discovered_reader *r = NULL;
    assert(discovered_reader_new(kind, f, &r, err) == 0);
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < n; i += piece)
        rc = discovered_reader_feed(r, p + i, n - i < piece ? n - i : piece, err);
    if (rc == 0)
        rc = discovered_reader_end(r, err);
    discovered_reader_free(r);
    return rc;
}

/* Writing and reading an accepted answer again gives an equal one. */
static void check_written(const struct discovered *f)
{
    struct discovered again = {0};
    struct err err = ERR_INIT;
    struct buf b = BUF_INIT(SOURCE_MAX_BYTES);
    assert(discovered_write(f, &b, &err) == 0);
    assert(read_pieces(SOURCE_HTTP_SD, 4096, (const uint8_t *)b.data, b.len, &again, &err) == 0);
    assert(again.n == f->n);
    for (size_t i = 0; i < f->n; i++) {
        const struct discovered_target *x = &f->targets[i], *y = &again.targets[i];
        assert(strcmp(x->address, y->address) == 0 && x->port == y->port && x->https == y->https);
        assert(strcmp(f->jobs[x->job].name, again.jobs[y->job].name) == 0);
        assert(has_same_labels(f, x, &again, y));
    }
    buf_release(&b);
    discovered_release(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    struct discovered f = {0};
    struct err err = ERR_INIT;
    if (n == 0)
        return 0;
    unsigned form = p[0] % 5;
    size_t piece = 1 + (size_t)p[0] / 5;
    p++;
    n--;
    static const enum source_kind files[] = {SOURCE_FILE_SD, SOURCE_PARCA, SOURCE_SCRAPE_CONFIGS};
    struct discovered_file file = {
        .name = "sd.yml", .kind = files[form < 2 ? 0 : form - 2], .text = {(const char *)p, n}};
    int rc = form < 2 ? read_pieces(form == 0 ? SOURCE_PROMETHEUS : SOURCE_HTTP_SD, piece, p, n, &f, &err)
                      : discovered_parse(&file, &f, &err);
    check_discovered(&f);
    if (rc < 0)
        fuzz_expect_err(&err);
    else
        check_written(&f);
    discovered_release(&f);
    return 0;
}
