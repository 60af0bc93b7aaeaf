/*
 * The page: profiles and dumps of goroutines in one HTML file that draws them, without a network.
 *
 * It is written from its beginning to its end, entry after entry, so that no more than one is in memory. What
 * is drawn stands in it as JSON, gzip'ed and in base64 (docs/formats.md). Its Content-Security-Policy lets
 * nothing run but its own script, and nothing be loaded; names from anywhere stand in it as data alone. There
 * are no values of labels in it, and no command lines.
 *
 * The page's own parts come from web/ (report/page_source.h).
 */
#ifndef REPORT_PAGE_H
#define REPORT_PAGE_H

#include "proto/proto.h"
#include "report/goroutines.h"
#include "report/peers.h"
#include "report/sides.h"
#include "report/words.h"

/* The most nodes of a profile's call tree, and groups of goroutines. */
#define PAGE_MAX_NODES 50000
#define PAGE_MAX_GROUPS 5000
/* What the numbers and names of one entry may take, before they are compressed. */
#define PAGE_MAX_ENTRY ((size_t)64 << 20)

/* What an entry is called, and where it is from. All texts of these structs are made printable; NULL is what
 * is not known. */
struct page_entry {
    const char *title; /* "file-03 gitaly cpu" */
    const char *file;  /* of the bundle, or as somebody named it */
    const char *kind;
    const char *host, *service;
    enum words_source from;
    const char *here, *there; /* of two sides: who they are */
};

/* A sentence of the summary. */
struct page_sentence {
    const char *rule, *text;
    const char *file; /* of the entry that it is from */
    enum words_source from;
    const char *look; /* a function to look at */
};

/* Hosts of one service, side by side; they have been compared. */
struct page_group {
    const char *service;
    const struct peers *hosts;
};

/* What stands in front. */
struct page_bundle {
    const char *tool; /* "profgrab 0.1.0" */
    const char *name;
    const char *made;    /* when, "2026-11-22T10:00:00Z" */
    struct str manifest; /* JSON; empty: there is none */
    const struct page_sentence *summary;
    size_t n_summary;
    const struct page_group *groups;
    size_t n_groups;
};

/* Takes the page's bytes, in order; -1 ends it with err as it was left. */
typedef int page_sink_fn(void *ctx, const void *p, size_t n, struct err *err);

struct page;
/* Writes the beginning. `max_bytes`: entries that would make it larger are refused. */
int page_new(page_sink_fn *sink, void *ctx, uint64_t max_bytes, struct page **ret, struct err *err);
void page_free(struct page *p);
/* Entries that follow may make it so many bytes larger. */
void page_allow(struct page *p, uint64_t more_bytes);

/*
 * Add an entry. ERR_FAILED: it cannot be drawn, or there is no room for it, and nothing of it was written:
 * another may follow, or page_add_nothing. Any other failure is the sink's or for want of memory, and ends
 * the page. The profile is changed (report/flame.h).
 */
int page_add_profile(struct page *p, const struct page_entry *entry, struct profile *profile,
                     struct err *err);
int page_add_goroutines(struct page *p, const struct page_entry *entry, const struct goroutines *g,
                        struct err *err);
/* Two sides, as one picture of what differs. */
int page_add_sides(struct page *p, const struct page_entry *entry, const struct sides *s, struct err *err);
/* An entry that is not drawn, and why. */
int page_add_nothing(struct page *p, const struct page_entry *entry, const char *why, struct err *err);

/* Writes the rest. Only page_free may follow. */
int page_finish(struct page *p, const struct page_bundle *bundle, struct err *err);

#endif
