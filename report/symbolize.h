/*
 * Names for profiles that bring none: from the binaries that the profile names, or from the server that it
 * came from; and mangled names made readable.
 *
 * Source: google/pprof internal/symbolizer, internal/symbolz, internal/binutils and, for where binaries are,
 * internal/driver/fetch.go. What is run and who is asked is the caller's: `struct symbolize_tools`.
 */
#ifndef REPORT_SYMBOLIZE_H
#define REPORT_SYMBOLIZE_H

#include "proto/proto.h"

/* The programs that are of use. Each gets lines, and answers with lines. */
enum symbolize_program {
    SYMBOLIZE_ADDR2LINE, /* `addr2line -aif -e FILE`: addresses in, places out */
    SYMBOLIZE_NM,        /* `nm --numeric-sort --print-size --format=posix FILE`: a table of symbols */
    SYMBOLIZE_CXXFILT,   /* `c++filt`: names in and out */
    SYMBOLIZE_CXXFILT_P, /* `c++filt -p`: the same, without parameters */
};

/*
 * Runs one of them on a file (NULL: none) with that input. 0 with its output in the buffer, which was empty,
 * whatever its exit code but for nm, of which a failure has no output. ERR_NOT_FOUND where there is no such
 * program, ERR_CANCELLED where the user gave up; any other error means that it said nothing of use.
 */
typedef int symbolize_run_fn(void *ctx, enum symbolize_program program, const char *file, struct str input,
                             struct buf *ret, struct err *err);
/* Asks the server a profile came from for names: the addresses are `0x…+0x…`. */
typedef int symbolize_post_fn(void *ctx, const char *source, struct str addresses, struct buf *ret,
                              struct err *err);
/* Told what there is to say beside the report: a line without an end. */
typedef void symbolize_say_fn(void *ctx, const char *line);

struct symbolize_tools {
    symbolize_run_fn *run;
    symbolize_post_fn *post;
    symbolize_say_fn *say;
    void *ctx;
};

/* Where mappings came from, which are told apart by build ID, file, or the source itself. All 0: none. */
struct symbolize_source {
    char *key, *source;
    uint64_t start;
};
struct symbolize_sources {
    struct symbolize_source *items;
    size_t n, cap;
};
void symbolize_sources_release(struct symbolize_sources *s);
/* Puts those of `from` behind the others: `from` is empty then. */
int symbolize_sources_move(struct symbolize_sources *to, struct symbolize_sources *from, struct err *err);

/*
 * Gives mappings the file that a search path (as PATH; NULL or empty: $HOME/pprof/binaries) has for them, by
 * build ID or by name. Files that are regular ELF files are opened and read, nothing else.
 */
int symbolize_locate(struct profile *p, const char *search_path, symbolize_say_fn *say, void *ctx,
                     struct err *err);

/* Notes that the profile's mappings came from that URL. A mapping that nothing else tells apart gets the URL
 * for a file: symbolize_unsource takes it away. */
int symbolize_collect(struct profile *p, const char *url, struct symbolize_sources *to, struct err *err);
/* Mappings without a build ID whose file is a URL lose it. */
void symbolize_unsource(struct profile *p);

/*
 * Looks names up for those mappings that have none, and makes mangled names readable, as `mode` says it
 * (-symbolize; NULL: as usual). Nothing is run, opened or asked where there is nothing to look up. -1 where
 * upstream gives up too (the server does not answer), and when the user did.
 */
int symbolize(struct profile *p, const char *mode, const struct symbolize_sources *sources,
              const struct symbolize_tools *tools, struct err *err);

#endif
