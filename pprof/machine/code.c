/*
 * The instructions near addresses that match, and the source lines that they belong to.
 *
 * Matching addresses that are close to each other form a range, which also has the code around them. objdump
 * disassembles each range, and llvm-symbolizer or addr2line finds the calls at each instruction. An address
 * whose binary cannot be read or disassembled is shown without an instruction, at the place that the profile
 * names.
 *
 * Source: google/pprof internal/report/source.go (splitIntoRanges, expandAddresses, handleUnprocessed,
 * addStack).
 */
#include <stdlib.h>
#include <string.h>

#include "pprof/machine/listing.h"
#include "base/banned.h"

/* The bytes around an address that are shown, and the most ranges. */
#define EXPAND 500
#define RANGES_MAX 25
/* An instruction without a line takes that of an instruction at most so many bytes before it. */
#define NEIGHBOURHOOD 32
/* The most calls at an address. Real ones have less than a hundred inlined calls. */
#define CALLS_MAX 256
/* The most bytes of the note, and of each of its parts. */
#define NOTE_MAX 2000

struct range {
    struct binary *binary;
    uint64_t begin, end; /* addresses of the profile */
    int64_t score;       /* the sum of flat values */
    size_t first, n;     /* its matching addresses: indices of `matching` */
};

struct builder {
    struct code_map *map;
    struct report *report;
    size_t *matching; /* indices of the addresses that match */
    size_t n_matching;
    struct range *ranges;
    size_t n_ranges;
};

/* ---- notes --------------------------------------------------------------------------------------------- */

/* Adds a reason to the note, once. */
static void add_note(struct code_map *m, const char *reason)
{
    size_t n = strlen(reason);
    if (m->note.len + n + 2 > NOTE_MAX || (m->note.len && strstr(buf_str(&m->note), reason)))
        return;
    buf_adds(&m->note, m->note.len ? "; " : "");
    buf_add(&m->note, reason, n);
}

/* ---- calls and places ---------------------------------------------------------------------------------- */

static int add_call(struct code_map *m, const struct code_call *call)
{
    if (array_reserve((void **)&m->calls, &m->cap_calls, m->n_calls + 1, sizeof *m->calls, m->report->err) <
        0)
        return -1;
    m->calls[m->n_calls] = *call;
    /* Lines from a hostile profile or binary: a line number must not overflow when others are added to it. */
    if (call->line < 0 || call->line > INT32_MAX)
        m->calls[m->n_calls].line = 0;
    m->n_calls++;
    return 0;
}

static bool is_of_interest(const struct code_map *m, uint32_t function)
{
    return function < m->addresses->n_strings && m->addresses->interest[function];
}

/* Removes the beginning that Bazel's builds have, and cleans the path. */
static int clean_file(struct code_map *m, uint32_t file, uint32_t *ret)
{
    static const char *const beginnings[] = {"/proc/self/cwd/", "./"};
    struct str path = profile_str(m->report->profile, file);
    size_t n = path.n;
    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++)
        if (str_begins(path, beginnings[i]))
            path = (struct str){path.p + strlen(beginnings[i]), path.n - strlen(beginnings[i])};
    if (path.n == 0)
        path = STR(".");
    if (path.n != n && profile_intern(m->report->profile, path.p, path.n, &file, m->report->err) < 0)
        return -1;
    return profile_clean_path(m->report->profile, file, ret, m->report->err);
}

/* Adds the instruction to the lines of its functions of interest. Its calls are calls[at], ... */
static int add_places(struct code_map *m, uint32_t code, size_t at, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct code_call *call = &m->calls[at + i];
        struct code_place place = {.line = call->line, .code = code, .n_calls = (uint32_t)i};
        if (!is_of_interest(m, call->function))
            continue;
        if (clean_file(m, call->file, &place.file) < 0 ||
            array_reserve((void **)&m->places, &m->cap_places, m->n_places + 1, sizeof *m->places,
                          m->report->err) < 0)
            return -1;
        m->places[m->n_places++] = place;
    }
    return 0;
}

/* Sets an instruction's place to that of its innermost call. */
static void set_place(const struct code_map *m, struct code *code)
{
    if (code->n_calls == 0)
        return;
    code->file = m->calls[code->call_at].file;
    code->line = m->calls[code->call_at].line;
}

static int add_code(struct code_map *m, const struct code *code)
{
    if (m->n_code == UINT32_MAX || m->n_calls > UINT32_MAX - CALLS_MAX)
        return err_set(m->report->err, ERR_LIMIT, "too many instructions");
    if (array_reserve((void **)&m->code, &m->cap_code, m->n_code + 1, sizeof *m->code, m->report->err) < 0)
        return -1;
    m->code[m->n_code] = *code;
    struct code *c = &m->code[m->n_code++];
    addresses_sum(m->addresses, c->address, c->address + c->length, &c->flat, &c->cum);
    return 0;
}

/* ---- addresses without a binary ------------------------------------------------------------------------ */

/* Sets the calls of an instruction to those that the profile has at a location. */
static int add_profile_calls(struct code_map *m, struct code *code, uint32_t location)
{
    const struct profile *p = m->report->profile;
    const struct profile_location *l = &p->locations[location];
    code->call_at = (uint32_t)m->n_calls;
    code->n_calls = 0;
    for (uint32_t i = 0; i < l->n_lines && code->n_calls < CALLS_MAX; i++) {
        const struct profile_line *line = &p->lines[l->line_at + i];
        if (line->function == PROFILE_NONE)
            continue;
        const struct profile_function *f = &p->functions[line->function];
        if (add_call(m, &(struct code_call){f->name, f->filename, line->line}) < 0)
            return -1;
        code->n_calls++;
    }
    set_place(m, code);
    return 0;
}

static int add_bare_address(struct code_map *m, const struct address *a)
{
    struct code code = {.address = a->address, .file_address = a->address, .length = 1, .text = STR("")};
    if (add_profile_calls(m, &code, a->location) < 0 || add_code(m, &code) < 0)
        return -1;
    return add_places(m, (uint32_t)m->n_code - 1, code.call_at, code.n_calls);
}

/* Adds the matching addresses of a range without instructions. */
static int add_bare_range(struct builder *b, const struct range *r)
{
    for (size_t i = r->first; i < r->first + r->n; i++)
        if (add_bare_address(b->map, &b->map->addresses->items[b->matching[i]]) < 0)
            return -1;
    return 0;
}

/* ---- ranges -------------------------------------------------------------------------------------------- */

/* Finds the binary of a matching address. *ret is NULL if there is none that can be read. */
static int find_binary(struct builder *b, const struct address *a, struct binary **ret)
{
    uint32_t mapping = b->report->profile->locations[a->location].mapping;
    *ret = NULL;
    if (mapping == PROFILE_NONE) {
        add_note(b->map, "the profile does not name the binary");
        return 0;
    }
    if (binary_open(&b->map->binaries, mapping, ret, b->report->err) < 0)
        return -1;
    if (!(*ret)->opened) {
        add_note(b->map, (*ret)->why.msg);
        *ret = NULL;
    }
    return 0;
}

/* Adds the code around a range, inside its mapping. A mapping without a limit has all addresses. Upstream
 * shows nothing of a range that this would take over the edge of the mapping. */
static void expand_range(struct range *r, const struct profile_mapping *m)
{
    uint64_t before = r->begin - m->start,
             behind = m->limit > r->end ? m->limit - r->end : UINT64_MAX - r->end;
    r->begin -= before < EXPAND ? before : EXPAND;
    r->end += behind < EXPAND ? behind : EXPAND;
}

/* Starts a range with the next matching address, and adds the following ones that are close. */
static void make_range(struct builder *b, size_t *at, struct binary *binary)
{
    const struct addresses *all = b->map->addresses;
    const struct profile *p = b->report->profile;
    const struct address *first = &all->items[b->matching[*at]];
    const struct profile_mapping *m = &p->mappings[p->locations[first->location].mapping];
    struct range r = {
        .binary = binary, .begin = first->address, .end = first->address, .score = first->flat, .first = *at};
    for (++*at; *at < b->n_matching; ++*at) {
        const struct address *a = &all->items[b->matching[*at]];
        if (a->address > r.end + 2 * EXPAND || a->address >= m->limit)
            break;
        r.end = a->address;
        r.score = measure_sum(r.score, a->flat);
    }
    r.n = *at - r.first;
    expand_range(&r, m);
    b->ranges[b->n_ranges++] = r;
}

/* Adds the addresses without a binary, and moves the others to the front of `matching`. */
static int split_addresses(struct builder *b, struct binary **binaries)
{
    const struct addresses *all = b->map->addresses;
    size_t n = 0;
    for (size_t i = 0; i < all->n; i++) {
        struct binary *binary;
        if (all->items[i].location == PROFILE_NONE)
            continue;
        if (find_binary(b, &all->items[i], &binary) < 0)
            return -1;
        if (!binary && add_bare_address(b->map, &all->items[i]) < 0)
            return -1;
        if (binary) {
            binaries[n] = binary;
            b->matching[n++] = i;
        }
    }
    b->n_matching = n;
    return 0;
}

static int compare_ranges(const void *left, const void *right)
{
    const struct range *a = left, *b = right;
    int order = (a->score < b->score) - (a->score > b->score);
    return order ? order : (a->begin > b->begin) - (a->begin < b->begin);
}

static int find_ranges(struct builder *b)
{
    const struct addresses *all = b->map->addresses;
    struct binary **binaries = calloc(all->n + 1, sizeof *binaries);
    b->matching = calloc(all->n + 1, sizeof *b->matching);
    b->ranges = calloc(all->n + 1, sizeof *b->ranges);
    int rc = binaries && b->matching && b->ranges ? 0 : err_nomem(b->report->err);
    if (rc == 0)
        rc = split_addresses(b, binaries);
    for (size_t at = 0; rc == 0 && at < b->n_matching;)
        make_range(b, &at, binaries[at]);
    free(binaries);
    if (rc < 0)
        return -1;
    qsort(b->ranges, b->n_ranges, sizeof *b->ranges, compare_ranges);
    if (b->n_ranges > RANGES_MAX) {
        add_note(b->map, "only the parts of the program with the largest values are shown");
        b->n_ranges = RANGES_MAX;
    }
    return 0;
}

/* ---- instructions -------------------------------------------------------------------------------------- */

/* The calls of the last instruction that has a line. */
struct last_calls {
    size_t at, n;
    uint64_t address;
};

static int intern(const struct code_map *m, struct str s, uint32_t *ret)
{
    return profile_intern(m->report->profile, s.p, s.n, ret, m->report->err);
}

/* Adds the calls at an instruction: those of addr2line, or if it has no answer, objdump's place. */
static int add_calls(struct code_map *m, struct code *code, const struct instruction *from,
                     const struct call_stacks *stacks, size_t i)
{
    const struct frame place = {.function = from->function, .file = from->file, .line = from->line};
    const struct frame *frames = &place;
    size_t n = 1;
    if (i < stacks->n_addresses) {
        n = stacks->first[i + 1] - stacks->first[i];
        frames = n ? stacks->items + stacks->first[i] : NULL;
    }
    code->call_at = (uint32_t)m->n_calls;
    code->n_calls = (uint32_t)(n < CALLS_MAX ? n : CALLS_MAX);
    for (size_t k = 0; k < code->n_calls; k++) {
        struct code_call call = {.line = frames[k].line};
        if (intern(m, frames[k].function, &call.function) < 0 || intern(m, frames[k].file, &call.file) < 0 ||
            add_call(m, &call) < 0)
            return -1;
    }
    set_place(m, code);
    return 0;
}

/* Adds an instruction of a binary whose lines are not found: addr2line of binutils 2.40 reads none of
 * Go 1.25. Only an instruction with samples has a line then, that of the profile. */
static int add_instruction_by_profile(struct code_map *m, struct code *code)
{
    const struct address *a = addresses_find(m->addresses, code->address, code->address + code->length);
    if (a && add_profile_calls(m, code, a->location) < 0)
        return -1;
    return add_code(m, code) < 0 ? -1 : add_places(m, (uint32_t)m->n_code - 1, code->call_at, code->n_calls);
}

static int add_instruction(struct code_map *m, struct code *code, struct last_calls *last)
{
    if (add_code(m, code) < 0)
        return -1;
    size_t at = code->call_at, n = code->n_calls;
    if (n && code->line != 0) {
        *last = (struct last_calls){at, n, code->address};
    } else if (last->n && code->address - last->address <= NEIGHBOURHOOD) {
        at = last->at;
        n = last->n;
    }
    /* The inlined calls of a place are those of the instruction. */
    m->code[m->n_code - 1].call_at = (uint32_t)at;
    m->code[m->n_code - 1].n_calls = (uint32_t)n;
    return add_places(m, (uint32_t)m->n_code - 1, at, n);
}

/* The addresses of the file, each above the one before it: objdump may print an address twice. Returns their
 * number. */
static size_t select_instructions(const struct instructions *all, uint64_t base, uint64_t *addresses,
                                  size_t *indices)
{
    uint64_t highest = 0;
    size_t n = 0;
    for (size_t i = 0; i < all->n; i++) {
        if (all->items[i].address + base <= highest)
            continue;
        highest = all->items[i].address + base;
        addresses[n] = all->items[i].address;
        indices[n++] = i;
    }
    return n;
}

static bool have_lines(const struct call_stacks *s)
{
    for (size_t i = 0; i < s->first[s->n_addresses]; i++)
        if (s->items[i].line != 0)
            return true;
    return false;
}

/* Whether the profile has a line for a matching address of the range. */
static bool range_has_lines(const struct builder *b, const struct range *r)
{
    const struct profile *p = b->report->profile;
    for (size_t i = r->first; i < r->first + r->n; i++) {
        const struct profile_location *l = &p->locations[b->map->addresses->items[b->matching[i]].location];
        for (uint32_t k = 0; k < l->n_lines; k++)
            if (p->lines[l->line_at + k].line != 0)
                return true;
    }
    return false;
}

static uint64_t length_of(const struct instructions *all, size_t i)
{
    uint64_t address = all->items[i].address;
    return i + 1 < all->n && all->items[i + 1].address > address ? all->items[i + 1].address - address : 1;
}

static int add_instructions(struct builder *b, const struct range *r, const struct instructions *all)
{
    struct code_map *m = b->map;
    uint64_t *addresses = calloc(all->n + 1, sizeof *addresses);
    size_t *indices = calloc(all->n + 1, sizeof *indices), n = 0;
    struct call_stacks stacks = {0};
    struct last_calls last = {0};
    bool has_lines = true;
    int rc = addresses && indices ? 0 : err_nomem(b->report->err);
    if (rc == 0) {
        n = select_instructions(all, r->binary->base, addresses, indices);
        rc = binary_frames(r->binary, addresses, n, &stacks, b->report->err);
        has_lines = rc == 0 && (have_lines(&stacks) || !range_has_lines(b, r));
    }
    if (rc == 0 && !has_lines)
        add_note(m, "no lines are found in a binary, so only instructions with samples are shown; "
                    "llvm-symbolizer, if installed, finds more than addr2line");
    for (size_t i = 0; rc == 0 && i < n; i++) {
        const struct instruction *from = &all->items[indices[i]];
        struct code code = {.address = from->address + r->binary->base,
                            .file_address = from->address,
                            .length = length_of(all, indices[i]),
                            .text = from->text};
        rc = add_calls(m, &code, from, &stacks, i);
        if (rc == 0)
            rc = has_lines ? add_instruction(m, &code, &last) : add_instruction_by_profile(m, &code);
    }
    free(addresses);
    free(indices);
    call_stacks_release(&stacks);
    return rc;
}

static int add_range(struct builder *b, const struct range *r)
{
    struct code_map *m = b->map;
    struct disassembly *text = &m->texts[m->n_texts];
    struct err why = ERR_INIT;
    uint64_t begin = 0;
    if (!binary_file_address(r->binary, r->begin, &begin)) {
        add_note(m, "an address is outside its mapping, or its binary does not have it");
        return add_bare_range(b, r);
    }
    if (binary_disassemble(r->binary, begin, begin + (r->end - r->begin), text, &why) == 0) {
        m->n_texts++;
        return add_instructions(b, r, &text->code);
    }
    if (machine_must_stop(&why)) {
        *b->report->err = why;
        return -1;
    }
    add_note(m, why.msg);
    return add_bare_range(b, r);
}

int code_map_init(struct code_map *m, struct report *report, const struct addresses *addresses)
{
    *m = (struct code_map){.report = report,
                           .addresses = addresses,
                           .binaries = {.report = report},
                           .note = BUF_INIT(NOTE_MAX),
                           .texts = calloc(RANGES_MAX, sizeof *m->texts)};
    struct builder b = {.map = m, .report = report};
    int rc = m->texts ? find_ranges(&b) : err_nomem(report->err);
    for (size_t i = 0; rc == 0 && i < b.n_ranges; i++)
        rc = add_range(&b, &b.ranges[i]);
    if (rc == 0)
        rc = buf_check(&m->note, "the note", report->err);
    free(b.matching);
    free(b.ranges);
    return rc;
}

void code_map_release(struct code_map *m)
{
    for (size_t i = 0; i < m->n_texts; i++)
        disassembly_release(&m->texts[i]);
    free(m->texts);
    free(m->code);
    free(m->calls);
    free(m->places);
    buf_release(&m->note);
    binaries_release(&m->binaries);
    *m = (struct code_map){.note = BUF_INIT(0)};
}
