/* Buffers, errors, lists of strings, arrays and SHA-256. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "tests/unit/unit.h"
#include "base/banned.h"

static void added_pieces_are_joined(void **state)
{
    (void)state;
    struct buf b = BUF_INIT(1000);
    assert_null(b.data);
    assert_string_equal(buf_str(&b), "");
    buf_adds(&b, "ab");
    buf_addc(&b, 'c');
    buf_add(&b, "d\0e", 3);
    buf_addf(&b, "%d-%s", 42, "x");
    assert_int_equal(b.len, 10);
    assert_memory_equal(b.data, "abcd\0e42-x", 11);
    assert_int_equal(buf_check(&b, "it", NULL), 0);
    buf_release(&b);
    assert_null(b.data);
    buf_release(&b);
}

static void a_buffer_grows_to_its_maximum(void **state)
{
    (void)state;
    struct buf b;
    buf_init(&b, 100000);
    for (int i = 0; i < 100000; i++)
        buf_addc(&b, (char)('a' + i % 26));
    assert_int_equal(b.len, 100000);
    assert_int_equal(buf_check(&b, "it", NULL), 0);
    for (int i = 0; i < 100000; i++)
        assert_int_equal(b.data[i], 'a' + i % 26);
    buf_addc(&b, 'x');
    assert_true(b.failed);
    buf_release(&b);
}

static void a_failed_buffer_is_usable_again_after_buf_clear(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct buf b = BUF_INIT(4);
    buf_adds(&b, "abc");
    buf_adds(&b, "de");
    buf_adds(&b, "f");
    assert_string_equal(buf_str(&b), "abc");
    assert_refused(buf_check(&b, "the word", &err), &err, ERR_FAILED, "the word is larger than 4 bytes");
    assert_null(buf_detach(&b));
    buf_clear(&b);
    assert_int_equal(buf_check(&b, "the word", &err), 0);
    assert_string_equal(buf_str(&b), "");
    buf_adds(&b, "four");
    assert_int_equal(buf_check(&b, "the word", &err), 0);
    assert_string_equal(buf_str(&b), "four");
    buf_release(&b);
}

static void a_piece_larger_than_the_limit_is_refused(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct buf b = BUF_INIT(10);
    buf_add(&b, "much more than ten bytes", 24);
    assert_string_equal(buf_str(&b), "");
    assert_refused(buf_check(&b, "it", &err), &err, ERR_FAILED, "it is larger than 10 bytes");
    buf_release(&b);
    buf_addf(&b, "%s", "as much as that, formatted");
    assert_refused(buf_check(&b, "it", &err), &err, ERR_FAILED, "it is larger than 10 bytes");
    buf_release(&b);
    buf_add(&b, "x", SIZE_MAX);
    assert_true(b.failed);
    buf_release(&b);
}

static void html_is_escaped_for_text_and_attributes(void **state)
{
    (void)state;
    struct buf b = BUF_INIT(100);
    buf_add_html_escaped(&b, "a<b>&\"c'&amp;\xc3\xa9");
    assert_string_equal(buf_str(&b), "a&lt;b>&amp;&quot;c'&amp;amp;\xc3\xa9");
    buf_release(&b);
}

static void bytes_are_removed_at_the_front(void **state)
{
    (void)state;
    struct buf b = BUF_INIT(100);
    buf_consume(&b, 0);
    buf_adds(&b, "hello world");
    buf_consume(&b, 6);
    assert_string_equal(buf_str(&b), "world");
    buf_consume(&b, 5);
    assert_int_equal(b.len, 0);
    assert_string_equal(buf_str(&b), "");
    buf_adds(&b, "again");
    assert_string_equal(buf_str(&b), "again");
    buf_release(&b);
}

static void buf_detach_gives_the_memory_to_the_caller(void **state)
{
    (void)state;
    struct buf b = BUF_INIT(100);
    assert_null(buf_detach(&b));
    buf_adds(&b, "mine");
    char *taken = buf_detach(&b);
    assert_string_equal(taken, "mine");
    free(taken);
    assert_null(b.data);
    buf_adds(&b, "more");
    assert_string_equal(buf_str(&b), "more");
    buf_release(&b);
}

static void an_error_has_a_message_a_kind_and_a_hint(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    assert_int_equal(err_set(&err, ERR_TIMEOUT, "after %d s", 3), -1);
    err_hint(&err, "wait %s", "longer");
    assert_string_equal(err.hint, "wait longer");
    assert_int_equal(err_wrap(&err, "%s", "heap"), -1);
    assert_int_equal(err_wrap(&err, "file-%02d", 3), -1);
    assert_refused(-1, &err, ERR_TIMEOUT, "file-03: heap: after 3 s");
    assert_string_equal(err.hint, "wait longer");
    err_set(&err, ERR_FAILED, "other");
    assert_string_equal(err.hint, "");
    errno = ENOENT;
    assert_refused(err_sys(&err, "cannot open %s", "x"), &err, ERR_LOCAL_IO,
                   "cannot open x: No such file or directory");
    assert_refused(err_nomem(&err), &err, ERR_LOCAL_IO, "out of memory");
    errno = 99999;
    err_sys(&err, "odd");
    assert_contains(err.msg, "odd: ");
    assert_contains(err.msg, "99999");
}

static void error_functions_accept_null(void **state)
{
    (void)state;
    assert_int_equal(err_set(NULL, ERR_FAILED, "x"), -1);
    assert_int_equal(err_sys(NULL, "x"), -1);
    assert_int_equal(err_nomem(NULL), -1);
    assert_int_equal(err_wrap(NULL, "x"), -1);
    assert_int_equal(err_hint(NULL, "x"), -1);
}

static void long_messages_are_cut_but_keep_their_cause(void **state)
{
    (void)state;
    char much[2000];
    struct err err = ERR_INIT;
    memset(much, 'm', sizeof much - 1);
    much[sizeof much - 1] = '\0';
    for (size_t n = 480; n < sizeof err.msg + 20; n++) {
        err_set(&err, ERR_FAILED, "%.*s!", (int)n, much);
        size_t inner = strlen(err.msg);
        assert_true(inner < sizeof err.msg);
        err_wrap(&err, "%s", "context");
        size_t whole = strlen(err.msg);
        assert_true(whole < sizeof err.msg && whole >= inner);
        /* A cause that fits is not cut. */
        if (n < 500)
            assert_int_equal(err.msg[whole - 1], '!');
    }
    err_set(&err, ERR_FAILED, "cause");
    err_wrap(&err, "%s", much);
    assert_int_equal(strlen(err.msg), sizeof err.msg - 1);
    assert_string_equal(err.msg + strlen(err.msg) - 7, ": cause");
    errno = EACCES;
    err_sys(&err, "%s", much);
    assert_string_equal(err.msg + strlen(err.msg) - 19, ": Permission denied");
    err_hint(&err, "%s", much);
    assert_int_equal(strlen(err.hint), sizeof err.hint - 1);
}

static void a_list_copies_its_strings(void **state)
{
    (void)state;
    struct strlist l = {0};
    char word[] = "word";
    assert_ok(strlist_add(&l, word, NULL), NULL);
    word[0] = 'W';
    for (int i = 0; i < 100; i++)
        assert_ok(strlist_addn(&l, "many things", 4, NULL), NULL);
    assert_int_equal(l.n, 101);
    assert_string_equal(l.items[0], "word");
    assert_string_equal(l.items[100], "many");
    assert_true(strlist_has(&l, "many"));
    assert_false(strlist_has(&l, "man"));
    assert_false(strlist_has(&l, ""));
    strlist_release(&l);
    assert_int_equal(l.n, 0);
    strlist_release(&l);
}

static void a_text_is_split_at_commas_into_a_list(void **state)
{
    (void)state;
    static const char *const bad[] = {"", " ", ",", "a,", ",a", "a,,b", "a, ,b"};
    struct strlist l = {0};
    struct err err = ERR_INIT;
    assert_ok(strlist_split(&l, "a", &err), &err);
    assert_ok(strlist_split(&l, " b ,c d,  e", &err), &err);
    assert_int_equal(l.n, 4);
    assert_string_equal(l.items[0], "a");
    assert_string_equal(l.items[1], "b");
    assert_string_equal(l.items[2], "c d");
    assert_string_equal(l.items[3], "e");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char *msg = format_text("empty entry in the list \"%s\"", bad[i]);
        assert_refused(strlist_split(&l, bad[i], &err), &err, ERR_USAGE, msg);
        free(msg);
    }
    strlist_release(&l);
}

static void arrays_refuse_overflowing_sizes(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    void *items = NULL;
    size_t cap = 0;
    assert_refused(array_reserve(&items, &cap, SIZE_MAX / 8, 16, &err), &err, ERR_LOCAL_IO, "out of memory");
    assert_null(items);
    assert_int_equal(cap, 0);
    assert_ok(array_reserve(&items, &cap, 5, 16, &err), &err);
    assert_true(cap >= 5);
    size_t before = cap;
    assert_ok(array_reserve(&items, &cap, 2, 16, &err), &err);
    assert_int_equal(cap, before);
    free(items);
}

static void assert_hash(const char *pieces[], const char *hex)
{
    char got[SHA256_HEX];
    struct sha256 *h = sha256_new(NULL);
    assert_non_null(h);
    for (size_t i = 0; pieces[i]; i++)
        sha256_add(h, pieces[i], strlen(pieces[i]));
    assert_int_equal(sha256_hex(h, got, NULL), 0);
    assert_string_equal(got, hex);
    sha256_free(h);
}

static void known_texts_have_their_sha256(void **state)
{
    (void)state;
    assert_hash((const char *[]){NULL}, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    assert_hash((const char *[]){"a", "", "bc", NULL},
                "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    sha256_free(NULL);
}

static void a_file_is_hashed_from_the_given_offset(void **state)
{
    (void)state;
    struct sha256_file found = {.bytes = 7};
    struct err err = ERR_INIT;
    int ends[2], directory = open(".", O_RDONLY | O_DIRECTORY);
    FILE *f = tmpfile();
    assert_non_null(f);
    assert_int_equal(fputs("xyabc", f), 1);
    assert_int_equal(fflush(f), 0);
    assert_ok(sha256_file(fileno(f), 2, -1, &found, &err), &err);
    assert_int_equal(found.bytes, 3);
    assert_string_equal(found.hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_int_equal(ftell(f), 5);
    assert_ok(sha256_file(fileno(f), 5, -1, &found, &err), &err);
    assert_int_equal(found.bytes, 0);
    /* The read end of a pipe whose write end is closed is readable: as cancel_fd it stops the hash. */
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(close(ends[1]), 0);
    found.bytes = 7;
    assert_refused(sha256_file(fileno(f), 0, ends[0], &found, &err), &err, ERR_CANCELLED, "interrupted");
    assert_int_equal(sha256_file(directory, 0, -1, &found, &err), -1);
    assert_string_equal(err.msg, "cannot read: Is a directory");
    assert_int_equal(found.bytes, 7);
    close(ends[0]);
    close(directory);
    fclose(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(added_pieces_are_joined),
        cmocka_unit_test(a_buffer_grows_to_its_maximum),
        cmocka_unit_test(a_failed_buffer_is_usable_again_after_buf_clear),
        cmocka_unit_test(a_piece_larger_than_the_limit_is_refused),
        cmocka_unit_test(html_is_escaped_for_text_and_attributes),
        cmocka_unit_test(bytes_are_removed_at_the_front),
        cmocka_unit_test(buf_detach_gives_the_memory_to_the_caller),
        cmocka_unit_test(an_error_has_a_message_a_kind_and_a_hint),
        cmocka_unit_test(error_functions_accept_null),
        cmocka_unit_test(long_messages_are_cut_but_keep_their_cause),
        cmocka_unit_test(a_list_copies_its_strings),
        cmocka_unit_test(a_text_is_split_at_commas_into_a_list),
        cmocka_unit_test(arrays_refuse_overflowing_sizes),
        cmocka_unit_test(known_texts_have_their_sha256),
        cmocka_unit_test(a_file_is_hashed_from_the_given_offset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
