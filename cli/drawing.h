/* The page (report/page.h) of what was collected: reads profiles and dumps one at a time, and has them drawn.
 */
#ifndef CLI_DRAWING_H
#define CLI_DRAWING_H

#include "bundle/bundle.h"
#include "report/report.h"

/*
 * Makes the sentences of the summary and report.html in the work directory, and has the manifest know both;
 * the capture must be finished. Large profiles are named there, not drawn. On failure neither the directory
 * nor the manifest has a report, and all else is as it was.
 *
 * A copy of this process with limits (cli/input/confined.h) does it: no thread that draws, hashes or holds a
 * lock of a library may be left. A signal ends it at once. After a signal that came before, which ended the
 * capture, it has DRAWING_AFTER_SIGNAL_MS.
 */
#define DRAWING_AFTER_SIGNAL_MS 1500
int drawing_workdir(struct manifest *m, const struct workdir *w, struct err *err);

/* The same; a failure is printed, since a bundle is better without a report than not at all. */
void drawing_or_talk(struct manifest *m, const struct workdir *w);

/* The rest reads what a stranger wrote: callers run it in a copy of this process with limits. */

/*
 * Memory that the caller and its copy share, so that a limit costs files and not the page. The copy notes
 * which file it reads; if a limit ends it, a second copy leaves that file out. A copy that has read files for
 * share_ms leaves out the rest of them. The copy has read a stranger's bytes, so nothing that it notes is
 * trusted.
 */
struct drawing_progress {
    volatile uint32_t at;       /* the number of the file that is read, from 1 on; 0: none */
    volatile uint32_t without;  /* of the file that the second copy leaves out; 0: none */
    volatile uint32_t left_out; /* number of files after the copy had used its time */
    int64_t share_ms;           /* processor time for reading files */
    char file[256];             /* the name of the file that is read */
};
int drawing_progress_new(struct drawing_progress **ret, struct err *err);
void drawing_progress_free(struct drawing_progress *p);

/* Runs `body`, which draws, in at most two copies of this process. */
struct drawing_attempts {
    const char *name;            /* begins messages */
    struct proc_confines limits; /* the two copies share its processor time */
    struct drawing_progress *progress;
    int fd; /* the file that `body` writes to, from its present offset on; -1: none. It is cut for the second
               copy; if it is no regular file, there is no second one. */
};
/* Prints which files are left out. */
int drawing_attempt(const struct drawing_attempts *a, proc_confined_fn *body, void *ctx, struct buf *ret,
                    struct err *err);

/* The destination of a page. */
struct drawing_target {
    page_sink_fn *sink;
    void *ctx;
    struct drawing_progress *progress; /* NULL: nobody asks */
};

/* The page of a bundle; of the same bundle always the same, byte for byte. */
int drawing_bundle(const char *path, struct age_identities *by, const struct drawing_target *to,
                   struct err *err);

/* The page of a copy that is handed off, before there is one: of what redaction left, with the limits of a
 * capture. A bundle_draw_fn, which runs in a copy of this process by itself. */
int drawing_coming(const struct bundle_coming *bundle, int fd, struct err *err);

/* A bundle's manifest as text, a new string: with the sentences of the summary, also where an older program
 * has made it without. `progress` may be NULL. */
int drawing_manifest(const char *path, struct age_identities *by, struct drawing_progress *progress,
                     char **ret, struct err *err);

/* The page of files: each a profile, a dump of goroutines, or BUNDLE:MEMBER. */
struct input_keys;
int drawing_files(const struct strlist *files, struct input_keys *keys, const struct drawing_target *to,
                  struct err *err);

#endif
