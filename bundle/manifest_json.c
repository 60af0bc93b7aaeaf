#include "bundle/manifest_json.h"

#include <string.h>

#include "bundle/path.h"
#include "base/banned.h"

/* A manifest that profgrab writes has ten levels. */
static const struct json_limits manifest_limits = {.what = PATH_MANIFEST,
                                                   .max_bytes = BUNDLE_MAX_MANIFEST,
                                                   .max_memory = MANIFEST_JSON_MAX_MEMORY,
                                                   .max_depth = 64,
                                                   .max_string = 1u << 20};

static bool is_list_or_missing(const json_t *root, const char *key)
{
    const json_t *list = json_object_get(root, key);
    return !list || json_is_array(list);
}

static int check_format(const json_t *root, struct err *err)
{
    const char *format = json_string_value(json_object_get(root, "format"));
    if (!format || strcmp(format, "profgrab-bundle") != 0)
        return err_set(err, ERR_FAILED, "%s does not belong to a profgrab bundle", PATH_MANIFEST);
    const json_t *version = json_object_get(root, "version");
    if (!json_is_integer(version))
        return err_set(err, ERR_FAILED, "%s has no version number", PATH_MANIFEST);
    if (json_integer_value(version) != 1)
        return err_set(err, ERR_FAILED, "%s is of version %lld, and this program reads version 1",
                       PATH_MANIFEST, (long long)json_integer_value(version));
    if (!is_list_or_missing(root, "hosts") || !is_list_or_missing(root, "files"))
        return err_set(err, ERR_FAILED, "%s is malformed: \"hosts\" or \"files\" is not a list",
                       PATH_MANIFEST);
    return 0;
}

int manifest_json_parse(const char *text, size_t n, json_t **ret, struct err *err)
{
    json_t *root = NULL;
    if (json_parse(&manifest_limits, text, n, &root, err) < 0)
        return -1;
    if (check_format(root, err) < 0) {
        json_decref(root);
        return -1;
    }
    *ret = root;
    return 0;
}

static int add_chunk(const char *p, size_t n, void *ctx)
{
    struct buf *b = ctx;
    buf_add(b, p, n);
    return b->failed ? -1 : 0;
}

int manifest_json_print(const json_t *root, struct buf *ret, struct err *err)
{
    int printed = json_dump_callback(root, add_chunk, ret, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
    return printed < 0 && !ret->failed ? err_nomem(err) : manifest_json_finish(ret, err);
}

int manifest_json_finish(struct buf *text, struct err *err)
{
    buf_addc(text, '\n');
    if (buf_check(text, PATH_MANIFEST, err) < 0)
        return -1;
    struct err why = ERR_INIT;
    return json_check(&manifest_limits, text->data, text->len, &why) < 0
               ? err_set(err, ERR_LIMIT, "%s", why.msg)
               : 0;
}

/* The approximate memory of a service with its host, and of an item with long findings, as json_measure
 * counts it in real manifests. */
enum { SERVICE_MEMORY = 18000, ITEM_MEMORY = 9500 };

int bundle_check_room(size_t services, size_t items, struct err *err)
{
    double most = MANIFEST_JSON_MAX_MEMORY,
           need = (double)services * SERVICE_MEMORY + (double)items * ITEM_MEMORY;
    if (need <= most)
        return 0;
    size_t fit = (size_t)((double)services * (most / need));
    err_set(err, ERR_USAGE, "%zu services with %zu items in all are too many for one bundle", services,
            items);
    return err_hint(
        err,
        "about %zu such services fit: fetch all of them in several runs, by --host, --service or a group",
        fit);
}

static bool is_sha256(const char *s)
{
    return s && strlen(s) == SHA256_HEX - 1 && strspn(s, "0123456789abcdef") == SHA256_HEX - 1;
}

static int report_no_hash(const char *path, struct err *err)
{
    return err_set(err, ERR_FAILED, "%s is malformed: size or SHA-256 of %s is missing", PATH_MANIFEST, path);
}

static int check_file(const struct file_entry *f, struct err *err)
{
    if (path_check(f->path, err) < 0)
        return err_wrap(err, "%s", PATH_MANIFEST);
    if (strcmp(f->path, PATH_MANIFEST) == 0 || strcmp(f->path, PATH_README) == 0 ||
        strcmp(f->path, PATH_SIGNATURE) == 0)
        return err_set(err, ERR_FAILED, "%s is malformed: it lists %s as the file of an item", PATH_MANIFEST,
                       f->path);
    return is_sha256(f->sha256) ? 0 : report_no_hash(f->path, err);
}

/* Reads a size and a hash. Without a valid size, the hash counts as missing. */
static struct file_entry read_size_and_hash(const json_t *object, const char *path)
{
    const json_t *bytes = json_object_get(object, "bytes");
    bool is_valid = json_is_integer(bytes) && json_integer_value(bytes) >= 0;
    return (struct file_entry){.path = path,
                               .bytes = (uint64_t)json_integer_value(bytes),
                               .sha256 =
                                   is_valid ? json_string_value(json_object_get(object, "sha256")) : NULL};
}

int manifest_json_read_file_entry(const json_t *item, struct file_entry *ret, struct err *err)
{
    const struct file_entry f = read_size_and_hash(item, json_string_value(json_object_get(item, "file")));
    if (!f.path)
        return err_set(err, ERR_FAILED, "%s is malformed: \"file\" is not a string", PATH_MANIFEST);
    if (check_file(&f, err) < 0)
        return -1;
    *ret = f;
    return 0;
}

int manifest_json_read_readme(const json_t *root, struct file_entry *ret, struct err *err)
{
    const json_t *readme = json_object_get(json_object_get(root, "handoff"), "readme");
    const struct file_entry f = read_size_and_hash(readme, readme ? PATH_README : NULL);
    if (readme && !f.sha256)
        return report_no_hash(f.path, err);
    *ret = f;
    return 0;
}

int manifest_json_check_file_entry(const struct file_entry *file, struct err *err)
{
    if (check_file(file, err) < 0)
        return -1;
    return strcmp(file->path, PATH_REPORT) != 0
               ? 0
               : err_set(err, ERR_FAILED, "%s is malformed: an item's file is %s", PATH_MANIFEST,
                         PATH_REPORT);
}

/* Adds the lengths of the files' paths to *total. */
static int visit_list(const json_t *items, manifest_json_item_fn *visit, void *ctx, size_t *total,
                      struct err *err)
{
    for (size_t i = 0; i < json_array_size(items); i++) {
        json_t *item = json_array_get(items, i);
        struct file_entry file;
        if (!json_object_get(item, "file"))
            continue;
        if (manifest_json_read_file_entry(item, &file, err) < 0 ||
            manifest_json_check_file_entry(&file, err) < 0)
            return -1;
        if (path_add_length(total, file.path, err) < 0)
            return err_wrap(err, "%s", PATH_MANIFEST);
        if (visit(ctx, item, &file, err) != 0)
            return -1;
    }
    return 0;
}

/* Visits the report, which the manifest lists separately because it was not collected. */
static int visit_report(json_t *report, manifest_json_item_fn *visit, void *ctx, struct err *err)
{
    struct file_entry file;
    if (!report)
        return 0;
    if (manifest_json_read_file_entry(report, &file, err) < 0)
        return -1;
    if (strcmp(file.path, PATH_REPORT) != 0)
        return err_set(err, ERR_FAILED, "%s is malformed: its report is not %s", PATH_MANIFEST, PATH_REPORT);
    return visit(ctx, report, &file, err) != 0 ? -1 : 0;
}

int manifest_json_visit_items(const json_t *root, manifest_json_item_fn *visit, void *ctx, struct err *err)
{
    size_t total = 0;
    if (visit_report(json_object_get(root, "report"), visit, ctx, err) < 0)
        return -1;
    const json_t *hosts = json_object_get(root, "hosts");
    for (size_t i = 0; i < json_array_size(hosts); i++) {
        const json_t *services = json_object_get(json_array_get(hosts, i), "services");
        for (size_t j = 0; j < json_array_size(services); j++) {
            const json_t *items = json_object_get(json_array_get(services, j), "items");
            if (visit_list(items, visit, ctx, &total, err) < 0)
                return -1;
        }
    }
    return visit_list(json_object_get(root, "files"), visit, ctx, &total, err);
}
