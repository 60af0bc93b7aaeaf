/*
 * report.html: one HTML file that draws the profiles and dumps of goroutines of a capture, and shows the
 * findings on them (docs/formats.md).
 *
 * page_build_* lists the files to draw from the manifest (builder_list.c), reads one file at a time, adds its
 * findings and its picture (builder.c), compares files that belong together (builder_compare.c,
 * builder_pairs.c), and writes the page entry by entry (writer.c). builder_workdir.c, builder_bundle.c and
 * builder_files.c read the bytes from their three origins.
 *
 * The files are untrusted: page_build_workdir and page_build_copy read them in a child with limits
 * (base/confined.h). Run the other functions in such a child.
 */
#ifndef PAGE_PAGE_H
#define PAGE_PAGE_H

#include "bundle/bundle.h"
#include "page/web.h"

struct profile;

/*
 * Makes the findings of the summary and report.html in the work directory of a finished capture, and adds
 * both to the manifest. A large profile gets an entry without a picture. On failure the directory and the
 * manifest have no report, and nothing else has changed.
 *
 * The child gets the rest of `budget`. budget->bytes is the size of the files on disk, measured on this
 * machine, because the sizes in the manifest of an earlier run are untrusted. The files of a bundle count
 * with the size of the bundle: a small bundle that inflates to large files must not raise the limits.
 *
 * Forks a child. Other threads may run: the child needs only locks of libc, which fork releases in the child.
 * In particular it starts no hash, because OpenSSL takes locks for that (builder_workdir.c).
 *
 * `cancel_fd` (or -1) ends the child at once when it becomes readable. If it is readable already, the child
 * has PAGE_AFTER_SIGNAL_MS of wall time. If the budget then has more than PAGE_AFTER_SIGNAL_BYTES, which
 * would take longer, the function starts no child and fails with ERR_CANCELLED.
 */
#define PAGE_AFTER_SIGNAL_MS 500
#define PAGE_AFTER_SIGNAL_BYTES ((uint64_t)8 << 20)
int page_build_workdir(struct manifest *manifest, const struct workdir *workdir,
                       struct confined_budget *budget, int cancel_fd, struct err *err);

/* ---- children with limits ------------------------------------------------------------------------------ */

/* Receives messages for the user, each one line without a line end. */
struct page_notes {
    void (*note)(void *ctx, const char *line);
    void *ctx;
};

/*
 * Memory that the caller and its child share, so that a file that exceeds a limit is left out and the page is
 * still made. The child writes here which file it reads. If a limit ends the child, a second child leaves
 * that file out; if the child had read all files, the second child makes no comparisons and no findings. A
 * child that has read files for reading_ms leaves out all further files. The child has read untrusted bytes,
 * so its notes are untrusted.
 */
struct page_progress {
    volatile uint32_t at;       /* the number of the file that is being read, from 1 on; 0: none */
    volatile uint32_t without;  /* the number of the file that the second child leaves out; 0: none */
    volatile uint32_t left_out; /* the number of files left out after reading_ms */
    volatile bool at_end;       /* all files were read: comparisons and findings are being made */
    volatile bool without_end;  /* the second child makes no comparisons and no findings */
    int64_t reading_ms;         /* the limit of processor time for reading files */
    char file[256];             /* the name of the file that is being read */
};
int page_progress_new(struct page_progress **ret, struct err *err);
void page_progress_free(struct page_progress *progress);

/* How to run a function that makes a page, in at most two children. */
struct page_attempts {
    const char *name;               /* begins messages */
    struct proc_fork_limits limits; /* the two children share its processor time */
    struct page_progress *progress;
    /* The file that the function writes to, from its present offset on; -1: none. It is truncated for the
     * second child. If it is not a regular file, there is no second child. */
    int fd;
    const struct page_notes *notes; /* receives which files are left out; may be NULL */
};
/* Runs `body` in a child. If a limit ends the child while it reads a file, or makes comparisons and findings,
 * runs `body` in a second child, which leaves out that file, or these. *ret gets the result of the last
 * child; may be NULL. */
int page_attempt(const struct page_attempts *attempts, proc_confined_fn *body, void *ctx, struct buf *ret,
                 struct err *err);

/* ---- pages --------------------------------------------------------------------------------------------- */

/* Receives the next bytes of the page. If the sink returns -1, the page fails with the sink's error. */
typedef int page_sink_fn(void *ctx, const void *p, size_t n, struct err *err);

/* The destination of a page. */
struct page_output {
    page_sink_fn *sink;
    void *ctx;
    struct page_progress *progress; /* NULL: progress is not recorded */
};

/* Writes the page of a bundle; `identities` decrypt it. The same bundle always gives the same bytes. */
int page_build_bundle(const char *path, struct age_identities *identities, const struct page_output *to,
                      struct err *err);

/* Writes the page of a copy that is being handed off, from the redacted members. It is a bundle_draw_fn, and
 * starts its own child. bundle->ctx is a struct page_notes or NULL. */
int page_build_copy(const struct bundle_preview *bundle, int fd, struct err *err);

/* Returns a bundle's manifest as a new string. A manifest of an older program gets the findings that it
 * lacks. `progress` may be NULL. */
int page_read_manifest(const char *path, struct age_identities *identities, struct page_progress *progress,
                       char **ret, struct err *err);

/* Files that the user names, and the caller's functions to read them. */
struct page_files {
    const struct strlist *names;
    void *ctx; /* for `read` */
    /* Reads the bytes of a file and decompresses them. An error ERR_NOT_FOUND names the file. */
    int (*read)(void *ctx, const char *name, struct buf *ret, struct err *err);
    /* Adds a hint on the type of a file that is neither a profile nor a dump. Returns -1. */
    int (*hint)(const char *name, const void *p, size_t n, struct err *err);
    /* Refuses a file of another known type, which may contain lines of a dump. `strict`: also refuses a file
     * that is not text. */
    int (*check_dump)(const char *name, const struct buf *bytes, bool strict, struct err *err);
    /* Returns the title of a file's entry. */
    const char *(*title)(const char *name);
};
/* Writes the page of files, each of them a profile or a dump of goroutines. */
int page_build_files(const struct page_files *files, const struct page_output *to, struct err *err);

/* Returns the Content-Security-Policy of the page, for a server that sends it. */
const char *page_policy(void);

/* ---- data for the page of pprof -http ------------------------------------------------------------------ */

/* What a tree has: the samples whose stacks begin with the functions `under`, and contain the function
 * `through`, or a function that `through_name` names: NAME, or NAME FILE. Functions have the numbers and
 * names that another tree of the profile has sent. If no function has the name, the tree fails with
 * ERR_NOT_FOUND. */
struct page_tree {
    const uint32_t *under;
    size_t n_under;
    const uint32_t *through;  /* NULL: any stack */
    const char *through_name; /* NULL: any stack */
    bool with_sums;           /* if calls are folded: the values of each function over all calls */
};

/* Adds a call tree of a profile as JSON (docs/formats.md), which web/data.js reads. Changes the profile. The
 * caller checks the buffer for a failure. */
int page_data_profile(struct profile *profile, const struct page_tree *wanted, struct buf *ret,
                      struct err *err);

/* Adds text from any source as a JSON string; each invalid byte becomes U+FFFD. */
void page_add_text(struct buf *to, struct str text);
/* Adds existing JSON, in UTF-8, with the escapes that a page needs between <script> and </script>. */
void page_add_json(struct buf *to, struct str json);

#endif
