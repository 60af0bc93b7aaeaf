/*
 * -disasm: the instructions of functions, with the values of each.
 *
 * Source: google/pprof internal/report/report.go (PrintAssembly, symbolsFromBinaries, annotateAssembly).
 */
#include "pprof/machine/disasm.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "pprof/graph/graph.h"
#include "pprof/machine/formats.h"
#include "pprof/trim.h"
#include "base/banned.h"

/* The columns of a short instruction, and the blanks before the place of a long one. */
#define CODE_COLUMNS 40
#define PLACE_INDENT 74

/* A node of the report, by its address in the binary. */
struct place {
    uint64_t address;
    const struct node *node;
};
/* A binary's nodes, in the order of addresses. */
struct places {
    struct binary *binary;
    struct place *items;
    size_t n;
};
/* A function to show, and its nodes. */
struct shown {
    const struct symbol *symbol;
    struct str name;
    const struct place *places;
    size_t n;
    int64_t flat, cum;
};

struct disasm {
    struct report *report;
    struct graph graph;
    struct binaries binaries;
    struct symbols symbols;
    const struct binary *unread; /* the first binary that was not read; NULL: none */
    bool has_address;            /* the expression is an address */
    uint64_t address;
    struct places *places;
    size_t n_places, cap_places;
    struct shown *shown;
    size_t n_shown;
};

/* ---- functions ----------------------------------------------------------------------------------------- */

/* Marks the files (strings of the profile) that have a node whose name matches. */
static int mark_files(const struct disasm *d, unsigned char **ret)
{
    const struct report *report = d->report;
    unsigned char *marks = calloc(profile_n_strings(report->profile) + 1, 1);
    if (!marks)
        return err_nomem(report->err);
    for (size_t i = 0; i < d->graph.n_order; i++) {
        const struct node_info *info = &d->graph.nodes[d->graph.order[i]].info;
        if (info->objfile && !marks[info->objfile] &&
            regex_matches_string(report->symbol, report->profile, info->name))
            marks[info->objfile] = 1;
    }
    *ret = marks;
    return regex_check(report->symbol, report->err);
}

static int find_in_mapping(struct disasm *d, uint32_t mapping)
{
    struct binary *b;
    if (binary_open(&d->binaries, mapping, &b, d->report->err) < 0)
        return -1;
    if (b->opened)
        return symbols_find(b, d->has_address ? d->address : 0, &d->symbols, d->report->err);
    if (d->unread)
        report_message(d->report, "%s", b->why.msg);
    else
        d->unread = b;
    return 0;
}

static int find_symbols(struct disasm *d)
{
    const struct profile *p = d->report->profile;
    unsigned char *marks = NULL;
    int rc = mark_files(d, &marks);
    for (uint32_t i = 0; rc == 0 && i < p->n_mappings && i < SYMBOLIZE_MAPPINGS; i++) {
        const struct profile_mapping *m = &p->mappings[i];
        if (marks[m->file] || (d->has_address && m->start <= d->address && d->address <= m->limit))
            rc = find_in_mapping(d, i);
    }
    free(marks);
    return rc;
}

/* ---- nodes --------------------------------------------------------------------------------------------- */

static int compare_places(const void *left, const void *right, void *graph)
{
    const struct place *a = left, *b = right;
    int order = (a->address > b->address) - (a->address < b->address);
    if (order == 0)
        order = node_compare_names(graph, &a->node->info, &b->node->info);
    return order ? order : node_compare_all(graph, &a->node->info, &b->node->info);
}

static int add_places(struct disasm *d, struct binary *b)
{
    struct places to = {.binary = b, .items = calloc(d->graph.n_order + 1, sizeof *to.items)};
    if (!to.items)
        return err_nomem(d->report->err);
    for (size_t i = 0; i < d->graph.n_order; i++) {
        const struct node *n = &d->graph.nodes[d->graph.order[i]];
        if (binary_file_address(b, n->info.address, &to.items[to.n].address))
            to.items[to.n++].node = n;
    }
    qsort_r(to.items, to.n, sizeof *to.items, compare_places, &d->graph);
    if (array_reserve((void **)&d->places, &d->cap_places, d->n_places + 1, sizeof *d->places,
                      d->report->err) < 0) {
        free(to.items);
        return -1;
    }
    d->places[d->n_places++] = to;
    return 0;
}

/* Returns the index of the first place whose address is at least `address`. */
static size_t first_from(const struct places *p, uint64_t address)
{
    size_t low = 0, high = p->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (p->items[middle].address < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int compare_shown(const void *left, const void *right)
{
    const struct shown *a = left, *b = right;
    int order = str_compare(a->name, b->name);
    if (order == 0)
        order = (a->symbol->start > b->symbol->start) - (a->symbol->start < b->symbol->start);
    return order ? order : (a->symbol > b->symbol) - (a->symbol < b->symbol);
}

static int compare_heavy(const void *left, const void *right)
{
    const struct shown *a = left, *b = right;
    int order = (a->flat < b->flat) - (a->flat > b->flat);
    return order ? order : compare_shown(left, right);
}

static void add_shown(struct disasm *d, const struct symbol *symbol, const struct place *places, size_t n)
{
    struct shown *s = &d->shown[d->n_shown++];
    *s = (struct shown){.symbol = symbol,
                        .name = profile_str(d->report->profile, d->symbols.names[symbol->name_at]),
                        .places = places,
                        .n = n};
    for (size_t i = 0; i < n; i++) {
        s->flat = measure_sum(s->flat, places[i].node->flat);
        s->cum = measure_sum(s->cum, places[i].node->cum);
    }
}

/* Sorts the functions, and drops those that the settings do not allow. */
static void sort_shown(struct disasm *d)
{
    size_t most = d->report->settings->most_routines;
    qsort(d->shown, d->n_shown, sizeof *d->shown, most > 0 ? compare_heavy : compare_shown);
    if (most > 0 && d->n_shown > most)
        d->n_shown = most;
}

/* Finds the functions that have nodes. */
static int find_shown(struct disasm *d)
{
    d->shown = calloc(d->symbols.n + 1, sizeof *d->shown);
    if (!d->shown)
        return err_nomem(d->report->err);
    for (size_t i = 0; i < d->symbols.n; i++) {
        const struct symbol *s = &d->symbols.items[i];
        if ((d->n_places == 0 || d->places[d->n_places - 1].binary != s->binary) &&
            add_places(d, s->binary) < 0)
            return -1;
        const struct places *all = &d->places[d->n_places - 1];
        size_t from = first_from(all, s->start),
               to = s->end == UINT64_MAX ? all->n : first_from(all, s->end + 1);
        if (to > from)
            add_shown(d, s, all->items + from, to - from);
    }
    return 0;
}

/* Sets the error, with the reason why the first binary was not read. */
static int set_no_match(const struct disasm *d)
{
    struct err *err = d->report->err;
    if (!d->has_address)
        err_set(err, ERR_NOT_FOUND, "no matches found for regexp %s", d->report->settings->symbol);
    else if (d->symbols.n == 0)
        err_set(err, ERR_NOT_FOUND, "no matches found for address 0x%" PRIx64, d->address);
    else
        err_set(err, ERR_NOT_FOUND,
                "address 0x%" PRIx64
                " found in binary, but the corresponding symbols do not have samples in the profile",
                d->address);
    return d->unread ? err_append(err, ": %s", d->unread->why.msg) : -1;
}

/* ---- output -------------------------------------------------------------------------------------------- */

/* An instruction and its values. */
struct row {
    const struct instruction *code;
    struct node values;
    struct str function, file;
    int64_t line;
};

/* Adds the values of the places before the address `next`. The places tell what objdump did not. */
static void add_values(const struct disasm *d, const struct shown *s, size_t *at, uint64_t next,
                       struct row *row)
{
    const struct profile *p = d->report->profile;
    for (; *at < s->n && s->places[*at].address < next; ++*at) {
        const struct node *n = s->places[*at].node;
        row->values.flat = measure_sum(row->values.flat, n->flat);
        row->values.flat_div = measure_sum(row->values.flat_div, n->flat_div);
        row->values.cum = measure_sum(row->values.cum, n->cum);
        row->values.cum_div = measure_sum(row->values.cum_div, n->cum_div);
        if (row->file.n == 0 && n->info.file)
            row->file = path_base(profile_str(p, n->info.file));
        if (row->line == 0)
            row->line = n->info.line;
        if (row->function.n == 0)
            row->function = profile_str(p, n->info.name);
    }
}

static void write_place(struct out *out, const struct row *row)
{
    out_text(out, ";");
    out_str(out, row->function);
    out_text(out, row->function.n ? " " : "");
    out_str(out, row->file);
    if (row->file.n && row->line)
        out_format(out, ":%" PRId64, row->line);
    out_text(out, "\n");
}

/* Writes an instruction. with_place: its place differs from that of the instruction before it. */
static void write_row(const struct report *report, const struct row *row, bool with_place)
{
    char flat[MEASURE_TEXT], cum[MEASURE_TEXT];
    struct out *out = report->out;
    bool is_short = row->code->text.n < CODE_COLUMNS;
    with_place = with_place && (row->function.n || row->file.n);
    if (with_place && !is_short) {
        out_right(out, PLACE_INDENT, STR(""));
        write_place(out, row);
    }
    out_format(out, "%10s %10s %10" PRIx64 ": ", machine_value_or_dot(report, flat, node_flat(&row->values)),
               machine_value_or_dot(report, cum, node_cum(&row->values)), row->code->address);
    out_str(out, row->code->text);
    if (with_place && is_short) {
        for (size_t n = out_columns(row->code->text); n < CODE_COLUMNS; n++)
            out_text(out, " ");
        write_place(out, row);
    } else {
        out_text(out, "\n");
    }
}

static void write_code(const struct disasm *d, const struct shown *s, const struct instructions *code)
{
    struct row last = {.function = STR(""), .file = STR("")};
    size_t at = 0;
    for (size_t i = 0; i < code->n; i++) {
        const struct instruction *c = &code->items[i];
        struct row row = {.code = c, .function = c->function, .file = c->file, .line = c->line};
        if (row.file.n)
            row.file = path_base(row.file);
        add_values(d, s, &at, i + 1 < code->n ? c[1].address : UINT64_MAX, &row);
        write_row(d->report, &row,
                  !str_equal(row.function, last.function) || !str_equal(row.file, last.file) ||
                      row.line != last.line);
        last = row;
    }
}

static void write_names(const struct disasm *d, const struct symbol *s)
{
    for (size_t i = 0; i < s->n_names; i++) {
        out_text(d->report->out,
                 i ? "    AKA ======================== " : "ROUTINE ======================== ");
        out_str(d->report->out, profile_str(d->report->profile, d->symbols.names[s->name_at + i]));
        out_text(d->report->out, "\n");
    }
}

static int write_function(struct disasm *d, const struct shown *s)
{
    char flat_text[MEASURE_TEXT], cum_text[MEASURE_TEXT], share[MEASURE_TEXT];
    struct disassembly code;
    uint64_t stop = s->symbol->end == UINT64_MAX ? UINT64_MAX : s->symbol->end + 1;
    if (binary_disassemble(s->symbol->binary, s->symbol->start, stop, &code, d->report->err) < 0)
        return -1;
    if (binary_add_lines(s->symbol->binary, &code, d->report->err) < 0) {
        disassembly_release(&code);
        return -1;
    }
    write_names(d, s->symbol);
    report_format_value(d->report, flat_text, s->flat);
    report_format_value(d->report, cum_text, s->cum);
    measure_percentage(share, s->cum, d->report->total);
    out_format(d->report->out, "%10s %10s (flat, cum) %s of Total\n", flat_text, cum_text, share);
    write_code(d, s, &code.code);
    disassembly_release(&code);
    return 0;
}

static int write_functions(struct disasm *d)
{
    char total[MEASURE_TEXT];
    if (d->n_shown == 0)
        return set_no_match(d);
    if (d->unread)
        report_message(d->report, "%s", d->unread->why.msg);
    sort_shown(d);
    report_format_value(d->report, total, d->report->total);
    out_format(d->report->out, "Total: %s\n", total);
    for (size_t i = 0; i < d->n_shown; i++)
        if (write_function(d, &d->shown[i]) < 0)
            return -1;
    return 0;
}

static int make_graph(struct disasm *d)
{
    const struct graph_options options = {.value_index = d->report->value_index,
                                          .mean = d->report->settings->mean,
                                          .objnames = true,
                                          .drop_negative = d->report->settings->drop_negative};
    return graph_init(&d->graph, d->report->profile, &options, d->report->err) < 0
               ? -1
               : graph_count(&d->graph, d->report->err);
}

int disasm_write(struct report *report)
{
    struct disasm d = {.report = report, .binaries = {.report = report}};
    int rc = trim_paths(report);
    if (!report->symbol)
        return err_set(report->err, ERR_USAGE, "no expression selects functions");
    d.has_address = machine_parse_address(report->settings->symbol, &d.address);
    if (rc == 0)
        rc = make_graph(&d);
    if (rc == 0)
        rc = find_symbols(&d);
    if (rc == 0)
        rc = regex_check(report->symbol, report->err);
    if (rc == 0)
        rc = find_shown(&d);
    if (rc == 0)
        rc = write_functions(&d);
    for (size_t i = 0; i < d.n_places; i++)
        free(d.places[i].items);
    free(d.places);
    free(d.shown);
    symbols_release(&d.symbols);
    binaries_release(&d.binaries);
    graph_release(&d.graph);
    return rc;
}
