/* http/auth.c: finds and masks the secret in answers of a server. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <stdlib.h>

#include "http/http.h"
#include "tests/unit/unit.h"
#include "base/banned.h"

static void secrets_are_masked(void **state)
{
    (void)state;
    struct secret secret = {.text = "s3cr3t-token", .len = 12};
    struct http_auth auth = {.secret = &secret};
    char text[200] = "you sent Bearer s3cr3t-token, s3cr3t-token";
    http_auth_mask(&auth, text);
    assert_string_equal(text, "you sent Bearer ***, ***");
    snprintf(text, sizeof text, "cut in the middle of s3cr3t-t...");
    http_auth_mask(&auth, text);
    assert_string_equal(text, "cut in the middle of ***...");
    snprintf(text, sizeof text, "cut in the middle of s3cr3t");
    http_auth_mask(&auth, text);
    assert_string_equal(text, "cut in the middle of ***");
    auth.user = "ann";
    /* base64 of ann:s3cr3t-token */
    snprintf(text, sizeof text, "Basic YW5uOnMzY3IzdC10b2tlbg== and s3cr3t-token");
    http_auth_mask(&auth, text);
    assert_string_equal(text, "Basic *** and ***");
    auth.user = NULL;
    snprintf(text, sizeof text, "a title of \"Bearer s3cr3t-t...\", not a profile");
    http_auth_mask(&auth, text);
    assert_string_equal(text, "a title of \"Bearer ***...\", not a profile");
    struct secret blanks = {.text = "abc  defghijk", .len = 13};
    snprintf(text, sizeof text, "Bearer abc defghijk and abc  defghijk");
    auth.secret = &blanks;
    http_auth_mask(&auth, text);
    assert_string_equal(text, "Bearer *** and ***");
    snprintf(text, sizeof text, "nothing");
    auth.secret = NULL;
    http_auth_mask(&auth, text);
    assert_string_equal(text, "nothing");
}

/* A secret and the forms in which Go, Python and others escape it. */
static void escaped_secrets_are_masked_and_found(void **state)
{
    static const char text[] = "S3&t<x\"y/z+w=q%A b\\c'";
    static const char *const forms[] = {
        "S3%26t%3Cx%22y%2Fz%2Bw%3Dq%25A%20b%5Cc%27", "S3%26t%3cx%22y%2fz%2bw%3dq%25A+b%5cc%27",
        "S3&amp;t&lt;x&#34;y/z+w=q%A b\\c&#39;",     "S3&amp;t&lt;x&quot;y/z+w=q%A b\\c&#x27;",
        "S3\\u0026t\\u003cx\\\"y/z+w=q%A b\\\\c'",   "S3&t<x\\\"y\\/z+w=q%A b\\\\c'",
    };
    struct secret secret = {.len = sizeof text - 1};
    struct http_auth auth = {.secret = &secret};
    memcpy(secret.text, text, sizeof text);
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        char message[200];
        bool found = false;
        snprintf(message, sizeof message, "to /a?t=%s, and no further", forms[i]);
        assert_true(http_auth_find(&auth, message));
        char *path = scratch_file(*state, "page", message, strlen(message));
        struct err err = ERR_INIT;
        int fd = file_open(path, &err);
        assert_int_equal(http_auth_find_in_file(&auth, fd, &found), 0);
        assert_true(found);
        fd_close(&fd);
        free(path);
        http_auth_mask(&auth, message);
        assert_string_equal(message, "to /a?t=***, and no further");
        /* cut at every place after four bytes of the secret */
        for (size_t n = 12; n < strlen(forms[i]); n++) {
            snprintf(message, sizeof message, "%.*s...", (int)n, forms[i]);
            http_auth_mask(&auth, message);
            assert_memory_equal(message, "***", 3);
        }
    }
    char other[] = "S3&t<x is another word, 100% & more \\u00";
    assert_false(http_auth_find(&auth, other));
    http_auth_mask(&auth, other);
    assert_string_equal(other, "S3&t<x is another word, 100% & more \\u00");
}

static void a_secret_in_a_text_is_found(void **state)
{
    (void)state;
    struct secret secret = {.text = "hunter2", .len = 7}, short_one = {.text = "ab", .len = 2};
    struct http_auth auth = {.secret = &secret}, none = {0};
    assert_true(http_auth_find(&auth, "a hunter2 of ducks"));
    assert_false(http_auth_find(&auth, "hunter"));
    auth.user = "ann";
    /* base64 of ann:hunter2 */
    assert_true(http_auth_find(&auth, "YW5uOmh1bnRlcjI="));
    auth.secret = &short_one;
    assert_false(http_auth_find(&auth, "absent"));
    assert_false(http_auth_find(&none, "hunter2"));
}

/* A failed read leaves the result unchanged. */
static void a_secret_in_a_file_is_found(void **state)
{
    static const char line[] = "GET / HTTP/1.1, Authorization: Bearer hunter2";
    struct secret secret = {.text = "hunter2", .len = 7};
    struct http_auth auth = {.secret = &secret}, none = {0};
    struct err err = ERR_INIT;
    bool found = false;
    char *path = scratch_file(*state, "page", line, sizeof line - 1);
    int fd = file_open(path, &err);
    assert_true(fd >= 0);
    assert_int_equal(http_auth_find_in_file(&auth, fd, &found), 0);
    assert_true(found);
    assert_int_equal(http_auth_find_in_file(&auth, -1, &found), -1);
    assert_true(found);
    assert_int_equal(http_auth_find_in_file(&none, fd, &found), 0);
    assert_false(found);
    fd_close(&fd);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(secrets_are_masked),
        SCRATCH(escaped_secrets_are_masked_and_found),
        cmocka_unit_test(a_secret_in_a_text_is_found),
        SCRATCH(a_secret_in_a_file_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
