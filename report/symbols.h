/* Symbolizing, inside: what programs and servers answer, and what a binary's file says of its addresses. */
#ifndef REPORT_SYMBOLS_H
#define REPORT_SYMBOLS_H

#include "report/symbolize.h"

/* What -symbolize says. */
struct symbolize_mode {
    bool none, local, remote, fast, force;
    enum demangle { DEMANGLE_SIMPLE, DEMANGLE_TEMPLATES, DEMANGLE_FULL, DEMANGLE_NONE } demangle;
};

/* A file's base name or the like, cut to what a message can bear. */
#define SYMBOLIZE_SHOWN 200
void symbolize_say(const struct symbolize_tools *t, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- the locations of a mapping --------------------------------------------------------------------------
 */

/* Names are looked up for this many mappings of a profile at most: each costs programs that run and requests
 * that are sent. Real processes map some hundred binaries. */
#define SYMBOLIZE_MAPPINGS 1000

/* Indices of locations, grouped by mapping, in the profile's order. Those of mapping m are items[first[m]] up
 * to items[first[m + 1]]. Locations without a mapping are left out. */
struct mapped_locations {
    uint32_t *items;
    size_t *first;
    size_t n_mappings; /* SYMBOLIZE_MAPPINGS at most */
};
int mapped_locations_init(const struct profile *p, struct mapped_locations *ret, struct err *err);
void mapped_locations_release(struct mapped_locations *m);

/* ---- the three ways --------------------------------------------------------------------------------------
 */

struct symbolizing {
    struct profile *profile;
    const struct symbolize_mode *mode;
    const struct symbolize_tools *tools;
    const struct mapped_locations *locations;
};
int symbolize_local(const struct symbolizing *s, struct err *err);
int symbolize_remote(const struct symbolizing *s, const struct symbolize_sources *sources, struct err *err);
int symbolize_names(struct profile *p, const struct symbolize_mode *mode, const struct symbolize_tools *tools,
                    struct err *err);

/* ---- answers ---------------------------------------------------------------------------------------------
 */

/* One call at an address: the innermost comes first. */
struct frame {
    struct str function, file; /* point into the answer; empty: not known */
    int64_t line;
};
struct frames {
    struct frame *items; /* the caller's, to be freed; used again by the next call */
    size_t n, cap;
};

/*
 * The next address that addr2line -aif speaks of, and the calls there. *rest is what is left of its answer.
 * 1; 0 at its end, or where it is no such answer; -1 without memory.
 */
int addr2line_next(struct str *rest, uint64_t *ret_address, struct frames *ret, struct err *err);

/* A table of nm, by address. Names point into its text. */
struct nm_symbol {
    uint64_t address, size;
    struct str name;
    bool data;
};
struct nm {
    struct nm_symbol *symbols;
    size_t n, cap;
};
/* Lines that are no symbols with a size are passed over. */
int nm_read(struct str text, uint64_t base, struct nm *ret, struct err *err);
void nm_release(struct nm *nm);
/* The symbol at an address, or NULL. */
const struct nm_symbol *nm_find(const struct nm *nm, uint64_t address);

/* One name of a symbol server's answer. */
struct symbolz {
    uint64_t address;
    struct str name;
};
/* The next line of it that has one: 1, 0 at the end, -1 for an address that is too large. */
int symbolz_next(struct str *rest, struct symbolz *ret, struct err *err);

/* ---- names -----------------------------------------------------------------------------------------------
 */

/* Whether c++filt should see it; *ret is what of the name (macOS puts one more `_` in front). */
bool demangle_wanted(struct str name, struct str *ret);
/* What c++filt (for DEMANGLE_FULL, else c++filt -p) made of a name, as upstream shows it: added to the
 * buffer. */
void demangle_shorten(struct str mangled, struct str text, enum demangle mode, struct buf *to);

/* ---- binaries --------------------------------------------------------------------------------------------
 */

struct elf_segment {
    uint64_t offset, address, file_size, memory_size, align;
    bool load, executable, note;
};
/* An ELF file, as far as addresses are concerned. */
struct elf {
    unsigned type;
    struct elf_segment *segments;
    size_t n;
    const struct elf_segment *text; /* the one with .text; NULL: none */
    char build_id[2 * 64 + 1];      /* hexadecimal; empty: none */
};
/* Reads it from a descriptor. ERR_FAILED for what is none. */
int elf_read(int fd, struct elf *ret, struct err *err);
void elf_release(struct elf *e);

/* What the addresses of a mapping are more than those of its file. elf_can_base: whether that can be said
 * at all. */
int elf_can_base(const struct elf *e, const struct profile_mapping *m, struct err *err);
int elf_base(const struct elf *e, const struct profile_mapping *m, uint64_t address, uint64_t *ret,
             struct err *err);

/* Opens a mapping's file, if it is a regular one, and reads what elf_read reads of it. */
int binary_open(const char *path, const struct profile_mapping *m, struct elf *ret, struct err *err);

#endif
