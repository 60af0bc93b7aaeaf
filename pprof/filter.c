/* Filters samples and frames by name (focus, ignore, hide, show, show_from), and labels. */
#include "pprof/filter.h"

#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

enum { FOCUSED = 1, IGNORED = 2, HIDDEN = 4, SHOWN_FROM = 8 };

/* The expressions of a report. */
struct filters {
    struct regex *focus, *ignore, *hide, *show, *show_from, *prune_from, *tagshow, *taghide;
    struct tagfilter *tagfocus, *tagignore;
};

/* The filters and their results. */
struct found {
    struct report *report;
    struct filters *filters;
    unsigned char *marks; /* by location: FOCUSED and so on */
    bool any_hidden;
    /* The expression had a match. */
    bool focus, ignore, hide, show, show_from, tagfocus, tagignore, tagshow, taghide;
};

int filter_compile(struct report *report, const char *name, const char *value, struct regex **ret)
{
    if (!value || !*value || regex_new(str_of(value), report->budget, ret, report->err) == 0)
        return 0;
    return err_wrap(report->err, "parsing %s regexp", name);
}

bool filter_matches_line(struct regex *r, const struct profile *p, const struct profile_line *line)
{
    if (line->function == PROFILE_NONE)
        return false;
    const struct profile_function *f = &p->functions[line->function];
    return regex_matches_string(r, p, f->name) || regex_matches_string(r, p, f->filename);
}

bool filter_matches_mapping(struct regex *r, const struct profile *p, const struct profile_location *l)
{
    return l->mapping != PROFILE_NONE && regex_matches_string(r, p, p->mappings[l->mapping].file);
}

void report_keep(struct profile *p, report_keep_fn *keep, void *ctx)
{
    size_t n = 0, types = p->n_sample_types;
    for (size_t i = 0; i < p->n_samples; i++) {
        if (!keep(ctx, p, &p->samples[i]))
            continue;
        if (n != i) {
            p->samples[n] = p->samples[i];
            memmove(p->values + n * types, p->values + i * types, types * sizeof *p->values);
        }
        n++;
    }
    p->n_samples = n;
}

/* ---- by name ------------------------------------------------------------------------------------------- */

static bool location_matches(struct regex *r, const struct profile *p, const struct profile_location *l)
{
    for (uint32_t i = 0; i < l->n_lines; i++)
        if (filter_matches_line(r, p, &p->lines[l->line_at + i]))
            return true;
    return filter_matches_mapping(r, p, l);
}

/* Keeps the lines that match (`matching`), or those that do not. If the mapping matches, all lines match.
 * If the mapping does not match, also keeps lines without a function. */
static void keep_lines(struct regex *r, struct profile *p, struct profile_location *l, bool matching)
{
    uint32_t n = 0;
    bool mapping_matches = filter_matches_mapping(r, p, l);
    if (mapping_matches && matching)
        return;
    for (uint32_t i = 0; i < l->n_lines && !mapping_matches; i++) {
        struct profile_line *line = &p->lines[l->line_at + i];
        if (line->function == PROFILE_NONE || filter_matches_line(r, p, line) == matching)
            p->lines[l->line_at + n++] = *line;
    }
    l->n_lines = n;
}

static unsigned char mark_location(struct found *found, struct profile_location *l)
{
    struct filters *f = found->filters;
    struct profile *p = found->report->profile;
    unsigned char mark = 0;
    if (f->ignore && location_matches(f->ignore, p, l)) {
        found->ignore = true;
        mark = IGNORED;
    } else if (!f->focus || location_matches(f->focus, p, l)) {
        found->focus = true;
        mark = FOCUSED;
    }
    if (f->hide && location_matches(f->hide, p, l)) {
        found->hide = true;
        keep_lines(f->hide, p, l, false);
        mark |= l->n_lines ? 0 : HIDDEN;
    }
    if (f->show) {
        keep_lines(f->show, p, l, true);
        mark |= l->n_lines ? 0 : HIDDEN;
        found->show = found->show || l->n_lines;
    }
    found->any_hidden = found->any_hidden || (mark & HIDDEN);
    return mark;
}

static bool keep_named(void *ctx, struct profile *p, struct profile_sample *s)
{
    const struct found *found = ctx;
    uint32_t n = 0;
    unsigned char all = 0;
    for (uint32_t i = 0; i < s->depth; i++)
        all |= found->marks[profile_frame(p, s, i)];
    if ((all & IGNORED) || !(all & FOCUSED))
        return false;
    if (!found->any_hidden)
        return true;
    for (uint32_t i = 0; i < s->depth; i++) {
        uint32_t location = profile_frame(p, s, i);
        if (!(found->marks[location] & HIDDEN))
            profile_set_frame(p, s, n++, location);
    }
    s->depth = n;
    return n > 0;
}

static void filter_by_name(struct found *found)
{
    struct profile *p = found->report->profile;
    const struct filters *f = found->filters;
    if (!f->focus && !f->ignore && !f->hide && !f->show)
        return;
    for (size_t i = 0; i < p->n_locations; i++)
        found->marks[i] = mark_location(found, &p->locations[i]);
    report_keep(p, keep_named, found);
}

/* ---- show_from ----------------------------------------------------------------------------------------- */

/* Removes the lines above the outermost match. Returns false if nothing matches. */
static bool cut_above(struct regex *r, struct profile *p, struct profile_location *l)
{
    if (filter_matches_mapping(r, p, l))
        return true;
    for (uint32_t i = l->n_lines; i-- > 0;)
        if (filter_matches_line(r, p, &p->lines[l->line_at + i])) {
            l->n_lines = i + 1;
            return true;
        }
    return false;
}

static bool cut_sample(void *ctx, struct profile *p, struct profile_sample *s)
{
    const struct found *found = ctx;
    for (uint32_t i = s->depth; i-- > 0;)
        if (found->marks[profile_frame(p, s, i)] & SHOWN_FROM) {
            s->depth = i + 1;
            return true;
        }
    return false;
}

static void filter_by_show_from(struct found *found)
{
    struct profile *p = found->report->profile;
    if (!found->filters->show_from)
        return;
    for (size_t i = 0; i < p->n_locations; i++) {
        bool matches = cut_above(found->filters->show_from, p, &p->locations[i]);
        found->marks[i] = matches ? SHOWN_FROM : 0;
        found->show_from = found->show_from || matches;
    }
    report_keep(p, cut_sample, found);
}

/* ---- by label ------------------------------------------------------------------------------------------ */

static bool keep_tagged(void *ctx, struct profile *p, struct profile_sample *s)
{
    struct found *found = ctx;
    (void)p;
    bool focused = !found->filters->tagfocus || tagfilter_matches(found->filters->tagfocus, found->report, s);
    bool ignored =
        found->filters->tagignore && tagfilter_matches(found->filters->tagignore, found->report, s);
    found->tagfocus = found->tagfocus || focused;
    found->tagignore = found->tagignore || ignored;
    return focused && !ignored;
}

/* Keeps the labels that tagshow matches and taghide does not match. */
static void keep_labels(struct found *found)
{
    struct profile *p = found->report->profile;
    struct regex *show = found->filters->tagshow, *hide = found->filters->taghide;
    for (size_t i = 0; (show || hide) && i < p->n_samples; i++) {
        struct profile_sample *s = &p->samples[i];
        uint32_t n = 0;
        for (uint32_t k = 0; k < s->n_labels; k++) {
            const struct profile_label *l = &p->labels[s->label_at + k];
            bool shown = !show || regex_matches_string(show, p, l->key);
            bool hidden = hide && regex_matches_string(hide, p, l->key);
            found->tagshow = found->tagshow || shown;
            found->taghide = found->taghide || hidden;
            if (shown && !hidden)
                p->labels[s->label_at + n++] = *l;
        }
        s->n_labels = n;
    }
}

/* ---- filters ------------------------------------------------------------------------------------------- */

static void warn_unmatched(const struct report *report, bool requested, bool matched, const char *name)
{
    if (requested && !matched)
        report_message(report, "%s expression matched no samples", name);
}

static int apply_filters(struct found *found)
{
    struct report *report = found->report;
    struct filters *f = found->filters;
    filter_by_name(found);
    warn_unmatched(report, f->focus, found->focus, "Focus");
    warn_unmatched(report, f->ignore, found->ignore, "Ignore");
    warn_unmatched(report, f->hide, found->hide, "Hide");
    warn_unmatched(report, f->show, found->show, "Show");
    filter_by_show_from(found);
    warn_unmatched(report, f->show_from, found->show_from, "ShowFrom");
    if (f->tagfocus || f->tagignore)
        report_keep(report->profile, keep_tagged, found);
    warn_unmatched(report, f->tagfocus, found->tagfocus, "TagFocus");
    warn_unmatched(report, f->tagignore, found->tagignore, "TagIgnore");
    keep_labels(found);
    warn_unmatched(report, f->tagshow, found->tagshow, "TagShow");
    warn_unmatched(report, f->taghide, found->taghide, "TagHide");
    return f->prune_from ? prune_from(report->profile, f->prune_from, report->err) : 0;
}

static int compile_filters(struct report *report, struct filters *f)
{
    const struct report_settings *s = report->settings;
    return filter_compile(report, "focus", s->focus, &f->focus) < 0 ||
                   filter_compile(report, "ignore", s->ignore, &f->ignore) < 0 ||
                   filter_compile(report, "hide", s->hide, &f->hide) < 0 ||
                   filter_compile(report, "show", s->show, &f->show) < 0 ||
                   filter_compile(report, "show_from", s->show_from, &f->show_from) < 0 ||
                   tagfilter_new(report, "tagfocus", s->tagfocus, &f->tagfocus) < 0 ||
                   tagfilter_new(report, "tagignore", s->tagignore, &f->tagignore) < 0 ||
                   filter_compile(report, "prune_from", s->prune_from, &f->prune_from) < 0 ||
                   filter_compile(report, "tagshow", s->tagshow, &f->tagshow) < 0 ||
                   filter_compile(report, "taghide", s->taghide, &f->taghide) < 0
               ? -1
               : 0;
}

/* Fails if an expression could not be matched, for example because the budget is spent. */
static int check_filters(const struct filters *f, struct err *err)
{
    const struct regex *all[] = {f->focus,     f->ignore,     f->hide,    f->show,
                                 f->show_from, f->prune_from, f->tagshow, f->taghide};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (regex_check(all[i], err) < 0)
            return -1;
    return tagfilter_check(f->tagfocus, err) < 0 ? -1 : tagfilter_check(f->tagignore, err);
}

static void release_filters(struct filters *f)
{
    struct regex *all[] = {f->focus,     f->ignore,     f->hide,    f->show,
                           f->show_from, f->prune_from, f->tagshow, f->taghide};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        regex_free(all[i]);
    tagfilter_free(f->tagfocus);
    tagfilter_free(f->tagignore);
}

int filter_samples(struct report *report)
{
    struct filters f = {0};
    struct found found = {
        .report = report, .filters = &f, .marks = calloc(report->profile->n_locations + 1, 1)};
    int rc = found.marks ? compile_filters(report, &f) : err_nomem(report->err);
    if (rc == 0)
        rc = apply_filters(&found);
    if (rc == 0)
        rc = check_filters(&f, report->err);
    release_filters(&f);
    free(found.marks);
    return rc;
}
