/*
 * A drawing from the inside. Which files there are to draw is told by the manifest (drawing_list.c); each is
 * drawn on the page and looked at for the summary, one after the other, and the end is written (drawing.c).
 * Where the bytes are from is the matter of those who have them: drawing_capture.c, drawing_bundle.c,
 * drawing_files.c. Several together are drawing_compare.c's.
 */
#ifndef CLI_DRAWING_INSIDE_H
#define CLI_DRAWING_INSIDE_H

#include <jansson.h>

#include "cli/drawing.h"

/* What is drawn of a profile, inflated, and how large the page may become: while somebody waits for their
 * bundle, and when somebody has asked for the page. */
struct drawing_limits {
    uint64_t profile, page;
    const char *too_large;
};
extern const struct drawing_limits drawing_at_capture, drawing_when_asked;
/* One part in so many of the page's room is kept for what compares sick hosts with healthy ones, which comes
 * last. */
#define DRAWING_KEPT 8

/* How a file is drawn. */
enum { DRAWN_AS_PROFILE = 1, DRAWN_AS_DUMP = 2 };

/* A file that may be drawn. Texts are the manifest's. */
struct drawing_file {
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

struct drawing {
    const struct drawing_limits *limits;
    struct page *page;
    json_t *root; /* the manifest; NULL: none */
    struct drawing_file *files;
    size_t n, cap;
    json_t *by_path; /* their numbers */
    struct words words;
    bool wordless; /* there is a summary already */
    struct comparing *comparing;
    struct drawing_progress *progress; /* NULL: nobody asks */
};

/* Notes that a file is read, NULL: none is. */
/* Whether the copy has used its time for reading files. The caller leaves out one more file then. */
bool drawing_progress_is_over(struct drawing_progress *p);
void drawing_progress_at(struct drawing *d, const struct drawing_file *f);
/* Has the drawing note its files there, and leave out the file that it says. */
void drawing_progress_apply(struct drawing *d, struct drawing_progress *p);

/* Lists what the manifest names, and begins the page. An empty manifest: there is none. drawing_release is
 * due whatever it says. */
int drawing_init(struct drawing *d, const struct drawing_limits *limits, struct str manifest,
                 page_sink_fn *sink, void *ctx, struct err *err);
void drawing_release(struct drawing *d);

/* Fills `files` from the manifest. */
int drawing_list(struct drawing *d, struct err *err);
/* A text of the manifest; NULL where it is not. */
const char *drawing_text(const json_t *o, const char *key);

/* Draws a file as its `how` says. One that cannot be drawn is an entry that says so. */
int drawing_draw(struct drawing *d, const struct drawing_file *f, const struct buf *bytes, struct err *err);
/* Whether an error is a fault of the file that was read, so that the page goes on without that file. */
static inline bool drawing_is_of_the_file(const struct err *why)
{
    return why->kind == ERR_FAILED || why->kind == ERR_LIMIT || why->kind == ERR_UNSUPPORTED;
}

/* That entry, unless the page itself has failed: then `why` is the error. */
int drawing_give_up(struct drawing *d, const struct drawing_file *f, const struct buf *bytes,
                    const struct err *why, struct err *err);
/* One that was read: into the summary, unless there is one already, and on the page. */
int drawing_add_profile(struct drawing *d, const struct drawing_file *f, struct profile *p, struct err *err);
int drawing_add_dump(struct drawing *d, const struct drawing_file *f, const struct goroutines *g,
                     struct err *err);

/* What was not drawn for want of its file, and what could not be. */
int drawing_add_rest(struct drawing *d, struct err *err);
/* The sentences and the rest of the page. `b` has what there is without a manifest. */
int drawing_finish(struct drawing *d, struct page_bundle *b, struct err *err);
/* The end of the page of a bundle, once its files are in: comparisons, the files without a drawing, and
 * drawing_finish. */
int drawing_finish_bundle(struct drawing *d, struct err *err);

/* ---- what is compared (drawing_compare.c, drawing_pairs.c) ------------------------------------------------
 */

/* Finds in the list of files what belongs together: hosts that are sick and healthy, snapshots of one
 * process, hosts of one service. */
int drawing_compare_plan(struct drawing *d, struct err *err);
bool drawing_compares(const struct drawing *d);
void drawing_compare_release(struct drawing *d);

/* A profile as it was read, or a growth, for the figures of its host. */
int drawing_compare_look(struct drawing *d, const struct drawing_file *f, const struct profile *p,
                         struct err *err);
/* The same when nobody needs it any more, for its side. */
int drawing_compare_take(struct drawing *d, const struct drawing_file *f, struct profile *p, struct err *err);
/* A file's bytes, for the growth between two. What is complete by that is drawn. */
int drawing_compare_keep(struct drawing *d, const struct drawing_file *f, const struct buf *bytes,
                         struct err *err);
/* Draws all else, and says it. */
int drawing_compare_finish(struct drawing *d, struct err *err);

/* The groups of hosts, for the page: *ret, freed by the caller. */
int drawing_compare_groups(const struct drawing *d, struct page_group **ret, size_t *ret_n, struct err *err);

#endif
