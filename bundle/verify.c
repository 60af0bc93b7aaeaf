#include "bundle/bundle.h"

#include <string.h>

#include "bundle/manifest_json.h"
#include "bundle/path.h"
#include "bundle/reader.h"
#include "bundle/signature.h"
#include "base/banned.h"

struct verifier {
    struct reader *r;
    json_t *manifest;
    json_t *expected;     /* size and hash of each file that was not read yet, by its path */
    struct buf signature; /* manifest.json.sig */
    bool is_signed;
    const struct bundle_verify_options *options;
    struct bundle_summary summary;
};

static void count_file(struct verifier *v, const char *path, uint64_t size, enum bundle_file_state state)
{
    size_t *counts[] = {[BUNDLE_INTACT] = &v->summary.intact,
                        [BUNDLE_CHANGED] = &v->summary.changed,
                        [BUNDLE_MISSING] = &v->summary.missing,
                        [BUNDLE_UNKNOWN] = &v->summary.unknown};
    ++*counts[state];
    struct bundle_file_result f = {.path = path, .state = state, .size = size};
    if (v->options->on_file)
        v->options->on_file(v->options->ctx, &f);
}

static int add_expected(void *ctx, const struct file_entry *file, struct err *err)
{
    const struct verifier *v = ctx;
    if (json_object_get(v->expected, file->path))
        return err_set(err, ERR_FAILED, "%s describes %s twice", PATH_MANIFEST, file->path);
    json_t *entry = json_pack("{s:I, s:s}", "bytes", (json_int_t)file->bytes, "sha256", file->sha256);
    return json_object_set_new(v->expected, file->path, entry) < 0 ? err_nomem(err) : 0;
}

/* Parses the manifest, and collects in v->expected the bundle's files that it names. */
static int parse_manifest(struct verifier *v, const struct buf *text, struct err *err)
{
    if (manifest_json_parse(buf_str(text), text->len, &v->manifest, err) < 0)
        return -1;
    v->summary.complete = json_is_true(json_object_get(v->manifest, "complete"));
    v->summary.interrupted = json_is_true(json_object_get(v->manifest, "interrupted"));
    v->expected = json_object();
    if (!v->expected)
        return err_nomem(err);
    if (manifest_json_visit_file_entries(v->manifest, add_expected, v, err) < 0)
        return -1;
    return signature_read_statements(v->manifest, v->expected, &v->summary, err);
}

/* Hashes the current member. */
static int hash_member(struct verifier *v, char ret[SHA256_HEX], struct err *err)
{
    struct sha256 *hash = sha256_new(err);
    char chunk[32768];
    int rc = hash ? 0 : -1;
    for (size_t n = 1; rc == 0 && n > 0;) {
        rc = reader_read(v->r, chunk, sizeof chunk, &n, err);
        if (rc == 0)
            sha256_add(hash, chunk, n);
    }
    if (rc == 0)
        rc = sha256_hex(hash, ret, err);
    sha256_free(hash);
    return rc;
}

static int read_signature(struct verifier *v, struct err *err)
{
    char chunk[4096];
    v->is_signed = true;
    for (size_t n = 1; n > 0 && !v->signature.failed;) {
        if (reader_read(v->r, chunk, sizeof chunk, &n, err) < 0)
            return -1;
        buf_add(&v->signature, chunk, n);
    }
    return v->signature.out_of_memory ? err_nomem(err) : 0;
}

/* Compares the current member with the manifest. Does not read a member whose size differs. */
static int check_member(struct verifier *v, const struct reader_member *m, struct err *err)
{
    const json_t *file = json_object_get(v->expected, m->path);
    if (!file && strcmp(m->path, PATH_README) == 0)
        return 0;
    enum bundle_file_state state = file ? BUNDLE_CHANGED : BUNDLE_UNKNOWN;
    if (file && (uint64_t)json_integer_value(json_object_get(file, "bytes")) == m->size) {
        char hex[SHA256_HEX];
        if (hash_member(v, hex, err) < 0)
            return -1;
        if (strcmp(hex, json_string_value(json_object_get(file, "sha256"))) == 0)
            state = BUNDLE_INTACT;
    }
    count_file(v, m->path, m->size, state);
    json_object_del(v->expected, m->path);
    return 0;
}

static int check_all(struct verifier *v, struct err *err)
{
    for (;;) {
        const struct reader_member *m = NULL;
        if (reader_next_file(v->r, &m, err) < 0)
            return -1;
        if (!m)
            break;
        if (strcmp(m->path, PATH_SIGNATURE) == 0 ? read_signature(v, err) < 0 : check_member(v, m, err) < 0)
            return -1;
    }
    const char *path;
    json_t *file;
    json_object_foreach(v->expected, path, file)
        count_file(v, path, (uint64_t)json_integer_value(json_object_get(file, "bytes")), BUNDLE_MISSING);
    return 0;
}

int bundle_verify(const char *path, const struct bundle_verify_options *options, struct bundle_summary *ret,
                  struct err *err)
{
    static const struct bundle_verify_options defaults = {.cancel_fd = -1};
    struct verifier v = {.options = options ? options : &defaults, .signature = BUF_INIT(SSHSIG_MAX)};
    struct buf text = BUF_INIT(BUNDLE_MAX_MANIFEST);
    int rc = reader_open(path, v.options->identities, &v.r, err);
    if (rc == 0) {
        const struct stop stop = stop_begin(v.options->cancel_fd, 0);
        reader_set_stop(v.r, &stop);
        rc = reader_manifest(v.r, &text, err);
    }
    if (rc == 0 && (rc = parse_manifest(&v, &text, err)) < 0)
        err_wrap(err, "%s", path);
    if (rc == 0)
        rc = check_all(&v, err);
    if (rc == 0 && v.is_signed)
        rc = signature_verify(v.options, &text, &v.signature, &v.summary, err);
    if (rc < 0)
        bundle_summary_release(&v.summary);
    else
        *ret = v.summary;
    buf_release(&text);
    buf_release(&v.signature);
    json_decref(v.expected);
    json_decref(v.manifest);
    reader_free(v.r);
    return rc;
}
