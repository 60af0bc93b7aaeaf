/*
 * The page: profiles and dumps of goroutines in one HTML file that draws them, without a network.
 *
 * The page is written entry by entry, so that only one entry is in memory. The data is JSON, compressed with
 * gzip and encoded in base64 (docs/formats.md). The Content-Security-Policy allows only the page's own
 * script and style and pictures in data: URLs, so the page loads nothing. Names from profiles appear as data
 * only. The page has no values of labels, and no command lines of processes.
 *
 * The page's own parts come from web/ (page/web.h).
 */
#ifndef PAGE_WRITER_H
#define PAGE_WRITER_H

#include "findings/findings.h"
#include "page/page.h"
#include "proto/proto.h"

/* The most nodes of a profile's call tree, and the most groups of goroutines. */
#define PAGE_MAX_NODES 50000
#define PAGE_MAX_GROUPS 5000
/* The most bytes of one entry before compression. */
#define PAGE_MAX_ENTRY ((size_t)64 << 20)

/* The title and origin of an entry. NULL means unknown. The page makes all texts of this and the following
 * structs printable. */
struct page_entry {
    const char *title; /* "file-03 gitaly cpu" */
    const char *file;  /* the bundle's member, or the user's name for it */
    const char *kind;
    const char *host, *service;
    enum finding_input from;
    const char *target, *baseline; /* for two sides: the hosts of each */
};

/* A finding's sentence. */
struct page_sentence {
    const char *rule, *text;
    const char *file; /* the file of its entry */
    enum finding_input from;
    const char *look_at;   /* the function to look at */
    const char *look_type; /* the sample type to look at; NULL: the profile's default type */
};

/* A fleet, with the name of its service. Call fleet_compare first. */
struct page_named_fleet {
    const char *service;
    const struct fleet *fleet;
};

/* The overview of a bundle. */
struct page_bundle {
    const char *tool; /* "profgrab 0.1.0" */
    const char *name;
    const char *made;    /* the time, "2026-11-22T10:00:00Z" */
    struct str manifest; /* JSON; empty: none */
    const struct page_sentence *summary;
    size_t n_summary;
    const struct page_named_fleet *fleets;
    size_t n_fleets;
};

struct page_writer;
/* Writes the beginning of the page. An entry that would make the page larger than `max_bytes` is refused. */
int page_writer_new(page_sink_fn *sink, void *ctx, uint64_t max_bytes, struct page_writer **ret,
                    struct err *err);
void page_writer_free(struct page_writer *writer);
/* Raises max_bytes for the entries that follow. */
void page_writer_raise_limit(struct page_writer *writer, uint64_t more_bytes);

/*
 * Add an entry. ERR_FAILED: the entry cannot be drawn, or the page has no room. Nothing of the entry was
 * written, so the caller may add another entry or call page_writer_add_undrawn. After any other failure (the
 * sink's, or lack of memory) only page_writer_free may follow. The profile changes (page/flame.h).
 */
int page_writer_add_profile(struct page_writer *writer, const struct page_entry *entry,
                            struct profile *profile, struct err *err);
int page_writer_add_goroutines(struct page_writer *writer, const struct page_entry *entry,
                               const struct goroutines *goroutines, struct err *err);
/* Adds a picture of the differences between two sides. */
int page_writer_add_comparison(struct page_writer *writer, const struct page_entry *entry,
                               const struct comparison *comparison, struct err *err);
/* Adds an entry without a picture, and the reason. */
int page_writer_add_undrawn(struct page_writer *writer, const struct page_entry *entry, const char *why,
                            struct err *err);

/* Writes the rest. Only page_writer_free may follow. */
int page_writer_finish(struct page_writer *writer, const struct page_bundle *bundle, struct err *err);

#endif
