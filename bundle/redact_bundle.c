#include "bundle/redact_bundle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bundle/manifest_json.h"
#include "bundle/manifest_rows.h"
#include "bundle/path.h"
#include "bundle/reader.h"
#include "bundle/redact/redact.h"
#include "base/banned.h"

enum { CHUNK = 32768 };

struct redaction {
    const struct redact_bundle_options *options;
    struct reader *r;
    int member_fd; /* a nameless file for the current member */
    struct redact_bundle out;
};

/* ---- formats ----------------------------------------------------------------------------------------- */

/* Returns whether the member is a process's command line, also if it was requested by a path:
 * `/debug/pprof/cmdline?x=y`. A page at such a path is no command line. */
static bool is_cmdline(const struct manifest_item *item)
{
    static const char suffix[] = "/cmdline";
    if (!item->kind || strcmp(item->kind, suffix + 1) == 0)
        return item->kind;
    size_t n = strcspn(item->kind, "?#"), n_suffix = sizeof suffix - 1;
    return n >= n_suffix && memcmp(item->kind + n - n_suffix, suffix, n_suffix) == 0 &&
           !text_ends_in(item->file, ".json") && !text_ends_in(item->file, ".html");
}

/* Returns the format that a member is searched as. *ret_why: the reason if it is not searched. */
static enum redact_form choose_form(const struct manifest_item *item, const char **ret_why)
{
    bool damaged = item->status == MANIFEST_DAMAGED,
         is_trace = item->kind && strcmp(item->kind, "trace") == 0;
    if (is_cmdline(item))
        return REDACT_CMDLINE;
    if (item->has_profile && item->status == MANIFEST_OK)
        return REDACT_PROFILE;
    if (!damaged && (text_ends_in(item->file, ".txt") || text_ends_in(item->file, ".json") ||
                     text_ends_in(item->file, ".html")))
        return REDACT_DUMP;
    *ret_why = damaged    ? "it did not pass its checks"
               : is_trace ? "an execution trace"
                          : "a file of an unknown kind";
    return REDACT_NOTHING;
}

static int add_item(void *ctx, json_t *item, const struct file_entry *file, struct err *err)
{
    json_t *items = ctx;
    if (json_object_get(items, file->path))
        return err_set(err, ERR_FAILED, "%s describes %s twice", PATH_MANIFEST, file->path);
    return json_object_set(items, file->path, item) < 0 ? err_nomem(err) : 0;
}

json_t *redact_bundle_index_items(const json_t *root, struct err *err)
{
    json_t *items = json_object();
    if (!items)
        err_nomem(err);
    else if (manifest_json_visit_items(root, add_item, items, err) < 0) {
        json_decref(items);
        items = NULL;
    }
    return items;
}

/* ---- files --------------------------------------------------------------------------------------------- */

/* Truncates a file to `end` bytes and moves its offset there. */
static int rewind_to(int fd, off_t end, struct err *err)
{
    return ftruncate(fd, end) < 0 || lseek(fd, end, SEEK_SET) < 0 ? err_sys(err, "cannot write") : 0;
}

/* Copies the current member into the nameless file, and compares its hash with the manifest. */
static int save_member(struct redaction *redaction, const struct file_entry *expected, struct err *err)
{
    struct sha256 *hash = sha256_new(err);
    char chunk[CHUNK], hex[SHA256_HEX];
    int rc = hash ? rewind_to(redaction->member_fd, 0, err) : -1;
    for (size_t n = 1; rc == 0 && n > 0;) {
        rc = reader_read(redaction->r, chunk, sizeof chunk, &n, err);
        if (rc == 0) {
            sha256_add(hash, chunk, n);
            rc = fd_write_all(redaction->member_fd, chunk, n, err);
        }
    }
    if (rc == 0)
        rc = sha256_hex(hash, hex, err);
    sha256_free(hash);
    if (rc == 0 && strcmp(hex, expected->sha256) != 0)
        rc = err_set(err, ERR_FAILED, "%s differs from the manifest", expected->path);
    return rc;
}

/* ---- one member ---------------------------------------------------------------------------------------- */

/* Updates size and hash of the item, and keeps the old ones as `original`. */
static int update_item(json_t *item, uint64_t bytes, const char *hex, struct err *err)
{
    json_t *original = json_pack("{s:O, s:O}", "bytes", json_object_get(item, "bytes"), "sha256",
                                 json_object_get(item, "sha256"));
    if (json_object_set_new(item, "original", original) < 0 ||
        json_object_set_new(item, "bytes", json_integer((json_int_t)bytes)) < 0 ||
        json_object_set_new(item, "sha256", json_string(hex)) < 0)
        return err_nomem(err);
    return 0;
}

static int add_redactions(struct redact_bundle *redacted, const char *path, const struct redact_tally *tally,
                          struct err *err)
{
    for (int i = 0; i < REDACT_RULES; i++)
        if (tally->n[i] > 0 &&
            json_array_append_new(redacted->redactions,
                                  json_pack("{s:s, s:s, s:I}", "file", path, "rule", redact_rule_name(i),
                                            "count", (json_int_t)tally->n[i])) < 0)
            return err_nomem(err);
    redacted->n_redactions += redact_sum(tally);
    return 0;
}

int redact_bundle_add_manifest_counts(struct redact_bundle *redacted, struct err *err)
{
    return add_redactions(redacted, PATH_MANIFEST, &redacted->manifest.tally, err);
}

static int add_unsearched(struct redaction *redaction, const char *path, const char *why, struct err *err)
{
    char shown[300], line[sizeof shown + 1100];
    text_printable(shown, sizeof shown, why, strlen(why));
    snprintf(line, sizeof line, "%s: %s", path, shown);
    if (json_array_append_new(redaction->out.unsearched,
                              json_pack("{s:s, s:s}", "file", path, "reason", shown)) < 0)
        return err_nomem(err);
    return strlist_add(&redaction->out.unsearched_files, line, err);
}

/* Adds a member to all lists of unsearched members, because its search failed. The copy has it unchanged. */
static int add_failed_search(struct redaction *redaction, const char *path, const struct err *why,
                             struct err *err)
{
    char line[sizeof why->msg + 1100];
    snprintf(line, sizeof line, "%s: %s", path, why->msg);
    return add_unsearched(redaction, path, why->msg, err) < 0
               ? -1
               : strlist_add(&redaction->out.failed_searches, line, err);
}

/* Hashes the spool from `begin` to its end. */
static int hash_spool(const struct redact_bundle *redacted, off_t begin, uint64_t *ret_bytes,
                      char ret[SHA256_HEX], struct err *err)
{
    struct sha256 *hash = sha256_new(err);
    char chunk[CHUNK];
    ssize_t n = 1;
    off_t at = begin;
    int rc = hash ? 0 : -1;
    while (rc == 0 && n > 0 && (rc = stop_check(redacted->stop, err)) == 0) {
        n = pread(redacted->spool, chunk, sizeof chunk, at);
        if (n < 0)
            rc = err_sys(err, "cannot read");
        else
            sha256_add(hash, chunk, (size_t)n);
        at += n;
    }
    if (rc == 0)
        rc = sha256_hex(hash, ret, err);
    if (rc == 0)
        *ret_bytes = (uint64_t)(at - begin);
    sha256_free(hash);
    return rc;
}

int redact_bundle_replace(struct redact_bundle *redacted, json_t *item, const char *path, off_t begin,
                          struct err *err)
{
    char hex[SHA256_HEX];
    uint64_t bytes = 0;
    if (hash_spool(redacted, begin, &bytes, hex, err) < 0 || update_item(item, bytes, hex, err) < 0)
        return -1;
    return json_object_set_new(redacted->spool_offsets, path, json_integer((json_int_t)begin)) < 0
               ? err_nomem(err)
               : 0;
}

/* Redacts a member with the path `path` in the bundle. */
static int redact_file(struct redaction *redaction, json_t *item, const char *path, enum redact_form form,
                       struct err *err)
{
    struct redact_tally tally = {{0}};
    struct err why = ERR_INIT;
    struct file_entry file;
    /* A weak word in a profile is more often the name of a function than a secret. */
    const struct redact_learned learned = {
        .words = &redaction->out.manifest.words,
        .weak = form != REDACT_PROFILE && redact_manifest_has_secret_request(&redaction->out.manifest, path)};
    struct redact_work work = {.form = form,
                               .learned = &learned,
                               .labels = redaction->options->copy->labels,
                               .from = redaction->member_fd,
                               .to = redaction->out.spool,
                               .stop = redaction->options->stop};
    off_t begin = lseek(redaction->out.spool, 0, SEEK_CUR);
    if (begin < 0)
        return err_sys(err, "cannot write");
    if (manifest_json_read_file_entry(item, &file, err) < 0 || save_member(redaction, &file, err) < 0)
        return -1;
    int rc = redact_member(&work, &tally, &why);
    if (rc == 0 && redact_sum(&tally) > 0)
        return redact_bundle_replace(&redaction->out, item, path, begin, err) < 0
                   ? -1
                   : add_redactions(&redaction->out, file.path, &tally, err);
    if (rewind_to(redaction->out.spool, begin, err) < 0)
        return -1;
    if (rc < 0 && why.kind == ERR_FAILED)
        return add_failed_search(redaction, file.path, &why, err);
    if (rc < 0 && err)
        *err = why;
    return rc < 0 ? err_wrap(err, "%s", file.path) : 0;
}

static int redact_current_member(struct redaction *redaction, const struct reader_member *m, struct err *err)
{
    json_t *item = json_object_get(redaction->out.items, m->path);
    struct arena arena = {0};
    struct json_rows_reading reading = {.arena = &arena, .left = MANIFEST_JSON_MAX_LISTS};
    struct manifest_item record = {0};
    struct file_entry file;
    const char *why = NULL;
    /* The report is drawn again. */
    if (!item || strcmp(m->path, PATH_REPORT) == 0)
        return 0;
    if (manifest_json_read_file_entry(item, &file, err) < 0)
        return -1;
    int rc = json_rows_read(item, manifest_item_rows, &record, &reading, err);
    arena_release(&arena);
    if (rc < 0)
        return -1;
    enum redact_form form = choose_form(&record, &why);
    if (form == REDACT_NOTHING)
        return add_unsearched(redaction, file.path, why, err);
    if (file.bytes != m->size)
        return err_set(err, ERR_FAILED, "%s differs from the manifest", file.path);
    return redact_file(redaction, item, m->path, form, err);
}

static int redact_all_members(struct redaction *redaction, struct err *err)
{
    const struct reader_member *m = NULL;
    do {
        if (reader_next_file(redaction->r, &m, err) < 0 ||
            (m && redact_current_member(redaction, m, err) < 0))
            return -1;
    } while (m);
    return 0;
}

/* ---- the copy's members -------------------------------------------------------------------------------- */

struct redact_bundle_bytes redact_bundle_find_bytes(const struct redact_bundle *redacted, struct reader *r,
                                                    const char *path)
{
    const json_t *begin = json_object_get(redacted->spool_offsets, path);
    return (struct redact_bundle_bytes){
        .r = r, .spool = begin ? redacted->spool : -1, .at = (off_t)json_integer_value(begin)};
}

int redact_bundle_read(struct redact_bundle_bytes *b, char *p, size_t cap, size_t *ret_n, struct err *err)
{
    if (b->spool < 0)
        return reader_read(b->r, p, cap, ret_n, err);
    ssize_t n = pread(b->spool, p, cap, b->at);
    if (n < 0)
        return err_sys(err, "cannot read");
    b->at += n;
    *ret_n = (size_t)n;
    return 0;
}

/* Reads the current member as the copy has it. */
static int read_copied_member(struct redact_bundle_bytes from, const struct file_entry *file, struct buf *ret,
                              struct err *err)
{
    char chunk[CHUNK];
    uint64_t left = file->bytes;
    for (size_t n = 1; n > 0 && !ret->failed; left -= n) {
        size_t cap = from.spool >= 0 && left < sizeof chunk ? (size_t)left : sizeof chunk;
        if (redact_bundle_read(&from, chunk, cap, &n, err) < 0)
            return -1;
        buf_add(ret, chunk, n);
    }
    return buf_check(ret, file->path, err);
}

static int visit_member(const struct redact_bundle_source *from, struct reader *r,
                        const struct reader_member *m, const struct bundle_visitor *v, struct err *err)
{
    const json_t *item = json_object_get(from->redacted->items, m->path);
    const struct redact_bundle_bytes stored = redact_bundle_find_bytes(from->redacted, r, m->path);
    struct file_entry file;
    if (!item || strcmp(m->path, PATH_REPORT) == 0)
        return 0;
    if (manifest_json_read_file_entry(item, &file, err) < 0)
        return -1;
    struct bundle_member member = {.path = file.path, .size = file.bytes, .mtime = m->mtime};
    struct buf bytes = BUF_INIT(stored.spool >= 0 || m->size < file.bytes ? file.bytes : m->size);
    if (!v->filter(v->ctx, &member))
        return 0;
    int rc = read_copied_member(stored, &file, &bytes, err);
    if (rc == 0)
        rc = v->receive(v->ctx, &member, &bytes, err);
    buf_release(&bytes);
    return rc;
}

int redact_bundle_visit(const struct bundle_preview *preview, const struct bundle_visitor *visitor,
                        struct err *err)
{
    const struct redact_bundle_source *from = preview->from;
    const struct reader_member *m = NULL;
    struct reader *r = NULL;
    if (reader_open(from->bundle, NULL, &r, err) < 0)
        return -1;
    reader_set_stop(r, from->redacted->stop);
    int rc;
    while ((rc = reader_next_file(r, &m, err)) == 0 && m &&
           (rc = visit_member(from, r, m, visitor, err)) == 0)
        continue;
    reader_free(r);
    return rc;
}

static int redact_manifest(struct redaction *redaction, json_t *root, struct err *err)
{
    struct err why = ERR_INIT;
    const struct redact_bundle_options *options = redaction->options;
    if (redact_manifest_run(root, redaction->out.items, options->stop, &redaction->out.manifest, &why) == 0)
        return 0;
    if (err)
        *err = why;
    /* The other errors name the bundle, or are not about it. */
    return why.kind == ERR_FAILED ? err_wrap(err, "%s", options->copy->bundle) : -1;
}

int redact_bundle_run(const struct redact_bundle_options *options, json_t *root, struct redact_bundle *ret,
                      struct err *err)
{
    struct redaction redaction = {.options = options, .member_fd = -1, .out = REDACT_BUNDLE_INIT};
    int rc = -1;
    redaction.out.stop = options->stop;
    redaction.out.spool_offsets = json_object();
    redaction.out.redactions = json_array();
    redaction.out.unsearched = json_array();
    if (!redaction.out.spool_offsets || !redaction.out.redactions || !redaction.out.unsearched)
        err_nomem(err);
    else if ((redaction.member_fd = file_create_nameless(options->beside, err)) >= 0 &&
             (redaction.out.spool = file_create_nameless(options->beside, err)) >= 0 &&
             (redaction.out.items = redact_bundle_index_items(root, err)) &&
             redact_manifest(&redaction, root, err) == 0 &&
             reader_open(options->copy->bundle, NULL, &redaction.r, err) == 0) {
        reader_set_stop(redaction.r, options->stop);
        rc = redact_all_members(&redaction, err);
    }
    reader_free(redaction.r);
    fd_close(&redaction.member_fd);
    if (rc < 0)
        redact_bundle_release(&redaction.out);
    else
        *ret = redaction.out;
    return rc;
}

void redact_bundle_release(struct redact_bundle *redacted)
{
    fd_close(&redacted->spool);
    json_decref(redacted->items);
    json_decref(redacted->spool_offsets);
    redact_manifest_release(&redacted->manifest);
    json_decref(redacted->redactions);
    json_decref(redacted->unsearched);
    strlist_release(&redacted->unsearched_files);
    strlist_release(&redacted->failed_searches);
    *redacted = (struct redact_bundle)REDACT_BUNDLE_INIT;
}
