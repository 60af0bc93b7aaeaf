#include "bundle/bundle.h"

#include <string.h>

#include "bundle/arena.h"
#include "bundle/manifest_json.h"
#include "bundle/path.h"
#include "bundle/reader.h"
#include "bundle/signature.h"
#include "base/banned.h"

struct verifier {
    struct reader *r;
    struct manifest *manifest;
    struct arena arena;       /* the values of `expected` */
    struct name_map expected; /* the file_entry of each file, or &was_read, by its path */
    struct buf signature;     /* manifest.json.sig */
    bool is_signed;
    const struct bundle_verify_options *options;
    struct bundle_summary summary;
};

/* Replaces the file_entry of a file that was read. */
static const struct file_entry was_read;

/* Counts a file and reports its state to the caller. */
static void record_file_state(struct verifier *v, const char *path, uint64_t size,
                              enum bundle_file_state state)
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

static int add_expected(void *ctx, json_t *item, const struct file_entry *file, struct err *err)
{
    struct verifier *v = ctx;
    (void)item;
    if (name_map_get(&v->expected, file->path))
        return err_set(err, ERR_FAILED, "%s describes %s twice", PATH_MANIFEST, file->path);
    struct file_entry *entry = arena_alloc(&v->arena, sizeof *entry);
    if (!entry)
        return err_nomem(err);
    *entry = *file;
    return name_map_add(&v->expected, file->path, entry, err);
}

/* Parses the manifest, and adds the files that the manifest names to v->expected. */
static int parse_manifest(struct verifier *v, const struct buf *text, struct err *err)
{
    json_t *root = NULL;
    struct file_entry readme;
    if (manifest_json_parse(buf_str(text), text->len, &root, err) < 0)
        return -1;
    /* The strings in `expected` belong to the JSON, which the manifest keeps. */
    int rc = manifest_json_visit_items(root, add_expected, v, err);
    if (rc == 0)
        rc = manifest_json_read_readme(root, &readme, err);
    if (rc == 0 && readme.path)
        rc = add_expected(v, NULL, &readme, err);
    if (rc == 0)
        rc = manifest_read_json(root, &v->manifest, err);
    json_decref(root);
    if (rc < 0)
        return -1;
    v->summary.complete = v->manifest->complete;
    v->summary.interrupted = v->manifest->interrupted;
    return signature_read_statements(v->manifest, &v->summary, err);
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
    const struct file_entry *file = name_map_get(&v->expected, m->path);
    if (file == &was_read)
        file = NULL;
    if (!file && strcmp(m->path, PATH_README) == 0)
        return 0;
    enum bundle_file_state state = file ? BUNDLE_CHANGED : BUNDLE_UNKNOWN;
    if (file && file->bytes == m->size) {
        char hex[SHA256_HEX];
        if (hash_member(v, hex, err) < 0)
            return -1;
        if (strcmp(hex, file->sha256) == 0)
            state = BUNDLE_INTACT;
    }
    record_file_state(v, m->path, m->size, state);
    return file ? name_map_set(&v->expected, file->path, &was_read, err) : 0;
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
    for (size_t i = 0; i < v->expected.n; i++) {
        const struct file_entry *file = v->expected.entries[i].value;
        if (file != &was_read)
            record_file_state(v, file->path, file->bytes, BUNDLE_MISSING);
    }
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
    name_map_release(&v.expected);
    arena_release(&v.arena);
    manifest_free(v.manifest);
    reader_free(v.r);
    return rc;
}
