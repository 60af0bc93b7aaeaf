/* Files: modes under every umask, no overwriting, links not followed. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/unit/unit.h"
#include "base/banned.h"

static const mode_t masks[] = {0, 022, 077, 0777};

static void assert_file_is(const char *path, const char *text)
{
    struct buf b = scratch_read(path);
    assert_string_equal(buf_str(&b), text);
    buf_release(&b);
}

static void new_files_and_directories_are_private_under_every_umask(void **state)
{
    for (size_t i = 0; i < sizeof masks / sizeof *masks; i++) {
        struct err err = ERR_INIT;
        char *created = format_text("%s/created-%zu", (char *)*state, i);
        char *written = format_text("%s/written-%zu", (char *)*state, i);
        char *made = format_text("%s/made-%zu", (char *)*state, i);
        char *deep = format_text("%s/deep-%zu/a/b", (char *)*state, i);
        mode_t before = umask(masks[i]);
        int fd = file_create(created, &err);
        assert_ok(fd, &err);
        assert_ok(fd_write_all(fd, "x", 1, &err), &err);
        fd_close(&fd);
        assert_ok(file_write(written, "y", 1, &err), &err);
        assert_ok(file_mkdir(made, &err), &err);
        assert_ok(file_mkdirs(deep, NULL, &err), &err);
        umask(before);
        assert_int_equal(scratch_mode(created), 0600);
        assert_int_equal(scratch_mode(written), 0600);
        assert_int_equal(scratch_mode(made), 0700);
        for (int k = 0; k < 3; k++) {
            assert_int_equal(scratch_mode(deep), 0700);
            *strrchr(deep, '/') = '\0';
        }
        free(created);
        free(written);
        free(made);
        free(deep);
    }
}

static void an_existing_file_is_not_replaced(void **state)
{
    struct err err = ERR_INIT;
    char *path = scratch_file(*state, "taken", "old", 3);
    char *msg = format_text("cannot create %s: File exists", path);
    assert_refused(file_create(path, &err), &err, ERR_EXISTS, msg);
    assert_file_is(path, "old");
    free(msg);
    msg = format_text("cannot create the directory %s: File exists", path);
    assert_refused(file_mkdir(path, &err), &err, ERR_EXISTS, msg);
    free(msg);
    /* A symbolic link also prevents creation, even a dangling link. */
    char *link = format_text("%s/link", (char *)*state);
    assert_int_equal(symlink("nowhere", link), 0);
    assert_int_equal(file_create(link, &err), -1);
    assert_int_equal(err.kind, ERR_EXISTS);
    assert_true(file_exists(link));
    free(link);
    free(path);
}

static void writing_replaces_the_file(void **state)
{
    struct err err = ERR_INIT;
    char *path = format_text("%s/file", (char *)*state);
    assert_ok(file_write(path, "first, and longer", 17, &err), &err);
    int old = open(path, O_RDONLY);
    assert_ok(file_write(path, "second", 6, &err), &err);
    assert_file_is(path, "second");
    /* A descriptor of the old file still reads all of it. */
    char text[32] = "";
    assert_int_equal(read(old, text, sizeof text), 17);
    assert_string_equal(text, "first, and longer");
    close(old);
    assert_ok(file_write(path, "", 0, &err), &err);
    assert_file_is(path, "");
    assert_int_equal(scratch_count(*state), 1);
    free(path);
}

static void failed_writing_leaves_no_file(void **state)
{
    struct err err = ERR_INIT;
    char *dir = format_text("%s/dir", (char *)*state), *inside = format_text("%s/dir/x", (char *)*state);
    assert_ok(file_mkdir(dir, &err), &err);
    free(scratch_file(dir, "x", "x", 1));
    assert_int_equal(file_write(dir, "text", 4, &err), -1);
    assert_int_equal(err.kind, ERR_LOCAL_IO);
    assert_file_is(inside, "x");
    assert_int_equal(scratch_count(*state), 1);
    char *nowhere = format_text("%s/none/x", (char *)*state);
    assert_int_equal(file_write(nowhere, "text", 4, &err), -1);
    assert_contains(err.msg, "No such file or directory");
    free(nowhere);
    free(inside);
    free(dir);
}

static void reading_a_file_beyond_the_limit_is_refused(void **state)
{
    struct err err = ERR_INIT;
    static char much[40000];
    memset(much, 'a', sizeof much);
    char *path = scratch_file(*state, "file", much, sizeof much);
    static const size_t limits[] = {0, 5, 16384, 20000, 39999};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        struct buf b = BUF_INIT(limits[i]);
        char *msg = format_text("%s is larger than %zu bytes", path, limits[i]);
        assert_refused(file_read(path, &b, &err), &err, ERR_FAILED, msg);
        free(msg);
        buf_release(&b);
    }
    struct buf whole = BUF_INIT(40000);
    assert_ok(file_read(path, &whole, &err), &err);
    assert_int_equal(whole.len, 40000);
    buf_release(&whole);
    free(path);
    struct buf nothing = BUF_INIT(0);
    path = scratch_file(*state, "empty", "", 0);
    assert_ok(file_read(path, &nothing, &err), &err);
    assert_int_equal(nothing.len, 0);
    buf_release(&nothing);
    free(path);
}

static void assert_open_fails(const char *path, enum err_kind kind, const char *format)
{
    struct err err = ERR_INIT;
    struct buf b = BUF_INIT(10), msg = BUF_INIT(1000);
    buf_add(&msg, format, strcspn(format, "*"));
    buf_adds(&msg, path);
    buf_adds(&msg, strchr(format, '*') + 1);
    assert_refused(file_open(path, &err), &err, kind, buf_str(&msg));
    assert_refused(file_read(path, &b, &err), &err, kind, buf_str(&msg));
    buf_release(&b);
    buf_release(&msg);
}

static void only_regular_files_are_opened(void **state)
{
    char *fifo = format_text("%s/fifo", (char *)*state), *none = format_text("%s/none", (char *)*state);
    char *file = scratch_file(*state, "file", "x", 1), *below = format_text("%s/below", file);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_open_fails(fifo, ERR_FAILED, "* is not a regular file");
    assert_open_fails(*state, ERR_FAILED, "* is not a regular file");
    assert_open_fails("/dev/zero", ERR_FAILED, "* is not a regular file");
    assert_open_fails(none, ERR_NOT_FOUND, "cannot open *: No such file or directory");
    assert_open_fails(below, ERR_NOT_FOUND, "cannot open *: Not a directory");
    free(fifo);
    free(none);
    free(file);
    free(below);
}

static void descriptors_close_on_exec(void **state)
{
    struct err err = ERR_INIT;
    char *path = format_text("%s/file", (char *)*state);
    int made = file_create(path, &err), opened = file_open(path, &err);
    assert_true(fcntl(made, F_GETFD) & FD_CLOEXEC);
    assert_true(fcntl(opened, F_GETFD) & FD_CLOEXEC);
    fd_close(&made);
    fd_close(&opened);
    free(path);
}

static void removal_does_not_follow_links(void **state)
{
    struct err err = ERR_INIT;
    char *precious = format_text("%s/precious", (char *)*state),
         *tree = format_text("%s/tree", (char *)*state);
    static const char *const dirs[] = {"precious/inside", "tree/a/b/c"};
    for (size_t i = 0; i < 2; i++) {
        char *dir = file_join(*state, dirs[i]);
        assert_ok(file_mkdirs(dir, NULL, &err), &err);
        free(dir);
    }
    char *keep = scratch_file(precious, "keep", "k", 1);
    free(scratch_file(tree, "a/b/file", "f", 1));
    char *link = format_text("%s/tree/a/link", (char *)*state),
         *alone = format_text("%s/alone", (char *)*state);
    char *dead = format_text("%s/tree/dead", (char *)*state);
    assert_int_equal(symlink(precious, link), 0);
    assert_int_equal(symlink(precious, alone), 0);
    assert_int_equal(symlink("nowhere", dead), 0);
    assert_ok(file_remove(tree, &err), &err);
    assert_false(file_exists(tree));
    assert_ok(file_remove(alone, &err), &err);
    assert_false(file_exists(alone));
    assert_file_is(keep, "k");
    assert_ok(file_remove(keep, &err), &err);
    assert_false(file_exists(keep));
    assert_ok(file_remove(keep, &err), &err);
    assert_int_equal(scratch_count(precious), 1);
    free(precious);
    free(tree);
    free(keep);
    free(link);
    free(alone);
    free(dead);
}

/* The user's own links are followed, unlike in base/dir.h. */
static void missing_parent_directories_are_made(void **state)
{
    struct err err = ERR_INIT;
    char *deep = format_text("%s/x/yy/zzz", (char *)*state),
         *slashes = format_text("%s//x/yy/", (char *)*state);
    char *link = format_text("%s/link", (char *)*state),
         *through = format_text("%s/link/www", (char *)*state);
    char *made = format_text("%s/x/www", (char *)*state);
    struct strlist created = {0};
    assert_ok(file_mkdirs(deep, &created, &err), &err);
    assert_ok(file_mkdirs(deep, &created, &err), &err);
    assert_int_equal(created.n, 3);
    assert_string_equal(created.items[2], deep);
    strlist_release(&created);
    assert_ok(file_mkdirs(slashes, NULL, &err), &err);
    assert_true(file_exists(deep));
    assert_int_equal(symlink("x", link), 0);
    assert_ok(file_mkdirs(through, NULL, &err), &err);
    assert_true(file_exists(made));
    char *below = format_text("%s/file/below", (char *)*state);
    free(scratch_file(*state, "file", "", 0));
    assert_int_equal(file_mkdirs(below, NULL, &err), -1);
    assert_contains(err.msg, "/file");
    char *all[] = {deep, slashes, link, through, made, below};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

static void assert_joined(const char *dir, const char *name, const char *path)
{
    char *got = file_join(dir, name);
    assert_string_equal(got, path);
    free(got);
}

static void paths_are_joined_and_split(void **state)
{
    (void)state;
    assert_joined("a", "b", "a/b");
    assert_joined("a/", "b", "a/b");
    assert_joined("/", "b", "/b");
    assert_joined("a", "/b", "/b");
    assert_joined(NULL, "b", "b");
    assert_string_equal(file_base("a/b"), "b");
    assert_string_equal(file_base("b"), "b");
    assert_string_equal(file_base("a/"), "");
    static const char *const dirs[][2] = {{"a/b/c", "a/b"}, {"b", "."}, {"/b", "/"}, {"/", "/"}, {"a/", "a"}};
    for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++) {
        char *dir = file_dir(dirs[i][0]);
        assert_string_equal(dir, dirs[i][1]);
        free(dir);
    }
}

static void a_leading_tilde_is_replaced_by_the_home_directory(void **state)
{
    (void)state;
    static const char *const cases[][2] = {{"~", "/home/ann"},      {"~/x", "/home/ann/x"},
                                           {"~//x", "/home/ann/x"}, {"~ann/x", "~ann/x"},
                                           {"a/~", "a/~"},          {"", ""}};
    const char *set = getenv("HOME");
    char *before = set ? strdup(set) : NULL;
    setenv("HOME", "/home/ann", 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *path = file_expand_home(cases[i][0]);
        assert_string_equal(path, cases[i][1]);
        free(path);
    }
    unsetenv("HOME");
    char *known = file_expand_home("~");
    assert_non_null(known);
    assert_int_equal(known[0], '/');
    free(known);
    if (before)
        setenv("HOME", before, 1);
    free(before);
}

static void an_atomic_file_gets_a_free_name_and_replaces_nothing(void **state)
{
    struct err err = ERR_INIT;
    char *path = file_join(*state, "d.txt"), *second = file_join(*state, "d-2.txt"), *got = NULL;
    struct atomic_file *d = NULL;
    for (int i = 0; i < 2; i++) {
        assert_ok(atomic_file_new(path, &d, &err), &err);
        assert_ok(fd_write_all(atomic_file_fd(d), "abc", 3, &err), &err);
        assert_ok(atomic_file_sync(d, &err), &err);
        assert_ok(atomic_file_give_unused_name(d, path, ".txt", &got, &err), &err);
        assert_string_equal(got, i == 0 ? path : second);
        assert_int_equal(scratch_mode(got), 0600);
        atomic_file_free(d);
        free(got);
    }
    assert_ok(atomic_file_new(path, &d, &err), &err);
    assert_int_equal(atomic_file_give_name(d, path, &err), -1);
    assert_int_equal(err.kind, ERR_EXISTS);
    atomic_file_free(d);
    assert_int_equal(scratch_count(*state), 2);
    free(second);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH(new_files_and_directories_are_private_under_every_umask),
        SCRATCH(an_existing_file_is_not_replaced),
        SCRATCH(writing_replaces_the_file),
        SCRATCH(failed_writing_leaves_no_file),
        SCRATCH(reading_a_file_beyond_the_limit_is_refused),
        SCRATCH(only_regular_files_are_opened),
        SCRATCH(descriptors_close_on_exec),
        SCRATCH(removal_does_not_follow_links),
        SCRATCH(missing_parent_directories_are_made),
        SCRATCH(an_atomic_file_gets_a_free_name_and_replaces_nothing),
        cmocka_unit_test(paths_are_joined_and_split),
        cmocka_unit_test(a_leading_tilde_is_replaced_by_the_home_directory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
