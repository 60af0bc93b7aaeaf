/* Sources of services: reading their answers, and the services that result. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "discovery/discovery.h"
#include "discovery/json_pick.h"
#include "tests/unit/damage.h"
#include "tests/unit/unit.h"
#include "base/banned.h"

/* ---- answers ----------------------------------------------------------------------------------------- */

static int read_in_pieces(enum source_kind kind, size_t piece, const char *p, size_t n,
                          struct discovered *found, struct err *err)
{
    struct discovered_reader *r = NULL;
    assert_int_equal(discovered_reader_new(kind, found, &r, err), 0);
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < n; i += piece)
        rc = discovered_reader_feed(r, p + i, n - i < piece ? n - i : piece, err);
    if (rc == 0)
        rc = discovered_reader_end(r, err);
    discovered_reader_free(r);
    return rc;
}

/* `expected` has `job host port; ` or `job host port https; ` for each target, then the notes in
 * parentheses. */
static void assert_targets(const struct discovered *found, const char *expected)
{
    struct buf b = BUF_INIT(65536);
    for (size_t i = 0; i < found->n; i++)
        buf_addf(&b, "%s %s %u%s; ", found->jobs[found->targets[i].job].name, found->targets[i].address,
                 found->targets[i].port, found->targets[i].https ? " https" : "");
    for (size_t i = 0; i < found->notes.n; i++)
        buf_addf(&b, "(%s)", found->notes.items[i]);
    assert_string_equal(buf_str(&b), expected);
    buf_release(&b);
}

/* Parses the text in pieces of several sizes. */
static void assert_parsed(enum source_kind kind, const char *text, const char *expected)
{
    static const size_t pieces[] = {1, 2, 7, 100000};
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        struct discovered found = {0};
        struct err err = ERR_INIT;
        assert_ok(read_in_pieces(kind, pieces[i], text, strlen(text), &found, &err), &err);
        assert_targets(&found, expected);
        discovered_release(&found);
    }
}

static void assert_read_refused(enum source_kind kind, const char *text, const char *message)
{
    for (size_t piece = 1; piece < 100000; piece *= 300) {
        struct discovered found = {0};
        struct err err = ERR_INIT;
        assert_refused(read_in_pieces(kind, piece, text, strlen(text), &found, &err), &err, ERR_FAILED,
                       message);
        discovered_release(&found);
    }
}

#define TARGET(job, url)                                                                                     \
    "{\"discoveredLabels\":{\"scrapeUrl\":\"http://not.this:1/\",\"job\":\"nor\"},\"labels\":{\"instance\":" \
    "\"i\",\"job\":\"" job "\"},\"scrapePool\":\"pool\",\"scrapeUrl\":\"" url "\",\"lastError\":\"\\\"}]\"," \
    "\"health\":\"up\"}"
#define PROMETHEUS(targets)                                                                                  \
    "{\"status\": \"success\", \"data\": {\"activeTargets\": [" targets "], \"droppedTargets\": "            \
    "[{\"discoveredLabels\": {}}]}}\n"

static void targets_of_prometheus_are_read(void **state)
{
    (void)state;
    assert_parsed(SOURCE_PROMETHEUS, PROMETHEUS(""), "");
    assert_parsed(SOURCE_PROMETHEUS,
                  PROMETHEUS(TARGET("gitaly", "http://File-03.example.:9236/metrics?a=b") ", " TARGET(
                      "tls", "https://[2001:DB8::7]:443/") "," TARGET("gitaly", "https://10.0.0.1/metrics")),
                  "gitaly file-03.example 9236; tls 2001:db8::7 443 https; gitaly 10.0.0.1 443 https; ");
    assert_parsed(SOURCE_PROMETHEUS,
                  PROMETHEUS("{\"scrapePool\":\"p\",\"labels\":{},\"scrapeUrl\":\"http://h:1/\"}"),
                  "p h 1; ");
    /* The key "labels.job" is not the key "job" in "labels". An escaped key equals the same key without
     * escapes. */
    assert_parsed(
        SOURCE_PROMETHEUS,
        PROMETHEUS(
            "{\"labels.job\":\"no\",\"labels\":{\"jo\\u0062\":\"yes\"},\"scrapeUrl\":\"http://h:1/\"}"),
        "yes h 1; ");
    assert_parsed(SOURCE_PROMETHEUS, "{\"data\":{\"activeTargets\":null}}", "");
    assert_parsed(SOURCE_PROMETHEUS, PROMETHEUS(TARGET("a\\u001b[31mb\\n", "http://h h:1/")),
                  "(job \"a?[31mb\": \"http://h h:1/\" is no address)");
}

static void invalid_answers_of_prometheus_are_refused(void **state)
{
    (void)state;
    assert_read_refused(SOURCE_PROMETHEUS, "<!DOCTYPE html>", "it is a page of HTML or XML, not JSON");
    assert_read_refused(SOURCE_PROMETHEUS, "", "it is empty");
    assert_read_refused(SOURCE_PROMETHEUS, "{}", "there is no list of targets in it");
    assert_read_refused(SOURCE_PROMETHEUS, "[]", "there is no list of targets in it");
    assert_read_refused(SOURCE_PROMETHEUS, "{\"data\":{\"activeTargets\":{}}}",
                        "activeTargets in it is not a list");
    assert_read_refused(SOURCE_PROMETHEUS, PROMETHEUS("1"), "a target in it is not a mapping");
    assert_read_refused(SOURCE_PROMETHEUS, PROMETHEUS("{\"scrapeUrl\":5}"),
                        "data.activeTargets[].scrapeUrl in it is not text");
    assert_read_refused(SOURCE_PROMETHEUS, "{\"status\":\"error\",\"error\":\"too\\u001b many\"}",
                        "it reports: too? many");
    assert_read_refused(SOURCE_PROMETHEUS, "{\"status\":\"success\",\"data\":{\"activeTar",
                        "it ends in the middle, after 38 bytes");
    assert_read_refused(SOURCE_PROMETHEUS, "{\"a\":tru\"e}", "it is not JSON, at byte 9");
    assert_read_refused(SOURCE_PROMETHEUS, "{} x", "it is not JSON, at byte 4");
    assert_read_refused(SOURCE_PROMETHEUS, "{\"a\":[}", "it is not JSON, at byte 7");
    assert_read_refused(SOURCE_PROMETHEUS, "{\"a\":{\"b\":[1,\"]\"}", "it is not JSON, at byte 17");
    assert_read_refused(SOURCE_PROMETHEUS, "{\"a\":[<]}", "it is not JSON, at byte 7");
    assert_read_refused(SOURCE_PROMETHEUS, "{\"a\":[\"\n\"]}", "it is not JSON, at byte 8");
}

/* A skipped value takes no memory. The depth is limited. */
static void too_deep_answers_and_too_long_strings_are_refused(void **state)
{
    (void)state;
    char deep[200];
    memset(deep, '[', sizeof deep);
    struct discovered found = {0};
    struct err err = ERR_INIT;
    assert_refused(read_in_pieces(SOURCE_HTTP_SD, 7, deep, sizeof deep, &found, &err), &err, ERR_FAILED,
                   "it is nested deeper than 64 levels");
    struct buf b = BUF_INIT(1 << 20);
    buf_adds(&b, "[{\"x\":\"");
    for (int i = 0; i < 100000; i++)
        buf_addc(&b, 'a');
    buf_adds(&b, "\",\"targets\":[\"h:1\"]}]");
    assert_ok(read_in_pieces(SOURCE_HTTP_SD, 4096, b.data, b.len, &found, &err), &err);
    assert_int_equal(found.n, 1);
    buf_clear(&b);
    buf_adds(&b, "[{\"targets\":[\"");
    for (int i = 0; i < 100000; i++)
        buf_addc(&b, 'a');
    assert_refused(read_in_pieces(SOURCE_HTTP_SD, 4096, b.data, b.len, &found, &err), &err, ERR_FAILED,
                   "it ends in the middle, after 100014 bytes");
    buf_adds(&b, "\"]}]");
    assert_refused(read_in_pieces(SOURCE_HTTP_SD, 4096, b.data, b.len, &found, &err), &err, ERR_FAILED,
                   "a string in it is larger than 65536 bytes");
    buf_release(&b);
    discovered_release(&found);
}

static void targets_of_http_sd_are_read(void **state)
{
    (void)state;
    assert_parsed(SOURCE_HTTP_SD, "[]", "");
    assert_parsed(SOURCE_HTTP_SD,
                  "[{\"labels\":{\"job\":\"a\",\"__scheme__\":\"https\"},\"targets\":[\"h:1\",\"[::1]:2\"]},"
                  "{\"targets\":[\"h\"]}]",
                  "a h 1 https; a ::1 2 https;  h 80; ");
    assert_parsed(SOURCE_HTTP_SD, "null", "");
    assert_parsed(SOURCE_HTTP_SD, "[{\"targets\":null},{\"targets\":[\"h:1\"]}]", " h 1; ");
    assert_read_refused(SOURCE_HTTP_SD, "nul", "it is not JSON");
    assert_read_refused(SOURCE_HTTP_SD, "5", "it is not a list of groups of targets");
    assert_read_refused(SOURCE_HTTP_SD, "{}", "it is not a list of groups of targets");
    assert_read_refused(SOURCE_HTTP_SD, "[{\"targets\":\"h:1\"}]", "targets in it is not a list");
    assert_read_refused(SOURCE_HTTP_SD, "[{\"targets\":[1]}]", "a target in it is not text");
    assert_read_refused(SOURCE_HTTP_SD, "[1]", "a group of targets in it is not a mapping");
}

static void mask_with_stars(void *ctx, char *text)
{
    for (char *p; (p = strstr(text, ctx));)
        memset(p, '*', strlen(ctx));
}

/* A job's name is made printable and cut before it is compared. */
static void groups_with_the_same_long_or_unprintable_name_share_a_job(void **state)
{
    (void)state;
    char *yaml = format_text("- { targets: [ 'h:1' ], labels: { job: \"%0300d\" } }\n"
                             "- { targets: [ 'h:2' ], labels: { job: \"%0300d\" } }\n"
                             "- { targets: [ 'h:3' ], labels: { job: \"a\\u0007\" } }\n"
                             "- { targets: [ 'h:4' ], labels: { job: \"a\\u0007\" } }\n",
                             7, 7);
    struct discovered found = {0};
    struct err err = ERR_INIT;
    assert_ok(
        discovered_parse(&(struct discovered_file){"sd.yml", NULL, SOURCE_FILE_SD, {yaml, strlen(yaml)}},
                         &found, &err),
        &err);
    assert_int_equal(found.n, 4);
    assert_int_equal(found.targets[0].job, found.targets[1].job);
    assert_int_equal(found.targets[2].job, found.targets[3].job);
    discovered_release(&found);
    free(yaml);
}

/* The reader masks a text before it cuts or refuses it. */
static void secrets_are_masked_in_jobs_and_notes(void **state)
{
    (void)state;
    char *secret = format_text("%0500d", 7);
    char *text = format_text("[{\"targets\":[\"h:1\",\"%s\"],\"labels\":{\"job\":\"a%s\"}}]", secret, secret);
    struct discovered found = {0};
    struct discovered_reader *r = NULL;
    struct err err = ERR_INIT;
    assert_ok(discovered_reader_new(SOURCE_HTTP_SD, &found, &r, &err), &err);
    discovered_reader_set_mask(r, mask_with_stars, secret);
    assert_ok(discovered_reader_feed(r, text, strlen(text), &err), &err);
    assert_ok(discovered_reader_end(r, &err), &err);
    discovered_reader_free(r);
    assert_int_equal(found.n, 1);
    assert_memory_equal(found.jobs[0].name, "a***", 4);
    assert_int_equal(found.notes.n, 1);
    assert_contains(found.notes.items[0], "\"****");
    assert_null(strchr(found.notes.items[0], '0'));
    discovered_release(&found);
    free(text);
    free(secret);
}

/* `expected` has `host port: NAME=VALUE ...; ` of each target. */
static void assert_labels(const struct discovered *found, const char *expected)
{
    struct buf b = BUF_INIT(65536);
    for (size_t i = 0; i < found->n; i++) {
        const struct discovered_target *t = &found->targets[i];
        const struct strlist *set = t->label_set ? &found->label_sets[t->label_set - 1] : NULL;
        buf_addf(&b, "%s %u:", t->address, t->port);
        for (size_t k = 0; set && k < set->n; k++)
            buf_addf(&b, " %s", set->items[k]);
        buf_adds(&b, "; ");
    }
    assert_string_equal(buf_str(&b), expected);
    buf_release(&b);
}

static void labels_of_targets_are_read(void **state)
{
    (void)state;
    static const char sd[] =
        "[{\"labels\":{\"job\":\"j\",\"env\":\"prod\",\"__meta_x\":\"m\",\"instance\":\"i\",\"no "
        "name\":\"v\","
        "\"empty\":\"\",\"n\":1,\"deep\":{\"a\":\"b\"},\"esc\":\"a\\u0007\",\"q\":\"a\\\"b\"},\"targets\":["
        "\"a:1\",\"b:2\"]},"
        "{\"targets\":[\"c:3\"]},{\"targets\":[\"d:4\"],\"labels\":{\"*\":\"star\",\"env\":\"dev\"}}]";
    static const char expected[] = "a 1: env=prod q=a\"b; b 2: env=prod q=a\"b; c 3:; d 4: env=dev; ";
    static const size_t pieces[] = {1, 3, 100000};
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        struct discovered found = {0}, again = {0};
        struct err err = ERR_INIT;
        struct buf b = BUF_INIT(65536);
        assert_ok(read_in_pieces(SOURCE_HTTP_SD, pieces[i], sd, sizeof sd - 1, &found, &err), &err);
        assert_labels(&found, expected);
        assert_ok(discovered_write(&found, &b, &err), &err);
        assert_ok(read_in_pieces(SOURCE_HTTP_SD, 10, b.data, b.len, &again, &err), &err);
        assert_labels(&again, expected);
        buf_release(&b);
        discovered_release(&found);
        discovered_release(&again);
    }
}

static void labels_of_each_source_are_read(void **state)
{
    (void)state;
    static const char prometheus[] = "{\"data\":{\"activeTargets\":[{\"discoveredLabels\":{\"env\":\"no\"},"
                                     "\"labels\":{\"job\":\"j\",\"instance\":"
                                     "\"a:1\",\"env\":\"prod\"},\"scrapeUrl\":\"http://a:1/metrics\"}]}}";
    static const char yaml[] =
        "- targets: [a:1, b:2]\n  labels: { env: prod, job: j, list: [x] }\n- targets: [c:3]\n";
    struct discovered found = {0};
    struct err err = ERR_INIT;
    assert_ok(read_in_pieces(SOURCE_PROMETHEUS, 5, prometheus, sizeof prometheus - 1, &found, &err), &err);
    assert_labels(&found, "a 1: env=prod; ");
    discovered_release(&found);
    assert_ok(
        discovered_parse(&(struct discovered_file){"sd.yml", NULL, SOURCE_FILE_SD, {yaml, sizeof yaml - 1}},
                         &found, &err),
        &err);
    assert_labels(&found, "a 1: env=prod; b 2: env=prod; c 3:; ");
    discovered_release(&found);
}

/* The reader keeps the labels of the first targets, and one note reports the limit. */
static void labels_beyond_the_limits_are_ignored(void **state)
{
    (void)state;
    struct discovered found = {0};
    struct err err = ERR_INIT;
    struct buf b = BUF_INIT(SOURCE_MAX_BYTES);
    buf_addc(&b, '[');
    for (int i = 0; i < 30000; i++) {
        buf_addf(&b, "%s{\"targets\":[\"a:1\"],\"labels\":{", i ? "," : "");
        for (int k = 0; k < 20; k++)
            buf_addf(&b, "%s\"n%d\":\"%d\"", k ? "," : "", k, i);
        buf_adds(&b, "}}");
    }
    buf_addc(&b, ']');
    assert_ok(read_in_pieces(SOURCE_HTTP_SD, 65536, b.data, b.len, &found, &err), &err);
    assert_int_equal(found.n, 30000);
    assert_int_equal(found.label_sets[0].n, 16);
    assert_int_equal(found.n_label_sets, SOURCE_MAX_LABELS / 16);
    assert_int_equal(found.notes.n, 1);
    discovered_release(&found);
    /* The longest allowed value, and a longer value. */
    char expected[300];
    snprintf(expected, sizeof expected, "a 1: fine=%0200d; ", 0);
    buf_clear(&b);
    buf_addf(&b, "[{\"targets\":[\"a:1\"],\"labels\":{\"fine\":\"%0200d\",\"long\":\"%0201d\"}}]", 0, 0);
    assert_ok(read_in_pieces(SOURCE_HTTP_SD, 65536, b.data, b.len, &found, &err), &err);
    assert_labels(&found, expected);
    buf_release(&b);
    discovered_release(&found);
}

static void written_targets_are_read_back(void **state)
{
    (void)state;
    struct discovered found = {0}, again = {0};
    struct err err = ERR_INIT;
    struct buf b = BUF_INIT(65536);
    const char *text = PROMETHEUS(TARGET("a\\\"b\\\\", "http://x:1/") "," TARGET(
        "a\\\"b\\\\", "http://y:2/") "," TARGET("c", "https://[::1]:3/"));
    assert_ok(read_in_pieces(SOURCE_PROMETHEUS, 10, text, strlen(text), &found, &err), &err);
    assert_ok(discovered_write(&found, &b, &err), &err);
    assert_ok(read_in_pieces(SOURCE_HTTP_SD, 10, b.data, b.len, &again, &err), &err);
    assert_targets(&again, "a\"b\\ x 1; a\"b\\ y 2; c ::1 3 https; ");
    buf_release(&b);
    discovered_release(&found);
    discovered_release(&again);
}

static void read_damaged(void *ctx, const struct damaged *s)
{
    enum source_kind kind = *(enum source_kind *)ctx;
    struct discovered found = {0};
    struct err err = ERR_INIT;
    struct discovered_file file = {.name = "x", .kind = kind, .text = {s->p, s->n}};
    int rc = kind == SOURCE_PARCA || kind == SOURCE_FILE_SD
                 ? discovered_parse(&file, &found, &err)
                 : read_in_pieces(kind, 3, s->p, s->n, &found, &err);
    assert_true(rc == 0 || (err.kind != ERR_NONE && *err.msg));
    bool json = kind == SOURCE_PROMETHEUS || kind == SOURCE_HTTP_SD;
    assert_true(rc < 0 || !json || !s->cut);
    discovered_release(&found);
}

static void damaged_answers_are_read_or_refused_with_a_message(void **state)
{
    (void)state;
    static const struct {
        enum source_kind kind;
        const char *text;
    } seeds[] = {
        {SOURCE_PROMETHEUS, "{\"status\":\"success\",\"data\":{\"activeTargets\":[{\"labels\":{\"job\":"
                            "\"a\\u00e9\"},\"scrapeUrl\":"
                            "\"http://h:1/\"}]}}"},
        {SOURCE_HTTP_SD, "[{\"targets\":[\"h:1\",\"[::1]:2\"],\"labels\":{\"job\":\"a\"},\"x\":[1,true]}]"},
        {SOURCE_FILE_SD, "- targets: ['h:1', '[::1]:2']\n  labels: {job: a}\n"},
        {SOURCE_PARCA, "scrape_configs:\n- job_name: a\n  static_configs: [{targets: ['h:1']}]\n"
                       "  profiling_config: {path_prefix: /x, pprof_config: {memory: {enabled: false}}}\n"},
    };
    for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++) {
        enum source_kind kind = seeds[i].kind;
        damage_everywhere(seeds[i].text, strlen(seeds[i].text), read_damaged, &kind);
    }
}

/* ---- files ------------------------------------------------------------------------------------------- */

/* A configuration as in Parca's documentation, with three jobs. */
static const char parca_yaml[] = "object_storage:\n"
                                 "  bucket:\n"
                                 "    type: \"FILESYSTEM\"\n"
                                 "    config:\n"
                                 "      directory: \"./data\"\n"
                                 "scrape_configs:\n"
                                 "  - job_name: \"api\"\n"
                                 "    scrape_interval: \"3s\"\n"
                                 "    static_configs:\n"
                                 "      - targets: ['127.0.0.1:6060']\n"
                                 "  - job_name: \"worker\"\n"
                                 "    scrape_interval: \"3s\"\n"
                                 "    static_configs:\n"
                                 "      - targets: ['127.0.0.1:6061']\n"
                                 "    profiling_config:\n"
                                 "      path_prefix: /internal\n"
                                 "      pprof_config:\n"
                                 "        memory: { enabled: false }\n"
                                 "        fgprof: { enabled: true, path: /debug/pprof/fgprof, delta: true }\n"
                                 "        odd: { enabled: true, path: /elsewhere/odd }\n"
                                 "  - job_name: \"db\"\n"
                                 "    scheme: https\n"
                                 "    params: { tenant: [a b, \"c&d\"], x: 1 }\n"
                                 "    static_configs:\n"
                                 "      - targets: ['127.0.0.1:6062']\n"
                                 "        labels: { job: database }\n";

static void a_parca_configuration_is_read(void **state)
{
    (void)state;
    struct discovered found = {0};
    struct err err = ERR_INIT;
    assert_ok(
        discovered_parse(
            &(struct discovered_file){"parca.yaml", ".", SOURCE_PARCA, {parca_yaml, sizeof parca_yaml - 1}},
            &found, &err),
        &err);
    assert_targets(&found, "api 127.0.0.1 6060; worker 127.0.0.1 6061; database 127.0.0.1 6062 https; ");
    assert_null(found.jobs[0].path);
    assert_int_equal(found.jobs[0].kinds.n, 0);
    const struct discovered_job *worker = &found.jobs[1];
    static const char *const kinds[] = {"block", "goroutines", "mutex",
                                        "cpu",   "fgprof",     "/internal/elsewhere/odd"};
    assert_string_equal(worker->path, "/internal/debug/pprof");
    assert_int_equal(worker->kinds.n, 6);
    for (size_t i = 0; i < 6; i++)
        assert_string_equal(worker->kinds.items[i], kinds[i]);
    assert_null(worker->query);
    assert_string_equal(found.jobs[found.targets[2].job].query, "tenant=a%20b&tenant=c%26d&x=1");
    discovered_release(&found);
}

static void paths_of_a_parca_configuration_are_read(void **state)
{
    (void)state;
    static const char text[] = "scrape_configs:\n"
                               "- job_name: a\n"
                               "  static_configs: [{targets: ['h:1']}]\n"
                               "  profiling_config:\n"
                               "    pprof_config:\n"
                               "      memory: {path: /p/heap}\n      block: {path: /p/block}\n      "
                               "goroutine: {path: /p/goroutine}\n"
                               "      mutex: {enabled: false}\n      process_cpu: {path: /p/profile}\n";
    struct discovered found = {0};
    struct err err = ERR_INIT;
    assert_ok(discovered_parse(&(struct discovered_file){"x", ".", SOURCE_PARCA, {text, sizeof text - 1}},
                               &found, &err),
              &err);
    assert_string_equal(found.jobs[0].path, "/p");
    assert_int_equal(found.jobs[0].kinds.n, 4);
    assert_string_equal(found.jobs[0].kinds.items[0], "heap");
    assert_string_equal(found.jobs[0].kinds.items[3], "cpu");
    discovered_release(&found);
}

static void a_prometheus_configuration_is_read(void **state)
{
    static const char text[] = "global: {scrape_interval: 15s}\n"
                               "scrape_configs:\n"
                               "- job_name: a\n"
                               "  file_sd_configs: [{files: ['sd-*.json', missing.yml]}]\n"
                               "- job_name: k\n"
                               "  kubernetes_sd_configs: [{role: pod}]\n"
                               "  relabel_configs: [{action: drop}]\n"
                               "  basic_auth: {username: u, password: hunter2}\n"
                               "  params: {x: [y]}\n";
    static const char groups[] = "[{\"targets\": [\"h:1\", \"h:2\"], \"labels\": {\"x\": \"y\"}}]";
    struct discovered found = {0};
    struct err err = ERR_INIT;
    char *sd = scratch_file(*state, "sd-1.json", groups, sizeof groups - 1);
    assert_ok(discovered_parse(
                  &(struct discovered_file){"p.yml", *state, SOURCE_SCRAPE_CONFIGS, {text, sizeof text - 1}},
                  &found, &err),
              &err);
    assert_int_equal(found.n, 2);
    assert_string_equal(found.jobs[found.targets[1].job].name, "a");
    assert_int_equal(found.notes.n, 5);
    assert_contains(found.notes.items[0], "missing.yml: the targets of this file are missing");
    assert_contains(found.notes.items[1],
                    "job \"k\": kubernetes_sd_configs are not supported: their targets are missing");
    assert_contains(found.notes.items[2], "relabel_configs");
    assert_contains(found.notes.items[3], "basic_auth: not used");
    assert_contains(found.notes.items[4], "params: not sent, because they belong to requests for metrics");
    for (size_t i = 0; i < found.notes.n; i++)
        assert_null(strstr(found.notes.items[i], "hunter2"));
    discovered_release(&found);
    free(sd);
}

/* The limit on targets ends the reading, and the files that remain add no notes. */
static void all_files_of_a_source_have_one_limit_of_targets(void **state)
{
    static const char head[] = "scrape_configs: [{job_name: a, file_sd_configs: [{files: [";
    struct buf groups = BUF_INIT(1 << 20), text = BUF_INIT(1 << 20);
    struct discovered found = {0};
    struct err err = ERR_INIT;
    buf_adds(&groups, "[{targets: [");
    for (size_t i = 0; i < 40000; i++)
        buf_adds(&groups, "h:1,");
    buf_adds(&groups, "]}]");
    char *sd = scratch_file(*state, "many.yml", buf_str(&groups), groups.len);
    buf_adds(&text, head);
    for (size_t i = 0; i < 100; i++)
        buf_adds(&text, "many.yml,");
    buf_adds(&text, "]}]}]");
    struct discovered_file file = {"p.yml", *state, SOURCE_SCRAPE_CONFIGS, {buf_str(&text), text.len}};
    assert_refused(discovered_parse(&file, &found, &err), &err, ERR_LIMIT,
                   "p.yml:1:77: it has more than 100000 targets");
    assert_int_equal(found.n, SOURCE_MAX_TARGETS);
    assert_int_equal(found.notes.n, 0);
    discovered_release(&found);
    buf_release(&text);
    buf_release(&groups);
    free(sd);
}

/* A pattern of a configuration searches one directory, never the whole disk. */
static void only_the_last_component_of_a_file_is_a_pattern(void **state)
{
    static const char text[] = "scrape_configs: [{job_name: a, file_sd_configs: [{files: ['*/sd.yml', "
                               "'d?/sd.yml', 's[d].yml', 's*.yml']}]}]";
    static const char groups[] = "[{targets: [h:1]}]";
    struct discovered found = {0};
    struct err err = ERR_INIT;
    char *sd = scratch_file(*state, "sd.yml", groups, sizeof groups - 1);
    struct discovered_file file = {"p.yml", *state, SOURCE_SCRAPE_CONFIGS, {text, sizeof text - 1}};
    assert_ok(discovered_parse(&file, &found, &err), &err);
    assert_int_equal(found.n, 2);
    assert_int_equal(found.notes.n, 2);
    assert_string_equal(found.notes.items[0],
                        "job \"a\": */sd.yml: only the last component of a path may be a "
                        "pattern: the targets of this file are missing");
    assert_contains(found.notes.items[1], "d?/sd.yml: only the last component");
    discovered_release(&found);
    free(sd);
}

static void assert_config_refused(const char *text, const char *message)
{
    struct discovered found = {0};
    struct err err = ERR_INIT;
    assert_refused(
        discovered_parse(&(struct discovered_file){"c.yml", NULL, SOURCE_PARCA, {text, strlen(text)}}, &found,
                         &err),
        &err, ERR_USAGE, message);
    discovered_release(&found);
}

/* Only the text that the user or the configuration wrote is a pattern. The directory before it is literal. */
static void a_directory_with_glob_characters_is_no_pattern(void **state)
{
    static const char text[] =
        "scrape_configs: [{job_name: a, file_sd_configs: [{files: ['sd*.yml', sd.yml]}]}]";
    static const char groups[] = "[{targets: [h:1]}]";
    static const char *const names[] = {"[x]", "a*b?", "back\\slash", "[", "~"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct discovered found = {0}, matched = {0};
        struct err err = ERR_INIT;
        char *dir = file_join(*state, names[i]);
        assert_int_equal(mkdir(dir, 0700), 0);
        char *sd = scratch_file(dir, "sd.yml", groups, sizeof groups - 1), *place = file_join(dir, "s*.yml");
        struct discovered_file file = {"p.yml", dir, SOURCE_SCRAPE_CONFIGS, {text, sizeof text - 1}};
        assert_ok(discovered_parse(&file, &found, &err), &err);
        assert_int_equal(found.notes.n, 0);
        assert_int_equal(found.n, 2);
        struct source source = {.kind = SOURCE_FILE_SD, .url_or_path = place, .n_literal = strlen(dir)};
        assert_ok(discovered_read(&source, &matched, &err), &err);
        assert_int_equal(matched.n, 1);
        discovered_release(&found);
        discovered_release(&matched);
        free(place);
        free(sd);
        free(dir);
    }
}

static void invalid_configurations_are_refused(void **state)
{
    (void)state;
    assert_config_refused("[]", "c.yml:1:1: this must be a mapping with \"scrape_configs\"");
    assert_config_refused("scrape_configs: {}", "c.yml:1:17: scrape_configs must be a list");
    assert_config_refused("scrape_configs: [{scheme: http}]", "c.yml:1:18: \"job_name\" is missing");
    assert_config_refused("scrape_configs: [{job_name: a, static_configs: [{targets: [[]]}]}]",
                          "c.yml:1:60: a target must be HOST:PORT");
    assert_config_refused("scrape_configs: [{job_name: a, static_configs: [x]}]",
                          "c.yml:1:49: a group of targets must be a mapping with \"targets\"");
    assert_config_refused("scrape_configs: [{job_name: a, profiling_config: {path_prefix: '/a b'}}]",
                          "c.yml:1:64: pprof's path must be the path of a URL");
    assert_config_refused("scrape_configs: [{job_name: a, params: [x]}]",
                          "c.yml:1:40: params must be a mapping");
    assert_config_refused("scrape_configs: [{job_name: a, params: {x: {y: z}}}]",
                          "c.yml:1:44: a parameter must be text, or a list of texts");
    assert_config_refused("a: &x 1\n", "c.yml:1:4: anchors and aliases are not allowed");
}

/* ---- services ---------------------------------------------------------------------------------------- */

#define HEAD                                                                                                 \
    "version: 1\n"                                                                                           \
    "services:\n"                                                                                            \
    "  gitaly: { port: 9236, kinds: [heap], path: /p, hint: h }\n"                                           \
    "  secret: { port: 1, auth: { bearer_env: T } }\n"                                                       \
    "  pinned: { port: 1, host: localhost, auth: { bearer_env: T } }\n"                                      \
    "  socket: { unix: /s }\n"                                                                               \
    "hosts:\n"                                                                                               \
    "  file-03: { address: ops@File-03.example }\n"                                                          \
    "  file-04: { address: 10.0.0.4, services: [gitaly] }\n"                                                 \
    "  six: { address: '2001:db8:0::7' }\n"                                                                  \
    "discovery:\n"

static struct inventory *inventory_of(const char *entries)
{
    struct inventory *inv = NULL;
    struct err err = ERR_INIT;
    char *text = format_text(HEAD "%s", entries);
    assert_ok(inventory_parse("inv.yaml", str_of(text), NULL, &inv, &err), &err);
    free(text);
    return inv;
}

/* A discovery with its inventory. */
struct setup {
    struct inventory *inventory;
    struct targets targets;
    struct discovery discovery;
};

static struct setup *make_setup(const char *entries)
{
    struct setup *setup = calloc(1, sizeof *setup);
    assert_non_null(setup);
    setup->inventory = inventory_of(entries);
    setup->discovery = (struct discovery)DISCOVERY_INIT(setup->inventory, &setup->targets);
    return setup;
}

static void setup_free(struct setup *setup)
{
    discovery_release(&setup->discovery);
    targets_release(&setup->targets);
    inventory_free(setup->inventory);
    free(setup);
}

/* Adds these groups as the answer of the inventory's source with index i. */
static int discover_groups(struct setup *setup, size_t i, const char *groups, struct discovered_counts *ret,
                           struct err *err)
{
    size_t n = 0;
    struct discovered found = {0};
    struct source_use *use = NULL;
    const struct source *const *sources = inventory_sources(setup->inventory, &n);
    assert_true(i < n);
    assert_ok(read_in_pieces(SOURCE_HTTP_SD, 100, groups, strlen(groups), &found, err), err);
    assert_ok(targets_use_source(&setup->targets, sources[i], &use, err), err);
    int rc = discovery_add(&setup->discovery, use, &found, ret, err);
    discovered_release(&found);
    return rc;
}

/* `expected` has `host/service destination:port path; ` of each service. */
static void assert_services(const struct setup *setup, const char *expected)
{
    size_t n = 0;
    struct buf b = BUF_INIT(65536);
    const struct host *const *hosts = inventory_hosts(setup->inventory, &n);
    const struct service *s;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; (s = targets_service_at(&setup->targets, hosts[i], k)); k++)
            buf_addf(&b, "%s/%s %s:%u %s; ", hosts[i]->name, s->name, s->host, s->port, s->path);
    assert_string_equal(buf_str(&b), expected);
    buf_release(&b);
}

static void assert_discovered(const char *entry, const char *groups, struct discovered_counts expected,
                              const char *services)
{
    struct setup *setup = make_setup(entry);
    struct discovered_counts d = {0};
    struct err err = ERR_INIT;
    assert_ok(discover_groups(setup, 0, groups, &d, &err), &err);
    assert_ok(discovery_finish(&setup->discovery, &err), &err);
    assert_services(setup, services);
    assert_int_equal(d.n, expected.n);
    assert_int_equal(d.with_host, expected.with_host);
    assert_int_equal(d.in_inventory, expected.in_inventory);
    assert_int_equal(d.loopback, expected.loopback);
    assert_int_equal(d.unmatched, expected.unmatched);
    assert_int_equal(d.withheld, expected.withheld);
    setup_free(setup);
}

#define PLAIN_HTTP_SD "  - http_sd: http://x.example/\n"
#define GITALY_OF_INVENTORY "file-04/gitaly localhost:9236 /p; "

static void targets_are_matched_to_hosts_of_the_inventory_only(void **state)
{
    (void)state;
    assert_discovered(
        PLAIN_HTTP_SD,
        "[{\"targets\":[\"FILE-03.example.:1\",\"[2001:db8::0:7]:2\",\"other:3\"],\"labels\":{\"job\":"
        "\"a/b c\"}}]",
        (struct discovered_counts){.n = 3, .with_host = 2, .unmatched = 1},
        "file-03/a-b-c file-03.example:1 /debug/pprof; " GITALY_OF_INVENTORY
        "six/a-b-c 2001:db8::7:2 /debug/pprof; ");
    /* Without a job, the service gets the source's name. Services of the inventory stay. */
    assert_discovered("  - { http_sd: 'http://x/', name: found }\n",
                      "[{\"targets\":[\"file-03.example:1\"]}]",
                      (struct discovered_counts){.n = 1, .with_host = 1},
                      "file-03/found file-03.example:1 /debug/pprof; " GITALY_OF_INVENTORY);
    assert_discovered("  - { http_sd: 'http://x/', service: gitaly }\n",
                      "[{\"targets\":[\"file-03.example:1\",\"10.0.0.4:2\"],\"labels\":{\"job\":\"j\"}}]",
                      (struct discovered_counts){.n = 2, .with_host = 2, .in_inventory = 1},
                      "file-03/gitaly file-03.example:1 /p; " GITALY_OF_INVENTORY);
    assert_discovered("  - { http_sd: 'http://x/', job: [b, c] }\n",
                      "[{\"targets\":[\"file-03.example:1\"],\"labels\":{\"job\":\"a\"}},"
                      "{\"targets\":[\"file-03.example:2\"],\"labels\":{\"job\":\"b\"}}]",
                      (struct discovered_counts){.n = 1, .with_host = 1},
                      "file-03/b file-03.example:2 /debug/pprof; " GITALY_OF_INVENTORY);
}

static void targets_match_hosts_by_an_expression(void **state)
{
    (void)state;
    assert_discovered(
        "  - { http_sd: 'http://x/', match: '^(file-[0-9]+)-stor' }\n",
        "[{\"targets\":[\"file-03-stor.long.example:1\",\"file-99-stor:1\",\"10.0.0.4:5\"],\"labels\":{"
        "\"job\":\"a\"}}]",
        (struct discovered_counts){.n = 3, .with_host = 2, .unmatched = 1},
        "file-03/a file-03-stor.long.example:1 /debug/pprof; " GITALY_OF_INVENTORY
        "file-04/a 10.0.0.4:5 /debug/pprof; ");
    assert_discovered("  - { http_sd: 'http://x/', match: 'six' }\n",
                      "[{\"targets\":[\"a.six.b:1\"],\"labels\":{\"job\":\"a\"}}]",
                      (struct discovered_counts){.n = 1, .with_host = 1},
                      GITALY_OF_INVENTORY "six/a a.six.b:1 /debug/pprof; ");
}

static void slow_matches_are_refused(void **state)
{
    (void)state;
    struct setup *setup = make_setup("  - { http_sd: 'http://x/', match: '([a-z0-9]+[0-9]+)-stor' }\n"
                                     "  - http_sd: 'http://y/'\n");
    struct discovered_counts d = {0};
    struct err err = ERR_INIT;
    struct buf groups = BUF_INIT(65536);
    /* A host is found first. Each further address takes more than a millisecond. */
    buf_adds(&groups, "[{\"targets\":[\"file-04-stor:1\",\"10.0.0.4:1\"");
    for (int i = 0; i < 100; i++)
        buf_addf(&groups, ",\"%0240dr:1\"", 0);
    buf_adds(&groups, "],\"labels\":{\"job\":\"j\"}}]");
    setup->discovery.max_match_ms = 2;
    assert_int_equal(discover_groups(setup, 0, buf_str(&groups), &d, &err), -1);
    assert_int_equal(err.kind, ERR_LIMIT);
    assert_string_equal(
        err.msg, "searching its 102 targets for hosts by `match` takes more than 1 s of processor time");
    assert_non_null(strstr(err.hint, "begin `match` with ^"));
    /* The other source has the same targets, and no `match`. */
    err = (struct err)ERR_INIT;
    assert_ok(discover_groups(setup, 1, buf_str(&groups), &d, &err), &err);
    assert_int_equal(d.with_host, 1);
    assert_ok(discovery_finish(&setup->discovery, &err), &err);
    assert_services(setup, "file-04/gitaly localhost:9236 /p; file-04/j 10.0.0.4:1 /debug/pprof; ");
    /* 100 such addresses are within the limit of a run. */
    setup->discovery.max_match_ms = DISCOVERY_MATCH_MS;
    assert_ok(discover_groups(setup, 0, buf_str(&groups), &d, &err), &err);
    assert_int_equal(d.n, 102);
    buf_release(&groups);
    setup_free(setup);
}

/* A secret goes only to the host's own address, or to a destination that the inventory names. */
static void a_secret_is_sent_only_to_addresses_of_the_inventory(void **state)
{
    (void)state;
    const char *groups =
        "[{\"targets\":[\"file-03.evil.example:1\",\"file-03.example:2\"],\"labels\":{\"job\":\"a\"}}]";
    assert_discovered("  - { http_sd: 'http://x/', service: secret, match: '^(file-[0-9]+)' }\n", groups,
                      (struct discovered_counts){.n = 2, .with_host = 2, .withheld = 1},
                      "file-03/secret file-03.example:2 /debug/pprof; " GITALY_OF_INVENTORY);
    assert_discovered("  - { http_sd: 'http://x/', service: pinned, match: '^(file-[0-9]+)' }\n", groups,
                      (struct discovered_counts){.n = 2, .with_host = 2},
                      "file-03/pinned-1 localhost:1 /debug/pprof; file-03/pinned-2 localhost:2 "
                      "/debug/pprof; " GITALY_OF_INVENTORY);
}

static void targets_on_loopback_belong_to_the_sources_host(void **state)
{
    (void)state;
    const char *groups =
        "[{\"targets\":[\"127.0.0.1:6060\",\"[::1]:6061\",\"localhost:6062\"],\"labels\":{\"job\":\"a\"}}]";
    assert_discovered("  - { http_sd: 'http://x/', host: six }\n", groups,
                      (struct discovered_counts){.n = 3, .with_host = 3},
                      GITALY_OF_INVENTORY
                      "six/a-6060 127.0.0.1:6060 /debug/pprof; six/a-6061 ::1:6061 /debug/pprof; "
                      "six/a-6062 localhost:6062 /debug/pprof; ");
    assert_discovered(PLAIN_HTTP_SD,
                      "[{\"targets\":[\"127.0.0.1:1\",\"file-03.example:2\"],\"labels\":{\"job\":\"a\"}}]",
                      (struct discovered_counts){.n = 2, .with_host = 1, .loopback = 1},
                      "file-03/a file-03.example:2 /debug/pprof; " GITALY_OF_INVENTORY);
    struct setup *setup = make_setup(PLAIN_HTTP_SD);
    struct discovered_counts d = {0};
    struct err err = ERR_INIT;
    assert_refused(discover_groups(setup, 0, groups, &d, &err), &err, ERR_USAGE,
                   "the source's targets are on loopback (127.0.0.1 port 6060, job \"a\"), and its entry "
                   "does not name their host");
    assert_contains(err.hint, "add `host: NAME`");
    setup_free(setup);
}

/* Names do not depend on the order of the targets. */
static void several_ports_of_one_job_have_names_with_ports(void **state)
{
    (void)state;
    const char *orders[] = {
        "[{\"targets\":[\"file-03.example:9\",\"file-03.example:10\",\"file-03.example:9\"],\"labels\":{"
        "\"job\":\"a\"}}]",
        "[{\"targets\":[\"file-03.example:10\",\"file-03.example:9\"],\"labels\":{\"job\":\"a\"}}]"};
    for (int i = 0; i < 2; i++)
        assert_discovered(PLAIN_HTTP_SD, orders[i],
                          (struct discovered_counts){.n = i ? 2 : 3, .with_host = i ? 2 : 3},
                          "file-03/a-9 file-03.example:9 /debug/pprof; file-03/a-10 file-03.example:10 "
                          "/debug/pprof; " GITALY_OF_INVENTORY);
    /* The name of a job equals a generated name of another job. */
    assert_discovered(
        PLAIN_HTTP_SD,
        "[{\"targets\":[\"file-03.example:9\",\"file-03.example:10\"],\"labels\":{\"job\":\"a\"}},"
        "{\"targets\":[\"file-03.example:99\"],\"labels\":{\"job\":\"a-9\"}}]",
        (struct discovered_counts){.n = 3, .with_host = 3},
        "file-03/a-9 file-03.example:9 /debug/pprof; file-03/a-10 file-03.example:10 "
        "/debug/pprof; file-03/a-9-99 file-03.example:99 /debug/pprof; " GITALY_OF_INVENTORY);
}

/* `services` NULL: all. `expected` has `host/service:port ` of each selected target, then `error | hint`. */
static void assert_selected(struct setup *setup, const char *hosts, const char *services,
                            const char *expected)
{
    struct selection sel = {0};
    struct targets *t = &setup->targets;
    size_t from = t->n;
    struct err err = ERR_INIT;
    struct buf b = BUF_INIT(4096);
    assert_ok(strlist_split(&sel.hosts, hosts, &err), &err);
    if (services)
        assert_ok(strlist_split(&sel.services, services, &err), &err);
    int rc = inventory_select(setup->inventory, &sel, t, &err);
    for (size_t i = from; i < t->n; i++)
        buf_addf(&b, "%s/%s:%u ", t->items[i].host->name, t->items[i].service->name,
                 t->items[i].service->port);
    if (rc < 0)
        buf_addf(&b, "%s | %s", err.msg, err.hint);
    assert_string_equal(buf_str(&b), expected);
    buf_release(&b);
    strlist_release(&sel.hosts);
    strlist_release(&sel.services);
}

static void discovered_services_are_selected_by_name(void **state)
{
    (void)state;
    struct setup *setup = make_setup("  - { http_sd: 'http://x/', service: gitaly }\n" PLAIN_HTTP_SD);
    struct discovered_counts d = {0};
    struct err err = ERR_INIT;
    assert_ok(
        discover_groups(setup, 0, "[{\"targets\":[\"file-03.example:1\",\"file-03.example:2\"]}]", &d, &err),
        &err);
    assert_ok(
        discover_groups(setup, 1, "[{\"targets\":[\"10.0.0.4:7\"],\"labels\":{\"job\":\"web\"}}]", &d, &err),
        &err);
    assert_ok(discovery_finish(&setup->discovery, &err), &err);
    assert_selected(setup, "file-03", NULL, "file-03/gitaly-1:1 file-03/gitaly-2:2 ");
    assert_selected(setup, "file-03", "gitaly", "file-03/gitaly-1:1 file-03/gitaly-2:2 ");
    assert_selected(setup, "file-03", "gitaly-2,gitaly", "file-03/gitaly-2:2 file-03/gitaly-1:1 ");
    assert_selected(setup, "file-04", NULL, "file-04/gitaly:9236 file-04/web:7 ");
    assert_selected(setup, "six", "gitaly", "six/gitaly:9236 ");
    assert_selected(setup, "six", "web",
                    "host \"six\" has no service \"web\": sources list this service only for other hosts | "
                    "--exclude six skips "
                    "the host; `profgrab hosts` shows the services of each host");
    assert_string_equal(targets_discovered_name(&setup->targets, 0), "gitaly-1");
    assert_string_equal(targets_discovered_name(&setup->targets, 1), "gitaly-2");
    assert_string_equal(targets_discovered_name(&setup->targets, 2), "web");
    assert_null(targets_discovered_name(&setup->targets, 3));
    assert_selected(setup, "file-04", "wob", "unknown service \"wob\" | did you mean \"web\"?");
    size_t n = 0;
    assert_ok(targets_note_failed_source(&setup->targets, inventory_sources(setup->inventory, &n)[0],
                                         "no answer", &err),
              &err);
    assert_selected(
        setup, "six", NULL,
        "host \"six\" has no services | the service may be in a source that failed: http_sd: no answer");
    assert_selected(
        setup, "file-04", "wob",
        "unknown service \"wob\" | the service may be in a source that failed: http_sd: no answer");
    setup_free(setup);
}

/* Services of a job with several ports are named JOB-PORT. If such a name is also the name of a job, the
 * service of that job gets its port too. */
static void a_job_named_like_a_service_of_another_job_gets_its_port_too(void **state)
{
    (void)state;
    struct setup *setup = make_setup("  - { http_sd: 'http://x/' }\n" PLAIN_HTTP_SD);
    struct discovered_counts d = {0};
    struct err err = ERR_INIT;
    assert_ok(
        discover_groups(
            setup, 0,
            "[{\"targets\":[\"file-03.example:1\",\"file-03.example:7\"],\"labels\":{\"job\":\"web\"}},"
            "{\"targets\":[\"file-03.example:1\",\"file-03.example:2\"],\"labels\":{\"job\":\"web-1\"}},"
            "{\"targets\":[\"file-03.example:9\"],\"labels\":{\"job\":\"web-1-2\"}}]",
            &d, &err),
        &err);
    assert_ok(discovery_finish(&setup->discovery, &err), &err);
    assert_selected(
        setup, "file-03", NULL,
        "file-03/web-1:1 file-03/web-7:7 file-03/web-1-1:1 file-03/web-1-2:2 file-03/web-1-2-9:9 ");
    setup_free(setup);
}

/* ---- entries of the inventory ------------------------------------------------------------------------ */

static void assert_entry_refused(const char *entry, const char *message, const char *hint)
{
    struct inventory *inv = NULL;
    struct err err = ERR_INIT;
    char *text = format_text(HEAD "  - %s\n", entry);
    assert_refused(inventory_parse("inv.yaml", str_of(text), NULL, &inv, &err), &err, ERR_USAGE, message);
    assert_contains(err.hint, hint);
    free(text);
}

static void invalid_discovery_entries_are_refused(void **state)
{
    (void)state;
#define AT "inv.yaml:12:"
    assert_entry_refused("x", AT "5: an entry must be a mapping, as in { prometheus: URL }", "");
    assert_entry_refused("{ job: a }", AT "5: an entry names no source", "prometheus, http_sd");
    assert_entry_refused("{ promethus: 'http://x/' }", AT "7: unknown key \"promethus\"", "\"prometheus\"");
    assert_entry_refused("{ parca: a, file_sd: b }", AT "17: \"parca\" and \"file_sd\" are two sources", "");
    assert_entry_refused("{ prometheus: 'ftp://x/' }",
                         AT "19: it must be http://HOST[:PORT][/PATH] or https://...", "");
    assert_entry_refused("{ prometheus: 'http://u:p@x/' }",
                         AT "19: it must be http://HOST[:PORT][/PATH] or https://...", "`auth:`");
    assert_entry_refused("{ prometheus: 'http://x/', service: gitali }", AT "41: unknown service \"gitali\"",
                         "gitaly");
    assert_entry_refused("{ prometheus: 'http://x/', service: socket }",
                         AT "41: service \"socket\" listens on a Unix socket", "port");
    assert_entry_refused("{ prometheus: 'http://x/', host: file-3 }", AT "38: unknown host \"file-3\"",
                         "file-03");
    assert_entry_refused("{ prometheus: 'http://x/', through: nobody }", AT "41: unknown host \"nobody\"",
                         "");
    assert_entry_refused("{ parca: x, through: six }", AT "17: \"through\" has no meaning with \"parca\"",
                         "");
    assert_entry_refused("{ parca: x, max_age: 1h }", AT "17: \"max_age\" has no meaning with \"parca\"", "");
    assert_entry_refused("{ prometheus: 'http://x/', tls: { insecure: true } }",
                         AT "32: \"tls\" has no meaning without https://", "");
    assert_entry_refused("{ prometheus: 'http://x/', token: abc }",
                         AT "32: \"token\" would contain the secret itself", "");
    assert_entry_refused("{ prometheus: 'http://x/', match: '(' }",
                         AT "39: match is no regular expression: missing closing parenthesis, at character 2",
                         "");
    assert_entry_refused("{ prometheus: 'http://x/', max_age: soon }",
                         AT "41: \"soon\" is not a duration: write 30s, 2m, 1m30s or a number of seconds",
                         "");
    assert_entry_refused("{ prometheus: 'http://x/', job: [] }",
                         AT "37: job must be the name of a job, or a list of names", "");
    assert_entry_refused("{ parca: x, name: a }\n  - { parca: y, name: a }",
                         "inv.yaml:13:5: source \"a\" is defined twice, first in line 12", "");
}

static void assert_source_url(struct setup *setup, const char *text, const char *host, unsigned port,
                              const char *path)
{
    struct source_use *use = NULL;
    struct err err = ERR_INIT;
    assert_ok(targets_find_source(setup->inventory, &setup->targets, text, &use, &err), &err);
    const struct source *s = use->source;
    assert_string_equal(s->endpoint->host, host);
    assert_int_equal(s->endpoint->port, port);
    assert_string_equal(s->endpoint->path, path);
}

static void each_source_is_used_once_and_has_a_name(void **state)
{
    (void)state;
    size_t n = 0;
    struct source_use *use = NULL, *again = NULL;
    struct err err = ERR_INIT;
    struct setup *setup =
        make_setup("  - prometheus: https://p.example/prom/\n  - prometheus: http://p:9090\n"
                   "  - { prometheus: 'http://q', name: q, max_age: 1h }\n"
                   "  - { parca: tests/unit/../unit/unit.h, host: six }\n");
    const struct source *const *all = inventory_sources(setup->inventory, &n);
    assert_int_equal(n, 4);
    assert_string_equal(all[0]->name, "prometheus");
    assert_string_equal(all[1]->name, "prometheus-2");
    assert_int_equal(all[2]->max_age_ms, 3600000);
    assert_source_url(setup, "prometheus", "p.example", 443, "/prom/api/v1/targets?state=active");
    assert_source_url(setup, "prometheus:http://p:9090", "p", 9090, "/api/v1/targets?state=active");
    assert_source_url(setup, "q", "q", 80, "/api/v1/targets?state=active");
    /* The fourth entry names the same file. */
    assert_ok(targets_find_source(setup->inventory, &setup->targets, "parca:tests/unit/unit.h", &use, &err),
              &err);
    assert_ptr_equal(use->source, all[3]);
    inventory_sources(setup->inventory, &n);
    assert_int_equal(n, 4);
    /* An address copied from a browser. */
    assert_source_url(setup, "prometheus:http://[::1]:9090/targets?search=", "::1", 9090,
                      "/api/v1/targets?state=active");
    assert_source_url(setup, "http_sd:http://x/sd?env=a", "x", 80, "/sd?env=a");
    assert_source_url(setup, "http_sd:http://x", "x", 80, "/");
    /* The same text names the same source. */
    assert_ok(targets_find_source(setup->inventory, &setup->targets, "http_sd:http://x", &use, &err), &err);
    assert_ok(targets_find_source(setup->inventory, &setup->targets, "http_sd:http://x", &again, &err), &err);
    assert_ptr_equal(use, again);
    assert_string_equal(use->source->name, "http_sd-2");
    assert_refused(targets_find_source(setup->inventory, &setup->targets, "promethus", &use, &err), &err,
                   ERR_USAGE, "unknown source \"promethus\"");
    assert_contains(err.hint, "prometheus");
    assert_refused(targets_find_source(setup->inventory, &setup->targets, "http_sd:x", &use, &err), &err,
                   ERR_USAGE, "http_sd: it must be http://HOST[:PORT][/PATH] or https://...");
    setup_free(setup);
}

/* ---- cached answers ---------------------------------------------------------------------------------- */

static const struct source *first_source(struct inventory *inv)
{
    size_t n = 0;
    return inventory_sources(inv, &n)[0];
}

static void cache_answer(const struct source *s)
{
    const char *text = "[{\"targets\":[\"h:1\"],\"labels\":{\"job\":\"a\"}}]";
    struct discovered found = {.at = 1700000000000};
    struct err err = ERR_INIT;
    assert_ok(read_in_pieces(SOURCE_HTTP_SD, 100, text, strlen(text), &found, &err), &err);
    assert_ok(discovery_cache_store(s, NULL, &found, &err), &err);
    discovered_release(&found);
}

/* Returns the path of the only file in the cache, a new string. */
static char *find_cached_file(const char *dir)
{
    char *below = file_join(dir, "cache/profgrab"), *ret = NULL;
    DIR *d = opendir(below);
    assert_non_null(d);
    for (const struct dirent *e; (e = readdir(d));)
        if (*e->d_name != '.') {
            assert_null(ret);
            ret = file_join(below, e->d_name);
        }
    closedir(d);
    free(below);
    assert_non_null(ret);
    return ret;
}

static void assert_cache_not_used(const struct source *s, const char *why)
{
    struct discovered found = {0};
    struct err err = ERR_INIT;
    assert_int_equal(discovery_cache_load(s, NULL, &found, &err), -1);
    assert_contains(err.msg, why);
    assert_null(found.targets);
}

static void a_cached_answer_is_used_only_if_private_and_intact(void **state)
{
    char *cache = file_join(*state, "cache");
    setenv("XDG_CACHE_HOME", cache, 1);
    struct inventory *inv = inventory_of(PLAIN_HTTP_SD),
                     *other = inventory_of("  - { http_sd: 'http://x.example/', auth: { "
                                           "bearer_env: T } }\n");
    const struct source *s = first_source(inv);
    struct discovered found = {0};
    struct err err = ERR_INIT;
    assert_cache_not_used(s, "the cache has no answer");
    cache_answer(s);
    assert_ok(discovery_cache_load(s, NULL, &found, &err), &err);
    assert_targets(&found, "a h 1; ");
    assert_true(found.at == 1700000000000);
    discovered_release(&found);
    /* The name of the cache file depends on the credentials. */
    assert_cache_not_used(first_source(other), "the cache has no answer");
    char *path = find_cached_file(*state), *dir = file_dir(path);
    assert_int_equal(scratch_mode(path), 0600);
    assert_int_equal(scratch_mode(dir), 0700);
    assert_int_equal(chmod(path, 0620), 0);
    assert_cache_not_used(s, "that only you can change");
    assert_int_equal(chmod(path, 0600), 0);
    char *second = file_join(*state, "second-name");
    assert_int_equal(link(path, second), 0);
    assert_cache_not_used(s, "a file with one name");
    assert_int_equal(unlink(second), 0);
    free(second);
    assert_int_equal(chmod(dir, 0770), 0);
    assert_cache_not_used(s, "that only you can change");
    assert_int_equal(chmod(dir, 0700), 0);
    struct buf b = scratch_read(path);
    for (size_t i = 0; i < b.len; i++) {
        b.data[i] ^= 1;
        assert_ok(file_remove(path, &err), &err);
        char *again = scratch_file(dir, file_base(path), b.data, b.len);
        assert_cache_not_used(s, "damaged: not used");
        b.data[i] ^= 1;
        free(again);
    }
    buf_release(&b);
    free(path);
    free(dir);
    free(cache);
    inventory_free(inv);
    inventory_free(other);
}

/* The name of the cache file depends on the kind, the address and the credentials. */
static void a_cached_answer_belongs_to_one_source_and_its_credentials(void **state)
{
    static const char *const sources[] = {
        "http_sd: 'http://x.example/'",
        "http_sd: 'http://x.example/other'",
        "prometheus: 'http://x.example/'",
        "http_sd: 'http://x.example/', auth: { bearer_env: T }",
        "http_sd: 'http://x.example/', auth: { bearer_env: U }",
        "http_sd: 'http://x.example/', auth: { bearer_file: /T }",
        "http_sd: 'http://x.example/', auth: { user: ann, password_env: T }",
        "http_sd: 'http://x.example/', auth: { user: bob, password_env: T }",
    };
    enum { N = sizeof sources / sizeof *sources };
    struct inventory *inventories[N];
    char *cache = file_join(*state, "cache");
    setenv("XDG_CACHE_HOME", cache, 1);
    for (size_t i = 0; i < N; i++) {
        char *line = format_text("  - { %s }\n", sources[i]);
        inventories[i] = inventory_of(line);
        free(line);
    }
    for (size_t stored = 0; stored < N; stored++) {
        struct discovered found = {0};
        cache_answer(first_source(inventories[stored]));
        for (size_t i = 0; i < N; i++) {
            assert_int_equal(discovery_cache_load(first_source(inventories[i]), NULL, &found, NULL),
                             i == stored ? 0 : -1);
            discovered_release(&found);
        }
        char *path = find_cached_file(*state);
        assert_ok(file_remove(path, &(struct err)ERR_INIT), &(struct err)ERR_INIT);
        free(path);
    }
    for (size_t i = 0; i < N; i++)
        inventory_free(inventories[i]);
    free(cache);
}

/* The name of the cache file depends on the server name and the TLS settings. */
static void a_cached_answer_belongs_to_one_tls_server(void **state)
{
    static char x[] = "x";
    const struct service_tls servers[] = {{0},        {.ca = x},          {.cert = x},
                                          {.key = x}, {.server_name = x}, {.insecure = true}};
    enum { N = sizeof servers / sizeof *servers };
    char *cache = file_join(*state, "cache");
    setenv("XDG_CACHE_HOME", cache, 1);
    struct inventory *inv = inventory_of(PLAIN_HTTP_SD);
    struct source s = *first_source(inv);
    struct service endpoint = *s.endpoint;
    struct err err = ERR_INIT;
    s.endpoint = &endpoint;
    for (size_t stored = 0; stored < N; stored++) {
        struct discovered found = {.at = 1700000000000};
        endpoint.tls = servers[stored];
        assert_ok(discovery_cache_store(&s, NULL, &found, &err), &err);
        discovered_release(&found);
        for (size_t i = 0; i < N; i++) {
            endpoint.tls = servers[i];
            assert_int_equal(discovery_cache_load(&s, NULL, &found, NULL), i == stored ? 0 : -1);
            discovered_release(&found);
        }
        char *path = find_cached_file(*state);
        assert_ok(file_remove(path, &err), &err);
        free(path);
    }
    free(cache);
    inventory_free(inv);
}

/* A cached answer is used only for a connection with the same host and the same SSH settings. */
static void a_cached_answer_belongs_to_one_connection(void **state)
{
    static char ann[] = "ann", nobody[] = "", k[] = "/k";
    const struct ssh_settings settings[] = {
        {0},
        {.user = ann},
        {.user = nobody},
        {.port = 2222},
        {.identity = k},
        {.known_hosts = k},
        {.jump = k},
        {.agent = k},
        {.config = k},
        {.via = SSH_VIA_OPENSSH},
        {.accept_new = true},
    };
    enum { N = sizeof settings / sizeof *settings };
    static char name[] = "name", address[] = "10.0.0.5", other[] = "10.0.0.6";
    char *cache = file_join(*state, "cache");
    setenv("XDG_CACHE_HOME", cache, 1);
    struct inventory *inv = inventory_of(PLAIN_HTTP_SD);
    struct source s = *first_source(inv);
    struct err err = ERR_INIT;
    /* The first N indexes are settings of the inventory, the others settings of the command line. The indexes
     * 0 and N are equal: no settings. */
    for (size_t stored = 0; stored < 2 * N; stored++) {
        struct host host = {.name = name, .address = address, .ssh = settings[stored < N ? stored : 0]};
        s.through = &host;
        struct discovered found = {.at = 1700000000000};
        assert_ok(discovery_cache_store(&s, &settings[stored < N ? 0 : stored - N], &found, &err), &err);
        discovered_release(&found);
        for (size_t i = 0; i < 2 * N; i++) {
            host.ssh = settings[i < N ? i : 0];
            int rc = discovery_cache_load(&s, &settings[i < N ? 0 : i - N], &found, &err);
            assert_int_equal(rc, i % N == stored % N && (i == stored || i % N == 0) ? 0 : -1);
            discovered_release(&found);
        }
        host.ssh = settings[stored < N ? stored : 0];
        host.address = other;
        assert_int_equal(discovery_cache_load(&s, &settings[stored < N ? 0 : stored - N], &found, NULL), -1);
        host.address = address;
        host.direct = true;
        assert_int_equal(discovery_cache_load(&s, &settings[stored < N ? 0 : stored - N], &found, NULL), -1);
        char *path = find_cached_file(*state);
        assert_ok(file_remove(path, &err), &err);
        free(path);
    }
    free(cache);
    inventory_free(inv);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(targets_of_prometheus_are_read),
        cmocka_unit_test(invalid_answers_of_prometheus_are_refused),
        cmocka_unit_test(too_deep_answers_and_too_long_strings_are_refused),
        cmocka_unit_test(targets_of_http_sd_are_read),
        cmocka_unit_test(groups_with_the_same_long_or_unprintable_name_share_a_job),
        cmocka_unit_test(secrets_are_masked_in_jobs_and_notes),
        cmocka_unit_test(labels_of_targets_are_read),
        cmocka_unit_test(labels_of_each_source_are_read),
        cmocka_unit_test(labels_beyond_the_limits_are_ignored),
        cmocka_unit_test(written_targets_are_read_back),
        cmocka_unit_test(damaged_answers_are_read_or_refused_with_a_message),
        cmocka_unit_test(a_parca_configuration_is_read),
        cmocka_unit_test(paths_of_a_parca_configuration_are_read),
        SCRATCH(a_prometheus_configuration_is_read),
        SCRATCH(all_files_of_a_source_have_one_limit_of_targets),
        SCRATCH(only_the_last_component_of_a_file_is_a_pattern),
        SCRATCH(a_directory_with_glob_characters_is_no_pattern),
        cmocka_unit_test(invalid_configurations_are_refused),
        cmocka_unit_test(targets_are_matched_to_hosts_of_the_inventory_only),
        cmocka_unit_test(targets_match_hosts_by_an_expression),
        cmocka_unit_test(slow_matches_are_refused),
        cmocka_unit_test(a_secret_is_sent_only_to_addresses_of_the_inventory),
        cmocka_unit_test(targets_on_loopback_belong_to_the_sources_host),
        cmocka_unit_test(several_ports_of_one_job_have_names_with_ports),
        cmocka_unit_test(discovered_services_are_selected_by_name),
        cmocka_unit_test(a_job_named_like_a_service_of_another_job_gets_its_port_too),
        cmocka_unit_test(invalid_discovery_entries_are_refused),
        cmocka_unit_test(each_source_is_used_once_and_has_a_name),
        SCRATCH(a_cached_answer_is_used_only_if_private_and_intact),
        SCRATCH(a_cached_answer_belongs_to_one_connection),
        SCRATCH(a_cached_answer_belongs_to_one_source_and_its_credentials),
        SCRATCH(a_cached_answer_belongs_to_one_tls_server),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
