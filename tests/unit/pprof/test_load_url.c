/* The URLs of sources and of the symbol endpoint. The results are those of `go tool pprof`. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "pprof/load.h"
#include "tests/unit/unit.h"
#include "base/banned.h"

static void urls_are_made_of_the_source_and_flags(void **state)
{
    (void)state;
    static const struct {
        const char *source;
        long seconds;    /* the value of -seconds; 0: not given */
        const char *url; /* NULL: the source is not a URL */
        long timeout;    /* in seconds */
    } cases[] = {
        {"localhost:80", 0, "http://localhost:80/debug/pprof/profile", 60},
        {"http://h/", 20, "http://h/debug/pprof/profile?seconds=20", 30},
        {"h:1/debug/pprof/heap?seconds=10&gc=1", 0, "http://h:1/debug/pprof/heap?seconds=10&gc=1", 15},
        {"https://h/x?gc=1&seconds=10", 5, "https://h/x?gc=1&seconds=5", 7},
        {"https+insecure://h/x", 0, "https+insecure://h/x", 60},
        {"cpu.pb.gz", 0, NULL, 0},
        {"/tmp/x", 0, NULL, 0},
        {"file:/tmp/x", 0, NULL, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct err err = ERR_INIT;
        struct load_url to = {.url = NULL};
        assert_ok(load_url_make(cases[i].source, cases[i].seconds, -1, &to, &err), &err);
        if (cases[i].url)
            assert_string_equal(to.url ? to.url : "", cases[i].url);
        else
            assert_null(to.url);
        assert_int_equal(to.timeout_s, cases[i].timeout);
        free(to.url);
    }
}

static void the_symbol_endpoint_is_next_to_the_profile(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"http://h:1/debug/pprof/profile?seconds=5", "http://h:1/debug/pprof/symbol"},
        {"http://h/debug/pprof/heap#top", "http://h/debug/pprof/symbol"},
        {"https://h/a/pprof/growth", "https://h/a/pprof/symbol"},
        {"https+insecure://h/x/y?z=1", "https+insecure://h/x/symbolz"},
        {"http://h/", "http://h/symbolz"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *url = load_url_symbols(cases[i][0]);
        assert_string_equal(url ? url : "", cases[i][1]);
        free(url);
    }
    assert_null(load_url_symbols("no URL"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(urls_are_made_of_the_source_and_flags),
        cmocka_unit_test(the_symbol_endpoint_is_next_to_the_profile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
