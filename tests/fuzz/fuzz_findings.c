/* The findings on any profile or dump: few, ordered, with rules of the table, and printable. */
#include "tests/fuzz/fuzz.h"

#include <math.h>

#include "findings/goroutines.h"
#include "page/data.h"
#include "findings/findings.h"
#include "findings/rules.h"

#include "base/banned.h"

static bool is_rule(const char *name)
{
    const struct finding_rule *r;
    for (size_t i = 0; (r = findings_rule(i)); i++)
        if (strcmp(r->id, name) == 0)
            return true;
    return false;
}

static void expect_item(const struct finding *item)
{
    assert(is_rule(item->rule->id) && item->text[0] && isfinite(item->weight));
    assert(fuzz_is_printable(item->text));
    assert(item->file && strcmp(item->file, "a/b.pb.gz") == 0);
    assert(!item->look || (item->look[0] && fuzz_is_printable(item->look)));
}

static bool is_suspect(const struct finding *f)
{
    return f->rule->severity == FINDING_SUSPECT;
}

static void expect_findings(struct findings *w)
{
    struct err err = ERR_INIT;
    size_t n = w->n;
    if (findings_finish(w, &err) < 0)
        fuzz_expect_err(&err);
    assert(w->n <= FINDINGS_MAX && w->n <= n && (n == 0) == (w->n == 0));
    for (size_t i = 0; i < w->n; i++) {
        expect_item(&w->items[i]);
        assert(i == 0 || is_suspect(&w->items[i - 1]) || !is_suspect(&w->items[i]));
    }
    findings_release(w);
}

/* Two hosts: a finding that is equal on both appears once. */
static void on_profile(const uint8_t *p, size_t n, const char *kind)
{
    struct findings w = FINDINGS_INIT;
    struct profile *profile = NULL;
    struct err err = ERR_INIT;
    if (profile_parse(p, n, 1 << 20, &profile, &err) < 0)
        return;
    for (const char *host = "ab"; *host; host++) {
        struct finding_subject s = {.host = host, .service = "s", .kind = kind, .file = "a/b.pb.gz"};
        if (findings_add_profile(&w, profile, &s, &err) < 0)
            fuzz_expect_err(&err);
    }
    expect_findings(&w);
    profile_free(profile);
}

static struct profile *parse_profile(const uint8_t *p, size_t n)
{
    struct profile *profile = NULL;
    struct err err = ERR_INIT;
    return profile_parse(p, n, 1 << 20, &profile, &err) == 0 ? profile : NULL;
}

/* JSON has no nan and no inf outside strings. A string may be "nanoseconds". */
static bool has_real_numbers(const struct buf *b)
{
    bool in_string = false;
    for (size_t i = 0; i < b->len; i++) {
        char c = b->data[i];
        if (c == '"')
            in_string = !in_string;
        else if (c == '\\' && in_string)
            i++;
        else if (!in_string && (c == 'i' || (c == 'n' && b->data[i + 1] == 'a')))
            return false;
    }
    return true;
}

/* Equal profiles on both sides, so that the types match. */
static void on_sides(const uint8_t *p, size_t n, struct findings *w, const struct finding_subject *subject)
{
    struct comparison s = {0};
    struct buf b = BUF_INIT(PAGE_MAX_ENTRY);
    struct err err = ERR_INIT;
    for (int side = COMPARISON_TARGET; side <= COMPARISON_BASELINE; side++) {
        struct profile *profile = parse_profile(p, n);
        if (profile && comparison_add(&s, (enum comparison_side)side, profile, &err) < 0)
            fuzz_expect_err(&err);
        profile_free(profile);
    }
    if (comparison_finish(&s, &err) < 0 || findings_add_comparison(w, &s, subject, &err) < 0)
        fuzz_expect_err(&err);
    if (s.all && page_data_comparison(&s, &b, &err) == 0)
        assert(b.data[0] == '{' && !memchr(b.data, '<', b.len) && has_real_numbers(&b));
    buf_release(&b);
    comparison_release(&s);
}

static void on_growth(const uint8_t *p, size_t n, struct findings *w, const struct finding_subject *subject)
{
    struct growth g = {0};
    struct err err = ERR_INIT;
    struct profile *before = parse_profile(p, n), *now = parse_profile(p, n);
    for (size_t i = 0; now && i < now->n_samples * now->n_sample_types; i += 2)
        now->values[i] = (int64_t)((uint64_t)now->values[i] * 3);
    if (before && now && growth_make(&g, before, now, &err) == 0) {
        growth_find_restart(&g);
        if (findings_add_growth(w, &g, subject, &err) < 0)
            fuzz_expect_err(&err);
        growth_subtract(&g);
        assert(g.merged->n_sample_types == g.n_types);
    }
    growth_release(&g);
    profile_free(before);
    profile_free(now);
}

static void on_peers(const uint8_t *p, size_t n, struct findings *w, const struct finding_subject *subject)
{
    struct fleet h = {0};
    struct err err = ERR_INIT;
    struct profile *profile = parse_profile(p, n);
    for (const char *hosts = "a\0b\0c\0"; profile && *hosts; hosts += 2)
        if (fleet_add(&h, &(struct fleet_member){hosts, false, "a/b.pb.gz"}, profile, &err) < 0)
            fuzz_expect_err(&err);
    if (fleet_compare(&h, &err) < 0 || findings_add_fleet(w, &h, subject, &err) < 0)
        fuzz_expect_err(&err);
    for (size_t i = 0; i < h.n; i++)
        assert(!h.rows[i].difference.outlier);
    fleet_release(&h);
    profile_free(profile);
}

static void on_several(const uint8_t *p, size_t n)
{
    struct findings w = FINDINGS_INIT;
    struct finding_subject s = {
        .host = "a", .service = "s", .kind = "heap", .file = "a/b.pb.gz", .target = "a", .baseline = "b"};
    on_sides(p, n, &w, &s);
    on_growth(p, n, &w, &s);
    on_peers(p, n, &w, &s);
    expect_findings(&w);
}

/* Checks one dump, and two dumps of one process. */
static void on_dumps(const uint8_t *p, size_t n, size_t n_dumps)
{
    static const char *const names[] = {"a", "b"};
    size_t half = n_dumps == 2 ? n / 2 : n;
    struct str dumps[] = {{(const char *)p, half}, {(const char *)p + half, n - half}};
    struct finding_subject s = {.host = "a", .service = "s", .kind = "goroutines", .file = "a/b.pb.gz"};
    struct findings w = FINDINGS_INIT;
    struct goroutines *g = NULL;
    struct err err = ERR_INIT;
    if (goroutines_read(&(struct goroutines_input){dumps, names, n_dumps, 1 << 20}, &g, &err) < 0)
        return;
    if (findings_add_goroutines(&w, g, &s, &err) < 0)
        fuzz_expect_err(&err);
    expect_findings(&w);
    goroutines_free(g);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    static const char *const kinds[] = {NULL, "cpu", "heap", "mutex", "block"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        on_profile(p, n, kinds[i]);
    on_several(p, n);
    on_dumps(p, n, 1);
    on_dumps(p, n, 2);
    return 0;
}
