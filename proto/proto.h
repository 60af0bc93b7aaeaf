/*
 * The public header of this folder. Declares parsers that read gzip, profile.proto and traces as streams.
 *
 * Sources: google/pprof proto/profile.proto; RFC 1952 (gzip); Go's internal/trace.
 */
#ifndef PROTO_PROTO_H
#define PROTO_PROTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"
#include "proto/function_table.h"
#include "proto/gzip.h"
#include "proto/two_threads.h"
#include "proto/kind.h"
#include "proto/label_order.h"
#include "proto/measure.h"
#include "proto/profile.h"

/* ---- gzip ---- */

/* Receives the next bytes of the output. If it returns -1, inflating ends with its error. */
typedef int gunzip_sink_fn(void *ctx, const void *p, size_t n, struct err *err);

/* Inflates a gzip file of one or more members, which the caller feeds in pieces of any size. Checks each
 * member's CRC and length. After a failure every call returns the same error. */
struct gunzip;
/* Creates an inflater. `max_bytes` limits the inflated size, against gzip bombs. */
struct gunzip *gunzip_new(gunzip_sink_fn *sink, void *ctx, uint64_t max_bytes, struct err *err);
void gunzip_free(struct gunzip *z);
int gunzip_feed(struct gunzip *z, const void *p, size_t n, struct err *err);
/* Returns the number of gzip members read so far. */
unsigned gunzip_members(const struct gunzip *z);
/* Checks that the file ended at the end of a member. */
int gunzip_finish(struct gunzip *z, struct err *err);

/* ---- profile ---- */

#define PROFILE_MAX_SAMPLE_TYPES 16

struct profile_sample_type {
    char type[64]; /* "cpu", "inuse_space"; made printable */
    char unit[64]; /* "nanoseconds", "bytes" */
    int64_t total; /* sum over all samples, saturating */
};

/* The summary of a profile that was read as a stream. */
struct profile_summary {
    uint64_t samples;
    uint64_t locations;
    uint64_t functions;
    uint64_t mappings;
    struct profile_sample_type types[PROFILE_MAX_SAMPLE_TYPES];
    size_t n_types;
    int64_t time_ns;
    int64_t duration_ns;
    int64_t period;
    uint64_t unknown;        /* unknown fields, in any message */
    char build_id[128];      /* of the first mapping; empty if it has none */
    uint64_t max_depth;      /* locations of the deepest stack */
    uint64_t samples_at_max; /* number of samples of that depth */
    char go_version[16];     /* "1.22.3", from the path of package runtime; empty if unknown */
};

/* Reads the version of Go from the toolchain's directory in the path of one of the runtime's own sources
 * (/usr/lib/go-1.19/src/runtime/proc.go, .../toolchain@v0.0.1-go1.22.3.linux-amd64/src/runtime/proc.go). */
bool go_version_of_path(const char *path, size_t n, char *dst, size_t cap);

/*
 * Reads an uncompressed profile.proto message, fed in pieces of any size, in constant memory: it stores no
 * complete message. Checks the wire format of all fields and nested messages, that every sample has one value
 * for each sample type, that every string index is inside the table, and that the first string is empty.
 * After a failure every call returns the same error. The name of a sample type is "?" if the string of the
 * name precedes the sample type in the file, and is not in the first 64 KiB of the table. More than
 * PROFILE_MAX_SAMPLE_TYPES types are refused.
 */
struct profile_scan;
struct profile_scan *profile_scan_new(struct err *err);
void profile_scan_free(struct profile_scan *s);
int profile_scan_feed(struct profile_scan *s, const void *p, size_t n, struct err *err);
int profile_scan_finish(struct profile_scan *s, struct profile_summary *ret, struct err *err);
/* Returns whether a whole sample type was read so far. Bytes without one are probably no profile. */
bool profile_scan_has_type(const struct profile_scan *s);
/* Returns whether a sample or a string was read so far. */
bool profile_scan_has_data(const struct profile_scan *s);

/* Returns whether profile_relabel must replace the values of the labels with that key. */
typedef bool profile_label_fn(void *ctx, const char *key, size_t n);

/* Passes the complete uncompressed profile to the sink, in pieces of at most 1 MiB. profile_relabel calls
 * this function several times; the function must pass the same bytes each time. */
typedef int profile_source_fn(void *ctx, gunzip_sink_fn *sink, void *sink_ctx, struct err *err);

/* Returns whether a string of the table (a name, a path, a kept label's value) contains text to remove.
 * Appends the string without that text to `ret`, unless `ret` is NULL. */
typedef bool profile_string_fn(void *ctx, const char *text, size_t n, struct buf *ret);

struct profile_relabel {
    profile_label_fn *is_replaced;
    profile_string_fn *rewrite; /* NULL: strings are not checked */
    void *ctx;
    const char *text; /* the replacement of a removed value; at most 4096 bytes */
    profile_source_fn *source;
    void *source_ctx;
    gunzip_sink_fn *sink; /* receives the new profile, in order */
    void *sink_ctx;
};

/* The numbers of changed labels, changed strings and dropped fields. If all are 0, nothing was written. */
struct profile_relabelled {
    uint64_t labels, strings;
    uint64_t unknown; /* dropped fields: the rules of redaction cannot check unknown fields */
};
/*
 * Writes a copy of a profile. Replaces the values of the labels that `is_replaced` selects (numbers too),
 * rewrites strings, and drops unknown fields in every message. Removes a string from the table if only
 * replaced labels used it. Copies everything else byte for byte. Checks the profile first, as profile_scan
 * does. Reads the source once if nothing changes, twice if only strings or unknown fields change, three times
 * if a label changes, and rarely once more. Memory: a byte for each string and twice the largest field (a
 * sample, a string). ERR_FAILED for a field of more than 16 MiB, and for more than 250 different keys of
 * labels.
 */
int profile_relabel(const struct profile_relabel *options, struct profile_relabelled *ret, struct err *err);

/* ---- execution traces ---- */

#define TRACE_HEADER_SIZE 16
/* Parses the first 16 bytes of a trace (`go 1.22 trace\0\0\0`). *ret_minor is the 22. Returns -1 if the bytes
 * are not such a header. */
int trace_parse_header(const void *p, size_t n, unsigned *ret_minor, struct err *err);

/* The summary of a complete trace. For an unknown version all members except `minor` are 0. */
struct trace_summary {
    unsigned minor;       /* the 22 of `go 1.22 trace` */
    uint64_t batches;     /* buffers of the runtime */
    uint64_t generations; /* from 1.22 on: parts that can be read independently, about one each second */
    uint64_t events;      /* only up to 1.21 */
};

/*
 * Checks in constant memory that a trace, fed in pieces of any size, is complete. Reads its batches (minor
 * versions 22, 23, 25, 26) or its events (11, 19, 21) to the end, and requires what the runtime always
 * writes: the clock's frequency; from 22 on also strings in every generation; from 26 on also the mark that
 * ends a generation. For another version it checks only the header. After a failure every call returns the
 * same error.
 *
 * It does not detect: a wrong byte inside a batch, which it skips; a cut between two generations; before 26 a
 * cut between two batches, once the last generation has its clock and strings (a busy program writes some of
 * them early); up to 21 a cut between two events after the clock's frequency, which precedes the stacks.
 *
 * Sources: Go's internal/trace/version; from 22 on internal/trace (batch.go, reader.go, generation.go) and
 * internal/trace/tracev2 (events.go) of Go 1.26, runtime/trace.go; up to 21 internal/trace/parser.go of 1.19.
 */
struct trace_scan;
struct trace_scan *trace_scan_new(struct err *err);
void trace_scan_free(struct trace_scan *s);
int trace_scan_feed(struct trace_scan *s, const void *p, size_t n, struct err *err);
int trace_scan_finish(struct trace_scan *s, struct trace_summary *ret, struct err *err);

#endif
