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
    assert(!item->look_at || (item->look_at[0] && fuzz_is_printable(item->look_at)));
}

static bool is_suspect(const struct finding *f)
{
    return f->rule->severity == FINDING_SUSPECT;
}

static void expect_findings(struct findings *found)
{
    struct err err = ERR_INIT;
    size_t n = found->n;
    if (findings_finish(found, &err) < 0)
        fuzz_expect_err(&err);
    assert(found->n <= FINDINGS_MAX && found->n <= n && (n == 0) == (found->n == 0));
    for (size_t i = 0; i < found->n; i++) {
        expect_item(&found->items[i]);
        assert(i == 0 || is_suspect(&found->items[i - 1]) || !is_suspect(&found->items[i]));
    }
    findings_release(found);
}

/* Two hosts: a finding that is equal on both appears once. */
static void check_profile(const uint8_t *p, size_t n, const char *kind)
{
    struct findings found = FINDINGS_INIT;
    struct profile *profile = NULL;
    struct err err = ERR_INIT;
    if (profile_parse(p, n, 1 << 20, &profile, &err) < 0)
        return;
    for (const char *host = "ab"; *host; host++) {
        struct finding_subject s = {.host = host, .service = "s", .kind = kind, .file = "a/b.pb.gz"};
        if (findings_add_profile(&found, profile, &s, &err) < 0)
            fuzz_expect_err(&err);
    }
    expect_findings(&found);
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
static void check_comparison(const uint8_t *p, size_t n, struct findings *found,
                             const struct finding_subject *subject)
{
    struct comparison c = {0};
    struct buf b = BUF_INIT(PAGE_MAX_ENTRY);
    struct err err = ERR_INIT;
    for (int side = COMPARISON_TARGET; side <= COMPARISON_BASELINE; side++) {
        struct profile *profile = parse_profile(p, n);
        if (profile && comparison_add(&c, (enum comparison_side)side, profile, &err) < 0)
            fuzz_expect_err(&err);
        profile_free(profile);
    }
    if (comparison_finish(&c, &err) < 0 || findings_add_comparison(found, &c, subject, &err) < 0)
        fuzz_expect_err(&err);
    if (c.all && page_data_comparison(&c, &b, &err) == 0)
        assert(b.data[0] == '{' && !memchr(b.data, '<', b.len) && has_real_numbers(&b));
    buf_release(&b);
    comparison_release(&c);
}

static void check_growth(const uint8_t *p, size_t n, struct findings *found,
                         const struct finding_subject *subject)
{
    struct growth g = {0};
    struct err err = ERR_INIT;
    struct profile *before = parse_profile(p, n), *now = parse_profile(p, n);
    for (size_t i = 0; now && i < now->n_samples * now->n_sample_types; i += 2)
        now->values[i] = (int64_t)((uint64_t)now->values[i] * 3);
    if (before && now && growth_make(&g, before, now, &err) == 0) {
        growth_find_restart(&g);
        if (findings_add_growth(found, &g, subject, &err) < 0)
            fuzz_expect_err(&err);
        growth_subtract(&g);
        assert(g.merged->n_sample_types == g.n_types);
    }
    growth_release(&g);
    profile_free(before);
    profile_free(now);
}

static void check_fleet(const uint8_t *p, size_t n, struct findings *found,
                        const struct finding_subject *subject)
{
    struct fleet f = {0};
    struct err err = ERR_INIT;
    struct profile *profile = parse_profile(p, n);
    for (const char *hosts = "a\0b\0c\0"; profile && *hosts; hosts += 2)
        if (fleet_add(&f, &(struct fleet_origin){hosts, false, "a/b.pb.gz"}, profile, &err) < 0)
            fuzz_expect_err(&err);
    if (fleet_compare(&f, &err) < 0 || findings_add_fleet(found, &f, subject, &err) < 0)
        fuzz_expect_err(&err);
    for (size_t i = 0; i < f.n; i++)
        assert(!f.rows[i].difference.outlier);
    fleet_release(&f);
    profile_free(profile);
}

static void check_comparisons(const uint8_t *p, size_t n)
{
    struct findings found = FINDINGS_INIT;
    struct finding_subject s = {
        .host = "a", .service = "s", .kind = "heap", .file = "a/b.pb.gz", .target = "a", .baseline = "b"};
    check_comparison(p, n, &found, &s);
    check_growth(p, n, &found, &s);
    check_fleet(p, n, &found, &s);
    expect_findings(&found);
}

/* Checks the input as one dump, or its halves as two dumps of one process. */
static void check_dumps(const uint8_t *p, size_t n, size_t n_dumps)
{
    static const char *const names[] = {"a", "b"};
    size_t half = n_dumps == 2 ? n / 2 : n;
    struct str dumps[] = {{(const char *)p, half}, {(const char *)p + half, n - half}};
    struct finding_subject s = {.host = "a", .service = "s", .kind = "goroutines", .file = "a/b.pb.gz"};
    struct findings found = FINDINGS_INIT;
    struct goroutines *g = NULL;
    struct err err = ERR_INIT;
    if (goroutines_read(&(struct goroutines_input){dumps, names, n_dumps, 1 << 20}, &g, &err) < 0)
        return;
    if (findings_add_goroutines(&found, g, &s, &err) < 0)
        fuzz_expect_err(&err);
    expect_findings(&found);
    goroutines_free(g);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    static const char *const kinds[] = {NULL, "cpu", "heap", "mutex", "block"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        check_profile(p, n, kinds[i]);
    check_comparisons(p, n);
    check_dumps(p, n, 1);
    check_dumps(p, n, 2);
    return 0;
}
