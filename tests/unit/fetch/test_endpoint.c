/* fetch/endpoint.c, answer.c, html.c, profiler_owner.c and proto/go_version.c: requests and the meaning of
 * answers. */
#include "fetch/endpoint.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "fetch/answer.h"
#include "fetch/fetch.h"
#include "fetch/profiler_owner.h"
#include "fetch/body/format.h"
#include "proto/proto.h"
#include "tests/unit/unit.h"

static struct service service_at(char *host, unsigned port, bool https)
{
    static char path[] = "/debug/pprof";
    return (struct service){.host = host, .port = port, .path = path, .https = https};
}

static void urls_are_built_of_host_port_and_scheme(void **state)
{
    (void)state;
    static const struct {
        const char *host;
        unsigned port;
        bool https;
        const char *server_name;
        const char *url;
    } rows[] = {
        {"localhost", 6060, false, NULL, "http://localhost:6060/x?a=b"},
        {"localhost", 80, false, NULL, "http://localhost/x?a=b"},
        {"localhost", 443, false, NULL, "http://localhost:443/x?a=b"},
        {"localhost", 443, true, NULL, "https://localhost/x?a=b"},
        {"::1", 8443, true, NULL, "https://[::1]:8443/x?a=b"},
        {"localhost", 8443, true, "pprof.internal", "https://pprof.internal:8443/x?a=b"},
        {"localhost", 0, false, NULL, "http://localhost/x?a=b"},
        {"localhost", 0, true, NULL, "https://localhost/x?a=b"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char url[200];
        struct service s = service_at((char *)(uintptr_t)rows[i].host, rows[i].port, rows[i].https);
        s.tls.server_name = (char *)(uintptr_t)rows[i].server_name;
        assert_int_equal(endpoint_url(&s, "/x?a=b", url, sizeof url, NULL), 0);
        assert_string_equal(url, rows[i].url);
    }
    char small[20], url[200];
    struct err err = ERR_INIT;
    struct service s = service_at((char[]){"localhost"}, 6060, false);
    s.query = (char[]){"tenant=a%20b"};
    assert_int_equal(endpoint_url(&s, "/x?a=b", url, sizeof url, NULL), 0);
    assert_string_equal(url, "http://localhost:6060/x?a=b&tenant=a%20b");
    assert_int_equal(endpoint_url(&s, "/x", url, sizeof url, NULL), 0);
    assert_string_equal(url, "http://localhost:6060/x?tenant=a%20b");
    assert_int_equal(
        endpoint_redirect(&(struct endpoint){&s, NULL}, "http://localhost:6060/y?b=c", url, sizeof url, NULL),
        0);
    assert_string_equal(url, "/y?b=c");
    assert_int_equal(endpoint_url(&s, "/long/path", small, sizeof small, &err), -1);
    assert_non_null(strstr(err.msg, "too long"));
}

static void messages_show_the_url_or_the_socket(void **state)
{
    (void)state;
    char url[300];
    struct service s = service_at((char[]){"localhost"}, 8443, true);
    s.tls.server_name = (char[]){"pprof.internal"};
    assert_string_equal(fetch_service_url(&s, url, sizeof url), "https://localhost:8443/debug/pprof");
    s.unix_path = (char[]){"/run/app.sock"};
    assert_string_equal(fetch_service_url(&s, url, sizeof url), "unix:/run/app.sock /debug/pprof");
}

static void redirects_to_other_services_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *url;
        const char *target; /* NULL: not followed */
        const char *msg;    /* NULL: not checked */
    } rows[] = {
        {"http://localhost:6060/debug/pprof/", "/debug/pprof/", NULL},
        {"http://LOCALHOST:6060/x?seconds=5&y", "/x?seconds=5&y", NULL},
        {"http://localhost:6060", "/", NULL},
        {"http://localhost:6061/x", NULL,
         "it redirects to http://localhost:6061/x, which is not this service: not followed"},
        {"https://localhost:6060/x", NULL,
         "it redirects to https://localhost:6060/x, which is not this service: not followed"},
        {"http://localhost/x", NULL,
         "it redirects to http://localhost/x, which is not this service: not followed"},
        {"http://elsewhere.invalid:6060/x", NULL,
         "it redirects to http://elsewhere.invalid:6060/x, which is not this service: not followed"},
        {"http://ann:hunter2@elsewhere.invalid/x?token=t", NULL,
         "it redirects to http://elsewhere.invalid/x, which is not this service: not followed"},
        {"http://localhost:6060@elsewhere.invalid/x", NULL,
         "it redirects to http://elsewhere.invalid/x, which is not this service: not followed"},
        {"file:///etc/passwd", NULL, NULL},
        {"gopher://localhost:6060/x", NULL, NULL},
        {"not a url", NULL, NULL},
        {"", NULL, NULL},
    };
    struct service s = service_at((char[]){"localhost"}, 6060, false);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char target[200] = "untouched";
        struct err err = ERR_INIT;
        int rc = endpoint_redirect(&(struct endpoint){&s, NULL}, rows[i].url, target, sizeof target, &err);
        assert_int_equal(rc, rows[i].target ? 0 : -1);
        assert_string_equal(target, rows[i].target ? rows[i].target : "untouched");
        if (rows[i].msg)
            assert_string_equal(err.msg, rows[i].msg);
    }
}

/* A server may redirect to the name of its Host header or of its certificate. */
static void redirects_to_another_name_of_the_service_are_followed(void **state)
{
    (void)state;
    char target[100];
    struct service s = service_at((char[]){"localhost"}, 8443, true);
    s.tls.server_name = (char[]){"pprof.internal"};
    assert_int_equal(endpoint_redirect(&(struct endpoint){&s, NULL}, "https://pprof.internal:8443/a", target,
                                       sizeof target, NULL),
                     0);
    assert_int_equal(endpoint_redirect(&(struct endpoint){&s, NULL}, "https://localhost:8443/a", target,
                                       sizeof target, NULL),
                     0);
    s.host_header = (char[]){"app.example:8443"};
    assert_int_equal(endpoint_redirect(&(struct endpoint){&s, NULL}, "https://app.example:8443/a", target,
                                       sizeof target, NULL),
                     0);
    assert_int_equal(endpoint_redirect(&(struct endpoint){&s, NULL}, "https://app.example.evil:8443/a",
                                       target, sizeof target, NULL),
                     -1);
    assert_int_equal(endpoint_redirect(&(struct endpoint){&s, NULL}, "https://app.exam:8443/a", target,
                                       sizeof target, NULL),
                     -1);
}

static void an_untrusted_certificate_is_a_permanent_error(void **state)
{
    (void)state;
    static const enum http_failure permanent[] = {HTTP_FAILURE_CERTIFICATE, HTTP_FAILURE_AUTHORITIES,
                                                  HTTP_FAILURE_OWN_CERTIFICATE};
    struct service s = service_at((char[]){"localhost"}, 6060, true);
    struct err err = ERR_INIT;
    for (size_t i = 0; i < sizeof permanent / sizeof *permanent; i++) {
        assert_true(endpoint_set_tls_error(&s, permanent[i], "no", &err));
        assert_int_equal(err.kind, ERR_DENIED);
    }
    assert_true(endpoint_set_tls_error(&s, HTTP_FAILURE_TLS, "no", &err));
    assert_int_equal(err.kind, ERR_FAILED);
}

static void each_http_status_has_its_error_and_hint(void **state)
{
    (void)state;
    static const struct {
        int status;
        const char *words;  /* the body as text */
        bool authenticated; /* the request contained the secret */
        enum err_kind kind;
        const char *msg;  /* NULL: not checked */
        const char *hint; /* part of it; NULL: there is none */
    } rows[] = {
        {500, "Could not enable CPU profiling: cpu profiling already in use", false, ERR_BUSY,
         "HTTP 500: Could not enable CPU profiling: cpu profiling already in use", NULL},
        {500, "Could not enable tracing: tracing is already enabled", false, ERR_BUSY, NULL, NULL},
        {500, "Could not enable tracing: execution tracer already enabled", false, ERR_BUSY, NULL, NULL},
        {500, "boom", false, ERR_FAILED, "HTTP 500: boom", NULL},
        {400, "profile duration exceeds server's WriteTimeout", false, ERR_FAILED, NULL,
         "ask for a shorter one"},
        {400, "Client sent an HTTP request to an HTTPS server.", false, ERR_FAILED, NULL, "scheme: https"},
        {401, "", false, ERR_FAILED, "HTTP 401", "set `auth:`"},
        {401, "no", true, ERR_FAILED, "HTTP 401: no", "does not accept the secret from $TOKEN"},
        {403, "no", false, ERR_FAILED, "HTTP 403: no", "host_header"},
        {404, "Unknown profile", false, ERR_NOT_FOUND, "HTTP 404: Unknown profile", "no such profile"},
        {404, "404 page not found", false, ERR_NOT_FOUND, "HTTP 404: 404 page not found", "another one"},
        {502, "", false, ERR_FAILED, "HTTP 502", "proxy"},
        {504, "", false, ERR_FAILED, "HTTP 504", "proxy"},
        {204, "", false, ERR_FAILED, "HTTP 204", NULL},
    };
    struct service s = service_at((char[]){"localhost"}, 6060, false);
    s.auth.secret = (struct secret_ref){SECRET_ENV, (char[]){"TOKEN"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct err err = ERR_INIT;
        struct answer a = {rows[i].status, rows[i].words, rows[i].authenticated};
        assert_int_equal(answer_set_error(&a, &s, &err), -1);
        assert_int_equal(err.kind, rows[i].kind);
        if (rows[i].msg)
            assert_string_equal(err.msg, rows[i].msg);
        if (rows[i].hint)
            assert_non_null(strstr(err.hint, rows[i].hint));
        else
            assert_string_equal(err.hint, "");
    }
}

static const char *describe_page(const char *page)
{
    static char words[300];
    answer_read_text(page, strlen(page), words, sizeof words);
    return words;
}

static void a_page_is_described_by_its_title_or_text(void **state)
{
    (void)state;
    assert_string_equal(describe_page("plain\r\nwords \x1b[31m"), "plain words ?[31m");
    assert_string_equal(describe_page("<html><head><TITLE class=x>\n Sign\tin \x1b </Title></head>"),
                        "an HTML page titled \"Sign in ?\"");
    assert_string_equal(describe_page("<!DOCTYPE html><title>cut"), "<!DOCTYPE html><title>cut");
    assert_string_equal(describe_page("<html><title"), "<html><title");
    assert_string_equal(describe_page("{\"error\":\"<title>no</title>\"}"),
                        "{\"error\":\"<title>no</title>\"}");
    assert_true(format_is_html("\xef\xbb\xbf  <HTML>", 11));
    assert_false(format_is_html("<htm", 4));
    assert_false(format_is_html("", 0));
}

/* Feeds the dump in one piece and byte by byte; both must find the same owner. */
static const char *find_owner(const char *dump)
{
    struct profiler_owner whole = {.client = NULL}, bytes = {.client = NULL};
    profiler_owner_feed(&whole, dump, strlen(dump));
    for (const char *p = dump; *p; p++)
        profiler_owner_feed(&bytes, p, 1);
    assert_ptr_equal(whole.client, bytes.client);
    return whole.client;
}

static void users_of_the_profiler_are_named(void **state)
{
    (void)state;
    static const char http[] = "1 @ 0x4 0x5\n#\t0x4\truntime/pprof.x+0x1\t/src/x.go:1\n"
                               "#\t0x5\tnet/http/pprof.Profile+0x1de\t/src/pprof.go:1\n";
    static const char agent[] =
        "1 @ 0x4\n#\t0x4\tgopkg.in/DataDog/dd-trace-go.v1/profiler.(*profiler).collect+0x1\tx\n";
    assert_null(find_owner("1 @ 0x4\n#\t0x4\tmain.main+0x1\t/src/main.go:1\n"));
    assert_null(find_owner("#\t0x4\tnet/http/pprof.ProfileSomething\tx\n"));
    assert_non_null(strstr(find_owner(http), "over HTTP"));
    assert_non_null(strstr(find_owner(agent), "Datadog"));
    struct profiler_owner tracer = {.for_tracer = true};
    profiler_owner_feed(&tracer, http, strlen(http));
    assert_null(tracer.client);
    profiler_owner_feed(&tracer, agent, strlen(agent));
    assert_non_null(tracer.client);
    /* A line longer than the buffer does not hide the text after it. */
    static char large[5000];
    memset(large, 'x', sizeof large - 1);
    snprintf(large + 2000, sizeof large - 2000, "\n%s", agent);
    assert_non_null(strstr(find_owner(large), "Datadog"));
}

static void the_go_version_is_read_from_paths(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        const char *version;
    } rows[] = {
        {"/usr/lib/go-1.19/src/runtime/proc.go", "1.19"},
        {"/root/go/pkg/mod/golang.org/toolchain@v0.0.1-go1.22.3.linux-amd64/src/runtime/proc.go", "1.22.3"},
        {"/opt/hostedtoolcache/go/1.21.13/x64/src/runtime/asm_amd64.s", "1.21.13"},
        {"/home/ann/sdk/go1.23.0/src/runtime/mgc.go", "1.23.0"},
        {"/usr/local/go/src/runtime/proc.go", NULL},
        {"/srv/logo-1.5/src/main.go", NULL},
        {"/srv/algo1.2/src/runtime/x.go", NULL},
        {"/srv/go-2.0/src/runtime/x.go", NULL},
        {"/srv/go1./src/runtime/x.go", NULL},
        {"/srv/go1.9999/src/runtime/x.go", NULL},
        {"runtime/proc.go", NULL},
        {"", NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char version[16] = "none";
        assert_int_equal(go_version_of_path(rows[i].path, strlen(rows[i].path), version, sizeof version),
                         rows[i].version != NULL);
        assert_string_equal(version, rows[i].version ? rows[i].version : "none");
    }
    char small[5] = "none";
    assert_false(go_version_of_path(rows[1].path, strlen(rows[1].path), small, sizeof small));
    assert_string_equal(small, "none");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(urls_are_built_of_host_port_and_scheme),
        cmocka_unit_test(messages_show_the_url_or_the_socket),
        cmocka_unit_test(redirects_to_other_services_are_refused),
        cmocka_unit_test(redirects_to_another_name_of_the_service_are_followed),
        cmocka_unit_test(each_http_status_has_its_error_and_hint),
        cmocka_unit_test(a_page_is_described_by_its_title_or_text),
        cmocka_unit_test(users_of_the_profiler_are_named),
        cmocka_unit_test(the_go_version_is_read_from_paths),
        cmocka_unit_test(an_untrusted_certificate_is_a_permanent_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
