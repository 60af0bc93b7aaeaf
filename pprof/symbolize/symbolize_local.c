/*
 * Names from local binaries: the search for binaries, and the output of addr2line and nm.
 *
 * One call asks for all addresses of a binary. Upstream asks for one address at a time.
 *
 * Source: google/pprof internal/symbolizer/symbolizer.go (doLocalSymbolize), internal/binutils,
 * internal/driver/fetch.go (locateBinaries).
 */
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "pprof/symbolize/symbols.h"
#include "base/banned.h"

/* The most output of a program on one binary. */
#define OUTPUT_MAX ((size_t)1 << 30)
/* The most files that are tried for one build ID. */
#define CANDIDATES_MAX 100

/* ---- search -------------------------------------------------------------------------------------------- */

struct search {
    struct profile *profile;
    struct profile_mapping *mapping;
    symbolize_say_fn *say;
    void *ctx;
    struct err *err;
};

static int set_file(struct search *s, const char *path)
{
    uint32_t string;
    return profile_intern(s->profile, path, strlen(path), &string, s->err) < 0
               ? -1
               : profile_clean_path(s->profile, string, &s->mapping->file, s->err);
}

/* Sets the mapping's file to that path if the file matches. Returns 1, 0 if it does not match, -1 with an
 * error. The other functions try_* return the same. */
static int try_path(struct search *s, const char *path)
{
    struct elf e;
    struct str id = profile_str(s->profile, s->mapping->build_id);
    if (binary_read(path, s->mapping, &e, NULL) < 0)
        return 0;
    bool same = id.n == 0 || str_is(id, e.build_id);
    if (!same && s->say) {
        char line[1200], shown[600], wanted[200];
        snprintf(line, sizeof line, "Ignoring local file %s: build-id mismatch (%s != %s)",
                 text_printable(shown, sizeof shown, path, strlen(path)),
                 text_printable(wanted, sizeof wanted, id.p, id.n), e.build_id);
        s->say(s->ctx, line);
    }
    elf_release(&e);
    return !same ? 0 : set_file(s, path) < 0 ? -1 : 1;
}

/* A part of a path without slashes at its ends. */
static struct str trim_slashes(struct str part)
{
    while (part.n && part.p[0] == '/')
        part = (struct str){part.p + 1, part.n - 1};
    while (part.n && part.p[part.n - 1] == '/')
        part.n--;
    return part;
}

/* Joins the parts to a path, without the empty ones, and tries that path. */
static int try_parts(struct search *s, const struct str *parts, size_t n, const char *suffix)
{
    char path[PATH_MAX];
    size_t used = 0;
    for (size_t i = 0; i < n; i++) {
        struct str part = trim_slashes(parts[i]);
        if (part.n + strlen(suffix) + 2 > sizeof path - used || memchr(part.p, '\0', part.n))
            return 0;
        if (used ? path[used - 1] != '/' && part.n : parts[i].n && parts[i].p[0] == '/')
            path[used++] = '/';
        memcpy(path + used, part.p, part.n);
        used += part.n;
    }
    memcpy(path + used, suffix, strlen(suffix) + 1);
    return try_path(s, path);
}

#define TRY(s, suffix, ...)                                                                                  \
    try_parts(s, (const struct str[]){__VA_ARGS__},                                                          \
              sizeof((const struct str[]){__VA_ARGS__}) / sizeof(struct str), suffix)

static int compare_names(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

/* Tries every file in DIR/ID/. */
static int try_directory(struct search *s, struct str dir, struct str id)
{
    struct dirent **names = NULL;
    char path[PATH_MAX];
    int found = 0;
    if ((size_t)snprintf(path, sizeof path, "%.*s%s%.*s", (int)dir.n, dir.p, dir.n ? "/" : "", (int)id.n,
                         id.p) >= sizeof path)
        return 0;
    int n = scandir(path, &names, NULL, compare_names);
    for (int i = 0; i < n; i++) {
        const char *name = names[i]->d_name;
        if (found == 0 && i < CANDIDATES_MAX && strcmp(name, ".") != 0 && strcmp(name, "..") != 0)
            found = TRY(s, "", dir, id, str_of(name));
        free(names[i]);
    }
    free(names);
    return found;
}

static int try_build_id(struct search *s, struct str dir, struct str file, struct str base, struct str id)
{
    int found = 0;
    if (base.n)
        found = TRY(s, "", dir, id, base);
    if (found == 0)
        found = try_directory(s, dir, id);
    if (found == 0)
        found = TRY(s, "", dir, file, id);
    if (found == 0 && id.n >= 2) {
        struct str head = {id.p, 2}, rest = {id.p + 2, id.n - 2};
        found = TRY(s, ".debug", dir, head, rest);
    }
    return found;
}

static int try_name(struct search *s, struct str dir, struct str file, struct str base)
{
    struct str above = {file.p, file.n - base.n};
    int found = TRY(s, "", dir, base);
    if (found == 0)
        found = TRY(s, "", dir, file);
    if (found == 0)
        found = TRY(s, ".debug", dir, file);
    if (found == 0)
        found = TRY(s, ".debug", dir, above, STR(".debug"), base);
    if (found == 0)
        found = TRY(s, ".debug", dir, STR("usr/lib/debug"), above, base);
    return found;
}

static bool is_directory(struct str path)
{
    char name[PATH_MAX];
    struct stat st;
    if (path.n >= sizeof name)
        return false;
    memcpy(name, path.p, path.n);
    memcpy(name + path.n, path.n ? "" : ".", path.n ? 1 : 2);
    return stat(name, &st) == 0 && S_ISDIR(st.st_mode);
}

static int locate_mapping(struct search *s, const char *search_path)
{
    struct str dir, file = profile_str(s->profile, s->mapping->file);
    struct str id = profile_str(s->profile, s->mapping->build_id);
    struct str base = file.n ? path_base(file) : file;
    /* An invalid build ID must not lead to another directory. */
    bool has_id = id.n && !memchr(id.p, '/', id.n) && !memchr(id.p, '\0', id.n) && id.p[0] != '.';
    int found = 0;
    for (const char *rest = colon_list_begin(search_path); found == 0 && colon_list_next(&rest, &dir);) {
        if (!is_directory(dir))
            continue;
        if (has_id)
            found = try_build_id(s, dir, file, base, id);
        if (found == 0 && file.n && base.n <= file.n)
            found = try_name(s, dir, file, base);
    }
    return found;
}

int symbolize_locate(struct profile *p, const char *search_path, symbolize_say_fn *say, void *ctx,
                     struct err *err)
{
    const char *home = getenv("HOME");
    char *usual_path = NULL;
    if (!search_path || !*search_path) {
        if (asprintf(&usual_path, "%s%spprof/binaries", home ? home : "", home && *home ? "/" : "") < 0)
            return err_nomem(err);
        search_path = usual_path;
    }
    int rc = 0;
    for (size_t i = 0; rc >= 0 && i < p->n_mappings && i < SYMBOLIZE_MAPPINGS; i++) {
        struct search s = {.profile = p, .mapping = &p->mappings[i], .say = say, .ctx = ctx, .err = err};
        rc = locate_mapping(&s, search_path);
    }
    free(usual_path);
    return rc < 0 ? -1 : 0;
}

/* ---- one binary ---------------------------------------------------------------------------------------- */

/* A lookup of one profile's names. */
struct lookup {
    struct profile *profile;
    const struct symbolize_mode *mode;
    const struct symbolize_tools *tools;
    const struct mapped_locations *locations;
    struct err *err;
    struct function_table functions; /* those that the lookup added */
    struct profile_line *lines;
    size_t cap_lines;
};

/* Finds or adds the function of a call among those that the lookup has added. */
static int intern_frame_function(struct lookup *l, const struct frame *f, uint32_t *ret)
{
    struct profile_function function = {0};
    if (profile_intern(l->profile, f->function.p, f->function.n, &function.name, l->err) < 0 ||
        profile_intern(l->profile, f->file.p, f->file.n, &function.filename, l->err) < 0)
        return -1;
    function.system_name = function.name;
    return function_table_find_or_add(&l->functions, &function, ret, l->err);
}

static int set_frames(struct lookup *l, size_t location, const struct frame *frames, size_t n)
{
    struct profile *p = l->profile;
    struct profile_mapping *m = &p->mappings[p->locations[location].mapping];
    if (n == 0)
        return 0;
    if (array_reserve((void **)&l->lines, &l->cap_lines, n, sizeof *l->lines, l->err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++) {
        l->lines[i] = (struct profile_line){.line = frames[i].line};
        if (intern_frame_function(l, &frames[i], &l->lines[i].function) < 0)
            return -1;
        m->has_functions = m->has_functions || frames[i].function.n;
        m->has_filenames = m->has_filenames || frames[i].file.n;
        m->has_line_numbers = m->has_line_numbers || frames[i].line;
    }
    m->has_inline_frames = true;
    p->locations[location].folded = false;
    return profile_set_lines(p, location, l->lines, n, l->err);
}

/* Takes nm's name for an address if it is longer: addr2line truncates some names. */
static void correct_name(struct frames *frames, const struct nm *nm, uint64_t address)
{
    const struct nm_symbol *s = frames->n ? nm_find(nm, address) : NULL;
    if (s && s->name.n > frames->items[frames->n - 1].function.n + 1)
        frames->items[frames->n - 1].function = s->name;
}

/* Sets the places of a mapping's locations. `answer` is addr2line's output on them, in their order. `nm`
 * corrects its names; NULL: nothing does. */
static int set_places(struct lookup *l, uint32_t mapping, uint64_t base, struct str answer,
                      const struct nm *nm)
{
    const struct profile *p = l->profile;
    struct frames frames = {0};
    int rc = 0;
    for (size_t k = l->locations->first[mapping]; rc == 0 && k < l->locations->first[mapping + 1]; k++) {
        size_t i = l->locations->items[k];
        uint64_t address, wanted = p->locations[i].address - base;
        int more = addr2line_next(&answer, &address, &frames, l->err);
        /* The output ended early, or does not match: keep the names so far. */
        if (more == 0 || (more > 0 && address != wanted))
            break;
        if (nm)
            correct_name(&frames, nm, p->locations[i].address);
        rc = more < 0 ? -1 : set_frames(l, i, frames.items, frames.n);
    }
    free(frames.items);
    return rc;
}

static int set_symbols(struct lookup *l, uint32_t mapping, const struct nm *nm)
{
    const struct profile *p = l->profile;
    for (size_t k = l->locations->first[mapping]; k < l->locations->first[mapping + 1]; k++) {
        size_t i = l->locations->items[k];
        const struct nm_symbol *s = nm_find(nm, p->locations[i].address);
        struct frame f = {.function = s ? s->name : STR(""), .file = STR("")};
        if (s && set_frames(l, i, &f, 1) < 0)
            return -1;
    }
    return 0;
}

/* A binary's printable name with its build ID. */
static const char *binary_name(const struct profile *p, const struct profile_mapping *m,
                               char dst[2 * SYMBOLIZE_SHOWN + 20])
{
    struct str base = path_base(profile_str(p, m->file)), id = profile_str(p, m->build_id);
    char name[SYMBOLIZE_SHOWN], text[SYMBOLIZE_SHOWN];
    snprintf(dst, 2 * SYMBOLIZE_SHOWN + 20, "%s%s%s%s", text_printable(name, sizeof name, base.p, base.n),
             id.n ? " (build ID " : "", text_printable(text, sizeof text, id.p, id.n), id.n ? ")" : "");
    return dst;
}

static void report_failure(const struct lookup *l, const struct profile_mapping *m, const char *why)
{
    char name[2 * SYMBOLIZE_SHOWN + 20];
    symbolize_say(l->tools, "Local symbolization failed for %s: %s", binary_name(l->profile, m, name), why);
}

/* Runs a program; for SYMBOLIZE_ADDR2LINE, as symbolize_ask_frames does. Fails only if the user cancelled or
 * memory is exhausted. After any other failure, returns 0 without output, and with the reason in *ret_why. */
static int run_program(struct lookup *l, struct symbolize_query *query, struct buf *ret, struct err *ret_why)
{
    const struct symbolize_tools *t = l->tools;
    if ((query->program == SYMBOLIZE_ADDR2LINE ? symbolize_ask_frames(t->run, t->ctx, query, ret, ret_why)
                                               : t->run(t->ctx, query, ret, ret_why)) == 0)
        return 0;
    if (ret_why->kind == ERR_CANCELLED || ret->out_of_memory) {
        *l->err = *ret_why;
        return -1;
    }
    buf_clear(ret);
    return 0;
}

/* The file of a mapping. */
struct binary {
    uint32_t mapping;
    const char *path;
    uint64_t base; /* addresses of the profile are that much larger than those of the file */
};

static int write_addresses(const struct lookup *l, uint32_t mapping, uint64_t base, struct buf *to)
{
    const struct profile *p = l->profile;
    for (size_t k = l->locations->first[mapping]; k < l->locations->first[mapping + 1]; k++)
        buf_addf(to, "0x%" PRIx64 "\n", p->locations[l->locations->items[k]].address - base);
    return buf_check(to, "the list of addresses", l->err);
}

/* Sets the places that addr2line finds. *ret_why is the reason if addr2line gives no output. */
static int ask_addr2line(struct lookup *l, const struct binary *b, const struct nm *nm, struct err *ret_why)
{
    struct buf input = BUF_INIT(OUTPUT_MAX), places = BUF_INIT(OUTPUT_MAX);
    int rc = write_addresses(l, b->mapping, b->base, &input);
    ret_why->kind = ERR_NONE;
    struct symbolize_query query = {
        .program = SYMBOLIZE_ADDR2LINE, .file = b->path, .input = {buf_str(&input), input.len}};
    if (rc == 0)
        rc = run_program(l, &query, &places, ret_why);
    if (rc == 0)
        rc = set_places(l, b->mapping, b->base, (struct str){buf_str(&places), places.len},
                        query.program == SYMBOLIZE_LLVM ? NULL : nm);
    buf_release(&input);
    buf_release(&places);
    return rc;
}

/* Without addr2line, or with -symbolize=fastlocal, only nm's table gives names of functions. */
static int name_locations(struct lookup *l, const struct binary *b)
{
    struct buf symbols = BUF_INIT(OUTPUT_MAX);
    struct nm nm = {0};
    struct err nm_why = ERR_INIT, places_why = {.kind = ERR_NOT_FOUND};
    int rc = run_program(l, &(struct symbolize_query){.program = SYMBOLIZE_NM, .file = b->path}, &symbols,
                         &nm_why);
    if (rc == 0)
        rc = nm_read((struct str){buf_str(&symbols), symbols.len}, b->base, &nm, l->err);
    if (rc == 0 && !l->mode->fast)
        rc = ask_addr2line(l, b, &nm, &places_why);
    if (rc == 0 && places_why.kind == ERR_NOT_FOUND)
        rc = set_symbols(l, b->mapping, &nm);
    /* If addr2line was run, nm only corrects names, so a failure of nm is not reported. */
    const struct err *why = places_why.kind == ERR_NOT_FOUND ? &nm_why : &places_why;
    if (rc == 0 && why->kind != ERR_NONE)
        report_failure(l, &l->profile->mappings[b->mapping], why->msg);
    nm_release(&nm);
    buf_release(&symbols);
    return rc;
}

/* ---- mappings ------------------------------------------------------------------------------------------ */

/* Mappings of the kernel, of drivers, and of URLs have no file. */
static bool has_no_file(struct str file, bool has_build_id)
{
    struct str base = path_base(file);
    return str_begins(base, "[") || str_begins(base, "linux-vdso") || str_begins(file, "/dev/dri/") ||
           str_begins(file, "/memfd:") || str_is(file, "//anon") ||
           (!has_build_id && (str_begins(file, "http://") || str_begins(file, "https://") ||
                              str_begins(file, "https+insecure://")));
}

/* The mapping's first location, which shows where the file was mapped; or NULL. */
static const struct profile_location *first_location(const struct lookup *l, uint32_t mapping)
{
    const struct mapped_locations *m = l->locations;
    return m->first[mapping] < m->first[mapping + 1] ? &l->profile->locations[m->items[m->first[mapping]]]
                                                     : NULL;
}

/* Names a mapping's locations. *ret_missing: the binary cannot be opened, or is no suitable ELF file. */
static int name_from_file(struct lookup *l, uint32_t mapping, const char *path, uint64_t address,
                          bool *ret_missing)
{
    const struct profile_mapping *m = &l->profile->mappings[mapping];
    struct str id = profile_str(l->profile, m->build_id);
    struct err why = ERR_INIT;
    struct elf e;
    uint64_t base;
    int rc = 0;
    if (binary_read(path, m, &e, &why) < 0) {
        report_failure(l, m, why.msg);
        *ret_missing = true;
        return 0;
    }
    if (id.n && e.build_id[0] && !str_is(id, e.build_id))
        report_failure(l, m, "build ID mismatch");
    else if (elf_base(&e, m, address, &base, NULL) == 0)
        rc = name_locations(l, &(struct binary){mapping, path, base});
    elf_release(&e);
    return rc;
}

static int name_mapping(struct lookup *l, uint32_t mapping, bool *ret_missing)
{
    const struct profile *p = l->profile;
    const struct profile_mapping *m = &p->mappings[mapping];
    const struct profile_location *first;
    struct str file = profile_str(p, m->file);
    if ((!l->mode->force && (m->has_functions || m->has_filenames || m->has_line_numbers)) ||
        !(first = first_location(l, mapping)))
        return 0;
    if (file.n == 0 && mapping == 0) {
        symbolize_say(l->tools, "Main binary filename not available.");
        return 0;
    }
    if (file.n == 0) {
        *ret_missing = true;
        return 0;
    }
    if (has_no_file(file, m->build_id) || memchr(file.p, '\0', file.n))
        return 0;
    char *path = strndup(file.p, file.n);
    if (!path)
        return err_nomem(l->err);
    int rc = name_from_file(l, mapping, path, first->address, ret_missing);
    free(path);
    return rc;
}

int symbolize_local(const struct symbolize_inputs *s, struct err *err)
{
    struct lookup l = {
        .profile = s->profile, .mode = s->mode, .tools = s->tools, .locations = s->locations, .err = err};
    bool missing = false;
    int rc = 0;
    function_table_init(&l.functions, s->profile);
    for (uint32_t i = 0; rc == 0 && i < s->locations->n_mappings; i++)
        rc = name_mapping(&l, i, &missing);
    if (rc == 0 && missing) {
        symbolize_say(s->tools, "Some binary filenames not available. Symbolization may be incomplete.");
        symbolize_say(s->tools, "Try setting PPROF_BINARY_PATH to the search path for local binaries.");
    }
    function_table_release(&l.functions);
    free(l.lines);
    return rc;
}
