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
 * A copy of this process with limits (cli/confined.h) does it: no thread that draws, hashes or holds a lock
 * of a library may be left. A signal ends it at once. After a signal that came before, which ended the
 * capture, it has DRAWING_AFTER_SIGNAL_MS.
 */
#define DRAWING_AFTER_SIGNAL_MS 1500
int drawing_workdir(struct manifest *m, const struct workdir *w, struct err *err);

/* The same; a failure is printed, since a bundle is better without a report than not at all. */
void drawing_or_talk(struct manifest *m, const struct workdir *w);

/* The rest reads what a stranger wrote: callers run it in a copy of this process with limits. */

/* The page of a bundle; of the same bundle always the same, byte for byte. */
int drawing_bundle(const char *path, struct age_identities *by, page_sink_fn *sink, void *ctx,
                   struct err *err);

/* The page of a copy that is handed off, before there is one: of what redaction left, with the limits of a
 * capture. A bundle_draw_fn, which runs in a copy of this process by itself. */
int drawing_coming(const struct bundle_coming *bundle, int fd, struct err *err);

/* A bundle's manifest as text, a new string: with the sentences of the summary, also where an older program
 * has made it without. */
int drawing_manifest(const char *path, struct age_identities *by, char **ret, struct err *err);

/* The page of files: each a profile, a dump of goroutines, or BUNDLE:MEMBER. */
struct source_keys;
int drawing_files(const struct strlist *files, struct source_keys *keys, page_sink_fn *sink, void *ctx,
                  struct err *err);

#endif
