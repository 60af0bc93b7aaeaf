/*
 * The functions of a binary that match an expression.
 *
 * Source: google/pprof internal/binutils/disasm.go (findSymbols, matchSymbol).
 */
#include <stdlib.h>
#include <string.h>

#include "pprof/machine/disasm.h"
#include "pprof/regex.h"
#include "base/banned.h"

#define NAME_MAX_BYTES ((size_t)1 << 20)

/* A line of nm's table. */
struct entry {
    uint64_t address;
    struct str name;
    bool matches;
    struct str mangled;     /* the part for c++filt, or empty */
    struct str full, brief; /* the output of c++filt and of c++filt -p */
};

struct table {
    struct report *report;
    struct binary *binary;
    uint64_t address; /* selects the function at this address too; 0: none */
    struct symbols *to;
    struct err *err;
    struct entry *entries;
    size_t n, cap;
    struct buf text, full, brief; /* outputs of nm, c++filt and c++filt -p */
};

void symbols_release(struct symbols *s)
{
    free(s->items);
    free(s->names);
    *s = (struct symbols){0};
}

/* ---- nm ------------------------------------------------------------------------------------------------ */

/* Reads the table. Ignores an address below the one before it: nm sorts its table. */
static int read_entries(struct table *t)
{
    struct str rest = {buf_str(&t->text), t->text.len};
    struct entry e = {.mangled = STR(""), .full = STR(""), .brief = STR("")};
    while (nm_next(&rest, &e.address, &e.name)) {
        if (t->n && e.address < t->entries[t->n - 1].address)
            continue;
        if (array_reserve((void **)&t->entries, &t->cap, t->n + 1, sizeof *t->entries, t->err) < 0)
            return -1;
        e.matches = regex_matches(t->report->symbol, e.name);
        t->entries[t->n] = e;
        if (!e.matches && !demangle_find_mangled(e.name, &t->entries[t->n].mangled))
            t->entries[t->n].mangled = STR("");
        t->n++;
    }
    return 0;
}

/* ---- c++filt ------------------------------------------------------------------------------------------- */

static struct str next_line(struct str *rest)
{
    const char *end = rest->n ? memchr(rest->p, '\n', rest->n) : NULL;
    if (!end)
        return STR("");
    struct str line = {rest->p, (size_t)(end - rest->p)};
    *rest = (struct str){end + 1, rest->n - line.n - 1};
    return line;
}

/* Runs c++filt on all mangled names. Without its output, only mangled names can match. */
static int demangle(const struct table *t, enum symbolize_program program, struct str names, struct buf *ret)
{
    struct err why = ERR_INIT;
    if (binaries_run(t->binary->all, &(struct symbolize_query){.program = program, .input = names}, ret,
                     &why) == 0)
        return 0;
    buf_clear(ret);
    if (!machine_must_stop(&why))
        return 0;
    *t->err = why;
    return -1;
}

static int demangle_entries(struct table *t)
{
    struct buf names = BUF_INIT(MACHINE_OUTPUT_MAX);
    for (size_t i = 0; i < t->n; i++)
        if (t->entries[i].mangled.n) {
            buf_add(&names, t->entries[i].mangled.p, t->entries[i].mangled.n);
            buf_addc(&names, '\n');
        }
    int rc = buf_check(&names, "the list of names", t->err);
    struct str input = {buf_str(&names), names.len};
    if (rc == 0 && input.n)
        rc = demangle(t, SYMBOLIZE_CXXFILT, input, &t->full);
    if (rc == 0 && input.n)
        rc = demangle(t, SYMBOLIZE_CXXFILT_NO_PARAMETERS, input, &t->brief);
    struct str full = {buf_str(&t->full), t->full.len}, brief = {buf_str(&t->brief), t->brief.len};
    for (size_t i = 0; rc == 0 && i < t->n; i++)
        if (t->entries[i].mangled.n) {
            t->entries[i].full = next_line(&full);
            t->entries[i].brief = next_line(&brief);
        }
    buf_release(&names);
    return rc;
}

/* ---- matching ------------------------------------------------------------------------------------------ */

static int add_name(const struct table *t, struct str name)
{
    struct symbols *to = t->to;
    if (array_reserve((void **)&to->names, &to->cap_names, to->n_names + 1, sizeof *to->names, t->err) < 0 ||
        profile_intern(t->report->profile, name.p, name.n, &to->names[to->n_names], t->err) < 0)
        return -1;
    to->n_names++;
    return 0;
}

/* Tries the demangled forms of a name. Adds the first one that matches. Returns 1, 0 if none matches, or
 * -1. */
static int try_demangled(const struct table *t, const struct entry *e)
{
    static const enum demangle forms[] = {DEMANGLE_FULL, DEMANGLE_TEMPLATES, DEMANGLE_SIMPLE};
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < sizeof forms / sizeof *forms; i++) {
        struct str text = forms[i] == DEMANGLE_FULL ? e->full : e->brief;
        struct buf name = BUF_INIT(NAME_MAX_BYTES);
        if (text.n == 0 || str_equal(text, e->mangled))
            continue;
        demangle_shorten(e->mangled, text, forms[i], &name);
        if (name.out_of_memory)
            rc = err_nomem(t->err);
        else if (!name.failed && regex_matches(t->report->symbol, (struct str){buf_str(&name), name.len}))
            rc = add_name(t, (struct str){buf_str(&name), name.len}) < 0 ? -1 : 1;
        buf_release(&name);
    }
    return rc;
}

/* Adds the name of the entries, which have one address, that the report shows. Returns 1, 0 if none matches,
 * or -1. */
static int match_name(const struct table *t, const struct entry *e, size_t n)
{
    int found = 0;
    for (size_t i = 0; found == 0 && i < n; i++)
        found = e[i].matches ? (add_name(t, e[i].name) < 0 ? -1 : 1) : try_demangled(t, &e[i]);
    return found;
}

static int add_symbol(const struct table *t, const struct entry *e, size_t n, uint64_t end)
{
    struct symbols *to = t->to;
    struct symbol s = {.binary = t->binary, .start = e->address, .end = end, .name_at = to->n_names};
    int found = 0;
    if (array_reserve((void **)&to->items, &to->cap, to->n + 1, sizeof *to->items, t->err) < 0)
        return -1;
    if (t->address != 0 && t->address >= s.start && t->address <= s.end) {
        for (size_t i = 0; found >= 0 && i < n; i++)
            found = add_name(t, e[i].name) < 0 ? -1 : 1;
    } else {
        found = match_name(t, e, n);
    }
    s.n_names = to->n_names - s.name_at;
    if (found > 0)
        to->items[to->n++] = s;
    return found < 0 ? -1 : 0;
}

int symbols_find(struct binary *b, uint64_t address, struct symbols *to, struct err *err)
{
    struct table t = {.report = b->all->report,
                      .binary = b,
                      .address = address,
                      .to = to,
                      .err = err,
                      .text = BUF_INIT(MACHINE_OUTPUT_MAX),
                      .full = BUF_INIT(MACHINE_OUTPUT_MAX),
                      .brief = BUF_INIT(MACHINE_OUTPUT_MAX)};
    const struct symbolize_query call = {.program = SYMBOLIZE_NM_ALL, .file = b->path};
    int rc = binaries_run(b->all, &call, &t.text, err);
    if (rc < 0 && !machine_must_stop(err)) {
        report_message(t.report, "%s", err->msg);
        buf_clear(&t.text);
        rc = 0;
    }
    if (rc == 0)
        rc = read_entries(&t);
    if (rc == 0)
        rc = demangle_entries(&t);
    for (size_t i = 0, next; rc == 0 && i < t.n; i = next) {
        for (next = i + 1; next < t.n && t.entries[next].address == t.entries[i].address;)
            next++;
        uint64_t end = next < t.n ? t.entries[next].address - 1 : UINT64_MAX;
        rc = add_symbol(&t, &t.entries[i], next - i, end);
    }
    free(t.entries);
    buf_release(&t.text);
    buf_release(&t.full);
    buf_release(&t.brief);
    return rc;
}
