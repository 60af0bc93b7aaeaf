/* Untrusted files in binary formats: encrypted files, ELF files, execution traces. */
#include "tests/cost/cost.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "proto/proto.h"
#include "pprof/symbolize/symbols.h"
#include "seal/age.h"
#include "seal/age_identity.h"

#include "base/banned.h"

/* Returns a file in memory with these bytes, at offset 0. */
static int make_file(const char *p, size_t n)
{
    int fd = memfd_create("cost", MFD_CLOEXEC);
    if (fd < 0 || fd_write_all(fd, p, n, NULL) < 0 || lseek(fd, 0, SEEK_SET) != 0)
        abort();
    return fd;
}

/* ---- encrypted files ----------------------------------------------------------------------------------- */

/* The identity of the specification's example, and its recipient. */
#define SECRET "AGE-SECRET-KEY-1GFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPQ4EGAEX"
#define RECIPIENT "age1zvkyg2lqzraa2lnjvqej32nkuu0ues2s82hzrye869xeexvn73equnujwj"

static void encrypt_bytes(struct buf *to, size_t n, bool armor)
{
    static const char zeros[65536];
    struct age_recipients *r = NULL;
    struct age_writer *w = NULL;
    struct err err = ERR_INIT;
    int fd = make_file("", 0);
    if (age_recipients_new(&r, &err) < 0 || age_recipients_add(r, RECIPIENT, "here", &err) < 0 ||
        age_writer_open(fd, r, armor, &w, &err) < 0)
        abort();
    for (size_t done = 0, piece; done < n; done += piece) {
        piece = n - done < sizeof zeros ? n - done : sizeof zeros;
        if (age_writer_write(w, zeros, piece, &err) < 0)
            abort();
    }
    if (age_writer_finish(w, &err) < 0 || lseek(fd, 0, SEEK_SET) != 0 || fd_read_all(fd, to) < 0)
        abort();
    age_writer_free(w);
    age_recipients_free(r);
    close(fd);
}

static void make_encrypted(struct buf *to, size_t n)
{
    encrypt_bytes(to, n > 1000 ? n - 1000 : 0, false);
}

static void make_armored(struct buf *to, size_t n)
{
    encrypt_bytes(to, n > 1000 ? (n - 1000) / 4 * 3 : 0, true);
}

/* The last byte of the file is changed. */
static void make_changed(struct buf *to, size_t n)
{
    make_encrypted(to, n);
    to->data[to->len - 1] ^= 1;
}

#define X25519                                                                                               \
    "-> X25519 TEiF0ypqr+bpvcqXNyCVJpL7OuwPdVwPL7KQEbFDOCc\nhjabGXwSLQ9c3S6Lw2i+S2Tu2fiwQHHslbBN6B41FLE\n"
#define MAC "--- WyJp9F/9FOZh7gJdheq2WIJcwHgYc8NIVh3ddwhrcNg\n"
static const struct cost_grammar encrypted[] = {
    {"chunks", NULL, NULL, NULL, make_encrypted, 0},
    {"armor", NULL, NULL, NULL, make_armored, 0},
    {"a changed end", NULL, NULL, NULL, make_changed, 0},
    {"stanzas", "age-encryption.org/v1\n", "-> a b\nAAAA\n", MAC, NULL, 0},
    {"stanzas for others", "age-encryption.org/v1\n", X25519, MAC, NULL, 0},
    {0},
};

static void decrypt_bytes(const char *p, size_t n)
{
    unsigned char chunk[65536];
    struct age_identities *identities = NULL;
    struct age_reader *r = NULL;
    struct err err = ERR_INIT;
    int fd = make_file(p, n);
    if (age_identities_new(NULL, NULL, 0, &identities, &err) < 0 ||
        age_identities_parse(identities, SECRET, strlen(SECRET), "secret", &err) < 0)
        abort();
    if (age_reader_open(fd, identities, &r, &err) == 0)
        while (age_reader_read(r, chunk, sizeof chunk, &err) > 0)
            continue;
    age_reader_free(r);
    age_identities_free(identities);
    close(fd);
}

/* ---- ELF files ----------------------------------------------------------------------------------------- */

/* The parts of an ELF file. */
struct shape {
    size_t notes;              /* bytes of notes without a build ID */
    size_t segments, sections; /* their numbers; at most 65535 count */
    bool named_text;           /* each section is .text and in no segment */
};

static void add_notes(struct buf *to, size_t n)
{
    static const Elf64_Nhdr note = {.n_namesz = 0, .n_descsz = 0, .n_type = 1};
    for (size_t i = 0; i + sizeof note <= n; i += sizeof note)
        buf_add(to, &note, sizeof note);
}

static void make_elf(struct buf *to, const struct shape *shape)
{
    static const char names[] = "\0.text";
    size_t segments = shape->segments < 65535 ? shape->segments : 65535;
    size_t sections = shape->sections < 65535 ? shape->sections : 65535;
    const size_t at = sizeof(Elf64_Ehdr) + sizeof names, notes = shape->notes / 12 * 12;
    const Elf64_Ehdr header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                               .e_type = ET_DYN,
                               .e_phoff = at + notes,
                               .e_shoff = at + notes + segments * sizeof(Elf64_Phdr),
                               .e_phentsize = sizeof(Elf64_Phdr),
                               .e_phnum = (Elf64_Half)segments,
                               .e_shentsize = sizeof(Elf64_Shdr),
                               .e_shnum = (Elf64_Half)sections,
                               .e_shstrndx = 0};
    const Elf64_Phdr segment = {.p_type = shape->named_text ? PT_LOAD : PT_NOTE,
                                .p_flags = PF_X,
                                .p_offset = at,
                                .p_filesz = notes,
                                .p_memsz = 1,
                                .p_align = 4};
    const Elf64_Shdr section = {.sh_name = 1,
                                .sh_type = shape->named_text ? SHT_PROGBITS : SHT_NOTE,
                                .sh_addr = 1 << 20,
                                .sh_offset = shape->named_text ? sizeof header : at,
                                .sh_size = shape->named_text ? sizeof names : notes,
                                .sh_addralign = 4};
    buf_add(to, &header, sizeof header);
    buf_add(to, names, sizeof names);
    add_notes(to, notes);
    for (size_t i = 0; i < segments; i++)
        buf_add(to, &segment, sizeof segment);
    for (size_t i = 0; i < sections; i++)
        buf_add(to, &section, sizeof section);
}

static void make_notes(struct buf *to, size_t n)
{
    make_elf(to, &(struct shape){.notes = n, .segments = 1, .sections = 1});
}

static void make_segments_of_notes(struct buf *to, size_t n)
{
    make_elf(to, &(struct shape){.notes = n / 2, .segments = n / 2 / sizeof(Elf64_Phdr)});
}

static void make_sections_of_notes(struct buf *to, size_t n)
{
    make_elf(to, &(struct shape){.notes = n / 2, .sections = n / 2 / sizeof(Elf64_Shdr)});
}

static void make_sections_of_text(struct buf *to, size_t n)
{
    make_elf(to, &(struct shape){.segments = n / 2 / sizeof(Elf64_Phdr),
                                 .sections = n / 2 / sizeof(Elf64_Shdr),
                                 .named_text = true});
}

static const struct cost_grammar elfs[] = {
    {"notes", NULL, NULL, NULL, make_notes, 0},
    {"segments of the same notes", NULL, NULL, NULL, make_segments_of_notes, 0},
    {"sections of the same notes", NULL, NULL, NULL, make_sections_of_notes, 0},
    {"sections named .text", NULL, NULL, NULL, make_sections_of_text, 0},
    {0},
};

static void read_elf(const char *p, size_t n)
{
    const struct profile_mapping m = {.start = 0x7f0000001000, .limit = 0x7f0000003000, .offset = 0x1000};
    struct elf e;
    uint64_t base;
    int fd = make_file(p, n);
    if (elf_read(fd, &e, NULL) == 0) {
        if (elf_check_base(&e, &m, NULL) == 0)
            (void)elf_base(&e, &m, m.start + 0x100, &base, NULL);
        elf_release(&e);
    }
    close(fd);
}

/* ---- execution traces ---------------------------------------------------------------------------------- */

static void begin_trace(struct buf *to, unsigned minor)
{
    char header[TRACE_HEADER_SIZE + 1] = {0};
    snprintf(header, sizeof header, "go 1.%u trace", minor);
    buf_add(to, header, TRACE_HEADER_SIZE);
}

static void add_number(struct buf *to, uint64_t number)
{
    for (; number >= 0x80; number >>= 7)
        buf_addc(to, (char)((number & 0x7f) | 0x80));
    buf_addc(to, (char)number);
}

/* A batch of `size` bytes: `kind`, then zeros. */
static void add_batch(struct buf *to, uint64_t generation, char kind, size_t size)
{
    static const char zeros[65536];
    buf_addc(to, 1);
    add_number(to, generation);
    buf_add(to, "\1\1", 2); /* thread and time */
    add_number(to, size);
    if (size)
        buf_addc(to, kind);
    if (size > 1)
        buf_add(to, zeros, size - 1);
}

enum { STRINGS = 4, FREQUENCY = 8, END_OF_GENERATION = 52 };

static void make_empty_batches(struct buf *to, size_t n)
{
    begin_trace(to, 26);
    while (to->len < n)
        add_batch(to, 1, 0, 0);
}

static void make_full_batches(struct buf *to, size_t n)
{
    begin_trace(to, 26);
    while (to->len + 65560 < n || to->len < 100)
        add_batch(to, 1, STRINGS, 65536);
}

static void make_generations(struct buf *to, size_t n)
{
    begin_trace(to, 22);
    for (uint64_t generation = 1; to->len < n; generation++) {
        add_batch(to, generation, STRINGS, 1);
        add_batch(to, generation, FREQUENCY, 1);
    }
}

/* Numbers of ten bytes. */
static void make_long_numbers(struct buf *to, size_t n)
{
    begin_trace(to, 23);
    while (to->len < n) {
        buf_add(to, "\1\1", 2); /* a batch of generation 1 */
        add_number(to, UINT64_MAX);
        add_number(to, UINT64_MAX);
        buf_addc(to, 0);
    }
}

static void make_experiments(struct buf *to, size_t n)
{
    begin_trace(to, 25);
    while (to->len < n)
        buf_add(to, "\61\1\1\1\1\1x", 7);
}

/* Strings of one byte, of an old trace. */
static void make_old_strings(struct buf *to, size_t n)
{
    begin_trace(to, 21);
    while (to->len < n)
        buf_add(to, "\45\1\1x", 4);
}

/* Events of an old trace that define a stack, each with 4002 bytes. */
static void make_old_stacks(struct buf *to, size_t n)
{
    begin_trace(to, 21);
    while (to->len + 4100 < n || to->len < 100) {
        buf_addc(to, (char)(0xc0 | 3));
        add_number(to, 4002);
        for (int i = 0; i < 4002; i++)
            buf_addc(to, 1);
    }
}

static const struct cost_grammar traces[] = {
    {"empty batches", NULL, NULL, NULL, make_empty_batches, 0},
    {"full batches", NULL, NULL, NULL, make_full_batches, 0},
    {"generations", NULL, NULL, NULL, make_generations, 0},
    {"long numbers", NULL, NULL, NULL, make_long_numbers, 0},
    {"batches of experiments", NULL, NULL, NULL, make_experiments, 0},
    {"strings of Go 1.21", NULL, NULL, NULL, make_old_strings, 0},
    {"stacks of Go 1.21", NULL, NULL, NULL, make_old_stacks, 0},
    {0},
};

/* Scans the trace whole, and in pieces of one byte. */
static void scan_trace(const char *p, size_t n)
{
    for (size_t piece = 1; piece <= n; piece += n - 1) {
        struct trace_summary sum;
        struct err err = ERR_INIT;
        struct trace_scan *s = trace_scan_new(&err);
        int rc = s ? 0 : -1;
        for (size_t at = 0; rc == 0 && at < n; at += piece)
            rc = trace_scan_feed(s, p + at, piece, &err);
        if (rc == 0)
            (void)trace_scan_finish(s, &sum, &err);
        trace_scan_free(s);
    }
}

const struct cost_parser cost_binary_parsers[] = {
    {"age_reader_open, age_reader_read", decrypt_bytes, encrypted, 2, 0},
    {"elf_read", read_elf, elfs, 2, 0},
    {"trace_scan_feed", scan_trace, traces, 2, 0},
    {0},
};
