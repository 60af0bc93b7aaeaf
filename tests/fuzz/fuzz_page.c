/* Draws the page of any profile or dump: its sums must be those of the input, and no text of the input may be
 * markup. */
#include "tests/fuzz/fuzz.h"

#include <string.h>

#include "page/flame.h"
#include "page/data.h"
#include "pprof/pprof.h"
#include "findings/findings.h"

#include "base/banned.h"

static void expect_sums(const struct profile *p, const struct flame *f)
{
    for (size_t type = 0; type < f->n_types; type++) {
        uint64_t samples = 0, nodes = 0;
        for (size_t i = 0; i < p->n_samples; i++)
            samples += (uint64_t)p->values[i * p->n_sample_types + type];
        for (size_t i = 0; i < f->n_nodes; i++)
            nodes += (uint64_t)f->self[i * f->n_types + type];
        assert(samples == nodes);
    }
}

static void expect_tree(const struct flame *f, size_t max_nodes)
{
    assert(f->n_nodes >= 1 && f->n_nodes <= max_nodes && f->depth[0] == 0 && f->function[0] == FLAME_ROOT);
    for (size_t i = 1; i < f->n_nodes; i++) {
        assert(f->depth[i] >= 1 && f->depth[i] <= f->depth[i - 1] + 1 && f->depth[i] <= FLAME_MAX_DEPTH);
        assert(f->function[i] < f->n_functions || f->function[i] == FLAME_FOLDED);
    }
}

static void draw_profile(const uint8_t *p, size_t n, size_t max_nodes)
{
    struct profile *profile = NULL;
    struct flame *f = NULL;
    struct err err = ERR_INIT;
    if (profile_parse(p, n, 1 << 20, &profile, &err) < 0)
        return;
    if (flame_new(profile, &(struct page_tree){.with_sums = true}, max_nodes, &f, &err) == 0) {
        expect_tree(f, max_nodes);
        expect_sums(profile, f);
    } else {
        fuzz_expect_err(&err);
    }
    flame_free(f);
    profile_free(profile);
}

static void expect_data(struct buf *b)
{
    assert(b->len > 2 && b->data[0] == '{' && b->data[b->len - 1] == '}');
    assert(!memchr(b->data, '<', b->len) && !memchr(b->data, '&', b->len) && !memchr(b->data, '\n', b->len));
}

static void write_profile(const uint8_t *p, size_t n)
{
    struct profile *profile = NULL;
    struct buf b = BUF_INIT(PAGE_MAX_ENTRY);
    struct err err = ERR_INIT;
    if (profile_parse(p, n, 1 << 20, &profile, &err) == 0 &&
        page_data_profile(profile, &(struct page_tree){.with_sums = true}, &b, &err) == 0)
        expect_data(&b);
    profile_free(profile);
    buf_release(&b);
}

static void write_dump(const uint8_t *p, size_t n)
{
    static const char *const name = "a";
    struct str dump = {(const char *)p, n};
    struct goroutines *g = NULL;
    struct buf b = BUF_INIT(PAGE_MAX_ENTRY);
    struct err err = ERR_INIT;
    if (goroutines_read(&(struct goroutines_input){&dump, &name, 1, 1 << 20}, &g, &err) == 0 &&
        page_data_goroutines(g, &b, &err) == 0)
        expect_data(&b);
    goroutines_free(g);
    buf_release(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    draw_profile(p, n, 3);
    draw_profile(p, n, 20);
    write_profile(p, n);
    write_dump(p, n);
    return 0;
}
