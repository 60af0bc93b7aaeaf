/* Internals of symbolizing: the output of programs and servers, and the addresses of a binary's file. */
#ifndef PPROF_SYMBOLIZE_SYMBOLS_H
#define PPROF_SYMBOLIZE_SYMBOLS_H

#include "pprof/symbolize/symbolize.h"

/* The parsed value of -symbolize. */
struct symbolize_mode {
    bool none, local, remote;
    bool fast;  /* without addr2line */
    bool force; /* also look up names that the profile has */
    enum demangle { DEMANGLE_SIMPLE, DEMANGLE_TEMPLATES, DEMANGLE_FULL, DEMANGLE_NONE } demangle;
};

/* The longest name in a message, in bytes. */
#define SYMBOLIZE_SHOWN 200
void symbolize_say(const struct symbolize_tools *t, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- locations by mapping ------------------------------------------------------------------------------ */

/* The most mappings of a profile that get names: each costs programs and requests. Real processes map a few
 * hundred binaries. */
#define SYMBOLIZE_MAPPINGS 1000

/* Indices of locations by mapping, in the profile's order. Mapping m has items[first[m]] up to, but not
 * including, items[first[m + 1]]. Locations without a mapping are left out. */
struct mapped_locations {
    uint32_t *items;
    size_t *first;
    size_t n_mappings; /* at most SYMBOLIZE_MAPPINGS */
};
int mapped_locations_init(const struct profile *p, struct mapped_locations *ret, struct err *err);
void mapped_locations_release(struct mapped_locations *m);

/* ---- sources of names ---------------------------------------------------------------------------------- */

/* The inputs of symbolize_local and symbolize_remote. */
struct symbolize_inputs {
    struct profile *profile;
    const struct symbolize_mode *mode;
    const struct symbolize_tools *tools;
    const struct mapped_locations *locations;
};
int symbolize_local(const struct symbolize_inputs *s, struct err *err);
int symbolize_remote(const struct symbolize_inputs *s, const struct symbolize_servers *sources,
                     struct err *err);
int symbolize_demangle(struct profile *p, const struct symbolize_mode *mode,
                       const struct symbolize_tools *tools, struct err *err);

/*
 * Asks for the frames at addresses: the function and, if calls were inlined, their callers. query->program
 * becomes the program that answered: llvm-symbolizer, or addr2line if that is missing or fails. google/pprof
 * prefers llvm-symbolizer too. It reads debug information that addr2line of binutils 2.40 does not, such as
 * the DWARF 5 of Go 1.25, and its names need no correction by nm. Returns the same as `run`.
 */
int symbolize_ask_frames(symbolize_run_fn *run, void *ctx, struct symbolize_query *query, struct buf *ret,
                         struct err *err);

/* ---- output of programs and servers -------------------------------------------------------------------- */

/* One frame at an address. The innermost is the first. */
struct frame {
    struct str function, file; /* point into the output; empty: unknown */
    int64_t line;
};
struct frames {
    struct frame *items; /* freed by the caller; the next addr2line_next reuses it */
    size_t n, cap;
};

/*
 * Reads the next address from the output of `addr2line -aif`, and the frames at that address. *rest is the
 * remaining output. Returns 1; 0 at the end or for invalid output; -1 if memory is exhausted.
 */
int addr2line_next(struct str *rest, uint64_t *ret_address, struct frames *ret, struct err *err);

/* nm's table, sorted by address. The names point into nm's output. */
struct nm_symbol {
    uint64_t address, size;
    struct str name;
    bool is_data;
};
struct nm {
    struct nm_symbol *symbols;
    size_t n, cap;
};
/* Reads the output of nm, and adds `base` to each address. Ignores lines other than symbols with a size. */
int nm_read(struct str text, uint64_t base, struct nm *ret, struct err *err);
void nm_release(struct nm *nm);
/* Returns the symbol at an address, or NULL. */
const struct nm_symbol *nm_find(const struct nm *nm, uint64_t address);

/* One name in a symbol server's answer. */
struct symbolz {
    uint64_t address;
    struct str name;
};
/* Reads the next line with a name. Returns 1; 0 at the end; -1 for an address that is too large. */
int symbolz_next(struct str *rest, struct symbolz *ret, struct err *err);

/* ---- names --------------------------------------------------------------------------------------------- */

/* Returns whether c++filt should demangle the name. *ret is the part to pass (macOS adds a `_` in front). */
bool demangle_find_mangled(struct str name, struct str *ret);
/* Appends `text`, which c++filt wrote for the mangled name, to the buffer in the form of google/pprof. The
 * text must come from c++filt for DEMANGLE_FULL, and from c++filt -p otherwise. */
void demangle_shorten(struct str mangled, struct str text, enum demangle mode, struct buf *to);

/* ---- binaries ------------------------------------------------------------------------------------------ */

struct elf_segment {
    uint64_t offset, address, file_size, memory_size, align;
    bool load, executable, note;
};
/* The properties of an ELF file that concern addresses. */
struct elf {
    unsigned type;
    struct elf_segment *segments;
    size_t n;
    const struct elf_segment *text; /* the segment with .text; NULL: none */
    char build_id[2 * 64 + 1];      /* hexadecimal; empty: none */
};
/* Reads a file. ERR_FAILED if it is no valid ELF file. */
int elf_read(int fd, struct elf *ret, struct err *err);
void elf_release(struct elf *e);

/* elf_base computes the difference between addresses of a mapping and of its file. elf_check_base checks
 * whether this is possible for the segment with .text. */
int elf_check_base(const struct elf *e, const struct profile_mapping *m, struct err *err);
int elf_base(const struct elf *e, const struct profile_mapping *m, uint64_t address, uint64_t *ret,
             struct err *err);

/* Opens a mapping's file if it is a regular file, reads it with elf_read, and checks it with
 * elf_check_base. */
int binary_read(const char *path, const struct profile_mapping *m, struct elf *ret, struct err *err);

#endif
