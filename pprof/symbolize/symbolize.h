/*
 * Looks up function names for a profile without names: in the binaries that the profile names, or at the
 * server that sent the profile. Also demangles names.
 *
 * Source: google/pprof internal/symbolizer, internal/symbolz, internal/binutils and, for the places of
 * binaries, internal/driver/fetch.go. The caller runs programs and sends requests: `struct symbolize_tools`.
 */
#ifndef PPROF_SYMBOLIZE_SYMBOLIZE_H
#define PPROF_SYMBOLIZE_SYMBOLIZE_H

#include "proto/proto.h"

/* The external programs. Each reads lines and writes lines. */
enum symbolize_program {
    SYMBOLIZE_ADDR2LINE, /* `addr2line -aif -e FILE`: reads addresses (0x401136), writes places */
    SYMBOLIZE_NM,        /* `nm --numeric-sort --print-size --format=posix FILE`: writes a table of symbols */
    SYMBOLIZE_CXXFILT,   /* `c++filt`: reads and writes names */
    SYMBOLIZE_CXXFILT_NO_PARAMETERS, /* `c++filt -p`: the same, without parameters */
    SYMBOLIZE_NM_ALL,  /* `nm -n FILE`: writes a table of all symbols, also those without a size */
    SYMBOLIZE_OBJDUMP, /* `objdump --disassemble ... FILE`: writes the instructions of a range */
    SYMBOLIZE_LLVM,    /* llvm-symbolizer: input and output as those of addr2line */
};

/* A program to run. */
struct symbolize_query {
    enum symbolize_program program;
    const char *file; /* its operand; NULL: none */
    struct str input;
    /* For objdump. */
    uint64_t start, stop; /* the range, in addresses of the file, without `stop` */
    bool intel_syntax;
};

/*
 * Runs the program, and writes its output to *ret, an empty buffer. Returns 0 for any exit code of addr2line
 * and c++filt; a failed nm gives no output, and a failed objdump or llvm-symbolizer is ERR_FAILED.
 * ERR_NOT_FOUND: the program is missing. ERR_CANCELLED: the user cancelled. Other errors: no usable output.
 */
typedef int symbolize_run_fn(void *ctx, const struct symbolize_query *query, struct buf *ret,
                             struct err *err);
/* Asks the server that sent a profile for names. `url` is the profile's URL, `addresses` is `0x…+0x…`. */
typedef int symbolize_post_fn(void *ctx, const char *url, struct str addresses, struct buf *ret,
                              struct err *err);
/* Receives a message for the user: one line without a line end. */
typedef void symbolize_say_fn(void *ctx, const char *line);

struct symbolize_tools {
    symbolize_run_fn *run;
    symbolize_post_fn *post;
    symbolize_say_fn *say;
    void *ctx;
};

/* The server that sent a mapping. `key` is the mapping's build ID, else its file, else the URL. */
struct symbolize_server {
    char *key, *url; /* url: of the profile */
    uint64_t start;  /* of the mapping in the server's profile */
};
/* A list of servers. A zeroed list is empty. */
struct symbolize_servers {
    struct symbolize_server *items;
    size_t n, cap;
};
void symbolize_sources_release(struct symbolize_servers *s);
/* Appends the sources of `from`, which is empty afterwards. */
int symbolize_sources_move(struct symbolize_servers *to, struct symbolize_servers *from, struct err *err);

/*
 * Sets the mappings' files to files found by build ID or name in a search path (like PATH; NULL or empty:
 * $HOME/pprof/binaries). Reads only regular ELF files.
 */
int symbolize_locate(struct profile *p, const char *search_path, symbolize_say_fn *say, void *ctx,
                     struct err *err);

/* Records `url` as the source of the profile's mappings. A mapping without build ID and file gets the URL
 * as its file; symbolize_remove_urls removes it. */
int symbolize_collect(struct profile *p, const char *url, struct symbolize_servers *to, struct err *err);
/* Removes the file of each mapping whose file is a URL and that has no build ID. */
void symbolize_remove_urls(struct profile *p);

/*
 * Finds names for mappings without names, and demangles names, as `mode` (-symbolize; NULL: the default)
 * requests. Runs, opens and requests nothing if no name is missing or mangled. Returns -1 where upstream
 * fails too (the server does not answer), and after a cancellation.
 */
int symbolize(struct profile *p, const char *mode, const struct symbolize_servers *sources,
              const struct symbolize_tools *tools, struct err *err);

/* ---- programs.c: the external programs, within limits of memory and time ------------------------------- */

struct programs {
    const char *directories; /* as -tools names them; NULL: those of PATH */
    /* Called before each program. *ret_cancel_fd ends the program when it becomes readable; -1: nothing ends
     * it. */
    int (*begin)(int *ret_cancel_fd, struct err *err);

    /* Set by programs_run. */
    int cancel_fd;
    int64_t spent_ms;       /* processor time of all programs so far */
    uint64_t largest_bytes; /* bytes of the largest binary so far, its input included */
};

/* Runs a program; a symbolize_run_fn. ctx is a struct programs. No program asks a debuginfod server: the
 * request would tell the server which binaries the user has. */
int programs_run(void *ctx, const struct symbolize_query *query, struct buf *ret, struct err *err);

/* Lets the programs that a confined child starts on the binaries of the profile have more memory and time
 * than the child itself. */
void programs_allow(const struct profile *p, struct proc_fork_limits *limits);

#endif
