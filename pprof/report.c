/* The steps of a report, in pprof's order: settings, filters, aggregation, output. */
#include <errno.h>
#include <stdlib.h>

#include "pprof/filter.h"
#include "pprof/formats.h"
#include "pprof/heading.h"
#include "pprof/label_units.h"
#include "pprof/report.h"
#include "pprof/trim.h"
#include "base/banned.h"

static int write_machine(struct report *report)
{
    const struct report_machine *machine = report->callbacks->machine;
    return machine ? machine->write(report)
                   : err_set(report->err, ERR_UNSUPPORTED, "machine code cannot be read here");
}

/* A row for each format. */
static const struct format {
    int (*write)(struct report *report);
    long nodecount; /* the default; 0: all */
    bool untrimmed; /* ignores the settings that trim a report */
} formats[] = {
    [REPORT_TEXT] = {text_write, 0, false},
    [REPORT_TREE] = {tree_write, 80, false},
    [REPORT_PEEK] = {tree_write, 80, true},
    [REPORT_LIST] = {list_write, 80, true},
    [REPORT_TRACES] = {traces_write, 80, false},
    [REPORT_TAGS] = {tags_write, 80, false},
    [REPORT_RAW] = {raw_write, 80, true},
    [REPORT_COMMENTS] = {comments_write, 80, false},
    [REPORT_DOT] = {dot_write, 80, false},
    [REPORT_CALLGRIND] = {callgrind_write, 80, true},
    [REPORT_PROTO] = {proto_write, 80, true},
    [REPORT_TOPPROTO] = {topproto_write, 0, false},
    [REPORT_FOLDED] = {folded_write, 0, true},
    [REPORT_SPEEDSCOPE] = {speedscope_write, 0, true},
    [REPORT_TOP_JSON] = {text_write_json, 0, false},
    [REPORT_TAGS_JSON] = {tags_write_json, 80, false},
    [REPORT_DISASM] = {write_machine, 80, true},
    [REPORT_WEBLIST] = {write_machine, 80, true},
    [REPORT_SOURCE] = {write_machine, 80, true},
};

/* ---- settings ------------------------------------------------------------------------------------------ */

static int set_bad_index(const struct profile *p, const char *index, struct err *err)
{
    struct buf names = BUF_INIT(400);
    for (size_t i = 0; i < p->n_sample_types; i++) {
        struct str name = profile_str(p, p->sample_types[i].type);
        buf_addf(&names, "%s%.*s", i ? " " : "", (int)(name.n < 60 ? name.n : 60), name.p);
    }
    err_set(err, ERR_USAGE, "sample_index \"%s\" must be one of: [%s]", index, buf_str(&names));
    buf_release(&names);
    return -1;
}

int report_sample_index(const struct profile *p, const char *index, size_t *ret, struct err *err)
{
    char *end = NULL;
    if (!index || !*index || p->n_sample_types == 0)
        return profile_default_type(p, ret, err);
    errno = 0;
    long n = strtol(index, &end, 10);
    if (!*end && !errno) {
        if (n < 0 || (size_t)n >= p->n_sample_types)
            return err_set(err, ERR_USAGE, "sample_index %s is outside the range [0..%zu]", index,
                           p->n_sample_types - 1);
        *ret = (size_t)n;
        return 0;
    }
    struct str name = str_of(index), bare = name;
    if (str_begins(name, "inuse_"))
        bare = str_of(index + 6);
    for (size_t i = 0; i < p->n_sample_types; i++) {
        struct str type = profile_str(p, p->sample_types[i].type);
        if (str_equal(type, name) || str_equal(type, bare)) {
            *ret = i;
            return 0;
        }
    }
    return set_bad_index(p, index, err);
}

static int apply_settings(struct report *report)
{
    const struct report_settings *s = report->settings;
    const struct format *f = &formats[s->format];
    bool trim = s->trim && !f->untrimmed;
    report->nodecount = !trim ? 0 : s->nodecount == -1 ? f->nodecount : s->nodecount;
    report->nodefraction = trim ? s->nodefraction : 0;
    report->edgefraction = trim ? s->edgefraction : 0;
    report->granularity = s->granularity;
    report->noinlines = s->noinlines;
    if (s->format == REPORT_LIST)
        report->granularity = REPORT_BY_LINE;
    if (s->format == REPORT_PROTO || s->format == REPORT_RAW || s->format == REPORT_CALLGRIND)
        report->granularity = REPORT_BY_ADDRESS;
    if (s->format == REPORT_DISASM || s->format == REPORT_WEBLIST || s->format == REPORT_SOURCE) {
        report->granularity = REPORT_BY_ADDRESS;
        /* Otherwise each inlined call at an address would count that address's value. */
        report->noinlines = s->format == REPORT_DISASM;
    }
    if (report_sample_index(report->profile, s->sample_index, &report->value_index, report->err) < 0)
        return -1;
    if (s->divide_by == 0)
        return err_set(report->err, ERR_USAGE, "zero divisor specified");
    report->ratio = 1 / s->divide_by;
    report->sample_unit =
        profile_str(report->profile, report->profile->sample_types[report->value_index].unit);
    report->output_unit = str_of(s->unit);
    report->budget = regex_budget_for_user(report->profile);
    return report->budget ? 0 : err_nomem(report->err);
}

static int compile_symbol(struct report *report)
{
    const char *symbol = report->settings->symbol;
    if (symbol && regex_new(str_of(symbol), report->budget, &report->symbol, report->err) < 0)
        return err_wrap(report->err, "parsing argument regexp %s", symbol);
    return 0;
}

static void release_settings(struct report *report)
{
    regex_free(report->symbol);
    regex_budget_free(report->budget);
    free(report->label_units);
}

/* ---- the total ----------------------------------------------------------------------------------------- */

/* Whether a sample belongs to the base of -diff_base. With a base, the percentages of the report refer to the
 * base's total. */
static bool is_in_base(const struct profile *p, const struct profile_sample *s)
{
    for (size_t i = s->label_at; i < s->label_at + s->n_labels; i++)
        if (!p->labels[i].is_number && str_is(profile_str(p, p->labels[i].key), "pprof::base") &&
            str_is(profile_str(p, p->labels[i].str), "true"))
            return true;
    return false;
}

static int64_t total_of(const struct report *report)
{
    const struct profile *p = report->profile;
    uint64_t total = 0, div = 0, base_total = 0, base_div = 0;
    for (size_t i = 0; i < p->n_samples; i++) {
        int64_t v = p->values[i * p->n_sample_types + report->value_index];
        uint64_t d = report->settings->mean ? (uint64_t)p->values[i * p->n_sample_types] : 0;
        uint64_t size = v < 0 ? -(uint64_t)v : (uint64_t)v;
        total += size;
        div += d;
        if (p->samples[i].n_labels && is_in_base(p, &p->samples[i])) {
            base_total += size;
            base_div += d;
        }
    }
    if ((int64_t)base_total > 0) {
        total = base_total;
        div = base_div;
    }
    return measure_divide((int64_t)total, (int64_t)div);
}

void report_totals(const struct profile *p, const struct report_settings *settings, int64_t *ret)
{
    /* total_of changes nothing. */
    struct report report = {.profile = (struct profile *)(uintptr_t)p, .settings = settings};
    for (report.value_index = 0; report.value_index < p->n_sample_types; report.value_index++)
        ret[report.value_index] = total_of(&report);
}

int report_heading(const struct profile *p, const struct report_settings *settings,
                   const struct report_callbacks *callbacks, bool *ret_empty, struct err *err)
{
    struct heading lines = HEADING_INIT;
    /* The functions below change nothing of the profile, except that label_units_find may add a string. */
    struct report report = {
        .profile = (struct profile *)(uintptr_t)p, .settings = settings, .callbacks = callbacks, .err = err};
    int rc = label_units_find(&report);
    if (rc == 0)
        rc = apply_settings(&report);
    if (rc == 0) {
        report.total = total_of(&report);
        heading_add_profile(&report, &lines);
        rc = buf_check(&lines.text, "the heading of the report", err);
    }
    if (rc == 0 && lines.text.len)
        rc = callbacks->sink(callbacks->ctx, buf_str(&lines.text), lines.text.len, err);
    if (rc == 0)
        *ret_empty = report.total == 0;
    buf_release(&lines.text);
    release_settings(&report);
    return rc;
}

/* Does the steps before the output. */
static int prepare(struct report *report)
{
    bool relative = report->settings->relative_percentages;
    int rc = label_units_find(report);
    if (rc == 0)
        rc = apply_settings(report);
    if (rc == 0)
        rc = tagroots_add(report);
    /* Percentages refer to all samples, or with relative_percentages to those that pass the filters. */
    if (rc == 0 && relative)
        rc = filter_samples(report);
    /* As upstream, which reports an error of the filters first if they are applied first. */
    if (rc == 0)
        rc = compile_symbol(report);
    report->total = rc == 0 ? total_of(report) : 0;
    if (rc == 0 && !relative)
        rc = filter_samples(report);
    if (rc == 0)
        aggregate(report);
    return rc;
}

int report_filter(struct profile *p, const struct report_settings *settings,
                  const struct report_callbacks *callbacks, struct err *err)
{
    struct report report = {.profile = p, .settings = settings, .callbacks = callbacks, .err = err};
    int rc = prepare(&report);
    if (rc == 0)
        rc = trim_paths(&report);
    /* They have had their effect, and names may change now. */
    p->drop_frames = p->keep_frames = 0;
    release_settings(&report);
    return rc;
}

int report_make(struct profile *p, const struct report_settings *settings,
                const struct report_callbacks *callbacks, struct err *err)
{
    struct out *out = malloc(sizeof *out);
    if (!out)
        return err_nomem(err);
    out_init(out, callbacks->sink, callbacks->ctx, err);
    struct report report = {
        .profile = p, .settings = settings, .callbacks = callbacks, .out = out, .err = err};
    int rc = prepare(&report);
    if (rc == 0)
        rc = formats[settings->format].write(&report);
    if (rc == 0)
        rc = out_end(out);
    if (rc == 0)
        rc = regex_check(report.symbol, err);
    release_settings(&report);
    free(out);
    return rc;
}
