/*
 * The files, functions and lines to show.
 *
 * A function here is a run of lines with instructions: lines of one function that are less than MERGE lines
 * apart, and some lines around them.
 *
 * Source: google/pprof internal/report/source.go (generate, generateFile, functions).
 */
#include <stdlib.h>
#include <string.h>

#include "pprof/machine/listing.h"
#include "base/banned.h"

/* Lines that are at least so far apart are separate functions. */
#define MERGE 20
/* The lines around a function that are shown. */
#define MARGIN 5

/* A file and its instructions: places[at], ... */
struct file {
    uint32_t path;
    size_t at, n;
    int64_t flat, cum;
};
/* A function and its instructions. */
struct function {
    struct listing_function shown;
    size_t at, n;
};

/* ---- files --------------------------------------------------------------------------------------------- */

/* A place, with the order in which it was found. */
struct ordered {
    struct code_place place;
    size_t order;
};

static int compare_places(const void *left, const void *right)
{
    const struct ordered *a = left, *b = right;
    int order = (a->place.file > b->place.file) - (a->place.file < b->place.file);
    if (order == 0)
        order = (a->place.line > b->place.line) - (a->place.line < b->place.line);
    return order ? order : (a->order > b->order) - (a->order < b->order);
}

/* Sorts the places by file and line. Places of one line keep their order. */
static int sort_places(struct code_map *m)
{
    struct ordered *sorted = calloc(m->n_places + 1, sizeof *sorted);
    if (!sorted)
        return err_nomem(m->report->err);
    for (size_t i = 0; i < m->n_places; i++)
        sorted[i] = (struct ordered){m->places[i], i};
    qsort(sorted, m->n_places, sizeof *sorted, compare_places);
    for (size_t i = 0; i < m->n_places; i++)
        m->places[i] = sorted[i].place;
    free(sorted);
    return 0;
}

/* Finds the files. An instruction counts once for a file, however many of its calls are in the file. */
static int find_files(const struct code_map *m, struct file **ret, size_t *ret_n)
{
    struct file *files = calloc(m->n_places + 1, sizeof *files);
    uint32_t *seen = calloc(m->n_code + 1, sizeof *seen); /* by instruction: the last file that has it */
    size_t n = 0;
    if (!files || !seen) {
        free(files);
        free(seen);
        return err_nomem(m->report->err);
    }
    for (size_t i = 0; i < m->n_places; i++) {
        const struct code_place *place = &m->places[i];
        if (n == 0 || files[n - 1].path != place->file)
            files[n++] = (struct file){.path = place->file, .at = i};
        struct file *f = &files[n - 1];
        f->n++;
        if (seen[place->code] == n)
            continue;
        seen[place->code] = (uint32_t)n;
        f->flat = measure_sum(f->flat, m->code[place->code].flat);
        f->cum = measure_sum(f->cum, m->code[place->code].cum);
    }
    free(seen);
    *ret = files;
    *ret_n = n;
    return 0;
}

static int compare_paths(const void *left, const void *right, void *profile)
{
    const struct file *a = left, *b = right;
    return str_compare(profile_str(profile, a->path), profile_str(profile, b->path));
}

static int compare_flat(const void *left, const void *right, void *profile)
{
    const struct file *a = left, *b = right;
    int order = (a->flat < b->flat) - (a->flat > b->flat);
    return order ? order : compare_paths(left, right, profile);
}

/* ---- functions ----------------------------------------------------------------------------------------- */

/* The readable name of the function that a place belongs to. */
static uint32_t name_of(const struct listing *l, const struct code_place *place)
{
    const struct code_map *m = &l->map;
    uint32_t name = m->calls[m->code[place->code].call_at + place->n_calls].function;
    uint32_t readable = name < l->addresses.n_strings ? l->addresses.names[name] : 0;
    return readable ? readable - 1 : name;
}

static size_t count_on_line(const struct code_map *m, size_t at, size_t end)
{
    size_t n = 1;
    while (at + n < end && m->places[at + n].line == m->places[at].line)
        n++;
    return n;
}

static void sum_places(const struct code_map *m, size_t at, size_t n, int64_t *flat, int64_t *cum)
{
    *flat = *cum = 0;
    for (size_t i = at; i < at + n; i++) {
        *flat = measure_sum(*flat, m->code[m->places[i].code].flat);
        *cum = measure_sum(*cum, m->code[m->places[i].code].cum);
    }
}

/* Adds the lines around each function, half of a gap to each of its neighbours. Line 0 stands for unknown
 * lines. */
static void expand_functions(struct function *functions, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct listing_function *f = &functions[i].shown;
        if (i == 0) {
            f->begin = f->begin > MARGIN ? f->begin - MARGIN : f->begin > 1 ? 1 : f->begin;
            continue;
        }
        int64_t half = (f->begin - functions[i - 1].shown.end) / 2;
        half = half < MARGIN ? half : MARGIN;
        functions[i - 1].shown.end += half;
        f->begin -= half;
    }
    if (n)
        functions[n - 1].shown.end += MARGIN;
}

static int find_functions(const struct listing *l, const struct file *file, struct function **ret,
                          size_t *ret_n)
{
    const struct code_map *m = &l->map;
    const struct profile *p = l->report->profile;
    struct function *functions = calloc(file->n + 1, sizeof *functions);
    size_t n = 0, on_line;
    if (!functions)
        return err_nomem(l->report->err);
    for (size_t at = file->at; at < file->at + file->n; at += on_line) {
        int64_t line = m->places[at].line, flat, cum;
        struct str name = profile_str(p, name_of(l, &m->places[at]));
        struct function *last = n ? &functions[n - 1] : NULL;
        on_line = count_on_line(m, at, file->at + file->n);
        sum_places(m, at, on_line, &flat, &cum);
        if (!last || line - last->shown.end >= MERGE || !str_equal(last->shown.name, name)) {
            last = &functions[n++];
            *last = (struct function){
                .shown = {.name = name, .path = profile_str(p, file->path), .begin = line}, .at = at};
        }
        last->n += on_line;
        last->shown.end = line + 1;
        last->shown.flat = measure_sum(last->shown.flat, flat);
        last->shown.cum = measure_sum(last->shown.cum, cum);
    }
    expand_functions(functions, n);
    *ret = functions;
    *ret_n = n;
    return 0;
}

/* ---- lines --------------------------------------------------------------------------------------------- */

int listing_source(struct listing *l, uint32_t file, int64_t line, struct str *ret)
{
    const struct source_code_lines *lines;
    const char *message;
    if (source_code_get(l->sources, file, &lines, &message, l->report->err) < 0)
        return -1;
    bool has = !message && line > 0 && (uint64_t)line <= lines->n;
    *ret = has ? lines->items[line - 1] : (struct str){NULL, 0};
    return 0;
}

/* The columns of blanks and tabs at the beginning of a line. */
static size_t indent_of(struct str text)
{
    size_t columns = 0;
    for (size_t i = 0; i < text.n && (text.p[i] == ' ' || text.p[i] == '\t'); i++)
        columns = text.p[i] == ' ' ? columns + 1 : (columns / 8 + 1) * 8;
    return columns;
}

/* The calls that were inlined into the place, the innermost first. */
static const struct code_call *inlined_calls(const struct code_map *m, const struct code_place *place)
{
    return &m->calls[m->code[place->code].call_at];
}

/* Counts the outermost inlined calls that two places have in common. */
static size_t count_same(const struct code_map *m, const struct code_place *a, const struct code_place *b)
{
    const struct code_call *x = inlined_calls(m, a), *y = inlined_calls(m, b);
    size_t n = 0;
    while (n < a->n_calls && n < b->n_calls) {
        const struct code_call *c = &x[a->n_calls - 1 - n], *d = &y[b->n_calls - 1 - n];
        if (c->file != d->file || c->line != d->line)
            break;
        n++;
    }
    return n;
}

static int write_line_code(struct listing *l, size_t at, size_t n)
{
    const struct code_map *m = &l->map;
    uint64_t expected = 0;
    l->n_code = 0;
    for (size_t i = at; i < at + n; i++) {
        const struct code_place *place = &m->places[i];
        const struct code *code = &m->code[place->code];
        const struct listing_code shown = {.code = code,
                                           .is_gap = i > at && code->address != expected,
                                           .inlined = inlined_calls(m, place),
                                           .n_inlined = place->n_calls,
                                           .n_same = i > at ? count_same(m, &m->places[i - 1], place) : 0};
        expected = code->address + code->length;
        if (l->writer->code(l, &shown) < 0)
            return -1;
        l->n_code++;
    }
    return 0;
}

/* Writes a line with its instructions: places[at], ... */
static int write_line(struct listing *l, const struct file *file, int64_t number, size_t at, size_t n)
{
    const struct code_map *m = &l->map;
    struct listing_line line = {.n = number};
    if (listing_source(l, file->path, number, &line.text) < 0)
        return -1;
    if (!line.text.p && n == 0)
        return 0;
    if (!line.text.p)
        line.text = number == 0 ? STR("<instructions with unknown line numbers>") : STR("???");
    sum_places(m, at, n, &line.flat, &line.cum);
    for (size_t i = at; i < at + n; i++)
        line.has_code = line.has_code || m->places[i].n_calls || m->code[m->places[i].code].text.n;
    l->indent = indent_of(line.text);
    l->writer->begin_line(l, &line);
    if (line.has_code && write_line_code(l, at, n) < 0)
        return -1;
    l->writer->end_line(l, &line);
    l->n_lines++;
    return 0;
}

static int write_function(struct listing *l, const struct file *file, const struct function *f)
{
    const struct code_map *m = &l->map;
    size_t at = f->at, end = f->at + f->n;
    l->n_lines = 0;
    l->writer->begin_function(l, &f->shown);
    for (int64_t line = f->shown.begin; line < f->shown.end; line++) {
        size_t n = at < end && m->places[at].line == line ? count_on_line(m, at, end) : 0;
        if (write_line(l, file, line, at, n) < 0)
            return -1;
        at += n;
    }
    l->writer->end_function(l);
    l->n_functions++;
    return 0;
}

static int write_file(struct listing *l, const struct file *file)
{
    struct function *functions = NULL;
    size_t n = 0;
    if (find_functions(l, file, &functions, &n) < 0)
        return -1;
    int rc = 0;
    l->n_functions = 0;
    l->writer->begin_file(l, profile_str(l->report->profile, file->path));
    for (size_t i = 0; rc == 0 && i < n; i++)
        if (functions[i].shown.cum != 0)
            rc = write_function(l, file, &functions[i]);
    l->writer->end_file(l);
    l->n_files++;
    free(functions);
    return rc;
}

int listing_write(struct listing *l, const struct listing_writer *writer, size_t max_files)
{
    struct file *files = NULL;
    size_t n = 0;
    l->writer = writer;
    if (find_files(&l->map, &files, &n) < 0)
        return -1;
    int rc = 0;
    if (n)
        qsort_r(files, n, sizeof *files, max_files ? compare_flat : compare_paths, l->report->profile);
    for (size_t i = 0; rc == 0 && i < n && (i < max_files || max_files == 0); i++)
        rc = write_file(l, &files[i]);
    free(files);
    return rc;
}

static int put_pasted(struct listing *l, const struct report_settings *s)
{
    struct report *report = l->report;
    for (size_t i = 0; i < s->n_pasted; i++) {
        const struct report_pasted *pasted = &s->pasted[i];
        uint32_t path;
        if (profile_intern(report->profile, pasted->path, strlen(pasted->path), &path, report->err) < 0 ||
            source_code_put(l->sources, path, pasted->text, report->err) < 0)
            return -1;
    }
    return 0;
}

int listing_init(struct listing *l, struct report *report)
{
    const struct report_settings *s = report->settings;
    *l = (struct listing){.report = report, .out = report->out};
    int rc = addresses_init(&l->addresses, report);
    if (rc == 0 && !l->addresses.any)
        rc = err_set(report->err, ERR_NOT_FOUND, "no matches found for regexp: %s",
                     s->symbol ? s->symbol : "");
    if (rc == 0)
        rc = code_map_init(&l->map, report, &l->addresses);
    if (rc == 0)
        rc = sort_places(&l->map);
    if (rc == 0)
        rc = source_code_new(report->profile, s->source_path, s->trim_path, &l->sources, report->err);
    if (rc == 0)
        rc = source_code_search_go(l->sources, report->err);
    if (rc == 0)
        rc = put_pasted(l, s);
    return rc;
}

void listing_release(struct listing *l)
{
    source_code_free(l->sources);
    code_map_release(&l->map);
    addresses_release(&l->addresses);
}
