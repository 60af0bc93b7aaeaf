/*
 * Opens binaries, and runs objdump, nm and addr2line on them.
 *
 * Source: google/pprof internal/binutils (binutils.go, addr2liner.go, addr2liner_nm.go).
 */
#include "pprof/machine/binary.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

/* ---- opening ------------------------------------------------------------------------------------------- */

static void binary_free(struct binary *b)
{
    if (!b)
        return;
    elf_release(&b->elf);
    nm_release(&b->nm);
    buf_release(&b->nm_text);
    free(b->path);
    free(b);
}

void binaries_release(struct binaries *b)
{
    for (size_t i = 0; i < b->n; i++)
        binary_free(b->items[i]);
    free(b->items);
    b->items = NULL;
    b->n = 0;
}

/* Reads the file's header, and sets b->opened or b->why. Another build than the profile's has other
 * instructions at its addresses, so it is refused; upstream would show them. */
static void read_header(struct binary *b, const struct profile *p)
{
    struct str id = profile_str(p, b->mapping.build_id);
    char wanted[200], shown[300];
    if (binary_read(b->path, &b->mapping, &b->elf, &b->why) < 0)
        return;
    b->opened = id.n == 0 || !b->elf.build_id[0] || str_is(id, b->elf.build_id);
    if (!b->opened)
        err_set(&b->why, ERR_FAILED, "%s: build ID mismatch: the profile is of %s, the file is %s",
                text_printable(shown, sizeof shown, b->path, strlen(b->path)),
                text_printable(wanted, sizeof wanted, id.p, id.n), b->elf.build_id);
}

static struct binary *binary_new(const struct binaries *all, uint32_t mapping)
{
    const struct profile *p = all->report->profile;
    struct binary *b = calloc(1, sizeof *b);
    if (!b)
        return NULL;
    b->mapping = p->mappings[mapping];
    b->all = all;
    buf_init(&b->nm_text, MACHINE_OUTPUT_MAX);
    struct str file = profile_str(p, b->mapping.file);
    b->path = strndup(file.p, file.n);
    if (!b->path) {
        binary_free(b);
        return NULL;
    }
    if (file.n == 0)
        err_set(&b->why, ERR_NOT_FOUND, "the profile does not name the binary");
    else if (strlen(b->path) != file.n)
        err_set(&b->why, ERR_FAILED, "the name of the binary has a NUL byte");
    else if (mapping >= SYMBOLIZE_MAPPINGS)
        err_set(&b->why, ERR_LIMIT, "only the binaries of the first %d mappings are read",
                SYMBOLIZE_MAPPINGS);
    else
        read_header(b, p);
    return b;
}

int binary_open(struct binaries *all, uint32_t mapping, struct binary **ret, struct err *err)
{
    size_t n = all->report->profile->n_mappings;
    if (!all->items) {
        all->items = calloc(n + 1, sizeof(struct binary *));
        if (!all->items)
            return err_nomem(err);
        all->n = n;
    }
    if (!all->items[mapping])
        all->items[mapping] = binary_new(all, mapping);
    if (!all->items[mapping] || all->items[mapping]->why.out_of_memory)
        return err_nomem(err);
    *ret = all->items[mapping];
    return 0;
}

bool binary_file_address(struct binary *b, uint64_t address, uint64_t *ret)
{
    const struct profile_mapping *m = &b->mapping;
    if (m->start < m->limit && (address < m->start || address >= m->limit))
        return false;
    if (b->base_state == BASE_UNKNOWN)
        b->base_state = elf_base(&b->elf, m, address, &b->base, NULL) == 0 ? BASE_KNOWN : BASE_WRONG;
    *ret = address - b->base;
    return b->base_state == BASE_KNOWN;
}

/* ---- programs ------------------------------------------------------------------------------------------ */

int binaries_run(const struct binaries *all, const struct symbolize_query *query, struct buf *ret,
                 struct err *err)
{
    const struct report_machine *machine = all->report->callbacks->machine;
    return machine->run(machine->ctx, query, ret, err);
}

bool machine_must_stop(const struct err *err)
{
    return err->kind == ERR_CANCELLED || err->out_of_memory;
}

void disassembly_release(struct disassembly *d)
{
    buf_release(&d->text);
    free(d->code.items);
    call_stacks_release(&d->stacks);
    *d = (struct disassembly){.text = BUF_INIT(0)};
}

int binary_disassemble(const struct binary *b, uint64_t start, uint64_t stop, struct disassembly *ret,
                       struct err *err)
{
    struct disassembly d = {.text = BUF_INIT(MACHINE_OUTPUT_MAX)};
    const struct symbolize_query query = {.program = SYMBOLIZE_OBJDUMP,
                                          .file = b->path,
                                          .start = start,
                                          .stop = stop,
                                          .intel_syntax = b->all->report->settings->intel_syntax};
    int rc = binaries_run(b->all, &query, &d.text, err);
    if (rc < 0 && err->kind == ERR_NOT_FOUND)
        err_set(err, ERR_NOT_FOUND, "cannot disasm: no objdump tool available");
    if (rc == 0)
        rc = objdump_read((struct str){buf_str(&d.text), d.text.len}, &d.code, err);
    if (rc < 0) {
        disassembly_release(&d);
        return -1;
    }
    *ret = d;
    return 0;
}

/* ---- calls --------------------------------------------------------------------------------------------- */

void call_stacks_release(struct call_stacks *s)
{
    free(s->items);
    free(s->first);
    buf_release(&s->text);
    *s = (struct call_stacks){.text = BUF_INIT(0)};
}

/* Runs nm, once for each binary. A failure leaves the table empty. */
static int ask_nm(struct binary *b, struct err *err)
{
    struct err why = ERR_INIT;
    const struct symbolize_query query = {.program = SYMBOLIZE_NM, .file = b->path};
    if (b->asked_nm)
        return 0;
    b->asked_nm = true;
    if (binaries_run(b->all, &query, &b->nm_text, &why) == 0)
        return nm_read((struct str){buf_str(&b->nm_text), b->nm_text.len}, 0, &b->nm, err);
    buf_clear(&b->nm_text);
    if (!machine_must_stop(&why))
        return 0;
    *err = why;
    return -1;
}

/* Appends the calls of an address. addr2line of the GNU binutils writes `??:?` for an unknown place. */
static int add_frames(struct call_stacks *s, size_t *n, size_t *cap, const struct frames *from,
                      struct err *err)
{
    for (size_t i = 0; i < from->n; i++) {
        struct frame f = from->items[i];
        if (str_is(f.file, "??:?"))
            f.file = STR("");
        if (f.function.n == 0 && f.file.n == 0 && f.line == 0)
            continue;
        if (array_reserve((void **)&s->items, cap, *n + 1, sizeof *s->items, err) < 0)
            return -1;
        s->items[(*n)++] = f;
    }
    return 0;
}

/* Takes nm's name of the outermost function if it is longer: addr2line truncates some names. */
static void correct_name(const struct binary *b, uint64_t address, struct frames *frames)
{
    const struct nm_symbol *symbol = frames->n ? nm_find(&b->nm, address) : NULL;
    if (symbol && symbol->name.n > frames->items[frames->n - 1].function.n + 1)
        frames->items[frames->n - 1].function = symbol->name;
}

/* Reads addr2line's output on the addresses, in their order. If it ends early, s->n_addresses is smaller than
 * n. */
static int read_stacks(const struct binary *b, const uint64_t *addresses, size_t n, struct call_stacks *s,
                       struct err *err)
{
    struct str rest = {buf_str(&s->text), s->text.len};
    struct frames frames = {0};
    size_t used = 0, cap = 0;
    int rc = 0;
    while (rc == 0 && s->n_addresses < n) {
        uint64_t address;
        int more = addr2line_next(&rest, &address, &frames, err);
        if (more < 0)
            rc = -1;
        if (more <= 0 || address != addresses[s->n_addresses])
            break;
        if (!s->by_llvm)
            correct_name(b, address, &frames);
        rc = add_frames(s, &used, &cap, &frames, err);
        s->first[++s->n_addresses] = used;
    }
    free(frames.items);
    return rc;
}

static int stacks_of_symbols(const struct binary *b, const uint64_t *addresses, size_t n,
                             struct call_stacks *s, struct err *err)
{
    size_t used = 0, cap = 0;
    for (size_t i = 0; i < n && b->nm.n; i++) {
        const struct nm_symbol *symbol = nm_find(&b->nm, addresses[i]);
        struct frame f = {.function = symbol ? symbol->name : STR(""), .file = STR("")};
        if (add_frames(s, &used, &cap, &(struct frames){.items = &f, .n = 1}, err) < 0)
            return -1;
        s->first[++s->n_addresses] = used;
    }
    return 0;
}

static int ask_addr2line(const struct binary *b, const uint64_t *addresses, size_t n, struct call_stacks *s,
                         struct err *err)
{
    struct buf input = BUF_INIT(MACHINE_OUTPUT_MAX);
    struct err why = ERR_INIT;
    for (size_t i = 0; i < n; i++)
        buf_addf(&input, "0x%" PRIx64 "\n", addresses[i]);
    int rc = buf_check(&input, "the list of addresses", err);
    const struct report_machine *machine = b->all->report->callbacks->machine;
    struct symbolize_query query = {.file = b->path, .input = {buf_str(&input), input.len}};
    if (rc == 0 && symbolize_ask_frames(machine->run, machine->ctx, &query, &s->text, &why) == 0) {
        s->by_llvm = query.program == SYMBOLIZE_LLVM;
        rc = read_stacks(b, addresses, n, s, err);
    } else if (rc == 0 && machine_must_stop(&why)) {
        *err = why;
        rc = -1;
    } else if (rc == 0 && why.kind == ERR_NOT_FOUND)
        rc = stacks_of_symbols(b, addresses, n, s, err);
    buf_release(&input);
    return rc;
}

int binary_frames(struct binary *b, const uint64_t *addresses, size_t n, struct call_stacks *ret,
                  struct err *err)
{
    struct call_stacks s = {.first = calloc(n + 1, sizeof *s.first), .text = BUF_INIT(MACHINE_OUTPUT_MAX)};
    int rc = s.first ? ask_nm(b, err) : err_nomem(err);
    if (rc == 0 && n)
        rc = ask_addr2line(b, addresses, n, &s, err);
    if (rc < 0) {
        call_stacks_release(&s);
        return -1;
    }
    *ret = s;
    return 0;
}

/* ---- lines of instructions ----------------------------------------------------------------------------- */

/* binary_add_lines no longer asks after so many functions in a row for which it found no line. */
#define LINELESS_MAX 3

static bool have_lines(const struct instructions *code)
{
    for (size_t i = 0; i < code->n; i++)
        if (code->items[i].line != 0)
            return true;
    return false;
}

/* Sets an instruction's place to that of its innermost call. objdump demangles names, addr2line does not.
 * Returns whether the call has a line. */
static bool set_place(struct instruction *code, const struct frame *innermost)
{
    struct str mangled;
    if (innermost->line <= 0)
        return false;
    code->file = innermost->file;
    code->line = innermost->line;
    if (innermost->function.n && !(code->function.n && demangle_find_mangled(innermost->function, &mangled)))
        code->function = innermost->function;
    return true;
}

int binary_add_lines(struct binary *b, struct disassembly *d, struct err *err)
{
    struct instructions *code = &d->code;
    bool found = false;
    if (code->n == 0 || have_lines(code) || b->n_lineless >= LINELESS_MAX)
        return 0;
    uint64_t *addresses = calloc(code->n, sizeof *addresses);
    for (size_t i = 0; addresses && i < code->n; i++)
        addresses[i] = code->items[i].address;
    int rc = addresses ? binary_frames(b, addresses, code->n, &d->stacks, err) : err_nomem(err);
    for (size_t i = 0; rc == 0 && i < d->stacks.n_addresses; i++)
        if (d->stacks.first[i + 1] > d->stacks.first[i] &&
            set_place(&code->items[i], &d->stacks.items[d->stacks.first[i]]))
            found = true;
    b->n_lineless = found ? 0 : b->n_lineless + 1;
    free(addresses);
    return rc;
}
