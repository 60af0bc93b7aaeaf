/* The HTTP client without a server: URLs, redirects, and the token in memory. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <curl/curl.h>
#include <stdlib.h>

#include "http/http.h"
#include "http/url_origin.h"
#include "tests/unit/unit.h"
#include "base/banned.h"

/* ---- URLs -------------------------------------------------------------------------------------------- */

static void tokens_are_sent_only_over_tls_or_loopback(void **state)
{
    (void)state;
    struct secret token = {"glpat-secret", 12};
    static const char *const urls[] = {
        "http://tracker.example", "ftp://tracker.example",         "tracker.example",
        "file:///etc/passwd",     "http://127.0.0.1.evil.example", ""};
    struct http *h = NULL;
    struct err err = ERR_INIT;
    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
        struct http_options o = {.url = urls[i], .auth = "X: %s", .token = &token, .cancel_fd = -1};
        assert_int_equal(http_new(&o, &h, &err), -1);
        assert_int_equal(err.kind, ERR_USAGE);
        assert_null(strstr(err.msg, "glpat"));
    }
    static const char *const good[] = {"https://tracker.example/gitlab", "http://127.0.0.1:3000",
                                       "http://[::1]:3000", "http://localhost"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct http_options o = {.url = good[i], .auth = "X: %s", .token = &token, .cancel_fd = -1};
        assert_ok(http_new(&o, &h, &err), &err);
        http_free(h);
    }
}

static void urls_of_one_origin_are_recognized(void **state)
{
    (void)state;
    assert_true(url_origin_is_same("https://a.example/x", "HTTPS://A.example:443/y?z"));
    assert_true(url_origin_is_same("http://127.0.0.1:3000", "http://127.0.0.1:3000/api"));
    static const char *const others[][2] = {
        {"https://a.example", "http://a.example"},
        {"https://a.example", "https://a.example:8443"},
        {"https://a.example", "https://b.a.example"},
        {"https://a.example", "https://a.example.evil.example"},
        {"https://a.example", "https://a.example@evil.example"},
        {"https://a.example", "nonsense"},
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_false(url_origin_is_same(others[i][0], others[i][1]));
}

/* The rows are redirects of a download. */
static void redirects_to_plain_http_are_refused_except_on_loopback(void **state)
{
    (void)state;
    static const struct {
        const char *from, *to;
        bool allowed;
    } rows[] = {
        {"https://a.example", "https://bucket.example/f?X-Amz-Signature=1", true},
        {"http://127.0.0.1:3000", "https://bucket.example/f", true},
        {"http://127.0.0.1:3000", "http://127.0.0.1:9000/f", true},
        {"http://[::1]:3000", "http://localhost:9000/f", true},
        {"https://127.0.0.1", "http://127.0.0.1:9000/f", true},
        {"https://a.example", "http://bucket.example/f", false},
        {"https://a.example", "http://127.0.0.1:9000/f", false},
        {"http://127.0.0.1:3000", "http://127.0.0.1.evil.example/f", false},
        {"https://a.example", "https://name:password@bucket.example/f", false},
        {"https://a.example", "https://name@bucket.example/f", false},
        {"https://a.example", "ftp://bucket.example/f", false},
        {"https://a.example", "file:///etc/passwd", false},
        {"https://a.example", "", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (url_origin_may_redirect(rows[i].from, rows[i].to) != rows[i].allowed)
            fail_msg("%s -> %s", rows[i].from, rows[i].to);
}

static void printed_urls_have_no_secrets(void **state)
{
    (void)state;
    char text[100];
    static const char secret[] = "https://me:pw@bucket.example:9000/a/b?X-Amz-Signature=abc#f";
    assert_string_equal(url_origin_strip_secrets(secret, text, sizeof text),
                        "https://bucket.example:9000/a/b");
    assert_string_equal(url_origin_text(secret, text, sizeof text), "https://bucket.example:9000");
    assert_string_equal(url_origin_text("nonsense://", text, sizeof text), "");
    char *shown = url_without_password("http://me:secret@h/x");
    assert_string_equal(shown, "http://me:xxxxx@h/x");
    free(shown);
}

/* ---- the token in memory ----------------------------------------------------------------------------- */

#define TOKEN "glpat-in-memory-0123456789"
#define HEADER "PRIVATE-TOKEN: " TOKEN

/* The number of blocks that libcurl freed while they contained the header with the token. */
static int freed_with_token;

static void check_and_free(void *p)
{
    if (p && strncmp(p, HEADER, strlen(HEADER)) == 0)
        freed_with_token++;
    free(p);
}

static char *call_strdup(const char *s)
{
    return strdup(s);
}

static void headers_with_a_token_are_wiped(void **state)
{
    (void)state;
    struct secret token = {TOKEN, sizeof TOKEN - 1};
    struct http_options o = {
        .url = "http://127.0.0.1:1", .auth = "PRIVATE-TOKEN: %s", .token = &token, .cancel_fd = -1};
    struct http *h = NULL;
    struct http_answer a;
    struct err err = ERR_INIT;
    assert_int_equal(
        curl_global_init_mem(CURL_GLOBAL_DEFAULT, malloc, check_and_free, realloc, call_strdup, calloc),
        CURLE_OK);
    assert_ok(http_new(&o, &h, &err), &err);
    assert_int_equal(http_send(h, &(struct http_request){.method = "GET", .path = "/"}, &a, &err), -1);
    http_answer_release(&a);
    http_free(h);
    curl_global_cleanup();
    assert_int_equal(freed_with_token, 0);
    /* check_and_free detects a list that is freed without wiping. */
    assert_int_equal(
        curl_global_init_mem(CURL_GLOBAL_DEFAULT, malloc, check_and_free, realloc, call_strdup, calloc),
        CURLE_OK);
    curl_slist_free_all(curl_slist_append(NULL, HEADER));
    curl_global_cleanup();
    assert_int_equal(freed_with_token, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            headers_with_a_token_are_wiped), /* first, because libcurl accepts an allocator only once */
        cmocka_unit_test(tokens_are_sent_only_over_tls_or_loopback),
        cmocka_unit_test(urls_of_one_origin_are_recognized),
        cmocka_unit_test(redirects_to_plain_http_are_refused_except_on_loopback),
        cmocka_unit_test(printed_urls_have_no_secrets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
