/* Symbolizing: answers of programs and servers, ELF files, and the resulting profile. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "pprof/pprof.h"
#include "pprof/symbolize/symbolize.h"
#include "pprof/symbolize/symbols.h"
#include "tests/unit/damage.h"
#include "tests/unit/unit.h"
#include "base/banned.h"

static void assert_str(struct str s, const char *text)
{
    char *copy = strndup(s.p, s.n);
    assert_string_equal(copy, text);
    free(copy);
}

/* ---- addr2line --------------------------------------------------------------------------------------- */

static const char addr2line_answer[] = "0x0000000000001139\n"
                                       "inner\n"
                                       "/src/a b.c:12 (discriminator 3)\n"
                                       "outer\n"
                                       "/src/a.c:40\n"
                                       "0x0000000000002000\n"
                                       "??\n"
                                       "??:0\n"
                                       "0x0000000000003000\n"
                                       "odd\n"
                                       "??:?\n"
                                       "_start\n"
                                       "/src:x:-5\n";

static void answers_of_addr2line_are_parsed(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct str rest = STR(addr2line_answer);
    struct frames frames = {0};
    uint64_t address = 0;
    assert_int_equal(addr2line_next(&rest, &address, &frames, &err), 1);
    assert_true(address == 0x1139 && frames.n == 2);
    assert_str(frames.items[0].function, "inner");
    assert_str(frames.items[0].file, "/src/a b.c");
    assert_true(frames.items[0].line == 12 && frames.items[1].line == 40);
    assert_int_equal(addr2line_next(&rest, &address, &frames, &err), 1);
    assert_true(address == 0x2000 && frames.n == 0);
    assert_int_equal(addr2line_next(&rest, &address, &frames, &err), 1);
    assert_true(address == 0x3000 && frames.n == 2 && frames.items[0].line == 0);
    /* Upstream takes "??:?" for the name of a file. */
    assert_str(frames.items[0].file, "??:?");
    assert_str(frames.items[1].file, "/src:x");
    assert_true(frames.items[1].line == -5);
    assert_int_equal(addr2line_next(&rest, &address, &frames, &err), 0);
    free(frames.items);
}

static void invalid_answers_have_no_source_lines(void **state)
{
    (void)state;
    static const char *const answers[] = {
        "", "0x1", "addr2line: wrong\n", "0x\nf\na:1\n", "0x12345678901234567\nf\na:1\n", "f\na:1\n0x1\n"};
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        struct str rest = str_of(answers[i]);
        struct frames frames = {0};
        uint64_t address;
        assert_int_equal(addr2line_next(&rest, &address, &frames, NULL), 0);
        free(frames.items);
    }
}

static void parse_damaged_addr2line(void *ctx, const struct damaged *s)
{
    (void)ctx;
    struct str rest = {s->p, s->n};
    struct frames frames = {0};
    uint64_t address;
    while (addr2line_next(&rest, &address, &frames, NULL) > 0)
        for (size_t i = 0; i < frames.n; i++)
            assert_true(frames.items[i].function.n + frames.items[i].file.n <= s->n);
    free(frames.items);
}

/* ---- nm ---------------------------------------------------------------------------------------------- */

static const char nm_answer[] = "_init t 1000 17\n"
                                "undefined U         \n"
                                "two words T 1 2 3\n"
                                "main T 1100 20\n"
                                "unsized T 1140 0\n"
                                "table D 2000 10\n"
                                "last T 3000 8\n";

static void symbols_of_nm_are_found(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct nm nm;
    static const struct {
        uint64_t address;
        const char *name;
    } cases[] = {{0x50fff, NULL},      {0x51000, "_init"}, {0x510ff, "_init"}, {0x51100, "main"},
                 {0x51150, "unsized"}, {0x52000, "table"}, {0x5200f, "table"}, {0x52010, NULL},
                 {0x53007, "last"},    {0x53008, NULL}};
    assert_ok(nm_read(STR(nm_answer), 0x50000, &nm, &err), &err);
    assert_int_equal(nm.n, 5);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct nm_symbol *s = nm_find(&nm, cases[i].address);
        assert_true(!s == !cases[i].name);
        if (s)
            assert_str(s->name, cases[i].name);
    }
    nm_release(&nm);
}

static void parse_damaged_nm(void *ctx, const struct damaged *s)
{
    (void)ctx;
    struct nm nm;
    if (nm_read((struct str){s->p, s->n}, 0, &nm, NULL) < 0)
        return;
    for (uint64_t a = 0; a < 0x4000; a += 0x80)
        (void)nm_find(&nm, a);
    nm_release(&nm);
}

/* ---- symbol servers ---------------------------------------------------------------------------------- */

static const char symbolz_answer[] = "num_symbols: 1\n"
                                     "0x1000 main.main\n"
                                     "  x0x2000\t two  words \r\n"
                                     "0x12 0x13 nested\n"
                                     "0x3000\n"
                                     "0xzz none\n"
                                     "0x4000 without an end";

static void answers_of_symbol_servers_are_parsed(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct str rest = STR(symbolz_answer);
    struct symbolz s;
    static const struct {
        uint64_t address;
        const char *name;
    } cases[] = {{0x1000, "main.main"}, {0x2000, "two  words "}, {0x12, "0x13 nested"}, {0x3000, ""}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(symbolz_next(&rest, &s, &err), 1);
        assert_true(s.address == cases[i].address);
        assert_str(s.name, cases[i].name);
    }
    assert_int_equal(symbolz_next(&rest, &s, &err), 0);
    rest = STR("0x10000000000000000 x\n");
    assert_int_equal(symbolz_next(&rest, &s, &err), -1);
    assert_string_equal(err.msg, "unexpected parse failure 0x10000000000000000: strconv.ParseUint: parsing "
                                 "\"0x10000000000000000\": value out of range");
}

static void parse_damaged_symbolz(void *ctx, const struct damaged *s)
{
    (void)ctx;
    struct str rest = {s->p, s->n};
    struct symbolz z;
    while (symbolz_next(&rest, &z, NULL) > 0)
        assert_true(z.name.n <= s->n);
}

static void damaged_answers_are_safe(void **state)
{
    (void)state;
    damage_everywhere(addr2line_answer, sizeof addr2line_answer - 1, parse_damaged_addr2line, NULL);
    damage_everywhere(nm_answer, sizeof nm_answer - 1, parse_damaged_nm, NULL);
    damage_everywhere(symbolz_answer, sizeof symbolz_answer - 1, parse_damaged_symbolz, NULL);
}

/* ---- names ------------------------------------------------------------------------------------------- */

/* `text` is what c++filt prints for a mangled name; `shown` is the form that upstream shows. */
static const struct {
    const char *mangled, *text;
    enum demangle mode;
    const char *shown;
} demangled[] = {
    {"_ZN1a1bIiE1cEv", "a::b<int>::c", DEMANGLE_SIMPLE, "a::b::c"},
    {"_ZN1a1bIiE1cEv", "a::b<c<int>>::c", DEMANGLE_TEMPLATES, "a::b<c<int> >::c"},
    {"_ZN1alsEi", "a::operator<<", DEMANGLE_SIMPLE, "a::operator<<"},
    {"_ZN1alsIiEEi", "a::operator<< <int>", DEMANGLE_SIMPLE, "a::operator<<"},
    {"_ZN1aptIiEEi", "a<int>::operator->", DEMANGLE_SIMPLE, "a::operator->"},
    {"_ZN1aclEi", "a::operator()", DEMANGLE_SIMPLE, "a::operator()"},
    {"_ZNK1aclEi", "(anonymous namespace)::f(int, b<c>) const::{lambda(int)#1}::operator()", DEMANGLE_SIMPLE,
     "(anonymous namespace)::f() const::{lambda(int)#1}::operator()"},
    {"_ZNSolsEi", "std::basic_ostream<char, std::char_traits<char> >::operator<<", DEMANGLE_SIMPLE,
     "std::ostream::operator<<"},
    {"_ZNSoC1Ev", "std::basic_ostream<char, std::char_traits<char> >::basic_ostream", DEMANGLE_SIMPLE,
     "std::basic_ostream::basic_ostream"},
    {"_Z1fi.part.0", "f(int) [clone .part.0]", DEMANGLE_FULL, "f(int)"},
    {"_Z1f", "f<(a)(1>(2)), b", DEMANGLE_SIMPLE, "f<(a)(1>(2)), b"},
    {"_RNv", "<core[0123456789abcdef]::A<u8> as b[1]::C>::d::<e>", DEMANGLE_SIMPLE,
     "<core::A<> as b::C>::d::<>"},
    {"_RNv", "<[u8]>::d::<fn(u8) -> u8>", DEMANGLE_TEMPLATES, "<[u8]>::d::<fn(u8) -> u8>"},
    {"_ZN3foo17h0123456789abcdefE", "foo::h0123456789abcdef", DEMANGLE_SIMPLE, "foo"},
    {"_ZN3foo17h0000000000000000E", "foo::h0000000000000000", DEMANGLE_SIMPLE, "foo::h0000000000000000"},
};

static void names_are_shortened(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof demangled / sizeof *demangled; i++) {
        struct buf to = BUF_INIT(1000);
        demangle_shorten(str_of(demangled[i].mangled), str_of(demangled[i].text), demangled[i].mode, &to);
        assert_string_equal(buf_str(&to), demangled[i].shown);
        buf_release(&to);
    }
}

static void shorten_damaged(void *ctx, const struct damaged *s)
{
    for (enum demangle mode = DEMANGLE_SIMPLE; mode < DEMANGLE_NONE; mode++) {
        struct buf to = BUF_INIT(1000);
        demangle_shorten(str_of(ctx), (struct str){s->p, s->n}, mode, &to);
        assert_false(to.failed);
        buf_release(&to);
    }
}

static void damaged_names_are_safe(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof demangled / sizeof *demangled; i++)
        damage_everywhere(demangled[i].text, strlen(demangled[i].text), shorten_damaged,
                          (void *)(uintptr_t)demangled[i].mangled);
}

static void only_mangled_names_are_demangled(void **state)
{
    (void)state;
    static const char *const plain[] = {"", "main.main", "_start", "Z1f", "_Z1f(int)", "_Z1f\n", "_", "__"};
    struct str name;
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        assert_false(demangle_find_mangled(str_of(plain[i]), &name));
    assert_true(demangle_find_mangled(str_of("_Z1f.cold"), &name));
    assert_str(name, "_Z1f.cold");
    assert_true(demangle_find_mangled(str_of("__Z1f"), &name));
    assert_str(name, "_Z1f");
    assert_true(demangle_find_mangled(str_of("___Z1f_block_invoke"), &name));
    assert_str(name, "___Z1f_block_invoke");
}

/* ---- ELF --------------------------------------------------------------------------------------------- */

/* An ELF file with two loaded segments, .text in the second, and a build ID. */
struct elf_file {
    Elf64_Ehdr header;
    Elf64_Phdr segments[3];
    Elf64_Shdr sections[3];
    char names[16];
    unsigned char note[16 + 4];
};

static struct elf_file make_small_elf(uint16_t type)
{
    struct elf_file f = {
        .header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                   .e_type = type,
                   .e_phoff = offsetof(struct elf_file, segments),
                   .e_shoff = offsetof(struct elf_file, sections),
                   .e_phentsize = sizeof(Elf64_Phdr),
                   .e_phnum = 3,
                   .e_shentsize = sizeof(Elf64_Shdr),
                   .e_shnum = 3,
                   .e_shstrndx = 1},
        .names = "\0.shstrtab\0",
        .note = {4, 0, 0, 0, 4, 0, 0, 0, NT_GNU_BUILD_ID, 0, 0, 0, 'G', 'N', 'U', 0, 0xab, 0xcd, 0xef, 0x01}};
    uint64_t address = type == ET_EXEC ? 0x400000 : 0;
    f.segments[0] = (Elf64_Phdr){.p_type = PT_LOAD,
                                 .p_flags = PF_R,
                                 .p_vaddr = address,
                                 .p_filesz = 0x800,
                                 .p_memsz = 0x800,
                                 .p_align = 0x1000};
    f.segments[1] = (Elf64_Phdr){.p_type = PT_LOAD,
                                 .p_flags = PF_R | PF_X,
                                 .p_offset = 0x1000,
                                 .p_vaddr = address + 0x1000,
                                 .p_filesz = 0x2000,
                                 .p_memsz = 0x2000,
                                 .p_align = 0x1000};
    f.segments[2] = (Elf64_Phdr){.p_type = PT_NOTE,
                                 .p_offset = offsetof(struct elf_file, note),
                                 .p_filesz = sizeof f.note,
                                 .p_align = 4};
    memcpy(f.names + 8, ".text", 6);
    f.sections[1] = (Elf64_Shdr){.sh_offset = offsetof(struct elf_file, names), .sh_size = sizeof f.names};
    f.sections[2] = (Elf64_Shdr){.sh_name = 8, .sh_addr = address + 0x1100, .sh_size = 0x100};
    return f;
}

static int read_elf(const void *p, size_t n, struct elf *ret, struct err *err)
{
    int fd = memfd_create("elf", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, p, n), (ssize_t)n);
    int rc = elf_read(fd, ret, err);
    close(fd);
    return rc;
}

static void elf_files_are_read(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct elf_file f = make_small_elf(ET_DYN);
    struct elf e;
    assert_ok(read_elf(&f, sizeof f, &e, &err), &err);
    assert_string_equal(e.build_id, "abcdef01");
    assert_true(e.text == &e.segments[1]);
    elf_release(&e);
    assert_int_equal(read_elf("#!/bin/sh\n", 10, &e, &err), -1);
    assert_string_equal(err.msg, "unrecognized binary format");
}

static void addresses_are_converted_to_those_of_the_file(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    static const struct {
        uint16_t type;
        uint64_t start, limit, offset, address, base;
    } cases[] = {{ET_DYN, 0x7f0000001000, 0x7f0000003000, 0x1000, 0x7f0000001234, 0x7f0000000000},
                 {ET_DYN, 0x7f0000000000, 0x7f0000003000, 0, 0x7f0000002000, 0x7f0000000000},
                 {ET_EXEC, 0x401000, 0x403000, 0x1000, 0x401234, 0},
                 /* A relocated program. */
                 {ET_EXEC, 0x801000, 0x803000, 0x1000, 0x801234, 0x400000},
                 /* No mapping at all, as in old profiles of Go. */
                 {ET_EXEC, 0, 0, 0, 0x401234, 0},
                 {ET_EXEC, 0, UINT64_MAX, 0, 0x401234, 0},
                 {ET_REL, 0x5000, 0x9000, 0, 0x5010, 0x5000}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct elf_file f = make_small_elf(cases[i].type);
        struct profile_mapping m = {
            .start = cases[i].start, .limit = cases[i].limit, .offset = cases[i].offset};
        struct elf e;
        uint64_t base = 1;
        assert_ok(read_elf(&f, sizeof f, &e, &err), &err);
        assert_ok(elf_check_base(&e, &m, &err), &err);
        assert_ok(elf_base(&e, &m, cases[i].address, &base, &err), &err);
        assert_true(base == cases[i].base);
        elf_release(&e);
    }
}

static void addresses_of_other_files_are_refused(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct elf_file f = make_small_elf(ET_DYN);
    struct profile_mapping outside = {.start = 0x10000, .limit = 0x12000, .offset = 0x1000},
                           other = {.start = 0x10000, .limit = 0x12000, .offset = 0x9000};
    struct elf e;
    uint64_t base = 7;
    assert_ok(read_elf(&f, sizeof f, &e, &err), &err);
    assert_int_equal(elf_base(&e, &outside, 0x12000, &base, &err), -1);
    assert_int_equal(elf_base(&e, &other, 0x10010, &base, &err), -1);
    assert_true(base == 7);
    elf_release(&e);
    f = make_small_elf(ET_CORE);
    assert_ok(read_elf(&f, sizeof f, &e, &err), &err);
    assert_int_equal(elf_check_base(&e, &outside, &err), -1);
    elf_release(&e);
}

static void read_damaged_elf(void *ctx, const struct damaged *s)
{
    struct profile_mapping m = {.start = 0x7f0000001000, .limit = 0x7f0000003000, .offset = 0x1000};
    struct elf e;
    uint64_t base;
    (void)ctx;
    if (read_elf(s->p, s->n, &e, NULL) < 0)
        return;
    (void)elf_base(&e, &m, 0x7f0000001234, &base, NULL);
    elf_release(&e);
}

static void damaged_files_are_safe(void **state)
{
    (void)state;
    struct elf_file f = make_small_elf(ET_DYN);
    damage_everywhere(&f, sizeof f, read_damaged_elf, NULL);
}

/* Headers may name the same bytes of the file repeatedly. One limit applies to all of them together. */
static void repeated_headers_are_bounded(void **state)
{
    (void)state;
    enum { NOTES = 1 << 20 };
    struct err err = ERR_INIT;
    struct elf_file f = make_small_elf(ET_DYN);
    struct elf e;
    unsigned char *bytes = calloc(1, sizeof f + NOTES);
    assert_non_null(bytes);
    /* A million bytes of other notes precede the build ID, which is then not found. */
    f.segments[0] = (Elf64_Phdr){.p_type = PT_NOTE, .p_offset = sizeof f, .p_filesz = NOTES, .p_align = 4};
    memcpy(bytes, &f, sizeof f);
    assert_ok(read_elf(bytes, sizeof f + NOTES, &e, &err), &err);
    assert_string_equal(e.build_id, "");
    elf_release(&e);
    f.segments[0].p_filesz = 12;
    memcpy(bytes, &f, sizeof f);
    assert_ok(read_elf(bytes, sizeof f + NOTES, &e, &err), &err);
    assert_string_equal(e.build_id, "abcdef01");
    elf_release(&e);
    f.header.e_phnum = 1001;
    memcpy(bytes, &f, sizeof f);
    assert_int_equal(read_elf(bytes, sizeof f + NOTES, &e, &err), -1);
    assert_string_equal(err.msg, "it has 1001 program headers, more than 1000");
    free(bytes);
}

static void only_regular_files_are_opened(void **state)
{
    (void)state;
    struct profile_mapping m = {.start = 0x1000, .limit = 0x2000};
    static const char *const paths[] = {"/dev/null", "/dev/tty", "/tmp", "/nonexistent"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        struct err err = ERR_INIT;
        struct elf e;
        assert_int_equal(binary_read(paths[i], &m, &e, &err), -1);
        assert_true(err.msg[0]);
    }
}

/* ---- a profile --------------------------------------------------------------------------------------- */

/* Simulated programs and a simulated server, with their inputs. */
struct fake {
    /* By enum symbolize_program; NULL: there is no such program. */
    const char *answers[SYMBOLIZE_LLVM + 1];
    const char *symbols;                  /* the answer of the server; NULL: it fails */
    char inputs[SYMBOLIZE_LLVM + 1][200]; /* the last input of each program: "FILE|INPUT" */
    char query[200];                      /* the last query of the server: "SOURCE|ADDRESSES" */
    struct buf messages;
    enum err_kind failure; /* the error of every run; ERR_NONE: none */
    size_t answer_max;     /* the limit of the last answer in bytes */
    int n_runs, n_posts;
};

static int fake_run(void *ctx, const struct symbolize_query *call, struct buf *ret, struct err *err)
{
    struct fake *f = ctx;
    enum symbolize_program program = call->program;
    f->n_runs++;
    snprintf(f->inputs[program], sizeof f->inputs[program], "%s|%.*s", call->file ? call->file : "",
             (int)call->input.n, call->input.p);
    if (f->failure)
        return err_set(err, f->failure, "it went wrong");
    if (!f->answers[program])
        return err_set(err, ERR_NOT_FOUND, "there is none");
    buf_adds(ret, f->answers[program]);
    return 0;
}

static int fake_post(void *ctx, const char *source, struct str addresses, struct buf *ret, struct err *err)
{
    struct fake *f = ctx;
    f->n_posts++;
    f->answer_max = ret->max;
    snprintf(f->query, sizeof f->query, "%s|%.*s", source, (int)addresses.n, addresses.p);
    if (!f->symbols)
        return err_set(err, ERR_FAILED, "no");
    buf_adds(ret, f->symbols);
    return 0;
}

static void fake_say(void *ctx, const char *line)
{
    struct fake *f = ctx;
    buf_adds(&f->messages, line);
    buf_addc(&f->messages, '\n');
}

/* Makes a profile with two locations without names, in a mapping of `file`. */
static struct profile *make_profile_with_two_addresses(const char *file)
{
    struct err err = ERR_INIT;
    struct profile *p = profile_new(&err);
    struct profile_mapping m = {.id = 1, .start = 0x401000, .limit = 0x403000, .offset = 0x1000};
    assert_ok(profile_intern(p, file, strlen(file), &m.file, &err), &err);
    assert_ok(profile_add_mapping(p, &m, &err), &err);
    for (uint64_t i = 0; i < 2; i++)
        assert_ok(
            profile_add_location(
                p, &(struct profile_location){.id = i + 1, .address = 0x401100 + 0x100 * i, .folded = true},
                NULL, &err),
            &err);
    return p;
}

static struct str name_at(const struct profile *p, size_t location)
{
    const struct profile_location *l = &p->locations[location];
    return l->n_lines ? profile_str(p, p->functions[p->lines[l->line_at].function].name) : STR("");
}

/* Symbolizes the profile with the simulated programs and server. NULL in `sources`: no server. */
static void symbolize_with(struct profile *p, const char *mode, const struct symbolize_servers *sources,
                           struct fake *f, int expected_rc, struct err *err)
{
    struct symbolize_tools tools = {.run = fake_run, .post = fake_post, .say = fake_say, .ctx = f};
    static const struct symbolize_servers none;
    f->messages = (struct buf)BUF_INIT(4096);
    *err = (struct err)ERR_INIT;
    assert_int_equal(symbolize(p, mode, sources ? sources : &none, &tools, err), expected_rc);
}

/* Writes the ELF file of make_small_elf, and its path to `path`. */
static void write_small_elf(char path[40])
{
    struct err err = ERR_INIT;
    struct elf_file f = make_small_elf(ET_EXEC);
    snprintf(path, 40, "/tmp/profgrab-symbols-%d", (int)getpid());
    unlink(path);
    assert_ok(file_write(path, &f, sizeof f, &err), &err);
}

static void each_binary_is_queried_once(void **state)
{
    (void)state;
    struct err err;
    char path[40], expected[100];
    write_small_elf(path);
    struct profile *p = make_profile_with_two_addresses(path);
    struct fake f = {.answers = {"0x401100\n_Z1fi\na.c:3\nmain\na.c:9\n0x401200\n_Z1fi\na.c:4\n",
                                 "mainmain T 401100 10\nend T 401200 10\n", NULL, "f\nf\n"}};
    symbolize_with(p, NULL, NULL, &f, 0, &err);
    assert_string_equal(buf_str(&f.messages), "");
    snprintf(expected, sizeof expected, "%s|0x401100\n0x401200\n", path);
    assert_string_equal(f.inputs[SYMBOLIZE_ADDR2LINE], expected);
    assert_str(name_at(p, 0), "f");
    assert_int_equal(p->locations[0].n_lines, 2);
    /* nm has a longer name for the frame that is not inlined. */
    assert_str(profile_str(p, p->functions[p->lines[p->locations[0].line_at + 1].function].name), "mainmain");
    assert_str(name_at(p, 1), "f");
    assert_int_equal(p->n_functions, 2);
    assert_true(p->mappings[0].has_functions && p->mappings[0].has_line_numbers && !p->locations[0].folded);
    /* All names are known now, so no program runs. */
    f.n_runs = 0;
    symbolize_with(p, NULL, NULL, &f, 0, &err);
    assert_int_equal(f.n_runs, 0);
    buf_release(&f.messages);
    profile_free(p);
    unlink(path);
}

/* llvm-symbolizer answers first, and nm corrects none of its names. */
static void llvm_symbolizer_is_preferred_to_addr2line(void **state)
{
    (void)state;
    struct err err;
    char path[40];
    write_small_elf(path);
    static const char *const llvm_answers[] = {"0x401100\nf\na.c:3\nmain\na.c:9\n0x401200\nend\na.c:4\n",
                                               NULL};
    for (size_t i = 0; i < 2; i++) {
        struct profile *p = make_profile_with_two_addresses(path);
        struct fake f = {.answers = {[SYMBOLIZE_LLVM] = llvm_answers[i],
                                     [SYMBOLIZE_ADDR2LINE] = "0x401100\nother\nb.c:1\n",
                                     [SYMBOLIZE_NM] = "longer_name T 401100 10\nend T 401200 10\n"}};
        symbolize_with(p, NULL, NULL, &f, 0, &err);
        const struct profile_location *l = &p->locations[0];
        assert_string_equal(f.inputs[SYMBOLIZE_ADDR2LINE], i ? f.inputs[SYMBOLIZE_LLVM] : "");
        assert_str(name_at(p, 0), i ? "longer_name" : "f");
        assert_str(name_at(p, 1), i ? "" : "end");
        assert_int_equal(l->n_lines, i ? 1 : 2);
        assert_true(p->lines[l->line_at].line == (i ? 1 : 3));
        if (i == 0)
            assert_str(profile_str(p, p->functions[p->lines[l->line_at + 1].function].name), "main");
        profile_free(p);
        buf_release(&f.messages);
    }
    unlink(path);
}

static void without_addr2line_nm_finds_names(void **state)
{
    (void)state;
    struct err err;
    char path[40];
    write_small_elf(path);
    static const char *const modes[] = {NULL, "fastlocal"};
    for (size_t i = 0; i < 2; i++) {
        struct profile *p = make_profile_with_two_addresses(path);
        struct fake f = {
            .answers = {i ? "0x401100\nx\nx.c:1\n" : NULL, "main T 401100 10\nend T 401200 10\n"}};
        symbolize_with(p, modes[i], NULL, &f, 0, &err);
        assert_str(name_at(p, 0), "main");
        assert_str(name_at(p, 1), "end");
        assert_true(!p->mappings[0].has_line_numbers);
        profile_free(p);
        buf_release(&f.messages);
    }
    unlink(path);
}

static void failures_are_reported(void **state)
{
    (void)state;
    struct err err;
    char path[40], expected[300];
    write_small_elf(path);
    struct profile *p = make_profile_with_two_addresses(path);
    struct fake f = {.failure = ERR_TIMEOUT};
    symbolize_with(p, NULL, NULL, &f, 0, &err);
    snprintf(expected, sizeof expected, "Local symbolization failed for %s: it went wrong\n",
             file_base(path));
    assert_string_equal(buf_str(&f.messages), expected);
    buf_release(&f.messages);
    f.failure = ERR_CANCELLED;
    symbolize_with(p, NULL, NULL, &f, -1, &err);
    assert_int_equal(err.kind, ERR_CANCELLED);
    profile_free(p);
    buf_release(&f.messages);
    p = make_profile_with_two_addresses("/gone/away");
    symbolize_with(p, NULL, NULL, &f, 0, &err);
    assert_string_equal(buf_str(&f.messages),
                        "Local symbolization failed for away: open /gone/away: no such file or directory\n"
                        "Some binary filenames not available. Symbolization may be incomplete.\n"
                        "Try setting PPROF_BINARY_PATH to the search path for local binaries.\n");
    profile_free(p);
    buf_release(&f.messages);
    unlink(path);
}

static void a_server_is_queried(void **state)
{
    (void)state;
    struct err err;
    struct profile *p = make_profile_with_two_addresses("");
    struct symbolize_servers sources = {0};
    assert_ok(symbolize_collect(p, "http://host/debug/pprof/heap", &sources, &err), &err);
    assert_str(profile_str(p, p->mappings[0].file), "http://host/debug/pprof/heap");
    /* In a merged profile, the mapping may have moved. */
    sources.items[0].start = 0x501000;
    /* Names of other addresses are ignored. */
    struct fake f = {.symbols = "0x501100 one\n0x501200 one\n0x501100 two\n0x501300 three\n0x501400 four\n"};
    symbolize_with(p, NULL, &sources, &f, 0, &err);
    assert_string_equal(f.query, "http://host/debug/pprof/heap|0x501100+0x501200");
    assert_int_equal(f.answer_max, ((size_t)1 << 20) + 2 * 4096);
    assert_int_equal(f.n_runs, 0);
    assert_str(name_at(p, 0), "two");
    assert_str(name_at(p, 1), "one");
    assert_int_equal(p->n_functions, 2);
    symbolize_remove_urls(p);
    assert_int_equal(p->mappings[0].file, 0);
    symbolize_sources_release(&sources);
    profile_free(p);
    buf_release(&f.messages);
}

/* A small profile may have many addresses. The maximum of the answer grows with their number, up to a limit.
 */
static void an_answer_for_many_addresses_is_bounded(void **state)
{
    (void)state;
    struct err err;
    struct profile *p = make_profile_with_two_addresses("");
    struct symbolize_servers sources = {0};
    p->mappings[0].limit = 0x501000;
    for (uint64_t i = 2; i < 40000; i++)
        assert_ok(profile_add_location(
                      p, &(struct profile_location){.id = i + 1, .address = 0x401200 + i, .folded = true},
                      NULL, &err),
                  &err);
    assert_ok(symbolize_collect(p, "http://host/debug/pprof/heap", &sources, &err), &err);
    struct fake f = {.symbols = "0x401100 one\n"};
    symbolize_with(p, NULL, &sources, &f, 0, &err);
    assert_int_equal(f.n_posts, 1);
    assert_int_equal(f.answer_max, (size_t)128 << 20);
    symbolize_sources_release(&sources);
    profile_free(p);
    buf_release(&f.messages);
}

/* A profile may contain the URL of any server. Only the URL from which it was fetched is queried. */
static void only_the_source_of_a_profile_is_queried(void **state)
{
    (void)state;
    struct err err;
    struct profile *p = make_profile_with_two_addresses("http://host/debug/pprof/heap");
    struct fake f = {.symbols = "0x401100 one\n"};
    symbolize_with(p, "remote", NULL, &f, 0, &err);
    assert_int_equal(f.n_posts, 0);
    buf_release(&f.messages);
    symbolize_with(p, "remote:force", NULL, &f, 0, &err);
    assert_int_equal(f.n_posts, 0);
    profile_free(p);
    buf_release(&f.messages);
}

static void a_file_with_another_build_id_is_not_used(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    char path[40];
    write_small_elf(path);
    static const char *const ids[] = {"abcdef01", "abcdef02"};
    for (size_t i = 0; i < 2; i++) {
        struct profile *p = make_profile_with_two_addresses(path);
        assert_ok(profile_intern(p, ids[i], strlen(ids[i]), &p->mappings[0].build_id, &err), &err);
        struct fake f = {.answers = {NULL, "main T 401100 10\n"}};
        symbolize_with(p, "local", NULL, &f, 0, &err);
        assert_int_equal(f.n_runs > 0, i == 0);
        assert_str(name_at(p, 0), i == 0 ? "main" : "");
        assert_int_equal(strstr(buf_str(&f.messages), "(build ID abcdef02): build ID mismatch") != NULL,
                         i == 1);
        profile_free(p);
        buf_release(&f.messages);
    }
    unlink(path);
}

static void the_number_of_symbolized_mappings_is_limited(void **state)
{
    (void)state;
    struct err err;
    char path[40];
    write_small_elf(path);
    struct profile *p = make_profile_with_two_addresses(path);
    struct symbolize_servers sources = {0};
    for (uint64_t i = 1; i < 3 * SYMBOLIZE_MAPPINGS; i++) {
        struct profile_mapping m = p->mappings[0];
        struct profile_location l = {
            .id = i + 2, .address = 0x401100, .mapping = (uint32_t)i, .folded = true};
        m.id = i + 1;
        assert_ok(profile_add_mapping(p, &m, &err), &err);
        assert_ok(profile_add_location(p, &l, NULL, &err), &err);
    }
    struct fake f = {.answers = {NULL, "main T 401100 10\n"}};
    symbolize_with(p, "local", NULL, &f, 0, &err);
    assert_int_equal(f.n_runs, 3 * SYMBOLIZE_MAPPINGS);
    assert_non_null(strstr(buf_str(&f.messages),
                           "The profile has 3000 mappings: names are looked up for the first 1000"));
    assert_str(name_at(p, 1 + SYMBOLIZE_MAPPINGS - 1), "main");
    assert_str(name_at(p, 1 + SYMBOLIZE_MAPPINGS), "");
    buf_release(&f.messages);
    f.symbols = "0x401100 a\n";
    assert_ok(symbolize_collect(p, "http://host/x", &sources, &err), &err);
    assert_int_equal(sources.n, SYMBOLIZE_MAPPINGS);
    symbolize_with(p, "remote:force", &sources, &f, 0, &err);
    assert_int_equal(f.n_posts, 1); /* only the first mapping has a location without a name */
    buf_release(&f.messages);
    symbolize_sources_release(&sources);
    profile_free(p);
    unlink(path);
}

static void a_failed_query_of_a_server_is_a_warning(void **state)
{
    (void)state;
    struct err err;
    struct profile *p = make_profile_with_two_addresses("");
    struct symbolize_servers sources = {0};
    struct fake f = {0};
    assert_ok(symbolize_collect(p, "http://host/x", &sources, &err), &err);
    symbolize_with(p, "remote", &sources, &f, -1, &err);
    buf_release(&f.messages);
    f.symbols = "0x401100 a\n0x11111111111111111 b\n";
    symbolize_with(p, "remote", &sources, &f, -1, &err);
    buf_release(&f.messages);
    sources.items[0].start = 0;
    p->locations[0].address = 5;
    symbolize_with(p, "remote", &sources, &f, -1, &err);
    assert_non_null(strstr(err.msg, "cannot adjust address 5 by -4198400, it would overflow"));
    buf_release(&f.messages);
    f.n_posts = 0;
    symbolize_with(p, "local", &sources, &f, 0, &err);
    symbolize_with(p, "none", &sources, &f, 0, &err);
    assert_int_equal(f.n_posts, 0);
    symbolize_sources_release(&sources);
    profile_free(p);
    buf_release(&f.messages);
}

static void unknown_modes_are_reported(void **state)
{
    (void)state;
    struct err err;
    struct profile *p = make_profile_with_two_addresses("");
    struct fake f = {0};
    symbolize_with(p, "remote:x", NULL, &f, 0, &err);
    assert_string_equal(buf_str(&f.messages),
                        "ignoring unrecognized symbolization option: remote:x\n"
                        "expecting -symbolize=[local|fastlocal|remote|none][:force][:demangle=[none|full|"
                        "templates|default]\n");
    profile_free(p);
    buf_release(&f.messages);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_of_addr2line_are_parsed),
        cmocka_unit_test(invalid_answers_have_no_source_lines),
        cmocka_unit_test(symbols_of_nm_are_found),
        cmocka_unit_test(answers_of_symbol_servers_are_parsed),
        cmocka_unit_test(damaged_answers_are_safe),
        cmocka_unit_test(names_are_shortened),
        cmocka_unit_test(damaged_names_are_safe),
        cmocka_unit_test(only_mangled_names_are_demangled),
        cmocka_unit_test(elf_files_are_read),
        cmocka_unit_test(repeated_headers_are_bounded),
        cmocka_unit_test(addresses_are_converted_to_those_of_the_file),
        cmocka_unit_test(addresses_of_other_files_are_refused),
        cmocka_unit_test(damaged_files_are_safe),
        cmocka_unit_test(only_regular_files_are_opened),
        cmocka_unit_test(each_binary_is_queried_once),
        cmocka_unit_test(llvm_symbolizer_is_preferred_to_addr2line),
        cmocka_unit_test(without_addr2line_nm_finds_names),
        cmocka_unit_test(failures_are_reported),
        cmocka_unit_test(a_server_is_queried),
        cmocka_unit_test(an_answer_for_many_addresses_is_bounded),
        cmocka_unit_test(only_the_source_of_a_profile_is_queried),
        cmocka_unit_test(a_file_with_another_build_id_is_not_used),
        cmocka_unit_test(the_number_of_symbolized_mappings_is_limited),
        cmocka_unit_test(a_failed_query_of_a_server_is_a_warning),
        cmocka_unit_test(unknown_modes_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
