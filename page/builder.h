/*
 * A drawing from the inside. Which files there are to draw is told by the manifest (page_builder_list.c);
 * each is drawn on the page and looked at for the summary, one after the other, and the end is written
 * (drawing.c). Where the bytes are from is the matter of those who have them: drawing_capture.c,
 * page_build_bundle.c, page_build_files.c. Several together are drawing_compare.c's.
 */
#ifndef PAGE_BUILDER_H
#define PAGE_BUILDER_H

#include <jansson.h>

#include "page/writer.h"

/* What is drawn of a profile, inflated, and how large the page may become: while somebody waits for their
 * bundle, and when somebody has asked for the page. */
struct page_limits {
    uint64_t profile, page;
    const char *too_large;
};
extern const struct page_limits page_limits_capture, page_limits_asked;
/* One part in so many of the page's room is kept for what compares sick hosts with healthy ones, which comes
 * last. */
#define PAGE_RESERVED_PART 8

/* How a file is drawn. */
enum { PAGE_AS_PROFILE = 1, PAGE_AS_DUMP = 2 };

/* A file that may be drawn. Texts are the manifest's. */
struct page_file {
    char *title;
    struct page_entry entry;
    unsigned how;    /* 0: not at all */
    const char *why; /* not */
    bool unsure;     /* it may be none of what is drawn: then it is passed over */
    bool met;

    /* With what it is compared (drawing_compare.c). */
    const char *argument;
    bool against;                  /* of a healthy host */
    int pair;                      /* 1 or 2: of two snapshots */
    bool later;                    /* the second of two that are both there */
    size_t sides, process, member; /* numbers from 1 on; 0: none. `member` is its place in a group of hosts */
};

struct page_builder {
    const struct page_limits *limits;
    struct page_writer *page;
    json_t *root;                       /* the manifest as JSON; NULL: none */
    struct manifest_contents *manifest; /* the same, typed */
    struct page_file *files;
    size_t n, cap;
    json_t *by_path; /* their numbers */
    struct findings words;
    bool wordless; /* there is a summary already */
    struct page_comparisons *comparing;
    struct page_progress *progress; /* NULL: nobody asks */
};

/* Notes that a file is read, NULL: none is. */
/* Whether the copy has used its time for reading files. The caller leaves out one more file then. */
bool page_progress_is_over(struct page_progress *p);
void page_builder_note_progress(struct page_builder *d, const struct page_file *f);
/* Has the drawing note its files there, and leave out the file that it says. */
void page_builder_apply_progress(struct page_builder *d, struct page_progress *p);

/* Lists what the manifest names, and begins the page. An empty manifest: there is none. page_builder_release
 * is due whatever it says. */
int page_builder_init(struct page_builder *d, const struct page_limits *limits, struct str manifest,
                      page_sink_fn *sink, void *ctx, struct err *err);
void page_builder_release(struct page_builder *d);

/* Fills `files` from the manifest. */
int page_builder_list(struct page_builder *d, struct err *err);

/* Draws a file as its `how` says. One that cannot be drawn is an entry that says so. */
int page_builder_draw(struct page_builder *d, const struct page_file *f, const struct buf *bytes,
                      struct err *err);
/* Whether an error is a fault of the file that was read, so that the page goes on without that file. */
static inline bool page_builder_is_file_error(const struct err *why)
{
    return why->kind == ERR_FAILED || why->kind == ERR_LIMIT || why->kind == ERR_UNSUPPORTED;
}

/* That entry, unless the page itself has failed: then `why` is the error. */
int page_builder_give_up(struct page_builder *d, const struct page_file *f, const struct buf *bytes,
                         const struct err *why, struct err *err);
/* One that was read: into the summary, unless there is one already, and on the page. */
int page_builder_add_profile(struct page_builder *d, const struct page_file *f, struct profile *p,
                             struct err *err);
int page_builder_add_dump(struct page_builder *d, const struct page_file *f, const struct goroutines *g,
                          struct err *err);

/* What was not drawn for want of its file, and what could not be. */
int page_builder_add_rest(struct page_builder *d, struct err *err);
/* The sentences and the rest of the page. `b` has what there is without a manifest. */
int page_builder_finish(struct page_builder *d, struct page_bundle *b, struct err *err);
/* The end of the page of a bundle, once its files are in: comparisons, the files without a drawing, and
 * page_builder_finish. */
int page_builder_finish_bundle(struct page_builder *d, struct err *err);

/* ---- what is compared (drawing_compare.c, drawing_pairs.c) ------------------------------------------------
 */

/* Finds in the list of files what belongs together: hosts that are sick and healthy, snapshots of one
 * process, hosts of one service. */
int page_builder_compare_plan(struct page_builder *d, struct err *err);
bool page_builder_compares(const struct page_builder *d);
void page_builder_compare_release(struct page_builder *d);

/* Merges a profile that nobody else needs into its side. */
int page_builder_compare_merge(struct page_builder *d, const struct page_file *f, struct profile *p,
                               struct err *err);
/* A file's bytes, for the growth between two. What is complete by that is drawn. */
int page_builder_compare_keep(struct page_builder *d, const struct page_file *f, const struct buf *bytes,
                              struct err *err);
/* Draws all else, and says it. */
int page_builder_compare_finish(struct page_builder *d, struct err *err);

/* The groups of hosts, for the page: *ret, freed by the caller. */
int page_builder_compare_groups(const struct page_builder *d, struct page_group **ret, size_t *ret_n,
                                struct err *err);

#endif
