/* Internals of -weblist: addresses with samples, their instructions, and the source lines to show. */
#ifndef PPROF_MACHINE_LISTING_H
#define PPROF_MACHINE_LISTING_H

#include "pprof/machine/binary.h"
#include "pprof/source_code.h"

/* ---- addresses.c: addresses of the profile --------------------------------------------------------------
 */

struct address {
    uint64_t address;
    int64_t flat, cum;
    uint32_t location; /* the location at which the address matched; PROFILE_NONE: it did not */
};

struct addresses {
    struct address *items; /* each address once, in order */
    size_t n;
    unsigned char *interest; /* by string: names of functions that match */
    uint32_t *names;         /* by string: the readable name of a function with that linker name, plus 1 */
    size_t n_strings;        /* the number of items of both */
    bool any;                /* a function matches */
};
/* Computes the values of all addresses, and finds those that match the report's expression. A location
 * without an address gets one above all mappings. */
int addresses_init(struct addresses *a, struct report *report);
void addresses_release(struct addresses *a);
/* Adds up the values of the addresses from `from` up to, but not including, `to`. */
void addresses_sum(const struct addresses *a, uint64_t from, uint64_t to, int64_t *ret_flat,
                   int64_t *ret_cum);

/* Returns the first address from `from` up to, but not including, `to` that matches, or NULL. */
const struct address *addresses_find(const struct addresses *a, uint64_t from, uint64_t to);

/* ---- code.c: instructions, and the lines that they belong to --------------------------------------------
 */

/* A call at an instruction. */
struct code_call {
    uint32_t function, file; /* strings */
    int64_t line;            /* 0: unknown */
};

/* An instruction, or an address without a binary. */
struct code {
    uint64_t address;      /* of the profile */
    uint64_t file_address; /* in the binary; without a binary, that of the profile */
    uint64_t length;       /* in bytes */
    int64_t flat, cum;
    struct str text;  /* empty without a binary */
    uint32_t file;    /* of its innermost call; 0: unknown */
    int64_t line;     /* of its innermost call */
    uint32_t call_at; /* its first call in `calls`, the innermost */
    uint32_t n_calls; /* the number of its calls */
};

/* An instruction under a source line. An inlined instruction has a place in each function of interest. */
struct code_place {
    uint32_t file; /* a clean path, a string */
    int64_t line;
    uint32_t code;    /* index of the instruction */
    uint32_t n_calls; /* its calls before that of this place were inlined into this place */
};

struct code_map {
    struct report *report;
    const struct addresses *addresses;
    struct binaries binaries;
    struct disassembly *texts; /* the texts of instructions point into these */
    size_t n_texts;
    struct code *code;
    size_t n_code, cap_code;
    struct code_call *calls;
    size_t n_calls, cap_calls;
    struct code_place *places; /* in the order in which they were found */
    size_t n_places, cap_places;
    struct buf note; /* why machine code is missing */
};
int code_map_init(struct code_map *m, struct report *report, const struct addresses *addresses);
void code_map_release(struct code_map *m);

/* ---- listing.c: files, functions and lines ---------------------------------------------------------------
 */

struct listing_line {
    int64_t n;       /* 0: the instructions have no line number */
    struct str text; /* valid until the next call of listing_source */
    int64_t flat, cum;
    bool has_code; /* code[...] has more to show than the line itself */
};
struct listing_function {
    struct str name, path;
    int64_t flat, cum;
    int64_t begin, end; /* its lines; `end` is not one of them */
};
struct listing_code {
    const struct code *code;
    bool is_gap;                     /* does not follow the instruction above */
    const struct code_call *inlined; /* the inlined calls, the innermost first */
    size_t n_inlined, n_same;        /* the outermost n_same are those of the instruction above */
};

/* The parts of a listing, in order. Each function may be called many times, and none is NULL. */
struct listing;
struct listing_writer {
    void (*begin_file)(struct listing *l, struct str path);
    void (*begin_function)(struct listing *l, const struct listing_function *f);
    void (*begin_line)(struct listing *l, const struct listing_line *line);
    int (*code)(struct listing *l, const struct listing_code *code);
    void (*end_line)(struct listing *l, const struct listing_line *line);
    void (*end_function)(struct listing *l);
    void (*end_file)(struct listing *l);
};

struct listing {
    struct report *report;
    struct out *out;
    struct addresses addresses;
    struct code_map map;
    struct source_code *sources;
    const struct listing_writer *writer;
    /* For the writer: the number of parts of each kind since their parent's begin. */
    size_t n_files, n_functions, n_lines, n_code;
    size_t indent; /* of the source line, in columns */
};
/* Finds all parts. Fails as upstream does if no function matches. */
int listing_init(struct listing *l, struct report *report);
void listing_release(struct listing *l);
/* Calls the writer for the files: all, ordered by path; or if max_files is not 0, for those with the largest
 * flat values. */
int listing_write(struct listing *l, const struct listing_writer *writer, size_t max_files);
/* Reads a line of a source file, an index of a string. *ret is empty if there is no such line. */
int listing_source(struct listing *l, uint32_t file, int64_t line, struct str *ret);

#endif
