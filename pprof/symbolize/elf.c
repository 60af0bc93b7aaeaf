/*
 * Reads the parts of an ELF file that concern addresses: segments, build ID, the place of .text.
 *
 * All reads use pread, not mmap. A file that another process changes thus gives wrong data, but never SIGBUS.
 * A profile may come from any machine, so both classes and both byte orders are supported.
 *
 * Source: google/pprof internal/elfexec/elfexec.go, without its handling of kernels beyond their first
 * segment (_stext).
 */
#include <ctype.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pprof/symbolize/symbols.h"
#include "base/banned.h"

#define PAGE 4096u
/* The limit of all notes of a file together, because headers may repeat the same bytes. */
#define NOTES_MAX (1u << 20)
/* Programs have about ten segments, kernels fewer than a hundred. */
#define SEGMENTS_MAX 1000
/* The limit of the table of section names. */
#define NAMES_MAX (16u << 20)

struct reader {
    int fd;
    bool wide, big;    /* 64-bit class; big-endian */
    size_t notes_left; /* bytes of notes that may still be read */
    bool out_of_memory;
};

static uint64_t read_uint(const struct reader *r, const unsigned char *p, size_t n)
{
    uint64_t v = 0;
    for (size_t i = 0; i < n; i++)
        v |= (uint64_t)p[r->big ? n - 1 - i : i] << 8 * i;
    return v;
}

/* Reads a field that has 8 bytes, at offset wide_at, in the 64-bit class, and 4 bytes, at narrow_at, in the
 * 32-bit class. */
static uint64_t read_word(const struct reader *r, const unsigned char *p, size_t wide_at, size_t narrow_at)
{
    return r->wide ? read_uint(r, p + wide_at, 8) : read_uint(r, p + narrow_at, 4);
}

static int read_at(const struct reader *r, uint64_t offset, void *to, size_t n)
{
    for (size_t done = 0; done < n;) {
        if (offset > INT64_MAX - n)
            return -1;
        ssize_t got = pread(r->fd, (char *)to + done, n - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return -1;
        done += (size_t)got;
    }
    return 0;
}

/* Allocates and reads bytes of the file. Returns NULL if they are missing or too many. */
static unsigned char *read_block(struct reader *r, uint64_t offset, uint64_t n, size_t most)
{
    bool wanted = n && n <= most;
    unsigned char *p = wanted ? malloc((size_t)n) : NULL;
    r->out_of_memory = r->out_of_memory || (wanted && !p);
    if (p && read_at(r, offset, p, (size_t)n) < 0) {
        free(p);
        return NULL;
    }
    return p;
}

/* ---- build ID ------------------------------------------------------------------------------------------ */

static uint64_t pad_size(uint64_t n, uint64_t align)
{
    return align > 1 && align <= 64 ? (n + align - 1) / align * align : n;
}

/* Finds the only note that is a build ID. Returns false if there is none, several, or an invalid one. */
static bool find_build_id(const struct reader *r, const unsigned char *p, size_t n, uint64_t align,
                          char id[2 * 64 + 1])
{
    bool found = false;
    for (size_t at = 0; n - at >= 12;) {
        uint64_t name = read_uint(r, p + at, 4), size = read_uint(r, p + at + 4, 4),
                 type = read_uint(r, p + at + 8, 4);
        uint64_t from = at + pad_size(12 + name, align);
        if (from > n || size > n - from)
            return found;
        if (type == NT_GNU_BUILD_ID && name == 4 && memcmp(p + at + 12, "GNU", 4) == 0) {
            if (found || size == 0 || size > 64)
                return false;
            for (size_t i = 0; i < size; i++)
                snprintf(id + 2 * i, 3, "%02x", p[from + i]);
            found = true;
        }
        uint64_t next = from + pad_size(size, align);
        at = next < n ? (size_t)next : n;
    }
    return found;
}

static void read_build_id(struct reader *r, uint64_t offset, uint64_t size, uint64_t align,
                          char id[2 * 64 + 1])
{
    unsigned char *notes = read_block(r, offset, size, r->notes_left);
    r->notes_left -= notes ? (size_t)size : 0;
    if (notes && !find_build_id(r, notes, (size_t)size, align, id))
        id[0] = '\0';
    free(notes);
}

/* ---- headers ------------------------------------------------------------------------------------------- */

static int read_segments(struct reader *r, const unsigned char *header, struct elf *e, struct err *err)
{
    size_t size = r->wide ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);
    size_t n = (size_t)read_uint(r, header + (r->wide ? 56 : 44), 2);
    if (n == 0)
        return 0;
    if (n > SEGMENTS_MAX)
        return err_set(err, ERR_FAILED, "it has %zu program headers, more than %d", n, SEGMENTS_MAX);
    unsigned char *table = NULL;
    if (read_uint(r, header + (r->wide ? 54 : 42), 2) == size)
        table = read_block(r, read_word(r, header, 32, 28), n * size, SEGMENTS_MAX * sizeof(Elf64_Phdr));
    if (!table)
        return r->out_of_memory ? err_nomem(err)
                                : err_set(err, ERR_FAILED, "its program headers cannot be read");
    e->segments = calloc(n, sizeof *e->segments);
    for (size_t i = 0; e->segments && i < n; i++) {
        const unsigned char *p = table + i * size;
        unsigned type = (unsigned)read_uint(r, p, 4),
                 flags = (unsigned)read_uint(r, p + (r->wide ? 4 : 24), 4);
        e->segments[i] = (struct elf_segment){.offset = read_word(r, p, 8, 4),
                                              .address = read_word(r, p, 16, 8),
                                              .file_size = read_word(r, p, 32, 16),
                                              .memory_size = read_word(r, p, 40, 20),
                                              .align = read_word(r, p, 48, 28),
                                              .load = type == PT_LOAD,
                                              .executable = flags & PF_X,
                                              .note = type == PT_NOTE};
    }
    free(table);
    if (!e->segments)
        return err_nomem(err);
    e->n = n;
    return 0;
}

static const struct elf_segment *segment_at(const struct elf *e, uint64_t address)
{
    for (size_t i = 0; i < e->n; i++) {
        const struct elf_segment *s = &e->segments[i];
        if (s->load && s->executable && address >= s->address && address - s->address < s->memory_size)
            return s;
    }
    return NULL;
}

/* Finds the segment with .text, and the build ID if it is still missing. A file without sections is no error.
 * The first of several sections named .text counts, as in debug/elf. */
static void read_sections(struct reader *r, const unsigned char *header, struct elf *e)
{
    size_t size = r->wide ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr);
    size_t n = (size_t)read_uint(r, header + (r->wide ? 60 : 48), 2);
    size_t names_at = (size_t)read_uint(r, header + (r->wide ? 62 : 50), 2);
    if (n == 0 || names_at >= n || read_uint(r, header + (r->wide ? 58 : 46), 2) != size)
        return;
    unsigned char *table = read_block(r, read_word(r, header, 40, 32), n * size, 65535 * sizeof(Elf64_Shdr));
    if (!table)
        return;
    const unsigned char *names_section = table + names_at * size;
    uint64_t n_names = read_word(r, names_section, 32, 20);
    unsigned char *names = read_block(r, read_word(r, names_section, 24, 16), n_names, NAMES_MAX);
    bool has_text = false;
    for (size_t i = 0; i < n; i++) {
        const unsigned char *s = table + i * size;
        uint64_t name = read_uint(r, s, 4);
        if (read_uint(r, s + 4, 4) == SHT_NOTE && !e->build_id[0])
            read_build_id(r, read_word(r, s, 24, 16), read_word(r, s, 32, 20), read_word(r, s, 48, 32),
                          e->build_id);
        if (names && !has_text && n_names >= 6 && name <= n_names - 6 &&
            memcmp(names + name, ".text", 6) == 0) {
            e->text = segment_at(e, read_word(r, s, 16, 12));
            has_text = true;
        }
    }
    free(names);
    free(table);
}

int elf_read(int fd, struct elf *ret, struct err *err)
{
    unsigned char header[64] = {0};
    struct reader r = {.fd = fd, .notes_left = NOTES_MAX};
    if (read_at(&r, 0, header, sizeof(Elf32_Ehdr)) < 0 || memcmp(header, ELFMAG, SELFMAG) != 0)
        return err_set(err, ERR_FAILED, "unrecognized binary format");
    r.wide = header[EI_CLASS] == ELFCLASS64;
    r.big = header[EI_DATA] == ELFDATA2MSB;
    if (header[EI_CLASS] < ELFCLASS32 || header[EI_CLASS] > ELFCLASS64 || header[EI_DATA] < ELFDATA2LSB ||
        header[EI_DATA] > ELFDATA2MSB || (r.wide && read_at(&r, 0, header, sizeof header) < 0))
        return err_set(err, ERR_FAILED, "its ELF header is wrong");
    struct elf e = {.type = (unsigned)read_uint(&r, header + 16, 2)};
    if (read_segments(&r, header, &e, err) < 0)
        return -1;
    for (size_t i = 0; i < e.n && !e.build_id[0]; i++)
        if (e.segments[i].note)
            read_build_id(&r, e.segments[i].offset, e.segments[i].file_size, e.segments[i].align, e.build_id);
    read_sections(&r, header, &e);
    if (r.out_of_memory) {
        elf_release(&e);
        return err_nomem(err);
    }
    *ret = e;
    return 0;
}

void elf_release(struct elf *e)
{
    free(e->segments);
    *e = (struct elf){0};
}

/* ---- addresses ----------------------------------------------------------------------------------------- */

/* The rules for kernels, whose mappings are special. Returns false for another mapping. */
static bool kernel_base(const struct elf_segment *s, const struct profile_mapping *m, uint64_t *ret)
{
    const uint64_t high = UINT64_C(1) << 63, ppc64 = UINT64_C(0xc000000000000000);
    if (s->address == m->start - m->offset) {
        *ret = m->offset;
        return true;
    }
    if (m->start >= high && m->limit > m->start &&
        (m->offset == 0 || m->offset == ppc64 || m->offset == m->start)) {
        *ret = m->start - s->address;
        return true;
    }
    return false;
}

/* Returns the distance between a segment's address in memory and its address in the file. */
static uint64_t segment_shift(const struct elf_segment *s, const struct profile_mapping *m)
{
    return m->start - m->offset + s->offset - s->address;
}

/* Computes the base of a mapping of the segment `s` (NULL: unknown). */
static int compute_base(const struct elf *e, const struct elf_segment *s, const struct profile_mapping *m,
                        uint64_t *ret, struct err *err)
{
    *ret = 0;
    if (m->start == 0 && m->offset == 0 && (m->limit == UINT64_MAX || m->limit == 0))
        return 0;
    if (e->type == ET_EXEC && !s)
        return 0;
    if (e->type == ET_REL && m->offset == 0) {
        *ret = m->start;
        return 0;
    }
    if (e->type == ET_DYN && !s) {
        *ret = m->start - m->offset;
        return 0;
    }
    if (s && e->type == ET_EXEC && m->start > 0 && !(m->start >> 63)) {
        *ret = segment_shift(s, m);
        return 0;
    }
    if (s && (e->type == ET_EXEC || e->type == ET_DYN) && kernel_base(s, m, ret))
        return 0;
    if (s && (e->type == ET_DYN || (e->type == ET_EXEC && m->start == 0 && m->limit != 0))) {
        *ret = e->type == ET_DYN ? segment_shift(s, m) : m->start - s->address;
        return 0;
    }
    return err_set(err, ERR_FAILED, "don't know how to handle ELF type %u at this address", e->type);
}

int elf_check_base(const struct elf *e, const struct profile_mapping *m, struct err *err)
{
    uint64_t base;
    return compute_base(e, e->text, m, &base, err);
}

/* Whether a mapping may belong to that segment. */
static bool is_mapped_from(const struct elf_segment *s, const struct profile_mapping *m)
{
    uint64_t segment_end = s->offset + s->memory_size, mapping_end = m->offset + (m->limit - m->start);
    uint64_t page_offset = s->align ? s->address & (s->align - 1) : 0;
    if (!s->load || s->file_size == 0 || m->offset >= segment_end || s->offset >= mapping_end)
        return false;
    /* The mapping begins before the segment's first page. */
    if (m->offset < (s->offset > page_offset ? s->offset - page_offset : 0))
        return false;
    /* The mapping goes on for a page or more after the segment's last page. */
    return !(m->offset > s->offset && segment_end < m->offset + PAGE && mapping_end >= segment_end + PAGE);
}

/* Finds the only segment that may belong to the mapping; if several may, the only one that has the address.
 * Returns false if there is none. If the file has no segments to load, returns true and sets *ret to NULL. */
static bool find_segment(const struct elf *e, const struct profile_mapping *m, uint64_t address,
                         const struct elf_segment **ret)
{
    const struct elf_segment *only = NULL, *at = NULL;
    uint64_t offset = address - m->start + m->offset;
    size_t n = 0, n_at = 0, n_loads = 0;
    for (size_t i = 0; i < e->n; i++) {
        const struct elf_segment *s = &e->segments[i];
        n_loads += s->load;
        if (!is_mapped_from(s, m))
            continue;
        only = s;
        n++;
        if (offset >= s->offset && offset < s->offset + s->memory_size) {
            at = s;
            n_at++;
        }
    }
    *ret = n == 1 ? only : at;
    return n_loads == 0 || n == 1 || n_at == 1;
}

int elf_base(const struct elf *e, const struct profile_mapping *m, uint64_t address, uint64_t *ret,
             struct err *err)
{
    const struct elf_segment *s = e->text;
    uint64_t base;
    /* A profile without a mapping, as old versions of Go write, has addresses of the file. */
    bool without_mapping = m->start == 0 && m->limit == 0;
    if (!without_mapping && (address < m->start || address >= m->limit))
        return err_set(err, ERR_FAILED, "an address is outside the mapping");
    if (m->start < m->limit && !(m->limit >> 63) && !find_segment(e, m, address, &s))
        return err_set(err, ERR_FAILED, "no program header matches mapping info");
    if (compute_base(e, s, m, &base, err) < 0)
        return -1;
    *ret = base;
    return 0;
}

/* Writes upstream's message with the file's name. */
static int wrap_refusal(const char *path, const struct err *why, struct err *err)
{
    char shown[300];
    if (why->out_of_memory)
        return err_nomem(err);
    text_printable(shown, sizeof shown, path, strlen(path));
    return err_set(err, ERR_FAILED, "error reading ELF file %s: %s", shown, why->msg);
}

int binary_read(const char *path, const struct profile_mapping *m, struct elf *ret, struct err *err)
{
    struct stat st;
    struct err why = ERR_INIT;
    struct elf e = {0};
    /* Opening a pipe or a device could disturb other programs. */
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
        err_set(&why, ERR_FAILED, "it is no regular file");
        return wrap_refusal(path, &why, err);
    }
    /* Another file may take its place meanwhile: do not block on a pipe. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        char shown[300];
        const char *words = strerror(errno);
        return err_set(err, ERR_NOT_FOUND, "open %s: %c%s",
                       text_printable(shown, sizeof shown, path, strlen(path)),
                       tolower((unsigned char)words[0]), words + 1);
    }
    int rc = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? elf_read(fd, &e, &why)
                                                        : err_set(&why, ERR_FAILED, "it is no regular file");
    fd_close(&fd);
    if (rc < 0 || elf_check_base(&e, m, &why) < 0) {
        elf_release(&e);
        return wrap_refusal(path, &why, err);
    }
    *ret = e;
    return 0;
}
