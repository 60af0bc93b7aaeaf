/* The page of a work directory, which a fork of a process with threads draws. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <openssl/evp.h>

#include "base/proc_bounds.h"
#include "page/page.h"
#include "tests/unit/scratch.h"
#include "tests/unit/capture.h"
#include "tests/unit/unit.h"

#include "base/banned.h"

#define PAGES 200

/* Looks up a digest with new properties each time, which writes to OpenSSL's cache under its lock, as the
 * first login and the first TLS session of another capture do. */
static void *fill_cache(void *ctx)
{
    const atomic_bool *stop = ctx;
    char properties[32];
    for (unsigned i = 0; !atomic_load(stop); i++) {
        snprintf(properties, sizeof properties, "?test.n=%u", i);
        EVP_MD_free(EVP_MD_fetch(NULL, "SHA256", properties));
    }
    return NULL;
}

/* A child that needed OpenSSL's lock hung in one of 30 pages. */
static void a_lock_of_openssl_does_not_stop_the_child(void **state)
{
    struct capture c;
    struct err err = ERR_INIT;
    pthread_t thread;
    atomic_bool stop = false;
    char *output = file_join(*state, "b.tar.gz");
    capture_init(&c, output);
    assert_ok(thread_start(&thread, fill_cache, &stop, &err), &err);
    int rc = 0;
    for (int i = 0; rc == 0 && i < PAGES; i++) {
        struct confined_budget budget;
        confined_budget_init(0, &budget);
        rc = page_build_workdir(c.m, c.w, &budget, -1, &err);
        dir_remove(workdir_files(c.w), BUNDLE_REPORT, NULL);
    }
    atomic_store(&stop, true);
    pthread_join(thread, NULL);
    assert_ok(rc, &err);
    capture_release(&c);
    free(output);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_lock_of_openssl_does_not_stop_the_child, scratch_setup,
                                        scratch_teardown),
    };
    if (UNDER_SANITIZER) {
        puts("1..0 # the sanitizer's own locks stop the child");
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
