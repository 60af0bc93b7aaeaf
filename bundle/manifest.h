/* The manifest of a bundle: the request, the hosts and services, and each collected file. */
#ifndef BUNDLE_MANIFEST_H
#define BUNDLE_MANIFEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"
#include "bundle/manifest_records.h"
#include "bundle/workdir.h"

/* ---- reading ------------------------------------------------------------------------------------------- */

/*
 * Reads the text of a manifest from anywhere, for everything that shows or draws a bundle: a value of an
 * unexpected type counts as missing, and any string may be NULL. ERR_FAILED for other text, and for a
 * manifest that would take too much memory.
 */
int manifest_read(const char *text, size_t n, struct manifest **ret, struct err *err);
/* Reads a parsed manifest (bundle_manifest_parse), of which it keeps a reference. The caller must not change
 * the JSON before manifest_free. */
int manifest_read_json(struct json_t *root, struct manifest **ret, struct err *err);

/*
 * Reads a manifest back, to add to it. Checks it strictly, because it may be from anywhere: our version, each
 * key of docs/formats.md with its type, hosts and services with unique names that fit in a path, files below
 * HOST/SERVICE (local ones below the directory), printable text. ERR_FAILED names the fault. Refuses a copy
 * made for a hand-off. Drops the settings and the end of the run, its summary and its report, but keeps the
 * instant at which its profiles began together.
 *
 * A record added later replaces that of the same host, service, or kind, argument and pair. A host or service
 * added with an error keeps its other facts, because its files depend on them.
 */
int manifest_load(const char *text, size_t n, struct manifest **ret, struct err *err);

void manifest_free(struct manifest *m);

/* ---- building ------------------------------------------------------------------------------------------ */

int manifest_new(const struct manifest_info *info, struct manifest **ret, struct err *err);
int manifest_add_host(struct manifest *m, const struct manifest_host *h, struct err *err);
int manifest_add_service(struct manifest *m, const struct manifest_service *s, struct err *err);
int manifest_add_item(struct manifest *m, const struct manifest_item *i, struct err *err);
int manifest_set_asked(struct manifest *m, const struct manifest_asked *asked, struct err *err);
/* Records a resumption with the name, the version, the collector and the time in `now`. */
int manifest_resume(struct manifest *m, const struct manifest_info *now, struct err *err);
/* If sync_at is 0, the manifest keeps the `sync_` values of an earlier run. */
void manifest_set_run(struct manifest *m, const struct manifest_run *run);
/* Sets the sentences of the summary. */
int manifest_set_summary(struct manifest *m, const struct manifest_sentence *sentences, size_t n,
                         struct err *err);
/* BUNDLE_REPORT exists in the work directory and must be packed. */
#define BUNDLE_REPORT "report.html"
int manifest_set_report(struct manifest *m, uint64_t bytes, const char *sha256, struct err *err);
/* Ends the manifest. `interrupted`: by the user or a signal; `complete`: the bundle contains all requested
 * items. */
int manifest_finish(struct manifest *m, int64_t finished, bool interrupted, bool complete, struct err *err);

/* Writes JSON into an initialised buffer. ERR_LIMIT for a manifest that profgrab would refuse to read. */
int manifest_print(const struct manifest *m, struct buf *ret, struct err *err);
/* Writes manifest.json into the work directory, replacing an earlier one. */
int manifest_save(const struct manifest *m, const struct workdir *w, struct err *err);
/* Does the same for a text that manifest_print made: it needs no lock on the manifest. */
int manifest_save_text(const struct buf *text, const struct workdir *w, struct err *err);

/* ---- a loaded manifest --------------------------------------------------------------------------------- */

/* Checks whether `asked` can be repeated: ERR_NOT_FOUND with the reason if the manifest lacks it; ERR_FAILED
 * if it names a target twice, or does not group targets by host. */
int manifest_check_asked(const struct manifest *m, struct err *err);

/*
 * Compares a loaded manifest with the files of its work directory. A changed file is renamed to NAME.damaged
 * (an existing larger one stays), and its item becomes damaged; an item without its file becomes failed.
 * Calls `changed` for each of them with the result. ERR_CANCELLED by cancel_fd (or -1). After an error do not
 * save the manifest: a file that could not be read may be good.
 */
struct manifest_comparison {
    const struct workdir *work;
    int cancel_fd;
    void (*changed)(void *ctx, const char *path, const char *difference);
    void *ctx;
};
int manifest_compare(struct manifest *m, const struct manifest_comparison *how, struct err *err);

struct manifest_wanted {
    const char *host, *service, *kind;
    const char *argument; /* NULL or "": none */
    unsigned pair;
};
/* Returns whether the manifest has that item complete and good. *ret_started (may be NULL) is its time in UTC
 * milliseconds, 0 if unknown. */
bool manifest_has(const struct manifest *m, const struct manifest_wanted *item, int64_t *ret_started);
/* Returns whether all planned items of the service are present and good, regardless of later errors of the
 * service or its host. false also if the plan is unknown. */
bool manifest_has_all(const struct manifest *m, const char *host, const char *service);
/* The planned items of the service that are neither good nor have a damaged file. The caller frees
 * ret->items; their strings belong to the manifest. */
struct manifest_planned_list {
    struct manifest_planned *items;
    size_t n;
};
int manifest_list_unrecorded(const struct manifest *m, const char *host, const char *service,
                             struct manifest_planned_list *ret, struct err *err);
/* Returns the number of files that the manifest names. */
size_t manifest_n_files(const struct manifest *m);
/* Returns the total bytes of those files, as recorded in the manifest. */
uint64_t manifest_n_bytes(const struct manifest *m);
/* Returns the number of good items: complete, and with a file. */
size_t manifest_n_complete(const struct manifest *m);

#endif
