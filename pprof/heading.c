/* The lines above a report. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "pprof/heading.h"
#include "pprof/report.h"
#include "base/banned.h"

static void end_line(struct heading *to)
{
    if (to->n_lines++ == 0)
        to->first_length = to->text.len;
    buf_addc(&to->text, '\n');
}

static void add_text(struct heading *to, const char *before, struct str s)
{
    buf_adds(&to->text, before);
    buf_add(&to->text, s.p, s.n);
    end_line(to);
}

static void add_time(const struct report *report, struct heading *to)
{
    char text[64];
    struct tm tm;
    int64_t ns = report->profile->time_ns;
    time_t seconds = (time_t)(ns / 1000000000 - (ns % 1000000000 < 0));
    if (localtime_r(&seconds, &tm) && strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S %Z", &tm))
        add_text(to, "Time: ", str_of(text));
}

static void add_duration(const struct report *report, struct heading *to)
{
    char duration[MEASURE_TEXT], total[MEASURE_TEXT], share[MEASURE_TEXT];
    struct str unit = {"", 0};
    measure_label(duration, report->profile->duration_ns, STR("nanoseconds"), STR("auto"));
    report_format_value(report, total, report->total);
    buf_addf(&to->text, "Duration: %s, Total samples = %s ", duration, total);
    double ns = measure_scale(report->total, report->sample_unit, STR("nanoseconds"), &unit);
    if (str_is(unit, "ns") && ns != 0) {
        measure_percentage(share, profile_double_to_int(ns), report->profile->duration_ns);
        buf_addf(&to->text, "(%s)", share);
    }
    end_line(to);
}

void heading_add_profile(const struct report *report, struct heading *to)
{
    const struct profile *p = report->profile;
    struct str type = profile_str(p, p->sample_types[report->value_index].type);
    if (p->n_mappings && p->mappings[0].file)
        add_text(to, "File: ", path_base(profile_str(p, p->mappings[0].file)));
    if (p->n_mappings && p->mappings[0].build_id)
        add_text(to, "Build ID: ", profile_str(p, p->mappings[0].build_id));
    for (size_t i = 0; i < p->n_comments; i++)
        if (!str_begins(profile_str(p, p->comments[i]), "#"))
            add_text(to, "", profile_str(p, p->comments[i]));
    if (type.n || report->settings->mean)
        add_text(to, report->settings->mean ? "Type: mean_" : "Type: ", type);
    if (p->doc_url)
        add_text(to, "Doc: ", profile_str(p, p->doc_url));
    if (p->time_ns)
        add_time(report, to);
    if (p->duration_ns)
        add_duration(report, to);
}

static void add_filters(const struct report *report, struct heading *to)
{
    const struct report_settings *s = report->settings;
    const struct {
        const char *name, *value;
    } filters[] = {{"focus", s->focus},         {"ignore", s->ignore},       {"hide", s->hide},
                   {"show", s->show},           {"show_from", s->show_from}, {"tagfocus", s->tagfocus},
                   {"tagignore", s->tagignore}, {"tagshow", s->tagshow},     {"taghide", s->taghide}};
    bool any = false;
    for (size_t i = 0; i < sizeof filters / sizeof *filters; i++) {
        struct str value = str_of(filters[i].value);
        if (value.n == 0)
            continue;
        if (!any)
            add_text(to, "Active filters:", STR(""));
        any = true;
        size_t name = strlen(filters[i].name) + 1;
        bool cut = name + value.n > 80;
        buf_addf(&to->text, "   %s=", filters[i].name);
        buf_add(&to->text, value.p, cut ? 80 - name : value.n);
        buf_adds(&to->text, cut ? "\xe2\x80\xa6" : "");
        end_line(to);
    }
}

/* The dropped nodes or edges: their value is at most `fraction` of the total. */
struct dropped {
    size_t n;
    const char *what, *value_name; /* "node", "cum" */
    double fraction;
};

static void add_dropped(const struct report *report, const struct dropped *d, struct heading *to)
{
    char cutoff[MEASURE_TEXT];
    report_format_value(report, cutoff,
                        measure_abs(profile_double_to_int((double)report->total * d->fraction)));
    if (d->n == 0)
        return;
    buf_addf(&to->text, "Dropped %zu %s%s (%s <= %s)", d->n, d->what, d->n > 1 ? "s" : "", d->value_name,
             cutoff);
    end_line(to);
}

static void add_shown(const struct report *report, const struct graph *g, struct heading *to)
{
    char shown[MEASURE_TEXT], share[MEASURE_TEXT], total[MEASURE_TEXT];
    int64_t sum = 0;
    for (size_t i = 0; i < g->n_order; i++)
        sum = measure_sum(sum, node_flat(&g->nodes[g->order[i]]));
    report_format_value(report, shown, sum);
    report_format_value(report, total, report->total);
    measure_percentage(share, sum, report->total);
    buf_addf(&to->text, "Showing nodes accounting for %s, %s of %s total", shown, share + strspn(share, " "),
             total);
    end_line(to);
}

static void add_report(const struct report *report, const struct graph *g, bool picture, struct heading *to)
{
    if (picture || !report->settings->compact_labels)
        heading_add_profile(report, to);
    add_filters(report, to);
    add_shown(report, g, to);
    if (report->total == 0)
        return;
    add_dropped(report, &(struct dropped){report->nodes_dropped, "node", "cum", report->nodefraction}, to);
    add_dropped(report,
                &(struct dropped){picture ? report->edges_dropped : 0, "edge", "freq", report->edgefraction},
                to);
    if (g->n_order && g->n_order < report->nodes_before_limit) {
        buf_addf(&to->text, "Showing top %zu nodes out of %zu", g->n_order, report->nodes_before_limit);
        end_line(to);
    }
}

int heading_write(struct report *report, const struct graph *g)
{
    struct heading lines = HEADING_INIT;
    add_report(report, g, false, &lines);
    out_add(report->out, buf_str(&lines.text), lines.text.len);
    int rc = buf_check(&lines.text, "the heading of the report", report->err);
    buf_release(&lines.text);
    return rc;
}

int heading_write_json(struct report *report, const struct graph *g)
{
    struct heading lines = HEADING_INIT;
    add_report(report, g, false, &lines);
    int rc = buf_check(&lines.text, "the heading of the report", report->err);
    const char *separator = "[";
    for (const char *at = buf_str(&lines.text); rc == 0 && *at; separator = ",") {
        size_t n = strcspn(at, "\n");
        out_text(report->out, separator);
        out_json(report->out, (struct str){at, n});
        at += n + (at[n] == '\n');
    }
    out_text(report->out, *separator == '[' ? "[]" : "]");
    buf_release(&lines.text);
    return rc;
}

void heading_add_picture(const struct report *report, const struct graph *g, struct heading *to)
{
    add_report(report, g, true, to);
    buf_adds(&to->text, "\nSee https://git.io/JfYMW for how to read the graph\n");
}
