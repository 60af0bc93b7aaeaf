/* The summary of a bundle in an issue's note: it has complete lines only, and reports a cut. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "handoff/summary.h"
#include "tests/unit/unit.h"
#include "tests/unit/capture.h"
#include "base/banned.h"

#define CUT "... cut because of its length: the rest is in the bundle's README.md\n"

/* The contents of a bundle. */
struct contents {
    size_t n_services, n_findings; /* services of the host file-03; findings on its first service */
    size_t n_unreachable;          /* further hosts */
    const char *reason;
    const char *error; /* the error of the host file-03, or NULL */
};

static char *make_bundle(const char *dir, const struct contents *contents)
{
    struct capture c;
    struct err err = ERR_INIT;
    struct manifest_finding findings[200];
    char *path = NULL, name[32], *output = file_join(dir, "b.tar.gz");
    struct manifest_info info = {.name = "b",
                                 .version = "0",
                                 .user = "carol",
                                 .workstation = "ws",
                                 .reason = contents->reason,
                                 .started = WHEN};
    struct manifest_host host = {.name = "file-03", .route = "ssh", .error = contents->error};
    assert_ok(workdir_new(output, "x", WHEN, &c.w, &err), &err);
    assert_ok(manifest_new(&info, &c.m, &err), &err);
    assert_ok(manifest_add_host(c.m, &host, &err), &err);
    for (size_t i = 0; i < contents->n_findings; i++)
        findings[i] = (struct manifest_finding){.rule = "rule", .text = format_text("finding %zu.", i)};
    for (size_t i = 0; i < contents->n_services; i++) {
        struct manifest_service s = {.host = "file-03", .name = name, .findings = findings};
        s.n_findings = i == 0 ? contents->n_findings : 0;
        snprintf(name, sizeof name, "s%zu.", i);
        assert_ok(manifest_add_service(c.m, &s, &err), &err);
    }
    for (size_t i = 0; i < contents->n_unreachable; i++) {
        struct manifest_host lost = {
            .name = name, .route = "ssh", .error = "connection refused: it is an end-to-end failure"};
        snprintf(name, sizeof name, "lost-%zu", i);
        assert_ok(manifest_add_host(c.m, &lost, &err), &err);
    }
    assert_ok(manifest_finish(c.m, WHEN + 1000, false, true, &err), &err);
    assert_ok(bundle_pack(c.w, c.m, -1, &path, &err), &err);
    for (size_t i = 0; i < contents->n_findings; i++)
        free((char *)(uintptr_t)findings[i].text);
    capture_release(&c);
    free(output);
    return path;
}

static char *summary_of(void **state, const struct contents *contents)
{
    struct summary d = {0};
    struct err err = ERR_INIT;
    char *path = make_bundle(*state, contents), *manifest = NULL;
    assert_ok(bundle_read_manifest(path, NULL, &manifest, &err), &err);
    assert_ok(summary_read(manifest, true, &d, &err), &err);
    assert_contains(d.reading, "profgrab view -i KEY FILE\n");
    assert_contains(d.reading, "profgrab bundle verify -i KEY FILE\n");
    assert_contains(d.reading, "profgrab pprof -top PROFILE\n");
    assert_contains(d.reading, "go tool pprof PROFILE\n");
    char *summary = strdup(d.text);
    assert_non_null(summary);
    summary_release(&d);
    assert_int_equal(unlink(path), 0);
    free(manifest);
    free(path);
    return summary;
}

static void a_full_summary_names_each_part(void **state)
{
    char *s = summary_of(state, &(struct contents){.n_services = 50,
                                                   .n_findings = 30,
                                                   .n_unreachable = 2,
                                                   .reason = "slow pushes",
                                                   .error = "down"});
    assert_contains(s, "Collected by carol on ws, ");
    assert_contains(s, "Reason: slow pushes\n");
    assert_contains(s, "s0.: finding 29.\n");
    assert_contains(s, "file-03, s49.: ");
    assert_contains(s, "lost-1: nothing: connection refused");
    assert_contains(s, "file-03: nothing more: down\n");
    assert_null(strstr(s, "cut because of its length"));
    free(s);
}

static void many_lines_of_one_host_are_cut(void **state)
{
    const struct contents rows[] = {{.n_services = 51}, {.n_services = 1, .n_findings = 31}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *s = summary_of(state, &rows[i]);
        assert_null(strstr(s, "s50."));
        assert_null(strstr(s, "finding 30."));
        assert_true(text_ends_in(s, "\n" CUT));
        free(s);
    }
}

/* The summary is cut between two lines. */
static void a_long_summary_is_cut(void **state)
{
    char *s = summary_of(state, &(struct contents){.n_unreachable = 2000});
    assert_true(text_ends_in(s, "failure\n" CUT));
    assert_in_range(strlen(s), 32000, (32 << 10) + sizeof CUT);
    free(s);
}

/* The summary distinguishes the arguments of a kind, and shortens a finding that another service has too. */
static void a_repeated_finding_is_shortened(void **state)
{
    (void)state;
    static const char service[] =
        "{\"name\": \"%s\", \"items\": [{\"kind\": \"goroutines\", \"status\": \"ok\"}, {\"kind\": "
        "\"goroutines\", "
        "\"argument\": \"text\", \"status\": \"ok\"}, {\"kind\": \"heap\", \"status\": \"ok\", \"verdicts\": "
        "[{\"rule\": \"r\", \"text\": \"memory in use is old; heap=gc would\"}]}, {\"kind\": \"heap\", "
        "\"pair\": 2, "
        "\"status\": \"ok\"}]}";
    char first[1024], second[1024], *text = NULL;
    struct err err = ERR_INIT;
    snprintf(first, sizeof first, service, "a");
    snprintf(second, sizeof second, service, "b");
    char *manifest = format_text("{\"format\": \"profgrab-bundle\", \"version\": 1, \"hosts\": [{\"name\": "
                                 "\"h\", \"services\": [%s, %s]}]}",
                                 first, second);
    assert_ok(summary_text(manifest, &text, &err), &err);
    assert_contains(text, "h, a: goroutines, goroutines=text, heap, heap (later)\n"
                          "heap: memory in use is old; heap=gc would\n"
                          "h, b: goroutines, goroutines=text, heap, heap (later)\n"
                          "heap: memory in use is old, as above\n");
    free(text);
    free(manifest);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH(a_full_summary_names_each_part), SCRATCH(many_lines_of_one_host_are_cut),
        SCRATCH(a_long_summary_is_cut), cmocka_unit_test(a_repeated_finding_is_shortened)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
