/* The manifest and the README against golden files, with hostile strings, and reading foreign manifests. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <unistd.h>

#include "bundle/bundle.h"
#include "bundle/manifest_json.h"
#include "bundle/manifest_internal.h"
#include "bundle/manifest_rows.h"
#include "bundle/path.h"
#include "bundle/readme.h"
#include "tests/unit/damage.h"
#include "tests/unit/unit.h"
#include "base/banned.h"

#define GOLDEN "tests/data/bundle/"
#define SHA_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define SHA_B "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#define START_TIME INT64_C(1795247280000) /* 2026-11-21T07:48:00Z */

static const struct manifest_info info = {.name = "profgrab-file-03-2026-11-21T07-48-00Z",
                                          .version = "0.1.0",
                                          .user = "ops",
                                          .workstation = "laptop",
                                          .reason = "incident *42*\n/close",
                                          .started = START_TIME};

static struct manifest *new_manifest(void)
{
    struct manifest *m = NULL;
    struct err err = ERR_INIT;
    assert_ok(manifest_new(&info, &m, &err), &err);
    return m;
}

static void add_hosts(struct manifest *m)
{
    static const struct manifest_hop hops[] = {
        {.address = "bastion.example",
         .port = 22,
         .host_key_new = true,
         .user = "ops",
         .via = "libssh2 1.10.0",
         .host_key_type = "ssh-ed25519",
         .host_key = "SHA256:abc",
         .authentication = "agent ssh-ed25519 SHA256:def"},
        {.address = "10.0.0.3", .port = 2222},
    };
    static const struct manifest_host hosts[] = {
        {.name = "file-03", .address = "10.0.0.3", .route = "ssh", .hops = hops, .n_hops = 2},
        {.name = "file-04", .route = "ssh", .error = "connection refused"},
    };
    struct err err = ERR_INIT;
    for (size_t i = 0; i < 2; i++)
        assert_ok(manifest_add_host(m, &hosts[i], &err), &err);
}

static void add_services(struct manifest *m)
{
    static const struct manifest_listed_profile offers[] = {{.name = "heap", .has_count = true, .count = 12},
                                                            {.name = "custom"},
                                                            {.name = "none", .has_count = true}};
    static const struct manifest_finding findings[] = {
        {.rule = "reconnected", .text = "two processes answered"},
        {.rule = "clock-skew", .text = "the clock is 1 s ahead"}};
    static const struct manifest_planned planned[] = {
        {.kind = "cpu", .argument = "30s"}, {.kind = "heap", .pair = 1}, {.kind = "heap", .pair = 2}};
    static const struct manifest_service services[] = {
        {.host = "file-03",
         .name = "gitaly",
         .url = "http://localhost:9236/debug/pprof",
         .offers = offers,
         .n_offers = 3,
         .has_clock_skew = true,
         .clock_skew_ms = -1000,
         .planned = planned,
         .n_planned = 3,
         .estimate_bytes = 70000,
         .profiled_ms = 30000,
         .findings = findings,
         .n_findings = 2},
        {.host = "file-03", .name = "sidecar", .error = "HTTP 404"},
    };
    struct err err = ERR_INIT;
    for (size_t i = 0; i < 2; i++)
        assert_ok(manifest_add_service(m, &services[i], &err), &err);
}

static void add_items(struct manifest *m)
{
    static const struct manifest_sample_type types[] = {
        {.type = "samples", .unit = "count", .total = 2999},
        {.type = "cpu", .unit = "nanoseconds", .total = INT64_MAX}};
    static const struct manifest_finding findings[] = {
        {.rule = "cpu-share", .text = "CPU was 3 % busy"},
        {.rule = "text-cut", .text = "cut by the server | at 64 MiB"}};
    static const struct manifest_item items[] = {
        {.host = "file-03",
         .service = "gitaly",
         .kind = "cpu",
         .argument = "30s",
         .request = "GET /debug/pprof/profile?seconds=30",
         .file = "file-03/gitaly/cpu.pb.gz",
         .http_status = 200,
         .content_type = "application/octet-stream",
         .started = START_TIME + 7,
         .duration_ms = 30012,
         .bytes = 33456,
         .sha256 = SHA_B,
         .has_profile = true,
         .samples = 321,
         .sample_types = types,
         .n_sample_types = 2,
         .profile_duration_ns = INT64_C(30000000000),
         .findings = findings,
         .n_findings = 2},
        {.host = "file-03",
         .service = "gitaly",
         .kind = "trace",
         .file = "file-03/gitaly/trace.out",
         .sha256 = SHA_A},
        {.host = "file-03",
         .service = "gitaly",
         .kind = "wrong",
         .status = MANIFEST_FAILED,
         .error = "HTTP 404",
         .server_words = "\x1b[31m<b>`Unknown`</b>\xff @all | #1 [x](javascript:y)\n/close"},
        {.host = "file-03",
         .service = "gitaly",
         .kind = "heap",
         .status = MANIFEST_DAMAGED,
         .error = "unexpected end of gzip",
         .file = "file-03/gitaly/heap.pb.gz.damaged",
         .bytes = 5,
         .sha256 = SHA_A},
        {.host = "file-03", .service = "sidecar", .kind = "heap", .status = MANIFEST_INTERRUPTED},
        {.kind = "file", .file = "local/cpu.prof", .bytes = 7, .sha256 = SHA_A},
    };
    struct err err = ERR_INIT;
    for (size_t i = 0; i < sizeof items / sizeof *items; i++)
        assert_ok(manifest_add_item(m, &items[i], &err), &err);
}

static struct manifest *full_manifest(void)
{
    struct manifest *m = new_manifest();
    struct err err = ERR_INIT;
    add_hosts(m);
    add_services(m);
    add_items(m);
    assert_ok(manifest_finish(m, START_TIME + 60000, true, false, &err), &err);
    return m;
}

static void assert_item_refused(struct manifest *m, const struct manifest_item *item, const char *msg)
{
    struct err err = ERR_INIT;
    assert_int_equal(manifest_add_item(m, item, &err), -1);
    assert_string_equal(err.msg, msg);
}

static const struct manifest_host *require_host(const struct manifest *m, const char *name)
{
    const struct manifest_host *host = manifest_find_host(m, name);
    assert_non_null(host);
    return host;
}

static const struct manifest_service *require_service(const struct manifest *m, const char *host,
                                                      const char *name)
{
    const struct manifest_service *service = manifest_find_service(require_host(m, host), name);
    assert_non_null(service);
    return service;
}

/* Prints the manifest and parses the text. */
static json_t *print_as_json(const struct manifest *m)
{
    struct buf text = BUF_INIT(1 << 20);
    struct err err = ERR_INIT;
    json_t *root = NULL;
    assert_ok(manifest_print(m, &text, &err), &err);
    assert_ok(manifest_json_parse(buf_str(&text), text.len, &root, &err), &err);
    /* The parsed tree is printed as the same text. */
    struct buf again = BUF_INIT(1 << 20);
    assert_ok(manifest_json_print(root, &again, &err), &err);
    assert_string_equal(buf_str(&again), buf_str(&text));
    buf_release(&again);
    buf_release(&text);
    return root;
}

static int write_readme(json_t *root, struct buf *ret, struct err *err)
{
    struct manifest *m = NULL;
    int rc = manifest_read_json(root, &m, err);
    if (rc == 0)
        rc = readme_write(m, ret, err);
    manifest_free(m);
    return rc;
}

static void assert_equals_golden(const char *name, const char *got)
{
    char *path = file_join(GOLDEN, name);
    struct buf expected = scratch_read(path);
    assert_string_equal(got, buf_str(&expected));
    buf_release(&expected);
    free(path);
}

static struct buf save_manifest(const struct manifest *m, const char *dir)
{
    struct workdir *w = NULL;
    struct err err = ERR_INIT;
    assert_ok(workdir_new(dir, "x", START_TIME, &w, &err), &err);
    assert_ok(manifest_save(m, w, &err), &err);
    assert_ok(manifest_save(m, w, &err), &err);
    char *path = file_join(workdir_path(w), "manifest.json");
    struct buf text = scratch_read(path);
    assert_int_equal(scratch_mode(path), 0600);
    assert_int_equal(scratch_count(workdir_path(w)), 1);
    free(path);
    workdir_free(w);
    return text;
}

static void a_full_manifest_equals_the_golden_file(void **state)
{
    struct manifest *m = full_manifest();
    struct buf text = save_manifest(m, *state);
    assert_equals_golden("manifest.json", buf_str(&text));
    buf_release(&text);
    manifest_free(m);
}

static void the_smallest_manifest_equals_the_golden_file(void **state)
{
    static const struct manifest_info bare = {.name = "x"};
    struct manifest *m = NULL;
    assert_int_equal(manifest_new(&bare, &m, NULL), 0);
    struct buf text = save_manifest(m, *state);
    assert_equals_golden("manifest-smallest.json", buf_str(&text));
    buf_release(&text);
    manifest_free(m);
}

static void the_readme_equals_the_golden_file(void **state)
{
    (void)state;
    struct manifest *m = full_manifest();
    struct buf text = BUF_INIT(1 << 20);
    assert_int_equal(readme_write(m, &text, NULL), 0);
    assert_int_equal(buf_check(&text, "README.md", NULL), 0);
    assert_equals_golden("README.md", buf_str(&text));
    buf_release(&text);
    manifest_free(m);
}

static void hostile_strings_are_saved_as_valid_json(void **state)
{
    char all[256], longer[10000];
    for (size_t i = 0; i < sizeof all; i++)
        all[i] = (char)(i == 255 ? 0 : i + 1);
    memset(longer, '\xe4', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    struct manifest *m = new_manifest();
    struct err err = ERR_INIT;
    struct manifest_host host = {.name = all, .address = longer, .error = "\xed\xa0\x80"};
    struct manifest_service service = {.host = all, .name = longer, .url = "\xf4\x90\x80\x80"};
    struct manifest_item item = {
        .host = all, .service = longer, .kind = "\xff", .server_words = all, .bytes = UINT64_MAX};
    assert_ok(manifest_add_host(m, &host, &err), &err);
    assert_ok(manifest_add_service(m, &service, &err), &err);
    assert_ok(manifest_add_item(m, &item, &err), &err);
    struct buf text = save_manifest(m, *state);
    json_t *root = NULL;
    assert_ok(manifest_json_parse(buf_str(&text), text.len, &root, &err), &err);
    json_t *read = json_array_get(json_object_get(root, "hosts"), 0);
    size_t n = json_string_length(json_object_get(read, "address"));
    assert_in_range(n, 4000, 4096);
    assert_string_equal(json_string_value(json_object_get(read, "error")), "???");
    json_decref(root);
    buf_release(&text);
    manifest_free(m);
}

static void inconsistent_records_are_refused(void **state)
{
    (void)state;
    struct manifest *m = full_manifest();
    struct err err = ERR_INIT;
    struct manifest_host host = {.name = "file-03"};
    assert_int_equal(manifest_add_host(m, &host, &err), -1);
    assert_string_equal(err.msg, "the manifest has the host file-03 already");
    struct manifest_service service = {.host = "nobody", .name = "gitaly"};
    assert_int_equal(manifest_add_service(m, &service, &err), -1);
    assert_string_equal(err.msg, "the manifest has no host nobody");
    service.host = "file-03";
    assert_int_equal(manifest_add_service(m, &service, &err), -1);
    assert_string_equal(err.msg, "the manifest has the service gitaly of file-03 already");
    assert_int_equal(manifest_finish(m, START_TIME, false, true, &err), -1);
    assert_string_equal(err.msg, "the manifest is finished already");

    struct manifest_item item = {.host = "file-04", .service = "gitaly", .kind = "heap"};
    assert_item_refused(m, &item, "the manifest has no service gitaly of file-04");
    item.service = NULL;
    assert_item_refused(m, &item, "the manifest has no service (none) of file-04");
    item = (struct manifest_item){.kind = "heap", .file = "local/cpu.prof", .sha256 = SHA_A};
    assert_item_refused(m, &item, "the manifest has the file local/cpu.prof already");
    item.file = "../x";
    assert_item_refused(m, &item, "manifest.json: the path \"../x\" is not safe: it has a component \"..\"");
    item.file = "report.html";
    assert_item_refused(m, &item, "manifest.json is malformed: an item's file is report.html");
    item.file = "manifest.json";
    assert_item_refused(m, &item,
                        "manifest.json is malformed: it lists manifest.json as the file of an item");
    item.file = "x";
    item.sha256 = NULL;
    assert_item_refused(m, &item, "manifest.json is malformed: size or SHA-256 of x is missing");
    manifest_free(m);
}

static void unsafe_paths_are_refused(void **state)
{
    (void)state;
    static const char *const good[] = {"a", "a/b", ".a", "a b/c", "...", "-", "a.", "a:b"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_int_equal(path_check(good[i], NULL), 0);
    static const char *const bad[][2] = {
        {"", "an empty component"},
        {"/a", "a slash at its beginning"},
        {"a/", "an empty component"},
        {"a//b", "an empty component"},
        {".", "a component \".\""},
        {"a/./b", "a component \".\""},
        {"..", "a component \"..\""},
        {"a/..", "a component \"..\""},
        {"a\\b", "a character that is not printable ASCII, or a backslash"},
        {"a\nb", "a character that is not printable ASCII, or a backslash"},
        {"a\x7f", "a character that is not printable ASCII, or a backslash"},
        {"\xc3\xa4", "a character that is not printable ASCII, or a backslash"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct err err = ERR_INIT;
        assert_int_equal(path_check(bad[i][0], &err), -1);
        const char *why = strstr(err.msg, "is not safe: it has ");
        assert_non_null(why);
        assert_string_equal(why + strlen("is not safe: it has "), bad[i][1]);
    }
    char text[1200];
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = i % 200 == 199 ? '/' : 'x';
    text[1024] = '\0';
    assert_int_equal(path_check(text, NULL), 0);
    text[1024] = 'x';
    text[1025] = '\0';
    assert_int_equal(path_check(text, NULL), -1);
    memset(text, 'x', 256);
    text[256] = '\0';
    assert_int_equal(path_check(text, NULL), -1);
    assert_int_equal(path_check(text + 1, NULL), 0);
    for (size_t i = 0; i < 64; i++)
        text[i] = i % 2 ? '/' : 'x';
    text[63] = '\0';
    assert_int_equal(path_check(text, NULL), 0);
    memcpy(text + 63, "/x", 3);
    assert_int_equal(path_check(text, NULL), -1);
}

static int count_file(void *ctx, json_t *item, const struct file_entry *file, struct err *err)
{
    (void)item, (void)err;
    assert_int_equal(path_check(file->path, NULL), 0);
    assert_int_equal(strlen(file->sha256), 64);
    ++*(size_t *)ctx;
    return 0;
}

/* Calls all functions that read a foreign manifest. *ret_files is the number of files that the manifest
 * lists. */
static int read_foreign(const char *p, size_t n, size_t *ret_files, struct err *err)
{
    json_t *root = NULL;
    *ret_files = 0;
    if (manifest_json_parse(p, n, &root, err) < 0)
        return -1;
    struct buf text = BUF_INIT(1 << 20);
    assert_int_equal(write_readme(root, &text, NULL), 0);
    buf_release(&text);
    struct file_entry readme = {0};
    int rc = manifest_json_visit_items(root, count_file, ret_files, err);
    if (rc == 0)
        rc = manifest_json_read_readme(root, &readme, err);
    *ret_files += readme.path != NULL;
    json_decref(root);
    return rc;
}

#define HEAD "{\"format\": \"profgrab-bundle\", \"version\": 1, "
#define ITEM(fields) HEAD "\"files\": [{" fields "}]}"

static void valid_foreign_manifests_are_read_and_invalid_ones_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *msg; /* NULL: valid */
        size_t files;    /* in a valid manifest */
    } cases[] = {
        {HEAD "\"hosts\": []}", NULL, 0},
        {HEAD "\"hosts\": [1, {}, {\"services\": 2}, {\"services\": [{\"items\": [null, \"x\"]}]}]}", NULL,
         0},
        {ITEM("\"file\": \"a\", \"bytes\": 1, \"sha256\": \"" SHA_A "\""), NULL, 1},
        {ITEM("\"status\": \"failed\""), NULL, 0},
        {HEAD "\"handoff\": {\"readme\": {\"bytes\": 1, \"sha256\": \"x\"}}}", NULL, 1},
        {HEAD "\"handoff\": {}}", NULL, 0},
        {HEAD "\"handoff\": {\"readme\": {\"bytes\": -1, \"sha256\": \"" SHA_A "\"}}}",
         "manifest.json is malformed: size or SHA-256 of README.md is missing", 0},
        {HEAD "\"handoff\": {\"readme\": {\"bytes\": 1}}}",
         "manifest.json is malformed: size or SHA-256 of README.md is missing", 0},
        {"", "manifest.json is malformed: line 1: '[' or '{' expected near end of file", 0},
        {"[]", "manifest.json does not belong to a profgrab bundle", 0},
        {"{\"format\": \"x\"}", "manifest.json does not belong to a profgrab bundle", 0},
        {"{\"format\": \"profgrab-bundle\", \"version\": 2}",
         "manifest.json is of version 2, and this program reads version 1", 0},
        {HEAD "\"hosts\": {}}", "manifest.json is malformed: \"hosts\" or \"files\" is not a list", 0},
        {HEAD "\"version\": 1}",
         "manifest.json is malformed: line 1: duplicate object key near '\"version\"'", 0},
        {ITEM("\"file\": 7"), "manifest.json is malformed: \"file\" is not a string", 0},
        {ITEM("\"file\": \"/etc/passwd\""),
         "manifest.json: the path \"/etc/passwd\" is not safe: it has a slash at its beginning", 0},
        {ITEM("\"file\": \"README.md\""),
         "manifest.json is malformed: it lists README.md as the file of an item", 0},
        {ITEM("\"file\": \"a\", \"bytes\": -1, \"sha256\": \"" SHA_A "\""),
         "manifest.json is malformed: size or SHA-256 of a is missing", 0},
        {ITEM("\"file\": \"a\", \"bytes\": 1.5, \"sha256\": \"" SHA_A "\""),
         "manifest.json is malformed: size or SHA-256 of a is missing", 0},
        {ITEM("\"file\": \"a\", \"bytes\": 1, \"sha256\": \"A\""),
         "manifest.json is malformed: size or SHA-256 of a is missing", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct err err = ERR_INIT;
        size_t files = 0;
        int rc = read_foreign(cases[i].text, strlen(cases[i].text), &files, &err);
        assert_string_equal(err.msg, cases[i].msg ? cases[i].msg : "");
        assert_int_equal(rc, cases[i].msg ? -1 : 0);
        assert_int_equal(files, cases[i].files);
    }
}

/* README.md escapes the texts of every manifest, also of one that manifest_add_* did not make. */
static void the_readme_escapes_texts_of_a_foreign_manifest(void **state)
{
    (void)state;
    static const char foreign[] =
        HEAD "\"name\": \"b\\n# x\", \"reason\": \"a\\u001b[31m\\r\\n\\u202e\", "
             "\"hosts\": [{\"name\": \"h\\n\\n# y\", "
             "\"error\": \"e\\n- z\"}], "
             "\"summary\": [{\"text\": \"s\\n# <b>\", \"file\": \"f*\"}, {\"text\": 1}, "
             "{\"text\": \"p.(*T).f -> (*b* (*\"}]}";
    struct buf text = BUF_INIT(65536);
    json_t *root = NULL;
    assert_int_equal(manifest_json_parse(foreign, sizeof foreign - 1, &root, NULL), 0);
    assert_int_equal(write_readme(root, &text, NULL), 0);
    assert_non_null(strstr(buf_str(&text), "\n- Reason: a?\\[31m ?\n"));
    assert_non_null(strstr(buf_str(&text), "\n- h \\# y: e - z\n"));
    assert_non_null(strstr(buf_str(&text), "\n\n## What the profiles show\n\n- s \\# \\<b> (f\\*)\n- \n- "
                                           "p.(*T).f -> (*b\\* (\\*\n\n## What is missing\n"));
    for (size_t i = 0; i < text.len; i++)
        assert_true(text.data[i] == '\n' || (unsigned char)text.data[i] >= ' ');
    buf_release(&text);
    json_decref(root);
}

static void the_readme_shortens_repeated_sentences(void **state)
{
    (void)state;
    static const char two_heaps[] = HEAD
        "\"name\": \"b\", \"finished\": \"f\", \"hosts\": [{\"name\": \"h\", \"services\": [{\"name\": "
        "\"node_exporter\", "
        "\"items\": ["
        "{\"kind\": \"heap\", \"status\": \"ok\", \"verdicts\": [{\"rule\": \"heap-gc\", \"text\": \"no "
        "collection ran; heap=gc would\"}]},"
        "{\"kind\": \"cpu\", \"argument\": \"20s\", \"status\": \"interrupted\", \"error\": \"interrupted\"},"
        "{\"kind\": \"allocs\", \"status\": \"ok\", \"verdicts\": [{\"rule\": \"heap-gc\", \"text\": \"no "
        "collection ran; heap=gc would\"}]},"
        "{\"kind\": \"/x?token=[redacted]\", \"status\": \"failed\", \"error\": \"_a_ [redacted](b)\"}"
        "]}]}]}";
    struct buf text = BUF_INIT(65536);
    json_t *root = NULL;
    assert_int_equal(manifest_json_parse(two_heaps, sizeof two_heaps - 1, &root, NULL), 0);
    assert_int_equal(write_readme(root, &text, NULL), 0);
    assert_non_null(strstr(buf_str(&text), "\n- Until f (UTC)\n- **Not complete**"));
    assert_non_null(strstr(buf_str(&text), "\n- h node_exporter cpu=20s: interrupted\n"));
    assert_non_null(strstr(buf_str(&text), "\n| heap | ok |  |  |  | no collection ran; heap=gc would |\n"));
    assert_non_null(strstr(buf_str(&text), "\n| allocs | ok |  |  |  | no collection ran, as above |\n"));
    assert_non_null(strstr(buf_str(&text),
                           "\n- h node_exporter /x?token=[redacted]: failed: \\_a\\_ \\[redacted\\](b)\n"));
    buf_release(&text);
    json_decref(root);
}

static void a_manifest_that_is_too_deep_or_too_large_is_refused(void **state)
{
    (void)state;
    size_t n = MANIFEST_JSON_MAX_MEMORY / 80;
    char *text = malloc(n);
    assert_non_null(text);
    memset(text, '[', n);
    struct err err = ERR_INIT;
    json_t *root = NULL;
    assert_int_equal(manifest_json_parse(text, n, &root, &err), -1);
    assert_string_equal(err.msg, "manifest.json is nested deeper than 64 levels");
    for (size_t i = 1; i + 3 <= n; i += 3)
        memcpy(text + i, "{},", 3);
    assert_int_equal(manifest_json_parse(text, n, &root, &err), -1);
    assert_string_equal(err.msg, "manifest.json is too large: it would take more than 234.9 MB of memory");
    /* Inside a string, braces are not values. */
    text[0] = '"';
    assert_int_equal(manifest_json_parse(text, n, &root, &err), -1);
    assert_string_equal(err.msg, "manifest.json contains a string of more than 1.0 MB");
    assert_int_equal(manifest_json_parse(text, 1000000, &root, &err), -1);
    assert_string_equal(err.msg, "manifest.json is malformed: line 1: premature end of input");
    free(text);
}

static json_t *manifest_of(size_t n_files)
{
    json_t *root = json_pack("{s:s, s:i, s:[]}", "format", "profgrab-bundle", "version", 1, "files");
    for (size_t i = 0; i < n_files; i++)
        json_array_append_new(json_object_get(root, "files"), json_object());
    return root;
}

static void only_manifests_that_can_be_parsed_are_printed(void **state)
{
    (void)state;
    const size_t n_files[] = {MANIFEST_JSON_MAX_MEMORY / 300, MANIFEST_JSON_MAX_MEMORY / 240};
    for (size_t i = 0; i < 2; i++) {
        struct buf text = BUF_INIT(BUNDLE_MAX_MANIFEST);
        struct err err = ERR_INIT;
        json_t *root = manifest_of(n_files[i]), *again = NULL;
        int rc = manifest_json_print(root, &text, &err);
        assert_int_equal(rc, i == 0 ? 0 : -1);
        assert_int_equal(manifest_json_parse(text.data, text.len, &again, NULL), rc);
        if (rc < 0) {
            assert_int_equal(err.kind, ERR_LIMIT);
            assert_string_equal(err.msg,
                                "manifest.json is too large: it would take more than 234.9 MB of memory");
        }
        json_decref(root);
        json_decref(again);
        buf_release(&text);
    }
}

static void a_run_too_large_for_one_manifest_is_refused(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    assert_int_equal(bundle_check_room(0, 0, NULL), 0);
    assert_int_equal(bundle_check_room(1000, 8000, NULL), 0);
    assert_int_equal(bundle_check_room(5000, 40000, &err), -1);
    assert_int_equal(err.kind, ERR_USAGE);
    assert_string_equal(err.msg, "5000 services with 40000 items in all are too many for one bundle");
    assert_non_null(strstr(err.hint, "about 2498 such services fit"));
    assert_int_equal(bundle_check_room(SIZE_MAX / 2, 1, NULL), -1);
    assert_int_equal(bundle_check_room(1, SIZE_MAX / 2, NULL), -1);
}

static void read_damaged(void *ctx, const struct damaged *s)
{
    size_t files = 0, whole = *(const size_t *)ctx;
    int rc = read_foreign(s->p, s->n, &files, NULL);
    /* The text stays valid without its last byte, a newline. */
    if (s->cut && s->n + 1 < whole)
        assert_int_equal(rc, -1);
}

static void a_cut_manifest_is_not_read(void **state)
{
    (void)state;
    struct buf text = scratch_read(GOLDEN "manifest.json");
    size_t files = 0;
    assert_int_equal(read_foreign(text.data, text.len, &files, NULL), 0);
    assert_int_equal(files, 4);
    damage_everywhere(text.data, text.len, read_damaged, &text.len);
    buf_release(&text);
}

/* ---- load and continue ------------------------------------------------------------------------------- */

static int load_text(const char *text, size_t n, struct manifest **ret, struct err *err)
{
    struct manifest *m = NULL;
    int rc = manifest_read_for_resume(text, n, &m, err);
    assert_true(rc == 0 ? m != NULL : m == NULL);
    *ret = m;
    return rc;
}

static const struct manifest_run synchronized_run = {.deadline_ms = 30000,
                                                     .deadline_reached = true,
                                                     .budget_bytes = 1000,
                                                     .budget_ms = 60000,
                                                     .retries = 3,
                                                     .sync_at = START_TIME,
                                                     .sync_processes = 9,
                                                     .sync_late = 1,
                                                     .has_sync_skew = true,
                                                     .sync_p50_ms = 1,
                                                     .sync_p95_ms = 2,
                                                     .sync_max_ms = 3};

static void record_request(struct manifest *m)
{
    static char heap[] = "heap", cpu[] = "cpu=5s", healthy[] = "file-05";
    static char *kinds[] = {heap, cpu}, *names[] = {healthy};
    static struct manifest_target targets[] = {
        {.host = "file-03", .service = "gitaly"},
        {.host = "file-03", .service = "port-9"},
        {.host = "10.0.0.9", .service = "port-9", .address = "root@10.0.0.9"}};
    struct manifest_request asked = {.kinds = {kinds, 2, 2},
                                     .targets = targets,
                                     .n_targets = 3,
                                     .port = 9,
                                     .path = "",
                                     .https = true,
                                     .baseline_hosts = {names, 1, 1},
                                     .pair_ms = 60000,
                                     .sample_of = 143,
                                     .sample_taken = 5};
    struct err err = ERR_INIT;
    assert_ok(manifest_set_request(m, &asked, &err), &err);
}

static struct manifest *print_and_load(const struct manifest *m)
{
    struct buf text = BUF_INIT(1 << 20);
    struct manifest *again = NULL;
    struct err err = ERR_INIT;
    assert_ok(manifest_print(m, &text, &err), &err);
    assert_ok(load_text(buf_str(&text), text.len, &again, &err), &err);
    buf_release(&text);
    return again;
}

static void a_loaded_manifest_lacks_only_the_result_of_the_run(void **state)
{
    (void)state;
    struct manifest *m = full_manifest();
    record_request(m);
    manifest_set_run(m, &synchronized_run);
    struct manifest *again = print_and_load(m);
    json_t *before = print_as_json(m), *after = print_as_json(again);
    static const char *const result_keys[] = {"finished",    "interrupted",      "complete", "retries",
                                              "deadline_ms", "deadline_reached", "budget"};
    assert_null(json_object_get(after, "finished"));
    /* Every manifest has `interrupted` and `complete`. */
    for (size_t i = 3; i < sizeof result_keys / sizeof *result_keys; i++) {
        assert_non_null(json_object_get(before, result_keys[i]));
        assert_null(json_object_get(after, result_keys[i]));
    }
    for (size_t i = 0; i < sizeof result_keys / sizeof *result_keys; i++) {
        json_object_del(before, result_keys[i]);
        json_object_del(after, result_keys[i]);
    }
    assert_true(json_equal(before, after));
    assert_int_equal(manifest_count_files(again), 4);
    assert_string_equal(again->name, info.name);
    json_decref(before);
    json_decref(after);
    manifest_free(again);
    manifest_free(m);
}

/* A later version of the program may add keys anywhere. */
static void unknown_keys_are_loaded_and_printed_again(void **state)
{
    (void)state;
    struct buf text = scratch_read("tests/data/bundle/manifest-unknown.json"), again = BUF_INIT(1 << 20);
    struct manifest *m = NULL;
    struct err err = ERR_INIT;
    assert_ok(load_text(buf_str(&text), text.len, &m, &err), &err);
    assert_ok(manifest_print(m, &again, &err), &err);
    assert_string_equal(buf_str(&again), buf_str(&text));
    manifest_free(m);
    buf_release(&again);
    buf_release(&text);
}

/* The page has all keys but the summary and the report, also keys and a status that this program does not
 * know, and those that redaction adds. */
static void the_page_has_the_manifest_without_summary_and_report(void **state)
{
    (void)state;
    static const char before[] = "{\"format\":\"profgrab-bundle\",\"version\":1,\"name\":\"b\",\"tool\":{"
                                 "\"name\":\"profgrab\",\"new\":[1,{\"a\":2.5}]},\"collector\":{},"
                                 "\"interrupted\":false,\"complete\":true,",
                      summary[] = "\"summary\":[{\"rule\":\"r\",\"text\":\"t\"}],",
                      files[] = "\"hosts\":[],\"files\":[{\"kind\":\"k\",\"status\":\"new\",\"file\":\"f\","
                                "\"bytes\":3,\"sha256\":\"" SHA_A
                                "\",\"original\":{\"bytes\":4,\"sha256\":\"" SHA_B "\"}}],",
                      report[] =
                          "\"report\":{\"file\":\"report.html\",\"bytes\":1,\"sha256\":\"" SHA_A "\"},",
                      after[] = "\"handoff\":{\"time\":\"now\",\"recipients\":[null],\"readme\":{\"bytes\":1,"
                                "\"sha256\":\"" SHA_B "\"}},\"x\":{\"y\":\"\\\"\"}}";
    struct buf whole = BUF_INIT(1 << 16), shown = BUF_INIT(1 << 16), printed = BUF_INIT(1 << 16);
    struct manifest *m = NULL;
    struct err err = ERR_INIT;
    buf_addf(&whole, "%s%s%s%s%s", before, summary, files, report, after);
    buf_addf(&shown, "%s%s%s", before, files, after);
    assert_ok(manifest_read(buf_str(&whole), whole.len, &m, &err), &err);
    assert_true(m->n_summary == 1 && m->report.file && m->files[0].has_original);
    assert_ok(manifest_print_for_page(m, &printed, &err), &err);
    assert_string_equal(buf_str(&printed), buf_str(&shown));
    assert_true(m->n_summary == 1 && m->report.file);
    manifest_free(m);
    buf_release(&whole);
    buf_release(&shown);
    buf_release(&printed);
}

/* Lists the keys after `asked`, with the values of integers. The caller frees the list. */
static char *keys_of(const struct manifest *m)
{
    struct buf text = BUF_INIT(1000);
    json_t *root = print_as_json(m), *value;
    const char *key;
    bool after_asked = false;
    json_object_foreach(root, key, value)
    {
        if (after_asked)
            buf_addf(&text, " %s", key);
        if (after_asked && json_is_integer(value))
            buf_addf(&text, "=%d", (int)json_integer_value(value));
        after_asked = after_asked || strcmp(key, "asked") == 0;
    }
    char *keys = strdup(buf_str(&text));
    buf_release(&text);
    json_decref(root);
    assert_non_null(keys);
    return keys;
}

/* A reached deadline belongs to the earlier run only. */
static void a_later_run_replaces_the_result_and_keeps_the_sync(void **state)
{
    (void)state;
    static const struct {
        struct manifest_run run;
        const char *keys;
        int targets; /* started at the same time */
    } cases[] = {
        {{0}, " finished interrupted complete sync hosts files", 9},
        {{.retries = 2}, " finished interrupted complete retries=2 sync hosts files", 9},
        {{.sync_at = START_TIME, .sync_processes = 1}, " finished interrupted complete sync hosts files", 1},
    };
    struct manifest *m = full_manifest();
    struct err err = ERR_INIT;
    record_request(m);
    manifest_set_run(m, &synchronized_run);
    char *keys = keys_of(m);
    assert_string_equal(keys, " finished interrupted complete retries=3 deadline_ms=30000 deadline_reached "
                              "budget sync hosts files");
    free(keys);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct manifest *again = print_and_load(m);
        manifest_set_run(again, &cases[i].run);
        assert_ok(manifest_finish(again, START_TIME, false, true, &err), &err);
        keys = keys_of(again);
        assert_string_equal(keys, cases[i].keys);
        json_t *root = print_as_json(again);
        const json_t *targets = json_object_get(json_object_get(root, "sync"), "targets");
        assert_int_equal(json_integer_value(targets), cases[i].targets);
        json_decref(root);
        free(keys);
        manifest_free(again);
    }
    manifest_free(m);
}

static void the_request_is_printed_and_loaded(void **state)
{
    (void)state;
    struct manifest *m = full_manifest();
    struct err err = ERR_INIT;
    assert_int_equal(manifest_check_request(m, &err), -1);
    assert_int_equal(err.kind, ERR_NOT_FOUND);
    record_request(m);
    struct manifest *again = print_and_load(m);
    assert_ok(manifest_check_request(again, &err), &err);
    const struct manifest_request a = again->request;
    assert_int_equal(a.kinds.n, 2);
    assert_string_equal(a.kinds.items[1], "cpu=5s");
    assert_int_equal(a.n_targets, 3);
    assert_string_equal(a.targets[2].host, "10.0.0.9");
    assert_string_equal(a.targets[2].address, "root@10.0.0.9");
    assert_null(a.targets[0].address);
    assert_int_equal(a.port, 9);
    assert_null(a.unix_path);
    assert_string_equal(a.path, "");
    assert_true(a.https);
    assert_true(strlist_has(&a.baseline_hosts, "file-05"));
    assert_int_equal(a.pair_ms, 60000);
    assert_int_equal(a.sample_of, 143);
    assert_int_equal(a.sample_taken, 5);
    manifest_free(again);
    manifest_free(m);
}

/* The record of a host that was down, of a service that is planned again or of an item that arrived replaces
 * the loaded record. */
static void added_records_replace_loaded_ones(void **state)
{
    (void)state;
    static const struct manifest_planned planned[] = {{.kind = "cpu", .argument = "30s"}, {.kind = "heap"}};
    struct manifest_service service = {
        .host = "file-03", .name = "gitaly", .planned = planned, .n_planned = 2};
    struct manifest_item heap = {.host = "file-03",
                                 .service = "gitaly",
                                 .kind = "heap",
                                 .file = "file-03/gitaly/heap.pb.gz",
                                 .sha256 = SHA_B};
    struct manifest_item_key cpu = {"file-03", "gitaly", "cpu", "30s", 0},
                             bare = {"file-03", "gitaly", "cpu", "", 0};
    struct manifest *m = full_manifest(), *again = print_and_load(m);
    struct err err = ERR_INIT;
    int64_t started = 0;
    assert_true(manifest_has_item(again, &cpu, &started));
    assert_true(started == START_TIME + 7);
    assert_false(manifest_has_item(again, &bare, NULL));
    assert_false(manifest_has_all_items(again, "file-03", "gitaly"));
    assert_ok(manifest_add_host(again, &(struct manifest_host){.name = "file-04"}, &err), &err);
    assert_ok(manifest_add_service(again, &service, &err), &err);
    assert_false(manifest_has_all_items(again, "file-03", "gitaly"));
    /* Items with a file stay, even if they are no longer planned. Items without a file are removed. */
    const struct manifest_service *found = require_service(again, "file-03", "gitaly");
    assert_int_equal(found->n_items, 3);
    assert_ok(manifest_add_item(again, &heap, &err), &err);
    assert_ok(manifest_add_item(again, &heap, &err), &err);
    assert_int_equal(found->n_items, 3);
    assert_int_equal(manifest_count_files(again), 4);
    assert_true(manifest_has_all_items(again, "file-03", "gitaly"));
    assert_null(require_host(again, "file-04")->error);
    heap.kind = "allocs";
    assert_item_refused(again, &heap, "the manifest has the file file-03/gitaly/heap.pb.gz already");
    manifest_free(again);
    manifest_free(m);
}

/* Returns the printed host, a new reference. */
static json_t *host_json(const struct manifest *m, const char *name)
{
    json_t *root = print_as_json(m);
    size_t at = (size_t)(require_host(m, name) - m->hosts);
    json_t *host = json_incref(json_array_get(json_object_get(root, "hosts"), at));
    json_decref(root);
    return host;
}

/* Returns the printed service, a new reference. */
static json_t *service_json(const struct manifest *m, const char *host, const char *name)
{
    json_t *host_object = host_json(m, host);
    size_t at = (size_t)(require_service(m, host, name) - require_host(m, host)->services);
    json_t *service = json_incref(json_array_get(json_object_get(host_object, "services"), at));
    json_decref(host_object);
    return service;
}

/* Asserts that `now` is `before` with this error; frees both. */
static void assert_only_error_changed(json_t *before, const char *error, json_t *now)
{
    json_object_set_new(before, "error", json_string(error));
    assert_true(json_equal(before, now));
    json_decref(before);
    json_decref(now);
}

/* The route over which the complete files arrived stays recorded. */
static void a_host_or_service_that_fails_again_keeps_its_earlier_facts(void **state)
{
    (void)state;
    const struct manifest_host down = {
        .name = "file-03", .address = "moved", .route = "ssh", .error = "down"};
    const struct manifest_service silent = {
        .host = "file-03", .name = "gitaly", .url = "http://moved", .error = "silent"};
    struct manifest *m = full_manifest(), *again = print_and_load(m);
    struct err err = ERR_INIT;
    json_t *before = host_json(again, "file-03");
    assert_ok(manifest_add_host(again, &down, &err), &err);
    assert_only_error_changed(before, "down", host_json(again, "file-03"));
    before = service_json(again, "file-03", "gitaly");
    assert_ok(manifest_add_service(again, &silent, &err), &err);
    assert_only_error_changed(before, "silent", service_json(again, "file-03", "gitaly"));
    /* A host that was never reached has the facts of the latest run. */
    before = host_json(again, "file-04");
    assert_ok(
        manifest_add_host(
            again, &(struct manifest_host){.name = "file-04", .address = "10.0.0.4", .error = "lost"}, &err),
        &err);
    json_object_set_new(before, "address", json_string("10.0.0.4"));
    assert_only_error_changed(before, "lost", host_json(again, "file-04"));
    /* The keys stay in the order of docs/formats.md. */
    struct manifest *third = print_and_load(again);
    struct buf text = BUF_INIT(1 << 20);
    assert_ok(manifest_print(third, &text, &err), &err);
    assert_true(strstr(buf_str(&text), "\"hops\"") < strstr(buf_str(&text), "\"error\": \"down\""));
    assert_true(strstr(buf_str(&text), "\"error\": \"down\"") < strstr(buf_str(&text), "\"services\""));
    buf_release(&text);
    manifest_free(third);
    /* A reached host has the facts of this run. */
    assert_ok(manifest_add_host(again, &(struct manifest_host){.name = "file-03", .address = "moved"}, &err),
              &err);
    assert_ok(
        manifest_add_service(again, &(struct manifest_service){.host = "file-03", .name = "gitaly"}, &err),
        &err);
    assert_null(require_host(again, "file-03")->error);
    assert_int_equal(require_host(again, "file-03")->n_hops, 0);
    assert_int_equal(require_service(again, "file-03", "gitaly")->n_planned, 0);
    manifest_free(again);
    manifest_free(m);
}

/* The resume of one host cannot compare it with the others, so the earlier findings stay. */
static void a_new_finding_of_a_host_replaces_only_findings_of_its_rule(void **state)
{
    (void)state;
    static const struct manifest_finding findings[] = {{.rule = "same-address", .text = "first"},
                                                       {.rule = "same-address", .text = "second"},
                                                       {.rule = "other", .text = "other"}};
    struct manifest_host host = {.name = "h", .findings = findings, .n_findings = 2};
    struct manifest *m = new_manifest();
    struct err err = ERR_INIT;
    assert_ok(manifest_add_host(m, &host, &err), &err);
    struct manifest *again = print_and_load(m);
    json_t *before = host_json(again, "h");
    assert_ok(manifest_add_host(again, &(struct manifest_host){.name = "h"}, &err), &err);
    json_t *now = host_json(again, "h");
    assert_true(json_equal(now, before));
    json_decref(now);
    host.findings = findings + 2;
    host.n_findings = 1;
    assert_ok(manifest_add_host(again, &host, &err), &err);
    assert_int_equal(require_host(again, "h")->n_findings, 3);
    host.findings = findings + 1;
    assert_ok(manifest_add_host(again, &host, &err), &err);
    assert_int_equal(require_host(again, "h")->n_findings, 2);
    assert_string_equal(require_host(again, "h")->findings[0].text, "second");
    json_decref(before);
    manifest_free(again);
    manifest_free(m);
}

/* Asserts that README.md contains `part`, or does not contain it. */
static void assert_readme(const struct manifest *m, const char *part, bool contained)
{
    struct buf text = BUF_INIT(1 << 20);
    assert_int_equal(readme_write(m, &text, NULL), 0);
    assert_int_equal(strstr(buf_str(&text), part) != NULL, contained);
    buf_release(&text);
}

static void the_readme_marks_the_second_item_of_a_pair(void **state)
{
    (void)state;
    struct manifest *m = full_manifest();
    struct manifest_item heap = {.host = "file-03",
                                 .service = "gitaly",
                                 .kind = "heap",
                                 .argument = "gc",
                                 .pair = 1,
                                 .status = MANIFEST_FAILED,
                                 .error = "timeout"};
    struct err err = ERR_INIT;
    assert_ok(manifest_add_item(m, &heap, &err), &err);
    heap.pair = 2;
    assert_ok(manifest_add_item(m, &heap, &err), &err);
    assert_readme(m,
                  "\n- file-03 gitaly heap=gc: failed: timeout\n"
                  "- file-03 gitaly heap=gc, later: failed: timeout\n",
                  true);
    assert_readme(m, "\n| heap=gc | failed |  |  |  |  |\n| heap=gc, later | failed |  |  |  |  |\n", true);
    manifest_free(m);
}

/* Two services of a host, one of them complete. */
static struct manifest *make_half_complete_host(void)
{
    static const struct manifest_planned planned[] = {{.kind = "heap"}};
    static struct manifest_target targets[] = {{.host = "h", .service = "has"},
                                               {.host = "h", .service = "lacks"}};
    const struct manifest_request asked = {.targets = targets, .n_targets = 2};
    struct manifest *m = new_manifest();
    struct err err = ERR_INIT;
    assert_ok(manifest_set_request(m, &asked, &err), &err);
    assert_ok(manifest_add_host(m, &(struct manifest_host){.name = "h"}, &err), &err);
    for (size_t i = 0; i < 2; i++)
        assert_ok(manifest_add_service(
                      m,
                      &(struct manifest_service){
                          .host = "h", .name = targets[i].service, .planned = planned, .n_planned = 1},
                      &err),
                  &err);
    assert_ok(
        manifest_add_item(
            m,
            &(struct manifest_item){
                .host = "h", .service = "has", .kind = "heap", .file = "h/has/heap.pb.gz", .sha256 = SHA_A},
            &err),
        &err);
    return m;
}

/* A target is complete if all files exist, even if the last attempt failed. */
static void a_complete_target_has_no_error(void **state)
{
    (void)state;
    const struct manifest_item heap = {
        .host = "h", .service = "lacks", .kind = "heap", .file = "h/lacks/heap.pb.gz", .sha256 = SHA_A};
    for (size_t complete = 0; complete < 2; complete++) {
        struct manifest *m = make_half_complete_host(), *again = print_and_load(m);
        struct manifest_planned_list left = {0};
        struct err err = ERR_INIT;
        assert_ok(manifest_add_host(again, &(struct manifest_host){.name = "h", .error = "down"}, &err),
                  &err);
        assert_ok(
            manifest_add_service(
                again, &(struct manifest_service){.host = "h", .name = "lacks", .error = "silent"}, &err),
            &err);
        assert_true(manifest_has_all_items(again, "h", "has"));
        assert_false(manifest_has_all_items(again, "h", "lacks"));
        assert_ok(manifest_list_planned_without_file(again, "h", "lacks", &left, &err), &err);
        assert_int_equal(left.n, 1);
        free(left.items);
        if (complete)
            assert_ok(manifest_add_item(again, &heap, &err), &err);
        assert_int_equal(manifest_has_all_items(again, "h", "lacks"), complete);
        assert_ok(manifest_finish(again, START_TIME, false, complete, &err), &err);
        assert_int_equal(require_host(again, "h")->error == NULL, complete);
        assert_readme(again, "\n### has\n", true);
        assert_readme(again, "\n- h: down\n- h lacks: silent\n", !complete);
        assert_int_equal(require_service(again, "h", "lacks")->error == NULL, complete);
        manifest_free(again);
        manifest_free(m);
    }
}

#define HOST(inside)                                                                                         \
    HEAD "\"name\": \"b\", \"tool\": {}, \"collector\": {}, \"files\": [], \"hosts\": [" inside "]}"
#define RUN(inside) HEAD "\"name\": \"b\", \"tool\": {}, \"collector\": {}, " inside "}"
#define SERVICE(inside) HOST("{\"name\": \"h\", \"services\": [" inside "]}")
#define LOADED_ITEM(inside) SERVICE("{\"name\": \"s\", \"items\": [" inside "]}")

#define LOCAL_ITEM(inside)                                                                                   \
    HEAD "\"name\": \"b\", \"tool\": {}, \"collector\": {}, \"hosts\": [], \"files\": [" inside "]}"
#define OK_FILE(path)                                                                                        \
    "{\"kind\": \"heap\", \"status\": \"ok\", \"bytes\": 1, \"sha256\": \"" SHA_A "\", \"file\": \"" path    \
    "\"}"

static void invalid_manifests_are_not_loaded(void **state)
{
    (void)state;
    static const struct {
        const char *text, *msg;
    } cases[] = {
        {"{\"format\": \"profgrab-bundle\", \"version\": 2}",
         "manifest.json is of version 2, and this program reads version 1"},
        {"{\"format\": \"profgrab-bundle\", \"version\": \"1\"}", "manifest.json has no version number"},
        {HEAD "\"name\": \"b\"}", "manifest.json is malformed: tool is missing"},
        {HEAD "\"name\": \"../b\", \"tool\": {}}",
         "manifest.json is malformed: name is not usable as the name of a directory"},
        {HEAD "\"handoff\": {}}",
         "it is a copy that was handed off, and redaction may have changed its files"},
        {RUN("\"retries\": -1"), "manifest.json is malformed: retries is out of range"},
        {RUN("\"deadline_ms\": \"30s\""), "manifest.json is malformed: deadline_ms is not a number"},
        {RUN("\"deadline_reached\": 1"),
         "manifest.json is malformed: deadline_reached is neither true nor false"},
        {RUN("\"budget\": 5"), "manifest.json is malformed: budget is not an object"},
        {RUN("\"sync\": {\"at\": \"\", \"targets\": 1}"), "manifest.json is malformed: sync.late is missing"},
        {RUN("\"sync\": {\"at\": \"\", \"targets\": 1, \"late\": 0, \"skew_ms\": {\"p50\": 1, \"p95\": []}}"),
         "manifest.json is malformed: sync.skew_ms.p95 is not a number"},
        {HOST("1"), "manifest.json is malformed: hosts[0] is not an object"},
        {HOST("{\"name\": \"a/b\", \"services\": []}"),
         "manifest.json is malformed: hosts[0].name is not usable as the name of a directory"},
        {HOST("{\"name\": \"h\", \"services\": []}, {\"name\": \"h\", \"services\": []}"),
         "manifest.json has the host h twice"},
        {SERVICE("{\"name\": \"..\", \"items\": []}"),
         "manifest.json is malformed: hosts[0].services[0].name is not usable as the name of a directory"},
        {SERVICE("{\"name\": \"s\", \"items\": []}, {\"name\": \"s\", \"items\": []}"),
         "manifest.json has the service s of h twice"},
        {LOADED_ITEM("{\"kind\": \"heap\", \"status\": \"fine\"}"),
         "manifest.json is malformed: hosts[0].services[0].items[0].status is a word that this program does "
         "not "
         "know"},
        {LOADED_ITEM("{\"kind\": \"heap\", \"status\": \"ok\", \"pair\": 3}"),
         "manifest.json is malformed: hosts[0].services[0].items[0].pair is out of range"},
        {LOADED_ITEM("{\"kind\": \"a\\u001bb\", \"status\": \"ok\"}"),
         "manifest.json is malformed: hosts[0].services[0].items[0].kind has characters that cannot be "
         "shown"},
        {LOADED_ITEM(
             "{\"kind\": \"heap\", \"status\": \"ok\", \"file\": \"../x\", \"bytes\": 1, \"sha256\": \"" SHA_A
             "\"}"),
         "manifest.json: the path \"../x\" is not safe: it has a component \"..\""},
        {LOADED_ITEM(OK_FILE("h/t/heap.pb.gz")),
         "manifest.json is malformed: h/t/heap.pb.gz is not in the directory of h/s"},
        {LOADED_ITEM(OK_FILE("h/s")), "manifest.json is malformed: h/s is not in the directory of h/s"},
        {LOADED_ITEM(OK_FILE("h/s2/x")), "manifest.json is malformed: h/s2/x is not in the directory of h/s"},
        {LOADED_ITEM(OK_FILE("g/s/x")), "manifest.json is malformed: g/s/x is not in the directory of h/s"},
        {LOCAL_ITEM(OK_FILE("report.html")), "manifest.json is malformed: an item's file is report.html"},
        {LOADED_ITEM("{\"kind\": \"heap\", \"status\": \"ok\", \"verdicts\": {}}"),
         "manifest.json is malformed: hosts[0].services[0].items[0].verdicts is not a list"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct manifest *m = NULL;
        struct err err = ERR_INIT;
        assert_int_equal(load_text(cases[i].text, strlen(cases[i].text), &m, &err), -1);
        assert_string_equal(err.msg, cases[i].msg);
    }
}

/* Loads a manifest with n files, each in a directory of its own, and 100 of them in a service. */
static int load_directories(int n, struct err *err)
{
    struct manifest *m = NULL;
    struct buf text = BUF_INIT(16 << 20);
    buf_adds(&text, HEAD "\"name\": \"b\", \"tool\": {}, \"collector\": {}, \"files\": [], "
                         "\"hosts\": [{\"name\": \"h\", \"services\": [");
    for (int i = 0; i < n; i++) {
        if (i % 100 == 0)
            buf_addf(&text, "%s{\"name\": \"s%d\", \"items\": [", i > 0 ? "]}," : "", i / 100);
        buf_addf(&text,
                 "%s{\"kind\": \"heap\", \"status\": \"ok\", \"bytes\": 1, \"sha256\": \"" SHA_A
                 "\", \"file\": \"h/s%d/%d/x\"}",
                 i % 100 > 0 ? "," : "", i / 100, i);
    }
    buf_adds(&text, "]}]}]}");
    int rc = load_text(buf_str(&text), text.len, &m, err);
    manifest_free(m);
    buf_release(&text);
    return rc;
}

/* Each file takes two entries, each service one, and the host one. */
static void too_many_files_and_directories_are_not_loaded(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    int most = 24875;
    assert_int_equal(2 * most + (most + 99) / 100 + 1, WORKDIR_MAX_ENTRIES);
    assert_ok(load_directories(most, &err), &err);
    assert_refused(load_directories(most + 1, &err), &err, ERR_FAILED,
                   "manifest.json has more than 50000 files and directories");
}

/* Loads a manifest of n local files whose paths have 1000 bytes each. */
static int load_long_paths(int n, struct err *err)
{
    struct manifest *m = NULL;
    struct buf text = BUF_INIT(16 << 20);
    buf_adds(&text, HEAD "\"name\": \"b\", \"tool\": {}, \"collector\": {}, \"hosts\": [], \"files\": [");
    for (int i = 0; i < n; i++)
        buf_addf(&text,
                 "%s{\"kind\": \"heap\", \"status\": \"ok\", \"bytes\": 1, \"sha256\": \"" SHA_A
                 "\", \"file\": \"%0250d/%0250d/%0250d/%0247d\"}",
                 i > 0 ? "," : "", 0, 0, 0, i);
    buf_adds(&text, "]}");
    int rc = load_text(buf_str(&text), text.len, &m, err);
    manifest_free(m);
    buf_release(&text);
    return rc;
}

static void too_long_paths_are_not_loaded(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    assert_ok(load_long_paths(BUNDLE_MAX_PATHS / 1000, &err), &err);
    assert_refused(load_long_paths(BUNDLE_MAX_PATHS / 1000 + 1, &err), &err, ERR_FAILED,
                   "manifest.json: the paths of all members have more than 4194304 bytes");
}

#define TARGET(host, service) "{\"host\": \"" host "\", \"service\": \"" service "\"}"
#define ASKED(targets)                                                                                       \
    HEAD "\"name\": \"b\", \"tool\": {}, \"collector\": {}, \"hosts\": [], \"files\": [], "                  \
         "\"asked\": {\"kinds\": [], \"targets\": [" targets "]}}"

static void repeated_or_ungrouped_targets_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *msg; /* NULL: valid */
    } cases[] = {
        {ASKED(""), NULL},
        {ASKED(TARGET("a", "s") ", " TARGET("a", "t") ", " TARGET("b", "s")), NULL},
        {ASKED(TARGET("a", "s") ", " TARGET("a", "s")), "a: s is requested twice"},
        {ASKED(TARGET("a", "s") ", " TARGET("a", "t") ", " TARGET("a", "s")), "a: s is requested twice"},
        {ASKED(TARGET("a", "s") ", " TARGET("b", "s") ", " TARGET("a", "s")), "a: s is requested twice"},
        {ASKED(TARGET("a", "s") ", " TARGET("b", "s") ", " TARGET("a", "t")),
         "a is requested again after other hosts"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct manifest *m = NULL;
        struct err err = ERR_INIT;
        assert_ok(load_text(cases[i].text, strlen(cases[i].text), &m, &err), &err);
        assert_int_equal(manifest_check_request(m, &err), cases[i].msg ? -1 : 0);
        assert_string_equal(err.msg, cases[i].msg ? cases[i].msg : "");
        assert_int_equal(err.kind, cases[i].msg ? ERR_FAILED : ERR_NONE);
        manifest_free(m);
    }
}

static void load_damaged(void *ctx, const struct damaged *s)
{
    struct manifest *m = NULL;
    struct err err = ERR_INIT;
    int rc = load_text(s->p, s->n, &m, &err);
    if (s->cut && s->n + 1 < *(const size_t *)ctx)
        assert_int_equal(rc, -1);
    assert_true(rc == 0 || err.msg[0]);
    manifest_free(m);
}

static void a_cut_manifest_is_not_loaded(void **state)
{
    (void)state;
    struct manifest *m = full_manifest();
    struct buf text = BUF_INIT(1 << 20);
    record_request(m);
    manifest_set_run(m, &synchronized_run);
    assert_int_equal(manifest_print(m, &text, NULL), 0);
    damage_everywhere(text.data, text.len, load_damaged, &text.len);
    buf_release(&text);
    manifest_free(m);
}

/* ---- comparison with the files ----------------------------------------------------------------------- */

static void list_change(void *ctx, const char *path, const char *what)
{
    struct buf *b = ctx;
    buf_addf(b, "%s %s\n", path, what);
}

static int compare_files(struct manifest *m, const struct workdir *w, struct buf *ret_changes,
                         struct err *err)
{
    const struct manifest_compare_options how = {
        .work = w, .cancel_fd = -1, .changed = list_change, .ctx = ret_changes};
    return manifest_compare(m, &how, err);
}

/* Adds an item, and writes its file: KIND.bin or KIND.bin.damaged in the work directory. */
static void add_item_and_file(struct manifest *m, const struct workdir *w, const char *kind,
                              const char *bytes, bool damaged)
{
    char file[64], hex[SHA256_HEX];
    struct err err = ERR_INIT;
    snprintf(file, sizeof file, "%s.bin%s", kind, damaged ? ".damaged" : "");
    struct sha256 *hash = sha256_new(&err);
    sha256_add(hash, bytes, strlen(bytes));
    assert_ok(sha256_hex(hash, hex, &err), &err);
    sha256_free(hash);
    assert_ok(manifest_add_item(m,
                                &(struct manifest_item){.kind = kind,
                                                        .file = file,
                                                        .bytes = strlen(bytes),
                                                        .sha256 = hex,
                                                        .status = damaged ? MANIFEST_DAMAGED : MANIFEST_OK},
                                &err),
              &err);
    free(scratch_file(workdir_path(w), file, bytes, strlen(bytes)));
}

/* Returns a text of the i-th file in the manifest; NULL: none. */
static const char *field_of(const json_t *root, size_t i, const char *key)
{
    return json_string_value(json_object_get(json_array_get(json_object_get(root, "files"), i), key));
}

static void changed_and_missing_files_are_reported(void **state)
{
    struct workdir *w = NULL;
    struct manifest *m = new_manifest();
    struct buf changes = BUF_INIT(4096);
    struct err err = ERR_INIT;
    assert_ok(workdir_new(*state, "x", START_TIME, &w, &err), &err);
    const char *dir = workdir_path(w);
    static const char *const kinds[] = {"good", "changed", "gone", "larger", "half"};
    for (size_t i = 0; i < 5; i++)
        add_item_and_file(m, w, kinds[i], "as it was", i == 4);
    free(scratch_file(dir, "changed.bin", "other", 5));
    free(scratch_file(dir, "larger.bin", "small", 5));
    free(scratch_file(dir, "larger.bin.damaged", "larger one", 10));
    free(scratch_file(dir, "half.bin.damaged", "ha", 2));
    char *gone = file_join(dir, "gone.bin");
    assert_ok(file_remove(gone, &err), &err);
    free(gone);
    struct manifest *again = print_and_load(m);
    assert_ok(compare_files(again, w, &changes, &err), &err);
    assert_string_equal(buf_str(&changes), "changed.bin is not the file that was collected\n"
                                           "gone.bin is missing\n"
                                           "larger.bin is not the file that was collected\n"
                                           "half.bin.damaged is not the file that was collected\n");
    json_t *root = print_as_json(again);
    assert_string_equal(field_of(root, 0, "status"), "ok");
    assert_string_equal(field_of(root, 1, "file"), "changed.bin.damaged");
    assert_string_equal(field_of(root, 1, "status"), "damaged");
    assert_string_equal(field_of(root, 2, "status"), "failed");
    assert_null(field_of(root, 2, "file"));
    assert_string_equal(field_of(root, 3, "file"), "larger.bin.damaged");
    char *larger = file_join(dir, "larger.bin.damaged");
    struct buf kept = scratch_read(larger);
    free(larger);
    assert_string_equal(buf_str(&kept), "larger one");
    buf_release(&kept);
    /* A second comparison changes nothing. */
    buf_clear(&changes);
    assert_ok(compare_files(again, w, &changes, &err), &err);
    assert_string_equal(buf_str(&changes), "");
    assert_int_equal(manifest_count_files(again), 4);
    json_decref(root);
    buf_release(&changes);
    manifest_free(again);
    manifest_free(m);
    workdir_free(w);
}

static void a_missing_file_is_reported_and_a_link_is_an_error(void **state)
{
    static const struct {
        const char *file;
        const char *msg; /* NULL: the file is reported as missing */
    } cases[] = {{"nowhere/x", NULL},
                 {"file/x", NULL},
                 {"loop/x", "loop is a symbolic link, and profgrab follows no links in this directory"}};
    struct workdir *w = NULL;
    struct err err = ERR_INIT;
    assert_ok(workdir_new(*state, "x", START_TIME, &w, &err), &err);
    char *loop = file_join(workdir_path(w), "loop");
    assert_int_equal(symlink("loop", loop), 0);
    free(scratch_file(workdir_path(w), "file", "x", 1));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct manifest_item item = {.kind = "k", .file = cases[i].file, .bytes = 1, .sha256 = SHA_A};
        struct manifest *m = new_manifest();
        struct buf changes = BUF_INIT(4096);
        assert_ok(manifest_add_item(m, &item, &err), &err);
        struct manifest *again = print_and_load(m);
        int rc = compare_files(again, w, &changes, &err);
        assert_int_equal(rc, cases[i].msg ? -1 : 0);
        assert_int_equal(changes.len == 0, cases[i].msg != NULL);
        assert_int_equal(manifest_count_files(again), cases[i].msg ? 1 : 0);
        assert_int_equal(strncmp(err.msg, "cannot look at ", 15) == 0, cases[i].msg != NULL);
        assert_true(!cases[i].msg || strstr(err.msg, cases[i].msg));
        buf_release(&changes);
        manifest_free(again);
        manifest_free(m);
    }
    free(loop);
    workdir_free(w);
}

/* Hosts and services are added as they finish, and saved in the requested order. Those that were not
 * requested follow. */
static void hosts_and_services_are_saved_in_the_requested_order(void **state)
{
    static const char *const added[][2] = {{"c", "x"}, {"extra", "x"}, {"a", "y"},
                                           {"a", "z"}, {"a", "x"},     {"b", "x"}};
    struct manifest_target targets[] = {{.host = "b", .service = "x"},
                                        {.host = "a", .service = "x"},
                                        {.host = "a", .service = "y"},
                                        {.host = "gone", .service = "x"},
                                        {.host = "c", .service = "x"}};
    const struct manifest_request asked = {.targets = targets, .n_targets = 5};
    struct manifest *m = new_manifest();
    struct err err = ERR_INIT;
    (void)state;
    assert_ok(manifest_set_request(m, &asked, &err), &err);
    for (size_t i = 0; i < sizeof added / sizeof *added; i++) {
        if (i == 0 || strcmp(added[i][0], added[i - 1][0]) != 0)
            assert_ok(
                manifest_add_host(m, &(struct manifest_host){.name = added[i][0], .route = "ssh"}, &err),
                &err);
        assert_ok(manifest_add_service(
                      m, &(struct manifest_service){.host = added[i][0], .name = added[i][1]}, &err),
                  &err);
    }
    assert_ok(manifest_finish(m, START_TIME, false, true, &err), &err);
    struct buf text = BUF_INIT(1 << 20), order = BUF_INIT(1000);
    assert_ok(manifest_print(m, &text, &err), &err);
    json_t *root = json_loadb(text.data, text.len, 0, NULL), *host, *service;
    size_t i, j;
    json_array_foreach(json_object_get(root, "hosts"), i, host)
    {
        buf_addf(&order, " %s:", json_string_value(json_object_get(host, "name")));
        json_array_foreach(json_object_get(host, "services"), j, service)
            buf_adds(&order, json_string_value(json_object_get(service, "name")));
    }
    assert_string_equal(buf_str(&order), " b:x a:xyz c:x extra:x");
    json_decref(root);
    buf_release(&order);
    buf_release(&text);
    manifest_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH(a_full_manifest_equals_the_golden_file),
        SCRATCH(the_smallest_manifest_equals_the_golden_file),
        cmocka_unit_test(the_readme_equals_the_golden_file),
        SCRATCH(hostile_strings_are_saved_as_valid_json),
        cmocka_unit_test(inconsistent_records_are_refused),
        cmocka_unit_test(unsafe_paths_are_refused),
        cmocka_unit_test(valid_foreign_manifests_are_read_and_invalid_ones_refused),
        cmocka_unit_test(the_readme_escapes_texts_of_a_foreign_manifest),
        cmocka_unit_test(the_readme_shortens_repeated_sentences),
        cmocka_unit_test(a_manifest_that_is_too_deep_or_too_large_is_refused),
        cmocka_unit_test(only_manifests_that_can_be_parsed_are_printed),
        cmocka_unit_test(a_run_too_large_for_one_manifest_is_refused),
        cmocka_unit_test(a_cut_manifest_is_not_read),
        cmocka_unit_test(a_loaded_manifest_lacks_only_the_result_of_the_run),
        cmocka_unit_test(unknown_keys_are_loaded_and_printed_again),
        cmocka_unit_test(the_page_has_the_manifest_without_summary_and_report),
        cmocka_unit_test(a_later_run_replaces_the_result_and_keeps_the_sync),
        cmocka_unit_test(the_request_is_printed_and_loaded),
        cmocka_unit_test(added_records_replace_loaded_ones),
        cmocka_unit_test(a_host_or_service_that_fails_again_keeps_its_earlier_facts),
        cmocka_unit_test(a_new_finding_of_a_host_replaces_only_findings_of_its_rule),
        cmocka_unit_test(a_complete_target_has_no_error),
        cmocka_unit_test(the_readme_marks_the_second_item_of_a_pair),
        cmocka_unit_test(invalid_manifests_are_not_loaded),
        cmocka_unit_test(too_many_files_and_directories_are_not_loaded),
        cmocka_unit_test(too_long_paths_are_not_loaded),
        cmocka_unit_test(repeated_or_ungrouped_targets_are_refused),
        cmocka_unit_test(a_cut_manifest_is_not_loaded),
        cmocka_unit_test(hosts_and_services_are_saved_in_the_requested_order),
        SCRATCH(changed_and_missing_files_are_reported),
        SCRATCH(a_missing_file_is_reported_and_a_link_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
