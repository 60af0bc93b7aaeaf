/* Clears the fields that the report's granularity (function, file, line, address) does not use: locations
 * that differ only in these become equal. With noinlines, keeps only the outermost line of each location. */
#include <inttypes.h>

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

/* Names the place at a line after its function or its file, with the line and the column if they are known.
 * `text` is scratch. */
static int name_place(struct profile *p, const struct profile_line *line, struct profile_function *place,
                      struct buf *text, struct err *err)
{
    struct str name = profile_str(p, place->name ? place->name : place->filename);
    buf_clear(text);
    buf_add(text, name.p, name.n);
    if (line->line || line->column)
        buf_addf(text, ":%" PRId64, line->line);
    if (line->column)
        buf_addf(text, ":%" PRId64, line->column);
    return buf_check(text, "a name", err) < 0
               ? -1
               : profile_intern(p, buf_str(text), text->len, &place->name, err);
}

int report_name_places(struct profile *p, struct err *err)
{
    struct buf name = BUF_INIT(REPORT_NAME_MAX);
    struct function_table places;
    int rc = 0;
    function_table_init(&places, p);
    for (size_t i = 0; rc == 0 && i < p->n_lines; i++) {
        struct profile_line *line = &p->lines[i];
        if (line->function == PROFILE_NONE)
            continue;
        struct profile_function place = p->functions[line->function];
        if (place.name && !line->line && !line->column)
            continue;
        rc = name_place(p, line, &place, &name, err);
        if (rc == 0)
            rc = function_table_find_or_add(&places, &place, &line->function, err);
    }
    function_table_release(&places);
    buf_release(&name);
    return rc;
}
