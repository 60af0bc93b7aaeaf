#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bundle/bundle.h"
#include "tests/unit/unit.h"
#include "base/banned.h"

#define START_TIME INT64_C(1795247280000) /* 2026-11-21T07:48:00Z */

static struct workdir *make_workdir(const char *output)
{
    struct workdir *w = NULL;
    struct err err = ERR_INIT;
    if (workdir_new(output, "file-03", START_TIME, &w, &err) < 0)
        fail_msg("%s", err.msg);
    return w;
}

static void assert_name_refused(const char *output, const char *subject, enum err_kind kind, const char *msg)
{
    struct workdir *w = NULL;
    struct err err = ERR_INIT;
    assert_int_equal(workdir_new(output, subject, START_TIME, &w, &err), -1);
    assert_null(w);
    assert_string_equal(err.msg, msg);
    assert_int_equal(err.kind, kind);
}

static void the_default_name_is_made_in_the_given_directory(void **state)
{
    const char *dir = *state;
    struct workdir *w = make_workdir(dir);
    assert_string_equal(workdir_name(w), "profgrab-file-03-2026-11-21T07-48-00Z");
    char *path = file_join(dir, "profgrab-file-03-2026-11-21T07-48-00Z.partial");
    char *bundle = file_join(dir, "profgrab-file-03-2026-11-21T07-48-00Z.tar.gz");
    assert_string_equal(workdir_path(w), path);
    assert_string_equal(workdir_bundle(w), bundle);
    assert_int_equal(scratch_mode(path), 0700);
    assert_false(file_exists(bundle));
    workdir_free(w);
    assert_true(file_exists(path));
    free(path);
    free(bundle);
}

static void the_default_name_is_made_in_the_working_directory(void **state)
{
    char *before = getcwd(NULL, 0);
    assert_non_null(before);
    assert_int_equal(chdir(*state), 0);
    struct workdir *w = make_workdir(NULL);
    assert_string_equal(workdir_path(w), "profgrab-file-03-2026-11-21T07-48-00Z.partial");
    assert_true(file_exists(workdir_path(w)));
    workdir_free(w);
    w = make_workdir("mine.tar.gz");
    assert_string_equal(workdir_path(w), "mine.partial");
    assert_string_equal(workdir_bundle(w), "mine.tar.gz");
    workdir_free(w);
    assert_int_equal(chdir(before), 0);
    free(before);
}

static void taken_default_names_get_numbers(void **state)
{
    const char *dir = *state;
    struct workdir *first = make_workdir(dir);
    struct workdir *second = make_workdir(dir);
    assert_string_equal(workdir_name(second), "profgrab-file-03-2026-11-21T07-48-00Z-2");
    free(scratch_file(dir, "profgrab-file-03-2026-11-21T07-48-00Z-3.tar.gz", "x", 1));
    struct workdir *third = make_workdir(dir);
    assert_string_equal(workdir_name(third), "profgrab-file-03-2026-11-21T07-48-00Z-4");
    /* The attempt at -3 left no file. */
    assert_int_equal(scratch_count(dir), 4);
    workdir_free(first);
    workdir_free(second);
    workdir_free(third);
}

static void taken_chosen_names_are_refused(void **state)
{
    const char *dir = *state;
    char *bundle = scratch_file(dir, "mine.tar.gz", "x", 1);
    char *msg = format_text("%s exists already, and nothing is overwritten", bundle);
    assert_name_refused(bundle, "s", ERR_EXISTS, msg);
    assert_int_equal(scratch_count(dir), 1);
    free(msg);

    char *other = file_join(dir, "other.tar.gz");
    workdir_free(make_workdir(other));
    char *partial = file_join(dir, "other.partial");
    msg = format_text("%s exists already: the run that works in it has not ended, or was killed", partial);
    assert_name_refused(other, "s", ERR_EXISTS, msg);
    /* A grab or `bundle create` made the directory, and only a grab can be resumed. */
    struct workdir *w = NULL;
    struct err err = ERR_INIT;
    assert_int_equal(workdir_new(other, "s", START_TIME, &w, &err), -1);
    assert_string_equal(err.hint,
                        "`profgrab resume` finishes the work of a killed grab; or choose another name");
    free(msg);
    free(partial);
    free(other);
    free(bundle);
}

/* Directories that were created for the output are removed with the work directory, unless they
 * contain files. */
static void created_directories_are_removed_if_empty(void **state)
{
    const char *dir = *state;
    char *old = file_join(dir, "old"), *output = file_join(old, "new/er/"), *new = file_join(old, "new");
    assert_int_equal(mkdir(old, 0700), 0);
    struct workdir *w = make_workdir(output);
    workdir_remove(w);
    workdir_free(w);
    assert_int_equal(scratch_count(old), 0);

    w = make_workdir(output);
    free(scratch_file(new, "theirs", "x", 1));
    workdir_remove(w);
    workdir_free(w);
    assert_int_equal(scratch_count(new), 1);

    struct err err = ERR_INIT;
    char *bad = file_join(old, "other/\1/");
    assert_int_equal(workdir_new(bad, "no name/", START_TIME, &w, &err), -1);
    assert_int_equal(scratch_count(old), 1);
    free(bad);
    free(new);
    free(output);
    free(old);
}

/* A slash at the end requests a directory. Its parents are made too. */
static void missing_directories_are_made(void **state)
{
    char *output = file_join(*state, "new/er/");
    struct workdir *w = make_workdir(output);
    assert_true(strncmp(workdir_path(w), output, strlen(output)) == 0);
    assert_int_equal(access(workdir_path(w), F_OK), 0);
    workdir_free(w);
    free(output);
}

static void outputs_that_cannot_be_created_are_refused(void **state)
{
    const char *dir = *state;
    char *output = file_join(dir, "nowhere"), *file = scratch_file(dir, "file", "x", 1);
    char *msg = format_text("output %s must be an existing directory or end in .tar.gz", output);
    assert_name_refused(output, "s", ERR_USAGE, msg);
    free(msg);
    msg = format_text("output %s must be an existing directory or end in .tar.gz", file);
    assert_name_refused(file, "s", ERR_USAGE, msg);
    free(msg);
    assert_name_refused("", "s", ERR_USAGE, "output is empty");

    char *below = file_join(output, "x.tar.gz");
    msg = format_text("cannot use the directory %s: No such file or directory", output);
    assert_name_refused(below, "s", ERR_LOCAL_IO, msg);
    free(msg);
    free(below);

    below = file_join(file, "x.tar.gz");
    msg = format_text("cannot use the directory %s: it is not a directory", file);
    assert_name_refused(below, "s", ERR_LOCAL_IO, msg);
    free(msg);
    free(below);
    free(output);
    free(file);
}

static void outputs_with_invalid_names_are_refused(void **state)
{
    const char *dir = *state;
    const char *const names[] = {".tar.gz", "a b.tar.gz", "-x.tar.gz", ".x.tar.gz", "\xc3\xa4.tar.gz"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *output = file_join(dir, names[i]);
        char *msg = format_text(
            "the name of output %s must consist of letters, digits, \".\", \"_\" and \"-\" (at most "
            "200), beginning with a letter or digit",
            output);
        assert_name_refused(output, "s", ERR_USAGE, msg);
        free(msg);
        free(output);
    }
    assert_name_refused(dir, "a/b", ERR_USAGE, "a bundle cannot be named after \"a/b\"");
    assert_int_equal(scratch_count(dir), 0);
}

/* Root may write anywhere, so a test that root runs acts as another user here. */
static void the_error_names_an_unwritable_directory(void **state)
{
    const char *dir = *state;
    char *locked = file_join(dir, "locked");
    assert_int_equal(file_mkdir(locked, NULL), 0);
    assert_int_equal(chmod(dir, 0755), 0);
    assert_int_equal(chmod(locked, 0555), 0);
    bool root = geteuid() == 0;
    if (root)
        assert_int_equal(seteuid(65534), 0);
    struct workdir *w = NULL;
    struct err err = ERR_INIT;
    int rc = workdir_new(locked, "s", START_TIME, &w, &err);
    if (root)
        assert_int_equal(seteuid(0), 0);
    assert_int_equal(rc, -1);
    assert_int_equal(err.kind, ERR_LOCAL_IO);
    assert_non_null(strstr(err.msg, locked));
    assert_non_null(strstr(err.msg, "Permission denied"));
    assert_string_equal(err.hint, "choose another place for the output");
    free(locked);
}

static void the_umask_does_not_change_the_mode(void **state)
{
    static const mode_t masks[] = {0, 0777};
    for (size_t i = 0; i < 2; i++) {
        mode_t before = umask(masks[i]);
        struct workdir *w = make_workdir(*state);
        umask(before);
        assert_int_equal(scratch_mode(workdir_path(w)), 0700);
        workdir_free(w);
    }
}

static void processes_at_once_get_different_names(void **state)
{
    enum { CHILDREN = 12 };
    const char *dir = *state;
    pid_t children[CHILDREN];
    for (int i = 0; i < CHILDREN; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0) {
            struct workdir *w = NULL;
            _exit(workdir_new(dir, "file-03", START_TIME, &w, NULL) < 0);
        }
    }
    for (int i = 0; i < CHILDREN; i++) {
        int status = -1;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_int_equal(status, 0);
    }
    assert_int_equal(scratch_count(dir), CHILDREN);
}

/* ---- a directory left by an earlier run -------------------------------------------------------------- */

static int reopen_workdir(const char *path, struct workdir **ret, struct err *err)
{
    struct buf text = BUF_INIT(1000);
    int rc = workdir_open(path, ret, &text, err);
    if (rc == 0)
        assert_string_equal(buf_str(&text), "{}");
    buf_release(&text);
    return rc;
}

static void a_work_directory_is_locked_during_use(void **state)
{
    struct workdir *w = make_workdir(*state), *again = NULL;
    struct err err = ERR_INIT;
    char *path = strdup(workdir_path(w));
    free(scratch_file(path, "manifest.json", "{}", 2));
    assert_int_equal(reopen_workdir(path, &again, &err), -1);
    assert_int_equal(err.kind, ERR_BUSY);
    workdir_free(w);
    char *slashes = format_text("%s//", path);
    assert_int_equal(reopen_workdir(slashes, &again, &err), 0);
    assert_string_equal(workdir_path(again), path);
    assert_string_equal(workdir_name(again), "profgrab-file-03-2026-11-21T07-48-00Z");
    workdir_free(again);
    free(slashes);
    free(path);
}

/* The process that holds the lock is killed. */
static void the_lock_ends_with_its_process(void **state)
{
    struct workdir *w = make_workdir(*state), *again = NULL;
    char *path = strdup(workdir_path(w));
    free(scratch_file(path, "manifest.json", "{}", 2));
    workdir_free(w);
    int pipes[2];
    assert_int_equal(pipe(pipes), 0);
    pid_t child = fork();
    if (child == 0) {
        _exit(reopen_workdir(path, &again, NULL) < 0 || write(pipes[1], "x", 1) != 1 || pause());
    }
    char one;
    assert_int_equal(read(pipes[0], &one, 1), 1);
    struct err err = ERR_INIT;
    assert_int_equal(reopen_workdir(path, &again, &err), -1);
    assert_int_equal(err.kind, ERR_BUSY);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(reopen_workdir(path, &again, &err), 0);
    workdir_free(again);
    close(pipes[0]);
    close(pipes[1]);
    free(path);
}

static void assert_open_refused(const char *path, const char *why)
{
    struct workdir *w = NULL;
    struct err err = ERR_INIT;
    assert_int_equal(reopen_workdir(path, &w, &err), -1);
    assert_null(w);
    assert_non_null(strstr(err.msg, why));
}

static void other_directories_are_refused(void **state)
{
    const char *dir = *state;
    assert_open_refused(dir, "is no work directory of profgrab: it is not called NAME.partial");
    char *path = file_join(dir, "x.partial"), *odd = file_join(dir, "-x.partial"),
         *link = file_join(dir, "y.partial");
    assert_open_refused(path, "No such file or directory");
    assert_int_equal(file_mkdir(path, NULL), 0);
    assert_open_refused(path, "has no manifest.json: its run ended before anything was recorded");
    assert_int_equal(symlink(path, link), 0);
    assert_open_refused(link,
                        "y.partial is a symbolic link, and profgrab follows no links in this directory");
    assert_int_equal(chmod(path, 0770), 0);
    assert_open_refused(path, "is no work directory of profgrab: others can write into it");
    assert_open_refused(odd, "profgrab gives no such name");
    free(path);
    free(odd);
    free(link);
}

/* Gives one file `n` names in the work directory, and one more in `dir` if `outside`. */
static void make_hard_links(const char *work, const char *dir, int n, bool outside)
{
    char *first = scratch_file(work, "name-0", "x", 1);
    for (int i = 1; i < n; i++) {
        char *path = format_text("%s/name-%d", work, i);
        assert_int_equal(link(first, path), 0);
        free(path);
    }
    char *other = format_text("%s/other", dir);
    if (outside)
        assert_int_equal(link(first, other), 0);
    free(other);
    free(first);
}

static void unsafe_entries_of_a_work_directory_are_refused(void **state)
{
    const char *dir = *state;
    char *path = file_join(dir, "x.partial"), *deep = file_join(path, "host/service"), *entry = NULL;
    struct err err = ERR_INIT;
    struct workdir *w = NULL;
    static const struct {
        int type;
        const char *why;
    } cases[] = {{S_IFLNK, "host/service/entry in it is a symbolic link"},
                 {S_IFIFO, "host/service/entry in it is neither a file nor a directory"},
                 {S_IFREG, "host/service/entry in it can be written by others"},
                 {S_IFDIR, "host/service/entry in it can be written by others"}};
    assert_int_equal(file_mkdirs(deep, NULL, NULL), 0);
    free(scratch_file(path, "manifest.json", "{}", 2));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        entry = file_join(deep, "entry");
        if (cases[i].type == S_IFLNK)
            assert_int_equal(symlink("service", entry), 0);
        else if (cases[i].type == S_IFIFO)
            assert_int_equal(mkfifo(entry, 0600), 0);
        else if (cases[i].type == S_IFDIR)
            assert_int_equal(mkdir(entry, 0700) || chmod(entry, 0777), 0);
        else
            free(scratch_file(deep, "entry", "x", 1)), assert_int_equal(chmod(entry, 0620), 0);
        assert_open_refused(path, cases[i].why);
        assert_open_refused(path, "x.partial is not safe to resume: ");
        assert_int_equal(file_remove(entry, NULL), 0);
        free(entry);
    }
    /* A kill during a rename leaves two names in the directory, which is allowed. A file with a name
     * elsewhere may be any file of the user. */
    make_hard_links(deep, dir, 2, false);
    assert_int_equal(reopen_workdir(path, &w, &err), 0);
    workdir_free(w);
    char *second = format_text("%s/name-1", deep), *third = format_text("%s/name-2", deep);
    assert_int_equal(link(second, third), 0);
    assert_open_refused(path, "in it has more than two names (hard links)");
    assert_int_equal(unlink(second) || unlink(third), 0);
    free(second);
    free(third);
    make_hard_links(deep, dir, 1, true);
    assert_open_refused(path, "has another name outside of it (a hard link)");
    free(deep);
    free(path);
}

static void too_deep_or_too_often_linked_work_directories_are_refused(void **state)
{
    char *path = file_join(*state, "x.partial"), *deep = strdup(path);
    assert_int_equal(file_mkdir(path, NULL), 0);
    free(scratch_file(path, "manifest.json", "{}", 2));
    for (int i = 0; i < 33; i++) {
        char *deeper = file_join(deep, "d");
        free(deep);
        deep = deeper;
    }
    assert_int_equal(file_mkdirs(deep, NULL, NULL), 0);
    assert_open_refused(path, "lies deeper than 32 directories");
    free(deep);
    deep = file_join(path, "d");
    assert_int_equal(file_remove(deep, NULL), 0);
    /* More pairs of hard links than the limit. */
    for (int i = 0; i <= 100; i++) {
        char *one = format_text("pair-%d", i), *first = scratch_file(path, one, "x", 1),
             *second = format_text("%s.part", first);
        assert_int_equal(link(first, second), 0);
        free(one);
        free(first);
        free(second);
    }
    assert_open_refused(path, "is one of more than 100 files that have several names (hard links)");
    free(deep);
    free(path);
}

/* The time to read a file grows with its size, even if its holes take no disk space. */
static void too_large_sparse_files_are_refused(void **state)
{
    char *path = file_join(*state, "x.partial"), *first = file_join(path, "first"),
         *second = file_join(path, "second");
    struct err err = ERR_INIT;
    struct workdir *w = NULL;
    assert_int_equal(file_mkdir(path, NULL), 0);
    free(scratch_file(path, "manifest.json", "{}", 2));
    free(scratch_file(path, "first", "x", 1));
    free(scratch_file(path, "second", "x", 1));
    assert_int_equal(truncate(first, (off_t)1 << 40), 0);
    assert_open_refused(
        path,
        "x.partial is not safe to resume: first in it is larger than 4 GiB, and no run makes such a file");
    assert_int_equal(truncate(first, (off_t)1 << 27), 0);
    assert_int_equal(truncate(second, (off_t)1 << 27), 0);
    assert_int_equal(reopen_workdir(path, &w, &err), 0);
    workdir_free(w);
    assert_int_equal(truncate(first, (off_t)3 << 26), 0);
    assert_open_refused(path, "is a sparse file, and the holes of the files come to more than 256 MiB");
    free(second);
    free(first);
    free(path);
}

static void assert_opened_beside(const char *bundle, const char *output, const char *expected)
{
    struct workdir *w = NULL;
    struct err err = ERR_INIT;
    if (workdir_new_beside(bundle, "inner", output, &w, &err) < 0)
        fail_msg("%s", err.msg);
    assert_string_equal(workdir_bundle(w), expected);
    assert_int_equal(file_remove(workdir_path(w), NULL), 0);
    workdir_free(w);
}

static void a_bundle_gets_a_work_directory_beside_it(void **state)
{
    const char *dir = *state;
    char *a = scratch_file(dir, "a.tar.gz", "x", 1), *a2 = file_join(dir, "a-2.tar.gz");
    assert_opened_beside(a, NULL, a2);
    char *z = scratch_file(dir, "p-08-00Z-2.tar.gz", "x", 1),
         *z1 = scratch_file(dir, "p-08-00Z.tar.gz", "x", 1);
    char *z3 = file_join(dir, "p-08-00Z-3.tar.gz");
    assert_opened_beside(z, NULL, z3);
    char *odd = scratch_file(dir, "odd.tgz", "x", 1), *inner = file_join(dir, "inner.tar.gz");
    assert_opened_beside(odd, NULL, inner);
    assert_opened_beside(a, a2, a2);
    char *below = file_join(dir, "below"), *there = file_join(dir, "below/a.tar.gz");
    assert_int_equal(file_mkdir(below, NULL), 0);
    assert_opened_beside(a, below, there);
    char *all[] = {a, a2, z, z1, z3, odd, inner, below, there};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH(the_default_name_is_made_in_the_given_directory),
        SCRATCH(the_default_name_is_made_in_the_working_directory),
        SCRATCH(taken_default_names_get_numbers),
        SCRATCH(taken_chosen_names_are_refused),
        SCRATCH(missing_directories_are_made),
        SCRATCH(created_directories_are_removed_if_empty),
        SCRATCH(outputs_that_cannot_be_created_are_refused),
        SCRATCH(outputs_with_invalid_names_are_refused),
        SCRATCH(the_error_names_an_unwritable_directory),
        SCRATCH(the_umask_does_not_change_the_mode),
        SCRATCH(processes_at_once_get_different_names),
        SCRATCH(a_work_directory_is_locked_during_use),
        SCRATCH(the_lock_ends_with_its_process),
        SCRATCH(other_directories_are_refused),
        SCRATCH(unsafe_entries_of_a_work_directory_are_refused),
        SCRATCH(too_deep_or_too_often_linked_work_directories_are_refused),
        SCRATCH(too_large_sparse_files_are_refused),
        SCRATCH(a_bundle_gets_a_work_directory_beside_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
