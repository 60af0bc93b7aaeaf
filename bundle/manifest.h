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
 * Reads the text of an untrusted manifest, to show it. A value of an unexpected type counts as missing, and
 * any string may be NULL. ERR_FAILED if the text is no manifest, or would take too much memory.
 */
int manifest_read(const char *text, size_t n, struct manifest **ret, struct err *err);

/*
 * Loads a manifest that a run continues. Checks it strictly, because it is untrusted: the version, each key
 * of docs/formats.md with its type, hosts and services with unique names that fit in a path, files below
 * HOST/SERVICE (local ones below the directory), printable text, at most WORKDIR_MAX_ENTRIES files and
 * directories. ERR_FAILED names the fault. Refuses a copy made for a hand-off. Drops the settings and the end
 * of the earlier run, its summary and its report, but keeps the common start time of its profiles (`sync`).
 *
 * A record added later replaces the record of the same host, the same service, or the same kind, argument and
 * pair. A host or service added with an error keeps the other members of the earlier record, because the
 * files of that record depend on them.
 */
int manifest_read_for_resume(const char *text, size_t n, struct manifest **ret, struct err *err);

void manifest_free(struct manifest *m);

/* ---- building ------------------------------------------------------------------------------------------ */

int manifest_new(const struct manifest_info *info, struct manifest **ret, struct err *err);
int manifest_add_host(struct manifest *m, const struct manifest_host *h, struct err *err);
int manifest_add_service(struct manifest *m, const struct manifest_service *s, struct err *err);
int manifest_add_item(struct manifest *m, const struct manifest_item *i, struct err *err);
int manifest_set_request(struct manifest *m, const struct manifest_request *request, struct err *err);
/* Records a resumption with the version, the collector and the time in `now`. Changes the bundle's name. */
int manifest_resume(struct manifest *m, const struct manifest_info *now, struct err *err);
/* Sets the limits and results of the run. If sync_at is 0, the `sync_` members of an earlier run stay. */
void manifest_set_run(struct manifest *m, const struct manifest_run *run);
/* Sets the sentences of the summary. */
int manifest_set_summary(struct manifest *m, const struct manifest_sentence *sentences, size_t n,
                         struct err *err);
/* Records that the work directory has report.html, which bundle_pack then packs. */
#define BUNDLE_REPORT "report.html"
int manifest_set_report(struct manifest *m, uint64_t bytes, const char *sha256, struct err *err);
/* Ends the manifest. `interrupted`: by the user or a signal; `complete`: the bundle contains all requested
 * items. */
int manifest_finish(struct manifest *m, int64_t finished, bool interrupted, bool complete, struct err *err);

/* Prints JSON into an initialised buffer. ERR_LIMIT for a manifest that profgrab would refuse to read. */
int manifest_print(const struct manifest *m, struct buf *ret, struct err *err);
/* Prints the manifest as report.html contains it: compact, without the summary, which the page has itself,
 * and without the page's own hash. */
int manifest_print_for_page(const struct manifest *m, struct buf *ret, struct err *err);
/* Writes manifest.json into the work directory, replacing an earlier one. */
int manifest_save(const struct manifest *m, const struct workdir *w, struct err *err);
/* Writes manifest.json from a text that manifest_print made. */
int manifest_save_text(const struct buf *text, const struct workdir *w, struct err *err);

/* ---- a loaded manifest --------------------------------------------------------------------------------- */

/* Checks whether the request can be repeated: ERR_NOT_FOUND with the reason if the manifest has no request;
 * ERR_FAILED if the request names a target twice, or does not group targets by host. */
int manifest_check_request(const struct manifest *m, struct err *err);

struct manifest_compare_options {
    const struct workdir *work;
    int cancel_fd; /* or -1 */
    /* Receives the path and the difference of each changed or missing file. */
    void (*changed)(void *ctx, const char *path, const char *difference);
    void *ctx;
};
/* Compares a loaded manifest with the files of its work directory. A changed file is renamed to NAME.damaged,
 * or removed if a file of that name is at least as large; its item becomes damaged. An item whose file is
 * missing becomes failed. ERR_CANCELLED by cancel_fd. After an error do not save the manifest, because a file
 * that could not be read may be intact. */
int manifest_compare(struct manifest *m, const struct manifest_compare_options *options, struct err *err);

struct manifest_item_key {
    const char *host, *service, *kind;
    const char *argument; /* NULL or "": none */
    unsigned pair;
};
/* Returns whether the manifest has the item, complete and with a file. *ret_started (may be NULL) is the time
 * at which its fetch began, in UTC milliseconds, 0 if unknown. */
bool manifest_has_item(const struct manifest *m, const struct manifest_item_key *key, int64_t *ret_started);
/* Returns whether all planned items of the service are complete, also if the service or its host failed
 * later. False if the plan is unknown. */
bool manifest_has_all_items(const struct manifest *m, const char *host, const char *service);
/* Lists the planned items of the service that have no file. The caller frees ret->items; the manifest owns
 * their strings. */
struct manifest_planned_list {
    struct manifest_planned *items;
    size_t n;
};
int manifest_list_planned_without_file(const struct manifest *m, const char *host, const char *service,
                                       struct manifest_planned_list *ret, struct err *err);
/* Returns the number of files that the manifest names. */
size_t manifest_count_files(const struct manifest *m);
/* Returns the total size on disk of the items' files in the directory (dir_bytes_on_disk). */
uint64_t manifest_bytes_on_disk(const struct manifest *m, const struct dir *files);
/* Returns the number of complete items with a file, without local files. */
size_t manifest_count_complete_service_items(const struct manifest *m);

#endif
