/*
 * A drawing from the inside. Which files there are to draw is told by the manifest (drawing_list.c); each is
 * drawn on the page and looked at for the summary, one after the other, and the end is written (drawing.c).
 * Where the bytes are from is the matter of those who have them: drawing_capture.c, drawing_bundle.c,
 * drawing_files.c.
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
};

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

#endif
