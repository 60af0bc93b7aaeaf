/* The copy for a hand-off: redaction and its record, the signature, changed copies, encryption. The
 * original bundle never changes. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <jansson.h>
#include <stdlib.h>
#include <unistd.h>

#include "bundle/redact/redact_manifest.h"
#include "tests/unit/unit.h"
#include "tests/unit/capture.h"
#include "base/banned.h"

#define CMDLINE "file-03/gitaly/cmdline.txt"
#define CMDLINE_BYTES "/usr/bin/gitaly\0--token=hunter2\0--port=1"
#define DUMP "file-03/gitaly/dump.txt"
#define DUMP_BYTES "1 @ 0x1\n# labels: {\"user\":\"alice\", \"path\":\"/x\"}\n"
#define TRACE "file-03/gitaly/trace.out"

/* Begins the capture of b.tar.gz. */
static void begin_capture(struct capture *c, const char *dir)
{
    struct err err = ERR_INIT;
    char *output = file_join(dir, "b.tar.gz");
    assert_ok(workdir_new(output, "x", WHEN, &c->w, &err), &err);
    struct manifest_info info = {
        .name = "b", .version = "0", .user = "carol", .workstation = "ws", .started = WHEN};
    struct manifest_host host = {.name = "file-03", .route = "direct"};
    struct manifest_service service = {.host = "file-03", .name = "gitaly"};
    assert_ok(manifest_new(&info, &c->m, &err), &err);
    assert_ok(manifest_add_host(c->m, &host, &err), &err);
    assert_ok(manifest_add_service(c->m, &service, &err), &err);
    free(output);
}

static void add_item(struct capture *c, struct manifest_item item, const void *p, size_t n)
{
    char hex[SHA256_HEX];
    struct err err = ERR_INIT;
    char *dir = file_dir(item.file);
    assert_ok(dir_mkdirs(workdir_files(c->w), dir, &err), &err);
    free(dir);
    hash_hex(p, n, hex);
    free(scratch_file(workdir_path(c->w), item.file, p, n));
    item.host = "file-03";
    item.service = "gitaly";
    item.bytes = n;
    item.sha256 = hex;
    assert_ok(manifest_add_item(c->m, &item, &err), &err);
}

/* Packs the bundle, and returns its path. */
static char *pack_and_release(struct capture *c)
{
    struct err err = ERR_INIT;
    char *path = NULL;
    assert_ok(manifest_finish(c->m, WHEN + 1000, false, true, &err), &err);
    assert_ok(bundle_pack(c->w, c->m, -1, &path, &err), &err);
    capture_release(c);
    return path;
}

/* Packs b.tar.gz, with text to redact. */
static char *make_bundle(const char *dir)
{
    struct capture c;
    begin_capture(&c, dir);
    add_file_and_item(&c, "gitaly", DUMP, DUMP_BYTES, sizeof DUMP_BYTES - 1);
    add_file_and_item(&c, "gitaly", TRACE, "go 1.22 trace", 13);
    add_item(&c, (struct manifest_item){.kind = "cmdline", .file = CMDLINE}, CMDLINE_BYTES,
             sizeof CMDLINE_BYTES - 1);
    return pack_and_release(&c);
}

/* Makes a copy, which must succeed and leave the bundle unchanged. Returns ret->path. */
static char *make_copy(const struct bundle_copy_options *options, struct bundle_copy_result *ret)
{
    struct err err = ERR_INIT;
    struct buf before = scratch_read(options->bundle);
    assert_ok(bundle_copy(options, ret, &err), &err);
    struct buf after = scratch_read(options->bundle);
    assert_int_equal(before.len, after.len);
    assert_memory_equal(before.data, after.data, after.len);
    buf_release(&before);
    buf_release(&after);
    return ret->path;
}

static struct bundle_summary verify_copy(const char *path, const char *allowed_signers)
{
    struct bundle_verify_options options = {.allowed_signers = allowed_signers, .cancel_fd = -1};
    struct bundle_summary s = {0};
    struct err err = ERR_INIT;
    assert_ok(bundle_verify(path, &options, &s, &err), &err);
    return s;
}

/* ---- names and redaction ----------------------------------------------------------------------------- */

static void copies_get_numbered_names(void **state)
{
    static const char *const expected[] = {"b-handoff.tar.gz", "b-handoff-2.tar.gz", "b-handoff-3.tar.gz"};
    char *bundle = make_bundle(*state);
    struct bundle_copy_options options = {
        .bundle = bundle, .user = "dave", .workstation = "w2", .cancel_fd = -1};
    for (int i = 0; i < 3; i++) {
        struct bundle_copy_result c = {0};
        assert_string_equal(file_base(make_copy(&options, &c)), expected[i]);
        assert_int_equal(scratch_mode(c.path), 0600);
        struct bundle_summary s = verify_copy(c.path, NULL);
        assert_int_equal(s.intact, 4); /* README.md is listed too */
        assert_int_equal(s.changed + s.missing + s.unknown, 0);
        assert_true(s.handed_off && s.complete && s.redacted == 0);
        assert_string_equal(s.collector, "carol on ws");
        assert_string_equal(s.sender, "dave on w2");
        assert_int_equal(s.signature.state, BUNDLE_UNSIGNED);
        bundle_summary_release(&s);
        bundle_copy_result_release(&c);
    }
    assert_int_equal(scratch_count(*state), 4);
    free(bundle);
}

static const char *json_text(const json_t *o, const char *key)
{
    const char *s = json_string_value(json_object_get(o, key));
    return s ? s : "";
}

static void a_redacted_copy_lists_its_redactions(void **state)
{
    char *bundle = make_bundle(*state), *top = NULL, *manifest = NULL;
    struct bundle_copy_options options = {.bundle = bundle, .redact = true, .cancel_fd = -1};
    struct bundle_copy_result c = {0};
    struct err err = ERR_INIT;
    make_copy(&options, &c);
    assert_int_equal(c.redactions, 2);
    assert_int_equal(c.changed, 2);
    assert_int_equal(c.unsearched, 1);
    struct bundle_summary s = verify_copy(c.path, NULL);
    assert_int_equal(s.intact, 4);
    assert_int_equal(s.redacted, 2);
    bundle_summary_release(&s);
    assert_ok(
        bundle_extract(&(struct bundle_extract_options){c.path, NULL, *state, NULL, 1 << 20}, &top, &err),
        &err);
    static const char cmdline[] = "/usr/bin/gitaly\0--token=[redacted]\0--port=1";
    static const char dump[] = "1 @ 0x1\n# labels: {\"user\":\"[redacted]\", \"path\":\"/x\"}\n";
    assert_file_equal(top, CMDLINE, cmdline, sizeof cmdline - 1);
    assert_file_equal(top, DUMP, dump, sizeof dump - 1);
    assert_file_equal(top, TRACE, "go 1.22 trace", 13);
    assert_ok(bundle_read_manifest(c.path, NULL, &manifest, &err), &err);
    json_t *root = json_loads(manifest, 0, NULL), *handoff = json_object_get(root, "handoff");
    const json_t *list = json_object_get(handoff, "redactions");
    assert_int_equal(json_array_size(list), 2);
    assert_string_equal(json_text(json_array_get(list, 0), "file"), DUMP);
    assert_string_equal(json_text(json_array_get(list, 0), "rule"), "label");
    assert_string_equal(json_text(json_array_get(list, 1), "file"), CMDLINE);
    assert_string_equal(json_text(json_array_get(list, 1), "rule"), "option");
    const json_t *unsearched = json_array_get(json_object_get(handoff, "unsearched"), 0);
    assert_string_equal(json_text(unsearched, "file"), TRACE);
    assert_string_equal(json_text(unsearched, "reason"), "a file of an unknown kind");
    assert_int_equal(c.failed_searches.n, 0);
    /* The hashes of the member before and after its redaction. */
    const json_t *item = json_array_get(
        json_object_get(
            json_array_get(json_object_get(json_array_get(json_object_get(root, "hosts"), 0), "services"), 0),
            "items"),
        0);
    char hex[SHA256_HEX];
    hash_hex(DUMP_BYTES, sizeof DUMP_BYTES - 1, hex);
    assert_string_equal(json_text(json_object_get(item, "original"), "sha256"), hex);
    hash_hex(dump, sizeof dump - 1, hex);
    assert_string_equal(json_text(item, "sha256"), hex);
    json_decref(root);
    bundle_copy_result_release(&c);
    free(manifest);
    free(top);
    free(bundle);
}

static void assert_copy_has(const char *top, const char *file, const char *expected)
{
    assert_file_equal(top, file, expected, strlen(expected));
}

/* A server repeats the secret of a request in a body and in an error, also in capitals and before a full
 * stop. A secret that looks like an ordinary word (abcde) is redacted in manifest.json, and in a body only if
 * the body's own request contained a secret. */
static void words_that_a_server_repeats_are_redacted(void **state)
{
    struct capture capture;
    char *top = NULL;
    struct err err = ERR_INIT;
    struct bundle_copy_result c = {0};
    begin_capture(&capture, *state);
    static const char x[] = "served for c75de8c1b7c3ae only, C75DE8C1B7C3AE.\n",
                      y[] = "who is abcde? abcdef\n", other[] = "abcde and c75de8c1b7c3ae\n";
    add_item(&capture,
             (struct manifest_item){.kind = "/x?token=c75de8c1b7c3ae", .file = "file-03/gitaly/x.txt"}, x,
             sizeof x - 1);
    add_item(&capture, (struct manifest_item){.kind = "/y?token=abcde", .file = "file-03/gitaly/y.txt"}, y,
             sizeof y - 1);
    add_item(&capture,
             (struct manifest_item){.kind = "goroutines",
                                    .file = "file-03/gitaly/z.txt",
                                    .error = "trailing period: c75de8c1b7c3ae. who is Abcde?"},
             other, sizeof other - 1);
    char *bundle = pack_and_release(&capture);
    struct bundle_copy_options options = {.bundle = bundle, .redact = true, .cancel_fd = -1};
    make_copy(&options, &c);
    assert_null(strstr(c.manifest, "c75de8c1b7c3ae"));
    assert_contains(c.manifest, "trailing period: [redacted]. who is [redacted]?");
    assert_ok(
        bundle_extract(&(struct bundle_extract_options){c.path, NULL, *state, NULL, 1 << 20}, &top, &err),
        &err);
    assert_copy_has(top, "file-03/gitaly/redacted.txt", "served for [redacted] only, [redacted].\n");
    assert_copy_has(top, "file-03/gitaly/redacted-2.txt", "who is [redacted]? abcdef\n");
    assert_copy_has(top, "file-03/gitaly/z.txt", "abcde and [redacted]\n");
    bundle_copy_result_release(&c);
    free(top);
    free(bundle);
}

/* Redacts a manifest, which must succeed. Returns its JSON, which the caller frees. The items have no
 * file. */
static char *redact_to_text(const char *manifest)
{
    const struct stop never = {.cancel_fd = -1};
    struct redact_manifest s = {0};
    struct err err = ERR_INIT;
    json_t *root = json_loads(manifest, 0, NULL), *items = json_object();
    assert_non_null(root);
    assert_ok(redact_manifest_run(root, items, &never, &s, &err), &err);
    redact_manifest_release(&s);
    char *text = json_dumps(root, JSON_COMPACT);
    assert_non_null(text);
    json_decref(items);
    json_decref(root);
    return text;
}

/* The requests failed, were left out, or were only planned. The same rules redact the server's messages about
 * them. */
static void requests_without_a_file_are_redacted(void **state)
{
    (void)state;
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"{\"request\":\"GET /x?token=ab,cd,ef\",\"error\":\"key ab,cd,ef of /x?token=ab,cd,ef\"}",
         "{\"request\":\"GET /x?token=[redacted]\",\"error\":\"key [redacted] of /x?token=[redacted]\"}"},
        {"{\"items\":[{\"kind\":\"/x?token=hunterabcdef\",\"status\":\"failed\",\"error\":\"HTTP 404: key "
         "hunterabcdef\"}]}",
         "{\"items\":[{\"kind\":\"/x?token=[redacted]\",\"status\":\"failed\",\"error\":\"HTTP 404: key "
         "[redacted]\"}]}"},
        {"{\"items\":[{\"request\":\"GET /x?pin=4711\",\"server_words\":\"key 4711 is not known\"}]}",
         "{\"items\":[{\"request\":\"GET /x?pin=[redacted]\",\"server_words\":\"key [redacted] is not "
         "known\"}]}"},
        {"{\"items\":[{\"request\":\"GET /x?token=12345\"}],\"error\":\"no 4711471147, no 12345\"}",
         "{\"items\":[{\"request\":\"GET /x?token=[redacted]\"}],\"error\":\"no 4711471147, no "
         "[redacted]\"}"},
        {"{\"items\":[{\"kind\":\"/x/token/sesame\",\"request\":\"GET /x/token/sesame\"}],\"error\":\"HTTP "
         "404: sesame\"}",
         "{\"items\":[{\"kind\":\"/x/token/[redacted]\",\"request\":\"GET "
         "/x/token/[redacted]\"}],\"error\":\"HTTP 404: [redacted]\"}"},
        {"{\"items\":[{\"kind\":\"/x?y&kJ8sQpZ2vLm9xRtW\",\"error\":\"no xkJ8sQpZ2vLm9xRtWy\"}]}",
         "{\"items\":[{\"kind\":\"/x?y&[redacted]\",\"error\":\"no x[redacted]y\"}]}"},
        {"{\"items\":[{\"request\":\"GET /x?token=hunterabcdefghij\"}],\"error\":\"HTTP 404: y "
         "hunterabcd...\"}",
         "{\"items\":[{\"request\":\"GET /x?token=[redacted]\"}],\"error\":\"HTTP 404: y [redacted]...\"}"},
        {"{\"planned\":[{\"kind\":\"/x/token/sesame\"}],\"error\":\"sesame\"}",
         "{\"planned\":[{\"kind\":\"/x/token/[redacted]\"}],\"error\":\"[redacted]\"}"},
        {"{\"asked\":{\"kinds\":[\"/x/token/sesame\",\"heap\"],\"path\":\"/y/password/swordfish/"
         "z\"},\"error\":\"sesame swordfish\"}",
         "{\"asked\":{\"kinds\":[\"/x/token/[redacted]\",\"heap\"],\"path\":\"/y/password/[redacted]/"
         "z\"},\"error\":\"[redacted] [redacted]\"}"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = redact_to_text(cases[i].in);
        assert_string_equal(text, cases[i].out);
        free(text);
    }
}

static void a_command_line_requested_by_path_is_redacted(void **state)
{
    struct capture capture;
    char *top = NULL;
    struct err err = ERR_INIT;
    struct bundle_copy_result c = {0};
    begin_capture(&capture, *state);
    static const char bytes[] = "/bin/x\0--password\0sesame\0-v",
                      expected[] = "/bin/x\0--password\0[redacted]\0-v";
    add_item(&capture, (struct manifest_item){.kind = "/debug/pprof/cmdline", .file = "file-03/gitaly/c.txt"},
             bytes, sizeof bytes - 1);
    char *bundle = pack_and_release(&capture);
    struct bundle_copy_options options = {.bundle = bundle, .redact = true, .cancel_fd = -1};
    make_copy(&options, &c);
    assert_ok(
        bundle_extract(&(struct bundle_extract_options){c.path, NULL, *state, NULL, 1 << 20}, &top, &err),
        &err);
    assert_file_equal(top, "file-03/gitaly/c.txt", expected, sizeof expected - 1);
    bundle_copy_result_release(&c);
    free(top);
    free(bundle);
}

/* A repeated word is redacted in the values of every key; fixed words of the format, times and hashes of
 * members stay. */
static void repeated_words_are_redacted_in_the_values_of_every_key(void **state)
{
    (void)state;
    static const char request[] = "{\"request\":\"GET /x?token=ssh&pin=2026&code=damaged&sid=sesame\",";
    static const struct {
        const char *in, *out; /* out: NULL if equal to in */
    } cases[] = {
        {"\"tool\":{\"name\":\"profgrab\",\"version\":\"sesame\"}}",
         "\"tool\":{\"name\":\"profgrab\",\"version\":\"[redacted]\"}}"},
        {"\"route\":\"sesame\",\"status\":\"by sesame\"}",
         "\"route\":\"[redacted]\",\"status\":\"by [redacted]\"}"},
        {"\"format\":\"sesame\",\"sha256\":\"sesame\"}",
         "\"format\":\"[redacted]\",\"sha256\":\"[redacted]\"}"},
        {"\"verdicts\":[{\"rule\":\"x-sesame\",\"text\":\"sesame\"}]}",
         "\"verdicts\":[{\"rule\":\"redacted\",\"text\":\"[redacted]\"}]}"},
        {"\"route\":\"ssh\",\"status\":\"damaged\",\"started\":\"2026-11-21T07:48:00.000Z\"}", NULL},
        {"\"sesame\":1,\"damaged\":{\"rule\":\"sesame-x\"},\"Sesame\":\"xsesame\"}",
         "\"sesame\":1,\"damaged\":{\"rule\":\"redacted\"},\"[redacted]\":\"x[redacted]\"}"},
        {"\"error\":\"ssh 2026 damaged\"}", "\"error\":\"[redacted] [redacted] [redacted]\"}"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *in = format_text("%s%s", request, cases[i].in), *text = redact_to_text(in);
        assert_string_equal(strchr(text, ',') + 1, cases[i].out ? cases[i].out : cases[i].in);
        free(text);
        free(in);
    }
}

/* The tracker gets the labels and assignees of an issue unchanged, so a secret in a label or an assignee
 * stops the copy. */
static void a_label_or_assignee_with_a_secret_stops_the_copy(void **state)
{
    static const struct {
        const char *label, *assignee, *why; /* a NULL `why`: the copy succeeds */
    } cases[] = {
        {"profiling", "carol", NULL},
        {"sesame99x", "carol",
         "the label \"[redacted]\" of the issue contains text that looks like a secret"},
        {"team-SESAME99Xyz", "carol", "the label \"team-[redacted]yz\""},
        {"token=abc", "carol", "the label \"token=[redacted]\""},
        {"profiling", "glpat-0123456789abcdef", "the assignee \"[redacted]\""},
    };
    struct capture capture;
    begin_capture(&capture, *state);
    add_item(&capture, (struct manifest_item){.kind = "/x?token=sesame99x", .file = "file-03/gitaly/x.txt"},
             "x", 1);
    char *bundle = pack_and_release(&capture);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *label = format_text("%s", cases[i].label), *assignee = format_text("%s", cases[i].assignee);
        const struct strlist labels = {.items = &label, .n = 1}, assignees = {.items = &assignee, .n = 1};
        struct bundle_copy_options how = {.bundle = bundle,
                                          .issue_labels = &labels,
                                          .assignees = &assignees,
                                          .redact = true,
                                          .cancel_fd = -1};
        struct bundle_copy_result c = {0};
        struct err err = ERR_INIT;
        size_t before = scratch_count(*state);
        int rc = bundle_copy(&how, &c, &err);
        assert_int_equal(rc, cases[i].why ? -1 : 0);
        if (rc < 0) {
            assert_int_equal(err.kind, ERR_FAILED);
            assert_contains(err.msg, cases[i].why);
            assert_contains(err.hint, cases[i].assignee[0] == 'c' ? "--issue-label" : "--assignee");
            assert_int_equal(scratch_count(*state), before);
        } else {
            bundle_copy_result_release(&c);
        }
        free(label);
        free(assignee);
    }
    free(bundle);
}

/* A copy that exceeds its processor time fails and leaves no file. */
static void a_copy_that_takes_too_long_is_an_error(void **state)
{
    enum { DUMP_SIZE = 6 << 20 };
    char *dump = malloc(DUMP_SIZE);
    struct capture capture;
    struct bundle_copy_result c = {0};
    struct err err = ERR_INIT;
    assert_non_null(dump);
    for (size_t i = 0; i < DUMP_SIZE; i++)
        dump[i] = "a: b=c,\n"[i % 8];
    begin_capture(&capture, *state);
    add_item(&capture, (struct manifest_item){.kind = "goroutines", .file = "file-03/gitaly/x.txt"}, dump,
             DUMP_SIZE);
    char *bundle = pack_and_release(&capture);
    struct bundle_copy_options options = {.bundle = bundle, .redact = true, .cancel_fd = -1, .cpu_ms = 1};
    unsigned before = (unsigned)scratch_count(*state);
    assert_int_equal(bundle_copy(&options, &c, &err), -1);
    assert_int_equal(err.kind, ERR_LIMIT);
    assert_contains(err.msg, ".tar.gz: making its copy takes more than 1 s of processor time");
    assert_int_equal(scratch_count(*state), before);
    options.cpu_ms = 600000;
    make_copy(&options, &c);
    bundle_copy_result_release(&c);
    free(bundle);
    free(dump);
}

/* A bundle with members that are never searched, and members that cannot be searched. */
static char *make_unsearchable_bundle(const char *dir)
{
    enum { HUGE_CMDLINE = (4 << 20) + 1 };
    static char zeros[HUGE_CMDLINE];
    struct capture c;
    begin_capture(&c, dir);
    add_item(&c, (struct manifest_item){.kind = "trace", .file = "file-03/gitaly/trace.out"}, "go", 2);
    add_item(&c, (struct manifest_item){.kind = "/debug/vars", .file = "file-03/gitaly/vars.bin"}, "{}", 2);
    add_item(&c,
             (struct manifest_item){
                 .kind = "heap", .status = MANIFEST_DAMAGED, .file = "file-03/gitaly/heap.pb.gz.damaged"},
             "x", 1);
    add_item(&c, (struct manifest_item){.kind = "cmdline", .file = "file-03/gitaly/cmdline.txt"}, zeros,
             sizeof zeros);
    add_item(&c,
             (struct manifest_item){.kind = "cpu", .file = "file-03/gitaly/cpu.pb.gz", .has_profile = true},
             "no profile", 10);
    add_item(&c, (struct manifest_item){.kind = "goroutines", .file = "file-03/gitaly/after.txt"}, DUMP_BYTES,
             sizeof DUMP_BYTES - 1);
    return pack_and_release(&c);
}

/* Unsearched members are copied unchanged, and the copy records the reason; the others are redacted. */
static void members_that_are_not_searched_are_listed(void **state)
{
    static const char *const expected[][2] = {
        /* the file, and the reason that the copy gives */
        {"file-03/gitaly/trace.out", "an execution trace"},
        {"file-03/gitaly/vars.bin", "a file of an unknown kind"},
        {"file-03/gitaly/heap.pb.gz.damaged", "it did not pass its checks"},
        {"file-03/gitaly/cmdline.txt", "the command line is larger than 4194304 bytes"},
        {"file-03/gitaly/cpu.pb.gz", "at byte 0: field 13 of the profile has wire type 6"},
    };
    enum { N = sizeof expected / sizeof *expected };
    char *bundle = make_unsearchable_bundle(*state), *manifest = NULL, *top = NULL;
    struct bundle_copy_options options = {.bundle = bundle, .redact = true, .cancel_fd = -1};
    struct bundle_copy_result c = {0};
    struct err err = ERR_INIT;
    make_copy(&options, &c);
    assert_int_equal(c.unsearched, N);
    assert_int_equal(c.changed, 1);
    assert_int_equal(c.failed_searches.n, 2);
    assert_ok(bundle_read_manifest(c.path, NULL, &manifest, &err), &err);
    assert_ok(
        bundle_extract(&(struct bundle_extract_options){c.path, NULL, *state, NULL, UINT64_MAX}, &top, &err),
        &err);
    char *readme_path = file_join(top, "README.md");
    struct buf readme = scratch_read(readme_path);
    json_t *root = json_loads(manifest, 0, NULL);
    const json_t *list = json_object_get(json_object_get(root, "handoff"), "unsearched");
    assert_int_equal(json_array_size(list), N);
    for (size_t i = 0; i < N; i++) {
        assert_string_equal(json_text(json_array_get(list, i), "file"), expected[i][0]);
        assert_string_equal(json_text(json_array_get(list, i), "reason"), expected[i][1]);
        assert_contains(buf_str(&readme), expected[i][1]);
        if (i < 3) /* never searched */
            continue;
        assert_contains(c.failed_searches.items[i - 3], expected[i][0]);
        assert_contains(c.failed_searches.items[i - 3], expected[i][1]);
    }
    assert_file_equal(top, "file-03/gitaly/cpu.pb.gz", "no profile", 10);
    struct bundle_summary s = verify_copy(c.path, NULL);
    assert_int_equal(s.intact, N + 2);
    bundle_summary_release(&s);
    json_decref(root);
    buf_release(&readme);
    bundle_copy_result_release(&c);
    free(readme_path);
    free(top);
    free(manifest);
    free(bundle);
}

/* ---- the signature ----------------------------------------------------------------------------------- */

static char *make_key(const char *dir, const char *name)
{
    char *path = file_join(dir, name);
    RUN_PROGRAM("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", path);
    return path;
}

/* Makes a copy of b.tar.gz in `dir`, signed by the key and called `output`. Returns the copy's path, a new
 * string. */
static char *signed_copy(const char *dir, const char *key, const char *output)
{
    char *bundle = file_join(dir, "b.tar.gz"), *path = file_join(dir, output);
    struct sshsig_signer by = {.key = key, .cancel_fd = -1};
    struct bundle_copy_options options = {.bundle = bundle, .output = path, .signer = &by, .cancel_fd = -1};
    struct bundle_copy_result c = {0};
    make_copy(&options, &c);
    assert_contains(c.fingerprint, "SHA256:");
    bundle_copy_result_release(&c);
    free(bundle);
    return path;
}

static void assert_signature(const char *path, const char *allowed, enum bundle_signature_state state,
                             const char *principal, const char *why)
{
    struct bundle_summary s = verify_copy(path, allowed);
    assert_int_equal(s.signature.state, state);
    assert_contains(s.signature.why, why);
    if (principal)
        assert_string_equal(s.signature.principal, principal);
    else
        assert_null(s.signature.principal);
    bundle_summary_release(&s);
}

static void only_an_allowed_signer_is_named(void **state)
{
    const char *dir = *state;
    free(make_bundle(dir));
    char *key = make_key(dir, "k"), *other = make_key(dir, "o"), *pub_path = format_text("%s.pub", key);
    char *other_pub = format_text("%s.pub", other), *path = signed_copy(dir, key, "s.tar.gz");
    struct buf pub = scratch_read(pub_path), theirs = scratch_read(other_pub);
    char *good = format_text("carol@example.org namespaces=\"profgrab-*\" %s", buf_str(&pub));
    char *wrong = format_text("carol@example.org namespaces=\"git\" %s", buf_str(&pub));
    char *stranger = format_text("erin@example.org %s", buf_str(&theirs));
    char *files[] = {scratch_file(dir, "good", good, strlen(good)),
                     scratch_file(dir, "wrong", wrong, strlen(wrong)),
                     scratch_file(dir, "stranger", stranger, strlen(stranger))};
    assert_signature(path, NULL, BUNDLE_SIGNED, NULL, "");
    assert_signature(path, files[0], BUNDLE_SIGNED, "carol@example.org", "");
    assert_signature(path, files[1], BUNDLE_SIGNED, NULL, "does not allow the key");
    assert_signature(path, files[2], BUNDLE_SIGNED, NULL, "does not allow the key");
    struct bundle_verify_options options = {.allowed_signers = "/nowhere", .cancel_fd = -1};
    struct bundle_summary s = {0};
    struct err err = ERR_INIT;
    assert_int_equal(bundle_verify(path, &options, &s, &err), -1);
    assert_int_equal(err.kind, ERR_NOT_FOUND);
    buf_release(&pub);
    buf_release(&theirs);
    for (int i = 0; i < 3; i++)
        free(files[i]);
    free(good);
    free(wrong);
    free(stranger);
    free(key);
    free(other);
    free(pub_path);
    free(other_pub);
    free(path);
}

/* Unpacks `from`, replaces one file by `text`, and packs the result as `to`. Returns its path, a new
 * string. */
static char *replace_file(const char *dir, const char *from, const char *to, const char *file,
                          const char *text)
{
    char *work = file_join(dir, "work"), *path = file_join(dir, to), *top = format_text("%s/b", work);
    RUN_PROGRAM("rm", "-rf", work);
    RUN_PROGRAM("mkdir", work);
    RUN_PROGRAM("tar", "xzf", from, "-C", work);
    free(scratch_file(top, file, text, strlen(text)));
    RUN_PROGRAM("tar", "czf", path, "-C", work, "b/manifest.json", "b/manifest.json.sig", "b/README.md",
                "b/file-03");
    free(work);
    free(top);
    return path;
}

/* Returns the bytes of a member as a new string. */
static char *read_member(const char *dir, const char *bundle, const char *name)
{
    char *work = file_join(dir, "look"), *path = format_text("%s/b/%s", work, name);
    RUN_PROGRAM("rm", "-rf", work);
    RUN_PROGRAM("mkdir", work);
    RUN_PROGRAM("tar", "xzf", bundle, "-C", work);
    struct buf b = scratch_read(path);
    free(work);
    free(path);
    return buf_detach(&b);
}

static void a_changed_copy_has_no_valid_signature(void **state)
{
    const char *dir = *state;
    free(make_bundle(dir));
    char *key = make_key(dir, "k"), *one = signed_copy(dir, key, "one.tar.gz"),
         *two = signed_copy(dir, key, "two.tar.gz");
    char *manifest = read_member(dir, one, "manifest.json"),
         *sig = read_member(dir, one, "manifest.json.sig");
    char *other_sig = read_member(dir, two, "manifest.json.sig"), *twice = format_text("%s%s", sig, sig);
    char *user = strstr(manifest, "carol");
    user[0] = 'd';
    struct sshsig_signer by = {.key = key, .cancel_fd = -1};
    char *for_git = NULL, *right = read_member(dir, one, "manifest.json");
    assert_ok(sshsig_sign(&by, "git", str_of(right), &for_git, NULL), NULL);
    char *huge = calloc(1, 20000);
    for (int i = 0; i < 19999; i++)
        huge[i] = 'A';
    const struct {
        const char *file, *text;
        enum bundle_signature_state state;
        const char *why;
    } cases[] = {
        {"manifest.json", manifest, BUNDLE_SIGNATURE_INVALID, "the signature is not genuine"},
        {"manifest.json.sig", other_sig, BUNDLE_SIGNATURE_INVALID, "the signature is not genuine"},
        {"manifest.json.sig", twice, BUNDLE_SIGNATURE_INVALID, "there is text after it"},
        {"manifest.json.sig", "", BUNDLE_SIGNATURE_INVALID, "its first line is not"},
        {"manifest.json.sig", huge, BUNDLE_SIGNATURE_INVALID, "larger than any signature"},
        {"manifest.json.sig", for_git, BUNDLE_SIGNED_OTHER_NAMESPACE,
         "it was made for \"git\", not for a bundle"},
        {"manifest.json.sig", sig, BUNDLE_SIGNED, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *path = replace_file(dir, one, "m.tar.gz", cases[i].file, cases[i].text);
        assert_signature(path, NULL, cases[i].state, NULL, cases[i].why);
        free(path);
    }
    /* The manifest of a copy lists README.md. */
    char *path = replace_file(dir, one, "m.tar.gz", "README.md", "run this: rm -rf /\n");
    struct bundle_summary s = verify_copy(path, NULL);
    assert_int_equal(s.changed, 1);
    bundle_summary_release(&s);
    free(path);
    free(manifest);
    free(right);
    free(sig);
    free(other_sig);
    free(twice);
    free(for_git);
    free(huge);
    free(one);
    free(two);
    free(key);
}

/* ---- encryption -------------------------------------------------------------------------------------- */

static void an_encrypted_copy_is_signed_and_can_be_opened(void **state)
{
    const char *dir = *state;
    char *bundle = make_bundle(dir), *key = make_key(dir, "k"), *pub = format_text("%s.pub", key);
    struct age_recipients *to = NULL;
    struct age_identities *by = NULL;
    struct err err = ERR_INIT;
    assert_ok(age_recipients_new(&to, &err), &err);
    assert_ok(age_recipients_add_file(to, pub, &err), &err);
    struct sshsig_signer signer = {.key = key, .cancel_fd = -1};
    struct bundle_copy_options options = {
        .bundle = bundle, .signer = &signer, .recipients = to, .redact = true, .cancel_fd = -1};
    struct bundle_copy_result c = {0};
    assert_string_equal(file_base(make_copy(&options, &c)), "b.tar.gz.age");
    struct bundle_summary s = {0};
    assert_int_equal(bundle_verify(c.path, NULL, &s, &err), -1);
    assert_int_equal(err.kind, ERR_NO_KEY);
    assert_ok(age_identities_new(NULL, NULL, 0, &by, &err), &err);
    assert_ok(age_identities_add_file(by, key, &err), &err);
    struct bundle_verify_options check = {.identities = by, .cancel_fd = -1};
    assert_ok(bundle_verify(c.path, &check, &s, &err), &err);
    assert_int_equal(s.signature.state, BUNDLE_SIGNED);
    assert_int_equal(s.intact, 4);
    assert_int_equal(s.recipients.n, 1);
    assert_contains(s.recipients.items[0], "ssh-ed25519 SHA256:");
    bundle_summary_release(&s);
    bundle_copy_result_release(&c);
    age_identities_free(by);
    age_recipients_free(to);
    free(bundle);
    free(key);
    free(pub);
}

/* ---- cancelling -------------------------------------------------------------------------------------- */

/* Items with names that rules redact. */
static json_t *many_items(void)
{
    json_t *items = json_object();
    for (int i = 0; i < 2000; i++) {
        char path[60];
        snprintf(path, sizeof path, "h/s/token=5wordfish-%d.txt", i);
        json_object_set_new(items, path, json_pack("{s:s, s:s}", "kind", path, "file", path));
    }
    return items;
}

static void searching_a_manifest_can_be_cancelled(void **state)
{
    (void)state;
    int cancel[2];
    assert_int_equal(pipe(cancel), 0);
    assert_int_equal(write(cancel[1], "", 1), 1);
    const struct stop stop = {.cancel_fd = cancel[0]};
    /* The search is cancelled in the items' requests, or in the strings of a manifest without items. */
    for (int i = 0; i < 2; i++) {
        struct redact_manifest s = {0};
        struct err err = ERR_INIT;
        json_t *items = i == 0 ? many_items() : json_object(), *root = many_items();
        assert_int_equal(redact_manifest_run(root, items, &stop, &s, &err), -1);
        assert_int_equal(err.kind, ERR_CANCELLED);
        redact_manifest_release(&s);
        json_decref(root);
        json_decref(items);
    }
    close(cancel[0]);
    close(cancel[1]);
}

/* ---- refusals ---------------------------------------------------------------------------------------- */

/* The copy fails and leaves no file. */
static void assert_copy_fails(const char *dir, const struct bundle_copy_options *options, enum err_kind kind,
                              const char *part)
{
    struct bundle_copy_result c = {0};
    struct err err = ERR_INIT;
    size_t before = scratch_count(dir);
    assert_int_equal(bundle_copy(options, &c, &err), -1);
    assert_contains(err.msg, part);
    assert_int_equal(err.kind, kind);
    assert_null(c.path);
    assert_int_equal(scratch_count(dir), before);
}

static void invalid_inputs_of_a_copy_are_refused(void **state)
{
    const char *dir = *state;
    char *bundle = make_bundle(dir), *copy = file_join(dir, "c.tar.gz"), *odd = file_join(dir, "c.zip");
    char *work = file_join(dir, "work"), *dump = file_join(work, "b/" DUMP),
         *bad = file_join(dir, "bad.tar.gz");
    struct bundle_copy_options options = {.bundle = bundle, .output = copy, .cancel_fd = -1};
    struct bundle_copy_result c = {0};
    make_copy(&options, &c);
    bundle_copy_result_release(&c);
    assert_copy_fails(dir, &options, ERR_EXISTS, "c.tar.gz exists already");
    options.output = odd;
    assert_copy_fails(dir, &options, ERR_USAGE, "the name of this copy must end in .tar.gz");
    options.output = NULL;
    options.bundle = copy;
    assert_copy_fails(dir, &options, ERR_USAGE, "is a copy that was handed off already");
    options.bundle = "/nowhere.tar.gz";
    assert_copy_fails(dir, &options, ERR_NOT_FOUND, "/nowhere.tar.gz");
    /* A bundle that does not verify. */
    RUN_PROGRAM("mkdir", work);
    RUN_PROGRAM("tar", "xzf", bundle, "-C", work);
    RUN_PROGRAM("cp", "/dev/null", dump);
    RUN_PROGRAM("tar", "czf", bad, "-C", work, "b/manifest.json", "b/README.md", "b/file-03");
    options.bundle = bad;
    assert_copy_fails(dir, &options, ERR_FAILED, DUMP " differs from the manifest");
    options.redact = true;
    assert_copy_fails(dir, &options, ERR_FAILED, DUMP " differs from the manifest");
    RUN_PROGRAM("rm", dump);
    RUN_PROGRAM("tar", "czf", bad, "-C", work, "b/manifest.json", "b/README.md", "b/file-03");
    assert_copy_fails(dir, &options, ERR_FAILED, DUMP " is missing");
    RUN_PROGRAM("cp", bundle, dump);
    options.redact = false;
    RUN_PROGRAM("tar", "czf", bad, "-C", work, "b/manifest.json", "b/README.md", "b/file-03");
    assert_copy_fails(dir, &options, ERR_FAILED, DUMP " differs from the manifest");
    /* A key that cannot sign, and a cancellation. */
    struct sshsig_signer by = {.key = "/nowhere/k", .cancel_fd = -1};
    options = (struct bundle_copy_options){.bundle = bundle, .signer = &by, .redact = true, .cancel_fd = -1};
    assert_copy_fails(dir, &options, ERR_NOT_FOUND, "the key to sign with: ");
    options.signature_optional = true;
    make_copy(&options, &c);
    assert_int_equal(c.signing_error.kind, ERR_NOT_FOUND);
    assert_non_null(strstr(c.signing_error.msg, "the key to sign with: "));
    assert_string_equal(c.fingerprint, "");
    struct bundle_summary s = verify_copy(c.path, NULL);
    assert_int_equal(s.signature.state, BUNDLE_UNSIGNED);
    bundle_summary_release(&s);
    RUN_PROGRAM("rm", c.path);
    bundle_copy_result_release(&c);
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    assert_int_equal(write(fds[1], "x", 1), 1);
    options = (struct bundle_copy_options){.bundle = bundle, .cancel_fd = fds[0]};
    assert_copy_fails(dir, &options, ERR_CANCELLED, "interrupted");
    options.redact = true;
    assert_copy_fails(dir, &options, ERR_CANCELLED, "interrupted");
    close(fds[0]);
    close(fds[1]);
    free(bundle);
    free(copy);
    free(odd);
    free(work);
    free(dump);
    free(bad);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(searching_a_manifest_can_be_cancelled),
        cmocka_unit_test(requests_without_a_file_are_redacted),
        cmocka_unit_test(repeated_words_are_redacted_in_the_values_of_every_key),
        SCRATCH(a_command_line_requested_by_path_is_redacted),
        SCRATCH(copies_get_numbered_names),
        SCRATCH(a_redacted_copy_lists_its_redactions),
        SCRATCH(words_that_a_server_repeats_are_redacted),
        SCRATCH(a_label_or_assignee_with_a_secret_stops_the_copy),
        SCRATCH(members_that_are_not_searched_are_listed),
        SCRATCH(only_an_allowed_signer_is_named),
        SCRATCH(a_changed_copy_has_no_valid_signature),
        SCRATCH(an_encrypted_copy_is_signed_and_can_be_opened),
        SCRATCH(a_copy_that_takes_too_long_is_an_error),
        SCRATCH(invalid_inputs_of_a_copy_are_refused),
    };
    return cmocka_run_group_tests_name("copy", tests, NULL, NULL);
}
