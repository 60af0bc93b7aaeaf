/* The keyring asks for each passphrase once: one caller asks, the others wait and get the answer. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "base/keyring.h"
#include "tests/unit/unit.h"
#include "base/banned.h"

static struct keyring *make_keyring(void)
{
    struct keyring *k = NULL;
    struct err err = ERR_INIT;
    assert_ok(keyring_new(&k, &err), &err);
    return k;
}

static int get_or_claim(struct keyring *k, const char *name, struct secret *ret, struct err *err)
{
    return keyring_get_or_claim(k, name, &(struct keyring_wait){clock_deadline(20000), -1}, ret, err);
}

static void a_stored_secret_is_returned_to_later_callers(void **state)
{
    (void)state;
    struct keyring *k = make_keyring();
    struct secret s;
    struct err err = ERR_INIT;
    char name[20];
    /* The keyring grows. */
    for (int i = 0; i < 20; i++) {
        snprintf(name, sizeof name, "key %d", i);
        assert_ok(get_or_claim(k, name, &s, &err), &err);
        assert_int_equal(s.len, 0);
        s = (struct secret){.len = (size_t)snprintf(s.text, sizeof s.text, "answer %d", i)};
        snprintf(s.text, sizeof s.text, "answer %d", i);
        keyring_store_result(k, name, &s, NULL);
    }
    for (int i = 0; i < 20; i++) {
        char answer[20];
        snprintf(name, sizeof name, "key %d", i);
        snprintf(answer, sizeof answer, "answer %d", i);
        assert_ok(get_or_claim(k, name, &s, &err), &err);
        assert_string_equal(s.text, answer);
        assert_int_equal(s.len, strlen(answer));
    }
    keyring_free(k);
}

static void a_failed_question_is_repeated_but_a_declined_one_is_not(void **state)
{
    (void)state;
    struct keyring *k = make_keyring();
    struct secret s;
    struct err err = ERR_INIT, failed = ERR_INIT, declined = ERR_INIT;
    err_set(&failed, ERR_FAILED, "the session ended");
    err_set(&declined, ERR_NOT_FOUND, "no answer was given");
    assert_ok(get_or_claim(k, "key", &s, &err), &err);
    keyring_store_result(k, "key", NULL, &failed);
    assert_ok(get_or_claim(k, "key", &s, &err), &err); /* the next caller may try */
    assert_int_equal(s.len, 0);
    keyring_store_result(k, "key", NULL, &declined);
    for (int i = 0; i < 2; i++)
        assert_refused(get_or_claim(k, "key", &s, &err), &err, ERR_NOT_FOUND, "no answer was given");
    keyring_free(k);
}

static void a_null_keyring_stores_nothing(void **state)
{
    (void)state;
    struct secret s = {.len = 5};
    for (int i = 0; i < 2; i++) {
        assert_ok(get_or_claim(NULL, "key", &s, NULL), NULL);
        assert_int_equal(s.len, 0);
        keyring_store_result(NULL, "key", &s, NULL);
    }
    keyring_free(NULL);
}

static void waiting_for_an_answer_ends_at_the_deadline_and_on_cancel(void **state)
{
    (void)state;
    struct keyring *k = make_keyring();
    struct secret s;
    struct err err = ERR_INIT;
    int fds[2];
    assert_ok(fd_pipe(fds, &err), &err);
    assert_ok(get_or_claim(k, "key", &s, &err), &err);
    assert_int_equal(keyring_get_or_claim(k, "key", &(struct keyring_wait){clock_deadline(20), -1}, &s, &err),
                     -1);
    assert_int_equal(err.kind, ERR_TIMEOUT);
    fd_close(&fds[1]);
    assert_int_equal(
        keyring_get_or_claim(k, "key", &(struct keyring_wait){clock_deadline(20000), fds[0]}, &s, &err), -1);
    assert_int_equal(err.kind, ERR_CANCELLED);
    fd_close(&fds[0]);
    keyring_free(k);
}

struct askers {
    struct keyring *k;
    atomic_int asked;    /* questions */
    atomic_int asking;   /* threads that ask at the moment */
    atomic_int overlaps; /* questions while another thread asked */
    atomic_int answered; /* threads that have the right answer */
};

static void *ask_or_wait(void *ctx)
{
    struct askers *c = ctx;
    struct secret s, found = {.text = "open sesame", .len = 11};
    struct err failed = ERR_INIT;
    err_set(&failed, ERR_FAILED, "the session ended");
    while (get_or_claim(c->k, "key", &s, NULL) == 0) {
        if (s.len > 0) {
            c->answered += strcmp(s.text, "open sesame") == 0;
            break;
        }
        int nth = ++c->asked;
        c->overlaps += ++c->asking > 1;
        poll(NULL, 0, 20);
        c->asking--;
        keyring_store_result(c->k, "key", nth == 1 ? NULL : &found, &failed);
    }
    return NULL;
}

/* Many threads need one secret, and one thread at a time asks for it. The first question fails; all threads
 * get the answer to the second. */
static void one_thread_asks_and_all_use_the_answer(void **state)
{
    (void)state;
    enum { MANY = 16 };
    struct askers c = {.k = make_keyring()};
    pthread_t threads[MANY];
    struct err err = ERR_INIT;
    for (int i = 0; i < MANY; i++)
        assert_ok(thread_start(&threads[i], ask_or_wait, &c, &err), &err);
    for (int i = 0; i < MANY; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(c.asked, 2);
    assert_int_equal(c.overlaps, 0);
    assert_int_equal(c.answered, MANY);
    keyring_free(c.k);
}

static void a_wrong_secret_is_forgotten(void **state)
{
    (void)state;
    struct keyring *k = make_keyring();
    struct secret s = {.len = 0}, typed = {.text = "wrong", .len = 5};
    struct err err = ERR_INIT, declined = {.kind = ERR_NOT_FOUND, .msg = "no answer"};
    keyring_forget(k, "key");
    assert_ok(get_or_claim(k, "key", &s, &err), &err);
    keyring_forget(k, "key"); /* does not affect the caller that is asking */
    keyring_store_result(k, "key", &typed, NULL);
    assert_ok(get_or_claim(k, "key", &s, &err), &err);
    assert_string_equal(s.text, "wrong");
    keyring_forget(k, "key");
    assert_ok(get_or_claim(k, "key", &s, &err), &err);
    assert_int_equal(s.len, 0);
    keyring_store_result(k, "key", NULL, &declined);
    assert_int_equal(get_or_claim(k, "key", &s, &err), -1);
    keyring_forget(k, "key");
    assert_ok(get_or_claim(k, "key", &s, &err), &err);
    assert_int_equal(s.len, 0);
    keyring_store_result(k, "key", NULL, NULL);
    keyring_forget(NULL, "key");
    keyring_free(k);
}

static void two_spellings_of_a_path_have_one_name(void **state)
{
    (void)state;
    char *plain = keyring_name_of_file("/etc/passwd"), *other = keyring_name_of_file("/etc/../etc/./passwd"),
         *missing = keyring_name_of_file("/nowhere/../key"), *again = keyring_name_of_file("/nowhere/../key");
    assert_string_equal(plain, other);
    assert_string_equal(missing, again);
    assert_string_not_equal(plain, missing);
    free(plain);
    free(other);
    free(missing);
    free(again);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stored_secret_is_returned_to_later_callers),
        cmocka_unit_test(a_failed_question_is_repeated_but_a_declined_one_is_not),
        cmocka_unit_test(a_null_keyring_stores_nothing),
        cmocka_unit_test(waiting_for_an_answer_ends_at_the_deadline_and_on_cancel),
        cmocka_unit_test(one_thread_asks_and_all_use_the_answer),
        cmocka_unit_test(a_wrong_secret_is_forgotten),
        cmocka_unit_test(two_spellings_of_a_path_have_one_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
