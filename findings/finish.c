/* The end of a list of findings: which of them remain, and in which order. A hostile bundle may have a
 * finding for each of its files, so every step takes linear time, except sorting. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "findings/findings.h"
#include "base/banned.h"

/* findings_finish drops a suspect only if at most this number of facts remain. */
#define MIN_FACTS 4
/* A merged sentence names at most this many other services. */
#define MAX_SERVICES 3

static const char *text_or_empty(const char *text)
{
    return text ? text : "";
}

static bool is_same_text(const char *a, const char *b)
{
    return strcmp(text_or_empty(a), text_or_empty(b)) == 0;
}

static bool is_same_service(const struct finding *a, const struct finding *b)
{
    return is_same_text(a->host, b->host) && is_same_text(a->service, b->service);
}

static bool is_same_rule_and_key(const struct finding *a, const struct finding *b)
{
    return a->rule == b->rule && a->duplicate_key == b->duplicate_key;
}

static bool is_suspect(const struct finding *f)
{
    return f->rule->severity == FINDING_SUSPECT;
}

/* ---- dropping ------------------------------------------------------------------------------------------ */

/* Marks a finding as dropped: it has no rule. The caller calls remove_dropped before it reads the list
 * again. */
static void drop_finding(struct finding *f)
{
    finding_release(f);
}

static bool is_dropped(const struct finding *f)
{
    return !f->rule;
}

static void remove_dropped(struct findings *findings)
{
    size_t kept = 0;
    for (size_t i = 0; i < findings->n; i++)
        if (!is_dropped(&findings->items[i]))
            findings->items[kept++] = findings->items[i];
    findings->n = kept;
}

/* ---- groups of equal findings -------------------------------------------------------------------------- */

/* The condition by which findings are equal. */
struct equality {
    bool (*is_same)(const struct finding *a, const struct finding *b);
    /* Mixes into the hash what is_same compares. Returns false for a finding that equals no other. */
    bool (*mix)(const struct finding *f, uint64_t *hash);
};

/* The groups of equal findings, by the index of a finding. */
struct groups {
    uint32_t *first; /* the first finding of its group */
    uint32_t *next;  /* the next finding of its group, or HASH_INDEX_NONE */
};

struct group_query {
    const struct equality *equality;
    const struct finding *items, *finding;
    const uint32_t *firsts; /* the first finding of each group, by the group's number */
};

static bool is_in_group(const void *ctx, uint32_t group)
{
    const struct group_query *query = ctx;
    return query->equality->is_same(&query->items[query->firsts[group]], query->finding);
}

/* Fills groups->first. `firsts` has room for a number for each finding. */
static int find_first_of_groups(const struct findings *findings, const struct equality *equality,
                                struct groups *groups, uint32_t *firsts, struct err *err)
{
    struct hash_index index = {0};
    int rc = 0;
    for (size_t i = 0; i < findings->n && rc == 0; i++) {
        const struct finding *f = &findings->items[i];
        const struct group_query query = {equality, findings->items, f, firsts};
        uint64_t hash = hash_index_mix(hash_index_seed(&index), (uintptr_t)f->rule);
        groups->first[i] = (uint32_t)i;
        hash = hash_index_mix(hash, (uint64_t)f->duplicate_key);
        if (!equality->mix(f, &hash))
            continue;
        uint32_t group = hash_index_find(&index, hash, is_in_group, &query);
        if (group != HASH_INDEX_NONE) {
            groups->first[i] = firsts[group];
            continue;
        }
        firsts[index.n] = (uint32_t)i;
        rc = hash_index_add(&index, hash, err);
    }
    hash_index_release(&index);
    return rc;
}

/* The caller frees ret->first, which is one block with ret->next. */
static int find_groups(const struct findings *findings, const struct equality *equality, struct groups *ret,
                       struct err *err)
{
    size_t n = findings->n;
    uint32_t *numbers = calloc(n + 1, 3 * sizeof *numbers);
    if (!numbers)
        return err_nomem(err);
    struct groups groups = {numbers, numbers + n};
    uint32_t *scratch = numbers + 2 * n;
    if (find_first_of_groups(findings, equality, &groups, scratch, err) < 0) {
        free(numbers);
        return -1;
    }
    for (size_t i = 0; i < n; i++)
        scratch[i] = HASH_INDEX_NONE;
    for (size_t i = n; i-- > 0;) {
        uint32_t *later = &scratch[groups.first[i]];
        groups.next[i] = *later;
        *later = (uint32_t)i;
    }
    *ret = groups;
    return 0;
}

static bool mix_text(uint64_t *hash, const char *text)
{
    *hash = hash_index_mix_str(*hash, str_of(text_or_empty(text)));
    return true;
}

/* ---- duplicates ---------------------------------------------------------------------------------------- */

/* A service can have two dumps of goroutines in two forms. Without a host, findings count as on the same
 * service only if they are on the same file. */
static bool is_duplicate(const struct finding *a, const struct finding *b)
{
    return is_same_rule_and_key(a, b) && is_same_service(a, b) && (a->host || is_same_text(a->file, b->file));
}

static bool mix_duplicate(const struct finding *f, uint64_t *hash)
{
    mix_text(hash, f->host);
    mix_text(hash, f->service);
    return mix_text(hash, f->host ? "" : f->file);
}

/* Keeps one of several findings with the same rule, key and service, in the place of the first of them. */
static int drop_duplicates(struct findings *findings, struct err *err)
{
    static const struct equality duplicates = {is_duplicate, mix_duplicate};
    struct groups groups;
    if (find_groups(findings, &duplicates, &groups, err) < 0)
        return -1;
    for (size_t i = findings->n; i-- > 0;) {
        struct finding *a = &findings->items[groups.first[i]], *b = &findings->items[i];
        if (a == b)
            continue;
        if (b->detail > a->detail || (b->detail == a->detail && b->weight > a->weight)) {
            struct finding other = *a;
            *a = *b;
            *b = other;
        }
        drop_finding(b);
    }
    remove_dropped(findings);
    free(groups.first);
    return 0;
}

/* ---- order --------------------------------------------------------------------------------------------- */

/* Orders by weight, the heaviest first, then by rule, host and service, so that the order is always the same.
 */
static int compare_weights(const struct finding *a, const struct finding *b)
{
    if (a->weight != b->weight)
        return a->weight > b->weight ? -1 : 1;
    if (a->rule != b->rule) /* by the order of the table */
        return a->rule < b->rule ? -1 : 1;
    int order = strcmp(text_or_empty(a->host), text_or_empty(b->host));
    return order ? order : strcmp(text_or_empty(a->service), text_or_empty(b->service));
}

/* Orders suspects by weight, then facts by rule. */
static int compare_findings(const void *left, const void *right)
{
    const struct finding *a = left, *b = right;
    if (is_suspect(a) != is_suspect(b))
        return is_suspect(a) ? -1 : 1;
    if (!is_suspect(a) && a->rule != b->rule)
        return a->rule < b->rule ? -1 : 1;
    return compare_weights(a, b);
}

/* ---- sentences ----------------------------------------------------------------------------------------- */

/* Appends "file-03 gitaly". */
static void add_service_name(const struct finding *finding, bool with_host, struct buf *to)
{
    const char *host = finding->host && with_host ? finding->host : "";
    buf_addf(to, "%s%s%s", host, *host && finding->service ? " " : "",
             finding->service ? finding->service : "");
}

/* Adds `before` and `after` to a finding's text. */
static int extend_text(struct finding *finding, const char *before, const char *after, struct err *err)
{
    char *text = NULL;
    if (asprintf(&text, "%s%s%s", before, finding->text, after) < 0)
        return err_nomem(err);
    free(finding->text);
    finding->text = text;
    return 0;
}

/* If there are several services, begins each sentence with its host and service. */
static int name_services(struct findings *findings, struct err *err)
{
    bool several = false;
    int rc = 0;
    for (size_t i = 1; i < findings->n; i++)
        several = several || !is_same_service(&findings->items[0], &findings->items[i]);
    for (size_t i = 0; several && i < findings->n && rc == 0; i++) {
        struct buf prefix = BUF_INIT(4096);
        add_service_name(&findings->items[i], !findings->items[i].names_host, &prefix);
        buf_adds(&prefix, prefix.len ? ": " : "");
        rc = buf_check(&prefix, "a sentence", err);
        if (rc == 0)
            rc = extend_text(&findings->items[i], buf_str(&prefix), "", err);
        buf_release(&prefix);
    }
    return rc;
}

/* ---- merging ------------------------------------------------------------------------------------------- */

static bool is_on_same_function(const struct finding *a, const struct finding *b)
{
    return is_same_rule_and_key(a, b) && is_same_text(a->look_at, b->look_at);
}

static bool mix_function(const struct finding *f, uint64_t *hash)
{
    return f->look_at && mix_text(hash, f->look_at);
}

/* Merges the findings of other services into the first finding of the group, `at`, and names these
 * services. */
static int merge_others(struct findings *findings, const struct groups *groups, size_t at, struct err *err)
{
    struct finding *first = &findings->items[at];
    struct buf others = BUF_INIT(4096);
    size_t n = 0;
    for (uint32_t i = groups->next[at]; i != HASH_INDEX_NONE; i = groups->next[i]) {
        struct finding *f = &findings->items[i];
        if (is_same_service(first, f))
            continue;
        if (n++ < MAX_SERVICES) {
            buf_adds(&others, n == 1 ? " (likewise " : ", ");
            add_service_name(f, true, &others);
        }
        drop_finding(f);
    }
    if (n > MAX_SERVICES)
        buf_addf(&others, " and %zu more", n - MAX_SERVICES);
    buf_adds(&others, n > 0 ? ")" : "");
    int rc = buf_check(&others, "the list of services with the same finding", err);
    if (rc == 0 && n > 0)
        rc = extend_text(first, "", buf_str(&others), err);
    buf_release(&others);
    return rc;
}

/* Merges the findings of one rule on the same function of several services. */
static int merge_services(struct findings *findings, struct err *err)
{
    static const struct equality functions = {is_on_same_function, mix_function};
    struct groups groups;
    int rc = 0;
    if (find_groups(findings, &functions, &groups, err) < 0)
        return -1;
    for (size_t i = 0; i < findings->n && rc == 0; i++)
        if (groups.first[i] == i)
            rc = merge_others(findings, &groups, i, err);
    remove_dropped(findings);
    free(groups.first);
    return rc;
}

/* ---- the most important -------------------------------------------------------------------------------- */

/* While more than FINDINGS_MAX findings remain, drops the last fact that is not the first of its rule; else,
 * if at most MIN_FACTS facts are left, the lightest suspect; else the last finding. */
static void drop_least_important(struct findings *findings)
{
    struct finding *items = findings->items;
    size_t left = findings->n, suspects = 0;
    while (suspects < findings->n && is_suspect(&items[suspects]))
        suspects++;
    for (size_t i = findings->n; i-- > suspects + 1 && left > FINDINGS_MAX;)
        if (items[i].rule == items[i - 1].rule) {
            drop_finding(&items[i]);
            left--;
        }
    remove_dropped(findings);
    size_t facts = findings->n - suspects, kept_suspects = suspects;
    while (kept_suspects + facts > FINDINGS_MAX)
        if (kept_suspects > 0 && facts <= MIN_FACTS)
            kept_suspects--;
        else
            facts--;
    for (size_t i = kept_suspects; i < findings->n; i++)
        if (i < suspects || i >= suspects + facts)
            drop_finding(&items[i]);
    remove_dropped(findings);
}

int findings_finish(struct findings *findings, struct err *err)
{
    if (findings->n == 0)
        return 0;
    if (drop_duplicates(findings, err) < 0)
        return -1;
    qsort(findings->items, findings->n, sizeof *findings->items, compare_findings);
    /* Before merge_services, which drops the findings of the services that it names. */
    int rc = name_services(findings, err);
    if (rc == 0)
        rc = merge_services(findings, err);
    drop_least_important(findings);
    return rc;
}
