/* The page's JSON on two sides, and on hosts side by side. */
#include <math.h>

#include "page/jsontext.h"
#include "page/data.h"
#include "base/banned.h"

/* JSON has no infinity. */
static void add_real(struct buf *b, double v)
{
    buf_addf(b, "%.15g", isfinite(v) ? v : 0);
}

/* ---- two sides ----------------------------------------------------------------------------------------- */

static void add_processes(struct buf *b, const struct comparison *s)
{
    buf_adds(b, ",\"sides\":[");
    for (int side = COMPARISON_TARGET; side <= COMPARISON_BASELINE; side++)
        buf_addf(b, "%s{\"processes\":%zu,\"left_out\":%zu,\"duration_ns\":%lld}", side > 0 ? "," : "",
                 s->of[side].processes, s->of[side].left_out, (long long)s->of[side].duration_ns);
    buf_addc(b, ']');
}

static void add_scales(struct buf *b, const struct comparison *s)
{
    static const char *const names[] = {
        [COMPARISON_SHARE] = "share", [COMPARISON_SECOND] = "second", [COMPARISON_PROCESS] = "process"};
    buf_adds(b, ",\"basis\":[");
    for (size_t i = 0; i < s->n_types; i++)
        buf_addf(b, "%s\"%s\"", i > 0 ? "," : "", names[comparison_basis_of(s, i)]);
    for (int side = COMPARISON_TARGET; side <= COMPARISON_BASELINE; side++) {
        buf_adds(b, side == COMPARISON_TARGET ? "],\"scale\":[[" : "],[");
        for (size_t i = 0; i < s->n_types; i++) {
            buf_adds(b, i > 0 ? "," : "");
            add_real(b, comparison_scale(s, i, (enum comparison_side)side));
        }
    }
    buf_adds(b, "]]");
}

int page_data_comparison(const struct comparison *s, struct buf *ret, struct err *err)
{
    struct flame *f = NULL;
    if (flame_new(s->all, PAGE_MAX_NODES, &f, err) < 0)
        return -1;
    page_data_types(ret, s->all, s->n_types, s->default_type);
    add_processes(ret, s);
    add_scales(ret, s);
    int rc = page_data_functions(ret, s->all, f, err);
    if (rc == 0) {
        page_data_nodes(ret, f);
        page_data_self(ret, "here", f, 0, s->n_types);
        page_data_self(ret, "there", f, s->n_types, 2 * s->n_types);
        buf_adds(ret, "}}");
    }
    flame_free(f);
    return rc;
}

/* ---- hosts --------------------------------------------------------------------------------------------- */

static const char *const figures[FLEET_OF] = {"cpu", "heap", "goroutines", "allocated"};

static void add_figures(struct buf *b, const struct fleet_host *row)
{
    for (size_t of = 0; of < FLEET_OF; of++) {
        const struct fleet_figure *f = &row->of[of];
        if (!f->known)
            continue;
        buf_addf(b, ",\"%s\":{\"value\":", figures[of]);
        add_real(b, f->value);
        buf_adds(b, f->exceeds ? ",\"exceeds\":true" : "");
        jsontext_text(b, "file", f->file);
        buf_addc(b, '}');
    }
}

static void add_difference(struct buf *b, const struct fleet *h, const struct fleet_difference *d)
{
    if (!d->known)
        return;
    buf_addf(b, ",\"differs\":{\"in\":\"%s\"", figures[d->of]);
    jsontext_text(b, "function", h->names.items[d->name]);
    buf_adds(b, ",\"share\":");
    add_real(b, d->share);
    buf_adds(b, ",\"median\":");
    add_real(b, d->median);
    buf_addf(b, ",\"outlier\":%s}", d->outlier ? "true" : "false");
}

void page_data_group(const struct page_group *g, struct buf *ret)
{
    const struct fleet *h = g->hosts;
    buf_adds(ret, "{\"service\":");
    jsontext_name(ret, str_of(g->service));
    buf_adds(ret, ",\"median\":{");
    for (size_t of = 0, n_written = 0; of < FLEET_OF; of++) {
        if (h->known[of] == 0)
            continue;
        buf_addf(ret, "%s\"%s\":", n_written++ ? "," : "", figures[of]);
        add_real(ret, h->median[of]);
    }
    buf_adds(ret, "},\"hosts\":[");
    for (size_t i = 0; i < h->n; i++) {
        buf_adds(ret, i > 0 ? ",\n{\"host\":" : "{\"host\":");
        jsontext_name(ret, str_of(h->rows[i].host));
        buf_adds(ret, h->rows[i].is_baseline ? ",\"against\":true" : "");
        add_figures(ret, &h->rows[i]);
        add_difference(ret, h, &h->rows[i].differs);
        buf_addc(ret, '}');
    }
    buf_adds(ret, "]}");
}
