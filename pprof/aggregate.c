/* Clears the fields that the report's granularity (function, file, line, address) does not use: locations
 * that differ only in these become equal. With noinlines, keeps only the outermost line of each location. */
#include "pprof/filter.h"
#include "pprof/report.h"
#include "base/banned.h"

void aggregate(struct report *report)
{
    struct profile *p = report->profile;
    enum report_granularity by = report->granularity;
    bool function = by != REPORT_BY_FILE, file = by != REPORT_BY_FUNCTION;
    bool line = by == REPORT_BY_LINE || by == REPORT_BY_ADDRESS, address = by == REPORT_BY_ADDRESS;
    if (address && !report->noinlines)
        return;
    for (size_t i = 0; i < p->n_mappings; i++) {
        struct profile_mapping *m = &p->mappings[i];
        m->has_inline_frames = m->has_inline_frames && !report->noinlines;
        m->has_functions = m->has_functions && function;
        m->has_filenames = m->has_filenames && file;
        m->has_line_numbers = m->has_line_numbers && line;
    }
    for (size_t i = 0; i < p->n_functions; i++) {
        if (!function)
            p->functions[i].name = p->functions[i].system_name = 0;
        if (!file)
            p->functions[i].filename = 0;
    }
    for (size_t i = 0; i < p->n_locations; i++) {
        struct profile_location *l = &p->locations[i];
        if (report->noinlines && l->n_lines > 1) {
            l->line_at += l->n_lines - 1;
            l->n_lines = 1;
        }
        if (!address)
            l->address = 0;
    }
    for (size_t i = 0; i < p->n_lines; i++) {
        if (!line)
            p->lines[i].line = 0;
        if (!line || !report->settings->showcolumns)
            p->lines[i].column = 0;
    }
}
