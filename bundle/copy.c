/*
 * The manifest is the first file of a bundle and contains every hash, so redaction first writes the changed
 * members into a nameless file beside the copy. Then README.md is rewritten into another one, report.html
 * drawn from the redacted data, and the manifest signed. A second pass over the bundle writes the copy,
 * member by member.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bundle/bundle.h"
#include "bundle/manifest_json.h"
#include "bundle/json_rows.h"
#include "bundle/path.h"
#include "bundle/reader.h"
#include "bundle/readme.h"
#include "bundle/redact_bundle.h"
#include "bundle/writer.h"
#include "base/banned.h"

enum { CHUNK = 32768, MAX_README = 64 << 20 };

struct copying {
    const struct bundle_copy_options *options;
    int64_t now;
    struct stop stop;
    json_t *root;
    struct redact_bundle redacted;
    struct buf manifest;
    int readme; /* a nameless file, because the manifest's tree and text leave little memory for README.md */
    char *signature; /* armored, or NULL */
    struct atomic_file *new_file;
    const char *path; /* the final path */
    struct age_writer *age;
    struct writer *tar;
    struct reader *r;
    json_t *expected;            /* the items whose files have not been copied yet, by path */
    struct name_map directories; /* the written directories */
    struct bundle_copy_result result;
};

/* ---- the output path ----------------------------------------------------------------------------------- */

/* Returns the length of s without `ending`; SIZE_MAX if s does not end in it. */
static size_t length_without_ending(const char *s, const char *ending)
{
    size_t n = strlen(s), n_ending = strlen(ending);
    return n > n_ending && strcmp(s + n - n_ending, ending) == 0 ? n - n_ending : SIZE_MAX;
}

static const char *get_ending(const struct bundle_copy_options *options)
{
    return options->recipients ? ".tar.gz.age" : ".tar.gz";
}

/* Chooses the path of the copy, a new string. */
static int choose_output_path(const struct bundle_copy_options *options, char **ret, struct err *err)
{
    size_t n = length_without_ending(options->bundle, ".tar.gz");
    char *path = NULL;
    if (options->output && length_without_ending(options->output, get_ending(options)) == SIZE_MAX)
        return err_set(err, ERR_USAGE, "%s: the name of this copy must end in %s", options->output,
                       get_ending(options));
    if (options->output && file_exists(options->output))
        return err_set(err, ERR_EXISTS, "%s exists already", options->output);
    if (options->output)
        path = strdup(options->output);
    else if (asprintf(&path, "%.*s%s%s", (int)(n == SIZE_MAX ? strlen(options->bundle) : n), options->bundle,
                      options->recipients ? "" : "-handoff", get_ending(options)) < 0)
        path = NULL;
    *ret = path;
    return path ? 0 : err_nomem(err);
}

/* Gives the finished copy its name, and stores the path in the result. */
static int name_output(struct copying *c, struct err *err)
{
    if (atomic_file_sync(c->new_file, err) < 0)
        return -1;
    if (!c->options->output)
        return atomic_file_give_unused_name(c->new_file, c->path, get_ending(c->options), &c->result.path,
                                            err);
    char *path = strdup(c->path);
    if (!path)
        return err_nomem(err);
    if (atomic_file_give_name(c->new_file, c->path, err) < 0) {
        free(path);
        return -1;
    }
    c->result.path = path;
    return 0;
}

static int write_output(void *ctx, const void *p, size_t n, struct err *err)
{
    struct copying *c = ctx;
    return c->age ? age_writer_write(c->age, p, n, err)
                  : fd_write_all(atomic_file_fd(c->new_file), p, n, err);
}

/* ---- the manifest -------------------------------------------------------------------------------------- */

static int read_manifest(struct copying *c, struct err *err)
{
    char *text = NULL;
    if (bundle_read_manifest(c->options->bundle, NULL, &text, err) < 0)
        return -1;
    int rc = manifest_json_parse(text, strlen(text), &c->root, err);
    free(text);
    if (rc < 0)
        return err_wrap(err, "%s", c->options->bundle);
    if (!json_object_get(c->root, "handoff"))
        return 0;
    err_set(err, ERR_USAGE, "%s is a copy that was handed off already", c->options->bundle);
    return err_hint(err, "use the bundle that this copy was made from, or encrypt this copy unchanged: "
                         "profgrab bundle encrypt");
}

/* Makes a JSON string, printable like all texts of the manifest. NULL without memory. */
static json_t *new_string(const char *s)
{
    char shown[JSON_ROWS_TEXT_SIZE];
    return json_string(json_rows_make_printable(shown, s));
}

/* Sets a key, unless the text is NULL or "". */
static int set_string(json_t *object, const char *key, const char *s)
{
    return s && *s ? json_object_set_new(object, key, new_string(s)) : 0;
}

static int set_recipients(json_t *handoff, const struct age_recipients *recipients)
{
    if (!recipients)
        return 0;
    json_t *list = json_array();
    int rc = json_object_set_new(handoff, "recipients", list);
    for (size_t i = 0; rc == 0 && i < age_recipients_count(recipients); i++)
        rc = json_array_append_new(list, new_string(age_recipients_name(recipients, i)));
    return rc;
}

/* Adds the key `handoff`. Redacts the strings of `handoff` before it adds the list
 * `redactions`, because that list counts these redactions too. */
static int set_handoff(struct copying *c, struct err *err)
{
    char time[64];
    json_t *handoff = json_object();
    if (json_object_set_new(c->root, "handoff", handoff) < 0 ||
        set_string(handoff, "time", clock_format_millis(time, sizeof time, c->now)) < 0 ||
        set_string(handoff, "user", c->options->user) < 0 ||
        set_string(handoff, "workstation", c->options->workstation) < 0 ||
        set_recipients(handoff, c->options->recipients) < 0)
        return err_nomem(err);
    if (!c->options->redact)
        return 0;
    if (redact_manifest_object(&c->redacted.manifest, handoff, err) < 0 ||
        redact_bundle_add_manifest_counts(&c->redacted, err) < 0)
        return -1;
    if (json_object_set(handoff, "redactions", c->redacted.redactions) < 0 ||
        json_object_set(handoff, "unsearched", c->redacted.unsearched) < 0)
        return err_nomem(err);
    return 0;
}

/* Redacts a text of the issue: what the rules of redaction match, and each word that was redacted in the
 * copy. *ret is a new string, or NULL without a text; *ret_changed: it was redacted. */
static int redact_issue_text(struct copying *c, const char *text, char **ret, bool *ret_changed,
                             struct err *err)
{
    json_t *object = json_object();
    uint64_t before = redact_sum(&c->redacted.manifest.tally);
    int rc = object ? set_string(object, "title", text) : -1;
    if (rc < 0)
        err_nomem(err);
    else if (c->options->redact)
        rc = redact_manifest_object(&c->redacted.manifest, object, err);
    const char *redacted = json_string_value(json_object_get(object, "title"));
    char *copied = rc == 0 && redacted ? strdup(redacted) : NULL;
    if (rc == 0 && redacted && !copied)
        rc = err_nomem(err);
    if (rc == 0) {
        *ret = copied;
        *ret_changed = redact_sum(&c->redacted.manifest.tally) > before;
    }
    json_decref(object);
    return rc;
}

/* Refuses words of the issue that redaction would change: a changed label or name is of no use. */
static int check_issue_words(struct copying *c, const struct strlist *words, const char *what,
                             const char *option, struct err *err)
{
    for (size_t i = 0; words && i < words->n; i++) {
        char *redacted = NULL;
        bool changed = false;
        if (redact_issue_text(c, words->items[i], &redacted, &changed, err) < 0)
            return -1;
        if (changed) {
            err_set(err, ERR_FAILED,
                    "the %s \"%.200s\" of the issue contains text that looks like a secret: nothing is sent",
                    what, redacted);
            err_hint(err, "give another one: --%s, or `%ss:` of the team in the inventory", option, what);
        }
        free(redacted);
        if (changed)
            return -1;
    }
    return 0;
}

static int redact_issue(struct copying *c, struct err *err)
{
    bool changed = false;
    if (redact_issue_text(c, c->options->title, &c->result.title, &changed, err) < 0)
        return -1;
    return check_issue_words(c, c->options->issue_labels, "label", "issue-label", err) < 0
               ? -1
               : check_issue_words(c, c->options->assignees, "assignee", "assignee", err);
}

/* Makes README.md from the manifest again, and adds the size and hash of README.md to the manifest. */
static int rewrite_readme(struct copying *c, struct err *err)
{
    char hex[SHA256_HEX];
    struct buf text = BUF_INIT(MAX_README);
    struct manifest *m = NULL;
    struct sha256 *hash = sha256_new(err);
    int rc = hash ? manifest_read_json(c->root, &m, err) : -1;
    if (rc == 0)
        rc = readme_write(m, &text, err);
    manifest_free(m);
    if (rc == 0) {
        sha256_add(hash, text.data, text.len);
        rc = sha256_hex(hash, hex, err);
    }
    sha256_free(hash);
    if (rc == 0 && (ftruncate(c->readme, 0) < 0 || lseek(c->readme, 0, SEEK_SET) < 0))
        rc = err_sys(err, "cannot write README.md of the copy");
    if (rc == 0)
        rc = fd_write_all(c->readme, text.data, text.len, err);
    if (rc == 0 &&
        json_object_set_new(json_object_get(c->root, "handoff"), "readme",
                            json_pack("{s:I, s:s}", "bytes", (json_int_t)text.len, "sha256", hex)) < 0)
        rc = err_nomem(err);
    buf_release(&text);
    return rc;
}

/* ---- the page ------------------------------------------------------------------------------------------ */

/* Draws the page and appends it to the spool, the file of changed members. */
static int draw_page(struct copying *c, json_t *report, struct err *err)
{
    struct redact_bundle_source from = {.redacted = &c->redacted, .bundle = c->options->bundle};
    struct manifest *manifest = NULL;
    off_t begin = lseek(c->redacted.spool, 0, SEEK_END);
    int rc = begin < 0 ? err_sys(err, "cannot write") : manifest_read_json(c->root, &manifest, err);
    if (rc == 0) {
        const struct bundle_preview preview = {.manifest = manifest,
                                               .bytes = file_bytes_on_disk(c->options->bundle),
                                               .cancel_fd = c->options->cancel_fd,
                                               .cpu_ms = (stop_remaining_ms(&c->stop) + 1) / 2,
                                               .fd = c->redacted.spool,
                                               .from = &from,
                                               .ctx = c->options->draw_ctx,
                                               .visit = redact_bundle_visit};
        rc = c->options->draw(&preview, c->redacted.spool, err);
    }
    manifest_free(manifest);
    return rc < 0 ? -1 : redact_bundle_replace(&c->redacted, report, PATH_REPORT, begin, err);
}

/* Draws report.html again, because the old one shows data that redaction removes. */
static int redraw_page(struct copying *c, struct err *err)
{
    json_t *report = json_object_get(c->root, "report");
    struct err why = ERR_INIT;
    if (!c->options->redact || !report)
        return 0;
    if (!c->options->draw)
        err_set(&why, ERR_FAILED, "this program has no function that draws the page");
    else if (draw_page(c, report, &why) == 0)
        return 0;
    if (why.kind == ERR_CANCELLED) {
        if (err)
            *err = why;
        return -1;
    }
    c->result.page_error = why;
    json_object_del(c->root, "report");
    json_object_del(c->redacted.items, PATH_REPORT);
    return rewrite_readme(c, err);
}

static int make_signature(struct copying *c, struct err *err)
{
    struct sshsig s = {0};
    if (sshsig_sign(c->options->signer, BUNDLE_NAMESPACE, (struct str){c->manifest.data, c->manifest.len},
                    &c->signature, err) < 0 ||
        sshsig_parse(c->signature, strlen(c->signature), &s, err) < 0)
        return -1;
    snprintf(c->result.fingerprint, sizeof c->result.fingerprint, "%s", s.fingerprint);
    sshsig_release(&s);
    return 0;
}

static int sign_manifest(struct copying *c, struct err *err)
{
    struct err why = ERR_INIT;
    if (!c->options->signer || make_signature(c, &why) == 0)
        return 0;
    if (!c->options->signature_optional || why.kind == ERR_CANCELLED) {
        if (err)
            *err = why;
        return -1;
    }
    free(c->signature);
    c->signature = NULL;
    c->result.signing_error = why;
    return 0;
}

static int prepare_copy(struct copying *c, struct err *err)
{
    const struct redact_bundle_options redact = {.copy = c->options, .beside = c->path, .stop = &c->stop};
    if (read_manifest(c, err) < 0 || atomic_file_new(c->path, &c->new_file, err) < 0 ||
        (c->readme = file_create_nameless(c->path, err)) < 0 ||
        (c->options->redact && redact_bundle_run(&redact, c->root, &c->redacted, err) < 0) ||
        set_handoff(c, err) < 0 || redact_issue(c, err) < 0 || rewrite_readme(c, err) < 0 ||
        redraw_page(c, err) < 0 || manifest_json_print(c->root, &c->manifest, err) < 0)
        return -1;
    return sign_manifest(c, err);
}

/* ---- writing ------------------------------------------------------------------------------------------- */

static int write_text(struct copying *c, const char *path, const char *text, size_t n, struct err *err)
{
    return writer_file(c->tar, path, n, c->now / 1000, err) < 0 ? -1 : writer_data(c->tar, text, n, err);
}

static int write_bytes(struct copying *c, struct redact_bundle_bytes from, const struct file_entry *file,
                       struct err *err)
{
    struct sha256 *hash = sha256_new(err);
    char chunk[CHUNK], hex[SHA256_HEX];
    uint64_t left = file->bytes;
    int rc = hash ? 0 : -1;
    for (size_t n = 1; rc == 0 && n > 0;) {
        size_t cap = from.spool >= 0 && left < sizeof chunk ? (size_t)left : sizeof chunk;
        rc = stop_check(&c->stop, err) < 0 ? -1 : redact_bundle_read(&from, chunk, cap, &n, err);
        if (rc < 0 || n == 0)
            continue;
        if (n > left)
            rc = err_set(err, ERR_FAILED, "%s differs from the manifest", file->path);
        else
            rc = writer_data(c->tar, chunk, n, err);
        left -= n;
        sha256_add(hash, chunk, n);
    }
    if (rc == 0)
        rc = sha256_hex(hash, hex, err);
    if (rc == 0 && (left > 0 || strcmp(hex, file->sha256) != 0))
        rc = err_set(err, ERR_FAILED, "%s differs from the manifest", file->path);
    sha256_free(hash);
    return rc;
}

/* Writes the manifest, its signature right after it, and README.md. */
static int write_own_members(struct copying *c, struct err *err)
{
    struct file_entry readme;
    if (write_text(c, PATH_MANIFEST, c->manifest.data, c->manifest.len, err) < 0 ||
        (c->signature && write_text(c, PATH_SIGNATURE, c->signature, strlen(c->signature), err) < 0))
        return -1;
    if (manifest_json_read_readme(c->root, &readme, err) < 0 ||
        writer_file(c->tar, readme.path, readme.bytes, c->now / 1000, err) < 0)
        return -1;
    return write_bytes(c, (struct redact_bundle_bytes){.spool = c->readme}, &readme, err);
}

static int write_member(struct copying *c, const struct reader_member *m, struct err *err)
{
    json_t *item = json_object_get(c->expected, m->path);
    struct file_entry file;
    if (!item && c->result.page_error.kind != ERR_NONE && strcmp(m->path, PATH_REPORT) == 0)
        return 0;
    if (!item)
        return err_set(err, ERR_FAILED, "the manifest does not describe %s", m->path);
    if (manifest_json_read_file_entry(item, &file, err) < 0)
        return -1;
    struct redact_bundle_bytes from = redact_bundle_find_bytes(&c->redacted, c->r, m->path);
    if (from.spool < 0 && file.bytes != m->size)
        return err_set(err, ERR_FAILED, "%s differs from the manifest", file.path);
    if (writer_file(c->tar, file.path, file.bytes, m->mtime, err) < 0 || write_bytes(c, from, &file, err) < 0)
        return -1;
    json_object_del(c->expected, m->path);
    return 0;
}

/* Writes a directory once. Redaction may give two directories the same name. */
static int write_directory(struct copying *c, const struct reader_member *m, struct err *err)
{
    struct buf path = BUF_INIT(1u << 16);
    if (c->options->redact)
        redact_manifest_directory(&c->redacted.manifest, m->path, &path);
    else
        buf_adds(&path, m->path);
    int rc = buf_check(&path, "the path of a directory", err);
    if (rc == 0 && !name_map_has(&c->directories, buf_str(&path)) &&
        (rc = writer_dir(c->tar, buf_str(&path), m->mtime, err)) == 0)
        rc = name_map_add(&c->directories, buf_str(&path), NULL, err);
    buf_release(&path);
    return rc;
}

static int write_next(struct copying *c, const struct reader_member *m, struct err *err)
{
    if (m->is_dir)
        return write_directory(c, m, err);
    if (strcmp(m->path, PATH_MANIFEST) == 0)
        return write_own_members(c, err);
    if (strcmp(m->path, PATH_README) == 0 || strcmp(m->path, PATH_SIGNATURE) == 0)
        return 0;
    return write_member(c, m, err);
}

static int open_tar(struct copying *c, struct err *err)
{
    const char *top = reader_top(c->r);
    if (c->options->redact)
        top = redact_manifest_name(&c->redacted.manifest, top);
    return writer_open(&(struct writer_output){top, c->options->bundle, write_output, c}, &c->tar, err);
}

static int write_members(struct copying *c, struct err *err)
{
    for (;;) {
        const struct reader_member *m = NULL;
        if (reader_next(c->r, &m, err) < 0)
            return -1;
        if (!m)
            break;
        if (!c->tar && open_tar(c, err) < 0)
            return -1;
        if (write_next(c, m, err) < 0)
            return -1;
    }
    void *missing = json_object_iter(c->expected);
    if (missing)
        return err_set(err, ERR_FAILED, "%s is missing", json_object_iter_key(missing));
    return writer_finish(c->tar, err);
}

static int write_copy(struct copying *c, struct err *err)
{
    struct stat st;
    c->expected =
        c->options->redact ? json_incref(c->redacted.items) : redact_bundle_index_items(c->root, err);
    if (!c->expected ||
        (c->options->recipients &&
         age_writer_open(atomic_file_fd(c->new_file), c->options->recipients, false, &c->age, err) < 0) ||
        reader_open(c->options->bundle, NULL, &c->r, err) < 0)
        return -1;
    reader_set_stop(c->r, &c->stop);
    if (write_members(c, err) < 0)
        return err_wrap(err, "%s", c->options->bundle);
    if (c->age && age_writer_finish(c->age, err) < 0)
        return -1;
    c->result.bytes = fstat(atomic_file_fd(c->new_file), &st) == 0 ? (uint64_t)st.st_size : 0;
    c->result.redactions = c->redacted.n_redactions;
    c->result.changed = json_object_size(c->redacted.spool_offsets) -
                        (json_object_get(c->redacted.spool_offsets, PATH_REPORT) != NULL);
    c->result.unsearched = json_array_size(c->redacted.unsearched);
    if (name_output(c, err) < 0)
        return -1;
    c->result.failed_searches = c->redacted.failed_searches;
    c->redacted.failed_searches = (struct strlist){0};
    c->result.unsearched_files = c->redacted.unsearched_files;
    c->redacted.unsearched_files = (struct strlist){0};
    c->result.manifest = buf_detach(&c->manifest);
    return 0;
}

/* If the copy used up its processor time, replaces the error with one that names the bundle. */
static void explain_limit(const struct copying *c, struct err *err)
{
    if (!err || err->kind != ERR_LIMIT || !stop_is_out_of_time(&c->stop))
        return;
    err_set(err, ERR_LIMIT, "%s: making its copy takes more than %lld s of processor time",
            c->options->bundle, (long long)((c->stop.cpu_ms + 999) / 1000));
    err_hint(
        err,
        "a real bundle of this size needs less memory and time: this one is damaged, or made to take long");
}

int bundle_copy(const struct bundle_copy_options *options, struct bundle_copy_result *ret, struct err *err)
{
    char *path = NULL;
    if (choose_output_path(options, &path, err) < 0)
        return -1;
    struct copying c = {.options = options,
                        .path = path,
                        .now = clock_utc(),
                        .stop = stop_begin(options->cancel_fd, options->cpu_ms),
                        .redacted = REDACT_BUNDLE_INIT,
                        .manifest = BUF_INIT(BUNDLE_MAX_MANIFEST),
                        .readme = -1,
                        .directories = {.copies_names = true}};
    int rc = prepare_copy(&c, err);
    if (rc == 0)
        rc = write_copy(&c, err);
    if (rc == 0) {
        *ret = c.result;
    } else {
        explain_limit(&c, err);
        free(c.result.title);
    }
    writer_free(c.tar);
    age_writer_free(c.age);
    reader_free(c.r);
    json_decref(c.expected);
    name_map_release(&c.directories);
    json_decref(c.root);
    redact_bundle_release(&c.redacted);
    atomic_file_free(c.new_file);
    free(path);
    buf_release(&c.manifest);
    fd_close(&c.readme);
    free(c.signature);
    return rc;
}

void bundle_copy_result_release(struct bundle_copy_result *c)
{
    free(c->path);
    free(c->manifest);
    free(c->title);
    strlist_release(&c->failed_searches);
    strlist_release(&c->unsearched_files);
    *c = (struct bundle_copy_result){0};
}
