/* Writes the page's JSON for a comparison of two sides, and for hosts side by side. */
#include <math.h>

#include "page/jsontext.h"
#include "page/data.h"
#include "base/banned.h"

/* Adds 0 for infinity and NaN, which JSON does not have. */
static void add_real(struct buf *buf, double v)
{
    buf_addf(buf, "%.15g", isfinite(v) ? v : 0);
}

/* ---- two sides ----------------------------------------------------------------------------------------- */

static void add_processes(struct buf *buf, const struct comparison *comparison)
{
    buf_adds(buf, ",\"sides\":[");
    for (int side = COMPARISON_TARGET; side <= COMPARISON_BASELINE; side++)
        buf_addf(buf, "%s{\"processes\":%zu,\"left_out\":%zu,\"duration_ns\":%lld}", side > 0 ? "," : "",
                 comparison->sides[side].n_processes, comparison->sides[side].n_left_out,
                 (long long)comparison->sides[side].duration_ns);
    buf_addc(buf, ']');
}

static void add_scales(struct buf *buf, const struct comparison *comparison)
{
    static const char *const names[] = {
        [COMPARISON_SHARE] = "share", [COMPARISON_SECOND] = "second", [COMPARISON_PROCESS] = "process"};
    buf_adds(buf, ",\"basis\":[");
    for (size_t i = 0; i < comparison->n_types; i++)
        buf_addf(buf, "%s\"%s\"", i > 0 ? "," : "", names[comparison_basis_of(comparison, i)]);
    for (int side = COMPARISON_TARGET; side <= COMPARISON_BASELINE; side++) {
        buf_adds(buf, side == COMPARISON_TARGET ? "],\"scale\":[[" : "],[");
        for (size_t i = 0; i < comparison->n_types; i++) {
            buf_adds(buf, i > 0 ? "," : "");
            add_real(buf, comparison_scale(comparison, i, (enum comparison_side)side));
        }
    }
    buf_adds(buf, "]]");
}

int page_data_comparison(const struct comparison *comparison, struct buf *ret, struct err *err)
{
    struct flame *f = NULL;
    if (flame_new(comparison->all, &(struct page_tree){.with_sums = true}, PAGE_MAX_NODES, &f, err) < 0)
        return -1;
    page_data_types(ret, comparison->all, comparison->n_types, comparison->default_type);
    add_processes(ret, comparison);
    add_scales(ret, comparison);
    int rc = page_data_functions(ret, comparison->all, f, err);
    if (rc == 0) {
        page_data_nodes(ret, f);
        size_t n = comparison->n_types;
        page_data_values(ret, "here", &(struct page_values){f->self, f->n_nodes, f->n_types, 0, n});
        page_data_values(ret, "there", &(struct page_values){f->self, f->n_nodes, f->n_types, n, 2 * n});
        buf_adds(ret, "}}");
    }
    flame_free(f);
    return rc;
}

/* ---- hosts --------------------------------------------------------------------------------------------- */

static const char *const figures[FLEET_FIGURES] = {"cpu", "heap", "goroutines", "allocated"};

static void add_figures(struct buf *buf, const struct fleet_host *row)
{
    for (size_t kind = 0; kind < FLEET_FIGURES; kind++) {
        const struct fleet_figure *f = &row->figures[kind];
        if (!f->known)
            continue;
        buf_addf(buf, ",\"%s\":{\"value\":", figures[kind]);
        add_real(buf, f->value);
        buf_adds(buf, f->is_far ? ",\"exceeds\":true" : "");
        jsontext_text(buf, "file", f->file);
        buf_addc(buf, '}');
    }
}

static void add_difference(struct buf *buf, const struct fleet *fleet, const struct fleet_difference *d)
{
    if (!d->known)
        return;
    buf_addf(buf, ",\"differs\":{\"in\":\"%s\"", figures[d->kind]);
    jsontext_text(buf, "function", fleet->names.items[d->name]);
    buf_adds(buf, ",\"share\":");
    add_real(buf, d->share);
    buf_adds(buf, ",\"median\":");
    add_real(buf, d->median);
    buf_addf(buf, ",\"outlier\":%s}", d->outlier ? "true" : "false");
}

void page_data_fleet(const struct page_named_fleet *named, struct buf *ret)
{
    const struct fleet *fleet = named->fleet;
    buf_adds(ret, "{\"service\":");
    jsontext_name(ret, str_of(named->service));
    buf_adds(ret, ",\"median\":{");
    for (size_t kind = 0, n_written = 0; kind < FLEET_FIGURES; kind++) {
        if (fleet->n_known[kind] == 0)
            continue;
        buf_addf(ret, "%s\"%s\":", n_written++ ? "," : "", figures[kind]);
        add_real(ret, fleet->median[kind]);
    }
    buf_adds(ret, "},\"hosts\":[");
    for (size_t i = 0; i < fleet->n; i++) {
        buf_adds(ret, i > 0 ? ",\n{\"host\":" : "{\"host\":");
        jsontext_name(ret, str_of(fleet->rows[i].host));
        buf_adds(ret, fleet->rows[i].is_baseline ? ",\"against\":true" : "");
        add_figures(ret, &fleet->rows[i]);
        add_difference(ret, fleet, &fleet->rows[i].difference);
        buf_addc(ret, '}');
    }
    buf_adds(ret, "]}");
}
