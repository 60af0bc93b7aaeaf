/* Output of addr2line, nm, c++filt and symbol servers, and ELF files; the first byte chooses one. */
#include "tests/fuzz/fuzz.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "pprof/symbolize/symbols.h"

#include "base/banned.h"

static bool is_part_of(struct str part, struct str whole)
{
    return part.n == 0 || (part.p >= whole.p && part.p + part.n <= whole.p + whole.n);
}

static void read_addr2line(struct str text)
{
    struct str rest = text;
    struct frames frames = {0};
    uint64_t address;
    while (addr2line_next(&rest, &address, &frames, NULL) > 0) {
        assert(rest.n < text.n && is_part_of(rest, text));
        for (size_t i = 0; i < frames.n; i++)
            assert(is_part_of(frames.items[i].file, text) &&
                   (frames.items[i].function.n || frames.items[i].file.n || frames.items[i].line));
    }
    free(frames.items);
}

static void read_nm(struct str text)
{
    struct nm nm;
    assert(nm_read(text, 0x1000, &nm, NULL) == 0);
    for (size_t i = 0; i < nm.n && i < 100; i++) {
        const struct nm_symbol *s = nm_find(&nm, nm.symbols[i].address);
        assert(is_part_of(nm.symbols[i].name, text) && (!s || (s >= nm.symbols && s < nm.symbols + nm.n)));
    }
    nm_release(&nm);
}

static void read_symbolz(struct str text)
{
    struct str rest = text;
    struct symbolz s;
    struct err err = ERR_INIT;
    int more;
    while ((more = symbolz_next(&rest, &s, &err)) > 0)
        assert(is_part_of(s.name, text) && (s.name.n == 0 || !memchr(s.name.p, '\n', s.name.n)));
    if (more < 0)
        fuzz_expect_err(&err);
}

/* The text is a mangled name, a line's end, and the output of c++filt for the name. */
static void check_demangle(struct str text)
{
    const char *end = text.n ? memchr(text.p, '\n', text.n) : NULL;
    struct str mangled, ignored, name = text;
    if (end) {
        mangled = (struct str){text.p, (size_t)(end - text.p)};
        name = (struct str){end + 1, text.n - mangled.n - 1};
    } else {
        mangled = STR("_Z1f");
    }
    (void)demangle_find_mangled(mangled, &ignored);
    for (enum demangle mode = DEMANGLE_SIMPLE; mode < DEMANGLE_NONE; mode++) {
        struct buf to = BUF_INIT(1u << 22);
        demangle_shorten(mangled, name, mode, &to);
        /* Only blanks between angle brackets are added. */
        assert(!to.failed && to.len <= 2 * name.n);
        buf_release(&to);
    }
}

static void read_elf(struct str bytes)
{
    static const struct profile_mapping mappings[] = {
        {.start = 0x7f0000001000, .limit = 0x7f0000003000, .offset = 0x1000},
        {.start = 0x401000, .limit = 0x403000, .offset = 0x1000},
        {.start = 0}};
    struct elf e;
    struct err err = ERR_INIT;
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    assert(fd >= 0 && write(fd, bytes.p, bytes.n) == (ssize_t)bytes.n);
    if (elf_read(fd, &e, &err) == 0) {
        uint64_t base;
        assert(strspn(e.build_id, "0123456789abcdef") == strlen(e.build_id));
        for (size_t i = 0; i < sizeof mappings / sizeof *mappings; i++)
            if (elf_check_base(&e, &mappings[i], NULL) == 0)
                (void)elf_base(&e, &mappings[i], mappings[i].start + 0x100, &base, NULL);
        elf_release(&e);
    } else {
        fuzz_expect_err(&err);
    }
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    if (n == 0)
        return 0;
    struct str rest = {(const char *)p + 1, n - 1};
    switch (p[0]) {
    case 'a':
        read_addr2line(rest);
        break;
    case 'n':
        read_nm(rest);
        break;
    case 's':
        read_symbolz(rest);
        break;
    case 'd':
        check_demangle(rest);
        break;
    default:
        read_elf(rest);
        break;
    }
    return 0;
}
