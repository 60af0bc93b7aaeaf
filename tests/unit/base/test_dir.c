/* Paths below a directory: no operation follows a link or changes a file outside, with or without openat2. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/unit/unit.h"
#include "base/banned.h"

/* ---- a directory and its surroundings ---------------------------------------------------------------- */

/* The paths of the directories TOP/inside and TOP/outside, and of a file in TOP/outside that no operation on
 * TOP/inside may change. */
struct scene {
    char *inside, *outside, *precious;
    struct dir dir; /* `inside`, opened */
};

static void scene_open(struct scene *s, const char *top, bool without_openat2)
{
    struct err err = ERR_INIT;
    s->inside = file_join(top, "inside");
    s->outside = file_join(top, "outside");
    assert_ok(file_mkdir(s->inside, &err), &err);
    assert_ok(file_mkdir(s->outside, &err), &err);
    s->precious = scratch_file(s->outside, "precious", "precious", 8);
    s->dir = (struct dir){
        .fd = dir_open_user_path(s->inside, &err), .name = s->inside, .without_openat2 = without_openat2};
    assert_ok(s->dir.fd, &err);
}

static void assert_file_is(const char *path, const char *text)
{
    struct buf b = scratch_read(path);
    assert_string_equal(buf_str(&b), text);
    buf_release(&b);
}

static void scene_close(struct scene *s)
{
    assert_file_is(s->precious, "precious");
    assert_int_equal(scratch_count(s->outside), 1);
    fd_close(&s->dir.fd);
    assert_int_equal(file_remove(s->inside, NULL), 0);
    assert_int_equal(file_remove(s->outside, NULL), 0);
    free(s->inside);
    free(s->outside);
    free(s->precious);
}

static void make_link(const struct scene *s, const char *to, const char *name)
{
    assert_int_equal(symlinkat(to, s->dir.fd, name), 0);
}

/* Like assert_file_is, for a path below `inside`. */
static void assert_inside_is(const struct scene *s, const char *path, const char *text)
{
    struct buf b = BUF_INIT(1000);
    struct err err = ERR_INIT;
    assert_ok(dir_read(&s->dir, path, &b, &err), &err);
    assert_string_equal(buf_str(&b), text);
    buf_release(&b);
}

/* ---- every operation --------------------------------------------------------------------------------- */

/* Closes the descriptor that an operation returned; passes on the -1 of a failed one. */
static int close_result(int fd)
{
    if (fd < 0)
        return -1;
    fd_close(&fd);
    return 0;
}
static int open_file(const struct dir *dir, const char *path, struct err *err)
{
    return close_result(dir_open(dir, path, err));
}
static int open_dir(const struct dir *dir, const char *path, struct err *err)
{
    return close_result(dir_open_subdir(dir, path, err));
}
static int create_file(const struct dir *dir, const char *path, struct err *err)
{
    return close_result(dir_create(dir, path, err));
}
static int create_temporary(const struct dir *dir, const char *path, struct err *err)
{
    char *name = NULL;
    int rc = close_result(dir_create_temporary(dir, path, &name, err));
    free(name);
    return rc;
}
static int give_name(const struct dir *dir, const char *path, struct err *err)
{
    int fd = dir_create_nameless(dir, err);
    int rc = fd < 0 ? -1 : dir_give_name(dir, fd, path, err);
    fd_close(&fd);
    return rc;
}
static int write_file(const struct dir *dir, const char *path, struct err *err)
{
    return dir_write(dir, path, "spoilt", 6, err);
}
static int rename_to(const struct dir *dir, const char *path, struct err *err)
{
    return dir_rename(dir, "own", path, err);
}
static int rename_from(const struct dir *dir, const char *path, struct err *err)
{
    return dir_rename(dir, path, "stolen", err);
}
static int rename_new_to(const struct dir *dir, const char *path, struct err *err)
{
    return dir_rename_new(dir, "own", path, err);
}
static int rename_new_from(const struct dir *dir, const char *path, struct err *err)
{
    return dir_rename_new(dir, path, "stolen", err);
}
static int stat_file(const struct dir *dir, const char *path, struct err *err)
{
    struct stat st;
    return dir_stat(dir, path, &st, err);
}

static const struct {
    const char *name;
    int (*run)(const struct dir *dir, const char *path, struct err *err);
} operations[] = {{"open", open_file},
                  {"open_dir", open_dir},
                  {"create", create_file},
                  {"create_temporary", create_temporary},
                  {"name", give_name},
                  {"write", write_file},
                  {"mkdir", dir_mkdir},
                  {"mkdirs", dir_mkdirs},
                  {"rename to", rename_to},
                  {"rename from", rename_from},
                  {"rename_new to", rename_new_to},
                  {"rename_new from", rename_new_from},
                  {"remove", dir_remove},
                  {"stat", stat_file},
                  {"sync", dir_sync_parent}};
enum { OPERATIONS = sizeof operations / sizeof *operations };

/* The link is the first, a middle or the last but one component. It is absolute, relative, or a link to a
 * link. */
static void no_operation_follows_a_link_in_the_middle_of_a_path(void **state)
{
    static const char *const paths[] = {"away/precious",  "deep/er/away/precious",
                                        "again/precious", "up/outside/precious",
                                        "away/new",       "self/own",
                                        "HOST2/own",      "HOST2/new"};
    for (int without_openat2 = 0; without_openat2 < 2; without_openat2++) {
        struct scene s;
        struct err err = ERR_INIT;
        scene_open(&s, *state, without_openat2);
        free(scratch_file(s.inside, "own", "own", 3));
        assert_ok(dir_mkdirs(&s.dir, "deep/er", &err), &err);
        make_link(&s, s.outside, "away");
        make_link(&s, "../../../outside", "deep/er/away");
        make_link(&s, "away", "again");
        make_link(&s, "..", "up");
        make_link(&s, ".", "self");
        /* A link to a directory below: RESOLVE_BENEATH alone would follow it. */
        assert_ok(dir_mkdirs(&s.dir, "HOST1", &err), &err);
        free(scratch_file(s.inside, "HOST1/own", "own", 3));
        make_link(&s, "HOST1", "HOST2");
        for (size_t i = 0; i < OPERATIONS; i++)
            for (size_t k = 0; k < sizeof paths / sizeof *paths; k++) {
                err = (struct err)ERR_INIT;
                if (operations[i].run(&s.dir, paths[k], &err) == 0)
                    fail_msg("%s %s was done", operations[i].name, paths[k]);
                assert_int_equal(err.kind, ERR_FAILED);
                assert_contains(err.msg,
                                "is a symbolic link, and profgrab follows no links in this directory");
            }
        assert_inside_is(&s, "own", "own");
        assert_inside_is(&s, "HOST1/own", "own");
        scene_close(&s);
    }
}

/* A struct dir that stands for the working directory (AT_FDCWD) or for no directory is refused. */
static void only_an_open_directory_is_used(void **state)
{
    static const int fds[] = {AT_FDCWD, -1};
    char *before = getcwd(NULL, 0);
    assert_non_null(before);
    assert_int_equal(chdir(*state), 0);
    assert_int_equal(mkdir("sub", 0700), 0);
    free(scratch_file(*state, "sub/own", "own", 3));
    free(scratch_file(*state, "own", "own", 3));
    for (size_t i = 0; i < OPERATIONS; i++)
        for (size_t k = 0; k < 2; k++) {
            struct err err = ERR_INIT;
            struct dir dir = {.fd = fds[k]};
            assert_int_equal(operations[i].run(&dir, "own", &err), -1);
            assert_int_equal(operations[i].run(&dir, "sub/own", &err), -1);
            assert_int_equal(operations[i].run(&dir, "new", &err), -1);
            assert_int_equal(dir_create_nameless(&dir, &err), -1);
        }
    assert_int_equal(scratch_count(*state), 2);
    assert_file_is("own", "own");
    assert_file_is("sub/own", "own");
    assert_int_equal(chdir(before), 0);
    free(before);
}

/* A link as the last component is not followed: the call fails or operates on the link. */
static void a_link_at_the_end_is_not_followed(void **state)
{
    for (int without_openat2 = 0; without_openat2 < 2; without_openat2++) {
        struct scene s;
        struct stat st;
        struct err err = ERR_INIT;
        scene_open(&s, *state, without_openat2);
        make_link(&s, s.precious, "link");
        make_link(&s, s.outside, "dir");
        make_link(&s, "nowhere", "dead");
        assert_int_equal(dir_open(&s.dir, "link", &err), -1);
        assert_int_equal(err.kind, ERR_FAILED);
        assert_contains(err.msg,
                        "/inside/link is a symbolic link, and profgrab follows no links in this directory");
        assert_int_equal(dir_open_subdir(&s.dir, "dir", &err), -1);
        assert_int_equal(dir_mkdirs(&s.dir, "dir", &err), -1);
        assert_int_equal(dir_mkdirs(&s.dir, "dir/sub", &err), -1);
        assert_int_equal(dir_create(&s.dir, "dead", &err), -1);
        assert_int_equal(err.kind, ERR_EXISTS);
        assert_ok(dir_stat(&s.dir, "link", &st, &err), &err);
        assert_true(S_ISLNK(st.st_mode));
        assert_true(dir_exists(&s.dir, "dead"));
        /* The link itself is replaced, moved and removed. */
        assert_ok(dir_write(&s.dir, "link", "new", 3, &err), &err);
        assert_inside_is(&s, "link", "new");
        assert_ok(dir_rename_new(&s.dir, "dir", "moved", &err), &err);
        assert_ok(dir_stat(&s.dir, "moved", &st, &err), &err);
        assert_true(S_ISLNK(st.st_mode));
        assert_ok(dir_remove(&s.dir, "moved", &err), &err);
        scene_close(&s);
    }
}

static void absolute_and_parent_paths_are_refused(void **state)
{
    static const char *const paths[] = {
        "/etc/passwd", "../outside/precious", "a/../../outside/precious", "./own", "a//b", "own/", ".", "..",
        "a/."};
    struct scene s;
    struct err err = ERR_INIT;
    scene_open(&s, *state, false);
    assert_ok(dir_mkdir(&s.dir, "a", &err), &err);
    free(scratch_file(s.inside, "own", "own", 3));
    for (size_t i = 0; i < OPERATIONS; i++)
        for (size_t k = 0; k < sizeof paths / sizeof *paths; k++) {
            err = (struct err)ERR_INIT;
            if (operations[i].run(&s.dir, paths[k], &err) == 0)
                fail_msg("%s %s was done", operations[i].name, paths[k]);
            assert_int_equal(err.kind, ERR_FAILED);
            assert_contains(err.msg, "it is not a path below the directory");
        }
    assert_inside_is(&s, "own", "own");
    scene_close(&s);
}

static void only_regular_files_are_opened(void **state)
{
    struct scene s;
    struct err err = ERR_INIT;
    scene_open(&s, *state, false);
    assert_int_equal(mkfifoat(s.dir.fd, "fifo", 0600), 0);
    assert_int_equal(mkdirat(s.dir.fd, "dir", 0700), 0);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    struct sockaddr_un address;
    char *path = file_join(s.inside, "socket");
    assert_ok(fd_unix_address(path, &address, &err), &err);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    static const char *const names[] = {"fifo", "dir", "socket"};
    for (size_t i = 0; i < 3; i++) {
        struct buf b = BUF_INIT(10);
        assert_int_equal(dir_open(&s.dir, names[i], &err), -1);
        assert_int_equal(err.kind, ERR_FAILED);
        assert_contains(err.msg, "is not a regular file");
        assert_int_equal(dir_read(&s.dir, names[i], &b, &err), -1);
        buf_release(&b);
    }
    assert_int_equal(dir_open(&s.dir, "none", &err), -1);
    assert_int_equal(err.kind, ERR_NOT_FOUND);
    assert_int_equal(dir_open(&s.dir, "none/below", &err), -1);
    assert_int_equal(err.kind, ERR_NOT_FOUND);
    close(fd);
    free(path);
    scene_close(&s);
}

/* ---- new files --------------------------------------------------------------------------------------- */

static void written_files_are_private_under_every_umask(void **state)
{
    static const mode_t masks[] = {0, 022, 0777};
    for (size_t i = 0; i < 6; i++) {
        struct scene s;
        struct err err = ERR_INIT;
        scene_open(&s, *state, i % 2);
        mode_t before = umask(masks[i / 2]);
        assert_ok(dir_mkdirs(&s.dir, "a/b/c", &err), &err);
        assert_ok(dir_mkdirs(&s.dir, "a/b/c", &err), &err);
        int fd = dir_create(&s.dir, "a/b/c/file", &err);
        assert_ok(dir_write(&s.dir, "a/written", "one", 3, &err), &err);
        umask(before);
        assert_ok(fd_write_all(fd, "text", 4, &err), &err);
        assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
        fd_close(&fd);
        static const char *const dirs[] = {"a", "a/b", "a/b/c"}, *const files[] = {"a/b/c/file", "a/written"};
        struct stat st;
        for (size_t k = 0; k < 3; k++) {
            assert_ok(dir_stat(&s.dir, dirs[k], &st, &err), &err);
            assert_int_equal(st.st_mode & 07777, 0700);
        }
        for (size_t k = 0; k < 2; k++) {
            assert_ok(dir_stat(&s.dir, files[k], &st, &err), &err);
            assert_int_equal(st.st_mode & 07777, 0600);
        }
        assert_inside_is(&s, "a/b/c/file", "text");
        assert_ok(dir_write(&s.dir, "a/written", "two", 3, &err), &err);
        assert_inside_is(&s, "a/written", "two");
        assert_int_equal(dir_mkdir(&s.dir, "a", &err), -1);
        assert_int_equal(err.kind, ERR_EXISTS);
        assert_int_equal(dir_create(&s.dir, "a/written", &err), -1);
        assert_int_equal(err.kind, ERR_EXISTS);
        assert_int_equal(dir_mkdirs(&s.dir, "a/written", &err), -1);
        assert_int_equal(dir_mkdirs(&s.dir, "a/written/below", &err), -1);
        /* No temporary file is left. */
        char *a = file_join(s.inside, "a");
        assert_int_equal(scratch_count(a), 2);
        free(a);
        scene_close(&s);
    }
}

static void reading_a_file_beyond_the_limit_is_refused(void **state)
{
    struct scene s;
    struct err err = ERR_INIT;
    scene_open(&s, *state, false);
    free(scratch_file(s.inside, "file", "12345", 5));
    struct buf b = BUF_INIT(4);
    assert_int_equal(dir_read(&s.dir, "file", &b, &err), -1);
    assert_contains(err.msg, "/inside/file is larger than 4 bytes");
    buf_release(&b);
    scene_close(&s);
}

static void rename_replaces_a_file_and_rename_new_does_not(void **state)
{
    for (int without_openat2 = 0; without_openat2 < 2; without_openat2++) {
        struct scene s;
        struct err err = ERR_INIT;
        scene_open(&s, *state, without_openat2);
        assert_ok(dir_mkdirs(&s.dir, "x/y", &err), &err);
        free(scratch_file(s.inside, "x/from", "new", 3));
        free(scratch_file(s.inside, "x/y/to", "old", 3));
        assert_int_equal(dir_rename_new(&s.dir, "x/from", "x/y/to", &err), -1);
        assert_int_equal(err.kind, ERR_EXISTS);
        assert_contains(err.msg, "x/y/to: File exists");
        assert_inside_is(&s, "x/y/to", "old");
        assert_ok(dir_rename_new(&s.dir, "x/from", "third", &err), &err);
        assert_false(dir_exists(&s.dir, "x/from"));
        assert_int_equal(dir_rename_new(&s.dir, "x/from", "fourth", &err), -1);
        assert_ok(dir_rename(&s.dir, "third", "x/y/to", &err), &err);
        assert_inside_is(&s, "x/y/to", "new");
        assert_false(dir_exists(&s.dir, "third"));
        assert_int_equal(dir_rename(&s.dir, "third", "x/y/to", &err), -1);
        assert_contains(err.msg, "/inside/third: No such file or directory");
        scene_close(&s);
    }
}

static size_t count_links(int fd)
{
    struct stat st;
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    return st.st_nlink;
}

/* The file has no name until dir_give_name. */
static void a_nameless_file_never_replaces_a_file(void **state)
{
    struct scene s;
    struct err err = ERR_INIT;
    scene_open(&s, *state, false);
    free(scratch_file(s.inside, "taken", "x", 1));
    mode_t before = umask(0);
    int fd = dir_create_nameless(&s.dir, &err);
    umask(before);
    assert_ok(fd, &err);
    assert_int_equal(count_links(fd), 0);
    assert_int_equal(scratch_count(s.inside), 1);
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    assert_ok(fd_write_all(fd, "abc", 3, &err), &err);
    if (dir_can_name_file(fd)) {
        assert_int_equal(dir_give_name(&s.dir, fd, "taken", &err), -1);
        assert_int_equal(err.kind, ERR_EXISTS);
        assert_ok(dir_give_name(&s.dir, fd, "new", &err), &err);
        assert_inside_is(&s, "new", "abc");
    }
    fd_close(&fd);
    /* A file that has or had a name cannot be linked again. */
    fd = dir_open(&s.dir, "taken", &err);
    assert_false(dir_can_name_file(fd));
    assert_int_equal(dir_give_name(&s.dir, fd, "other", &err), -1);
    assert_int_equal(err.kind, ERR_UNSUPPORTED);
    fd_close(&fd);
    scene_close(&s);
}

/* The names of two files that exist at the same time differ, and start with the given prefix. */
static void names_of_temporary_files_differ_and_lack_the_pid(void **state)
{
    struct scene s;
    struct err err = ERR_INIT;
    char *names[2] = {NULL}, *pid = format_text("-%ld", (long)getpid());
    int fds[2];
    scene_open(&s, *state, false);
    for (int i = 0; i < 2; i++) {
        fds[i] = dir_create_temporary(&s.dir, "new", &names[i], &err);
        assert_ok(fds[i], &err);
        assert_int_equal(count_links(fds[i]), 1);
        assert_true(fcntl(fds[i], F_GETFD) & FD_CLOEXEC);
        assert_int_equal(strncmp(names[i], "new.tmp-", 8), 0);
        assert_null(strstr(names[i], pid));
    }
    assert_string_not_equal(names[0], names[1]);
    for (int i = 0; i < 2; i++) {
        fd_close(&fds[i]);
        free(names[i]);
    }
    free(pid);
    scene_close(&s);
}

/* ---- directories ------------------------------------------------------------------------------------- */

#define DEEP "a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/q/r/s/t/u/v/w/x/y/z/1/2/3/4"

static void missing_directories_are_created_below_existing_ones(void **state)
{
    static const char *const paths[] = {"a", "a/b/c", "a/b", "a/b/d/e/f", "g/h", DEEP, DEEP "/5", DEEP};
    for (int without_openat2 = 0; without_openat2 < 2; without_openat2++) {
        struct scene s;
        struct err err = ERR_INIT;
        struct stat st;
        scene_open(&s, *state, without_openat2);
        for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
            assert_ok(dir_mkdirs(&s.dir, paths[i], &err), &err);
            assert_ok(dir_stat(&s.dir, paths[i], &st, &err), &err);
            assert_true(S_ISDIR(st.st_mode) && (st.st_mode & 07777) == 0700);
        }
        assert_int_equal(scratch_count(s.inside), 2);
        make_link(&s, "nowhere", "a/dead");
        assert_int_equal(dir_mkdirs(&s.dir, "a/dead/below", &err), -1);
        assert_contains(err.msg, "is a symbolic link, and profgrab follows no links in this directory");
        char *long_name = format_text("a/new/%0256d/below", 0);
        assert_int_equal(dir_mkdirs(&s.dir, long_name, &err), -1);
        free(long_name);
        scene_close(&s);
    }
}

/* Returns the processor time of many calls of `operation`. */
static clock_t measure_calls(const struct dir *dir,
                             int (*operation)(const struct dir *, const char *, struct err *))
{
    clock_t begin = clock();
    for (int i = 0; i < 2000; i++)
        assert_int_equal(operation(dir, DEEP, NULL), 0);
    return clock() - begin;
}

static int look_up(const struct dir *dir, const char *path, struct err *err)
{
    struct stat st;
    return dir_stat(dir, path, &st, err);
}

/* A stranger's bundle may have a deep directory with very many files. dir_mkdirs must not try to create each
 * directory of its path again for each file. */
static void an_existing_deep_directory_takes_as_long_as_a_lookup(void **state)
{
    struct scene s;
    struct err err = ERR_INIT;
    bool fast = false;
    scene_open(&s, *state, false);
    assert_ok(dir_mkdirs(&s.dir, DEEP, &err), &err);
    for (int tries = 0; tries < 5 && !fast; tries++)
        fast = measure_calls(&s.dir, dir_mkdirs) < 6 * measure_calls(&s.dir, look_up);
    assert_true(fast);
    scene_close(&s);
}

/* ---- trees ------------------------------------------------------------------------------------------- */

static void removal_follows_no_link(void **state)
{
    for (int without_openat2 = 0; without_openat2 < 2; without_openat2++) {
        struct scene s;
        struct err err = ERR_INIT;
        scene_open(&s, *state, without_openat2);
        assert_ok(dir_mkdirs(&s.dir, "tree/a/b", &err), &err);
        make_link(&s, s.outside, "tree/a/link");
        make_link(&s, s.precious, "tree/a/b/link");
        make_link(&s, "nowhere", "tree/dead");
        assert_int_equal(mkfifoat(s.dir.fd, "tree/fifo", 0600), 0);
        for (int i = 0; i < 300; i++) {
            char *name = format_text("tree/a/b/%d", i);
            free(scratch_file(s.inside, name, "x", 1));
            free(name);
        }
        assert_ok(dir_remove(&s.dir, "tree", &err), &err);
        assert_int_equal(scratch_count(s.inside), 0);
        assert_ok(dir_remove(&s.dir, "tree", &err), &err);
        assert_ok(dir_remove(&s.dir, "none/below", &err), &err);
        scene_close(&s);
    }
}

struct walked {
    struct buf paths; /* of the entries, with / after a directory and @ after a link */
    size_t n;
    const char *stop; /* the path at which the walk fails; NULL: nowhere */
};

static int record_entry(void *ctx, const char *path, const struct stat *st, struct err *err)
{
    struct walked *w = ctx;
    w->n++;
    buf_addf(&w->paths, "%s%s ", path, S_ISDIR(st->st_mode) ? "/" : S_ISLNK(st->st_mode) ? "@" : "");
    return w->stop && strcmp(path, w->stop) == 0 ? err_set(err, ERR_FAILED, "stopped") : 0;
}

static void a_walk_lists_every_entry_up_to_its_limits(void **state)
{
    struct scene s;
    struct err err = ERR_INIT;
    struct walked walked = {.paths = BUF_INIT(4096)};
    struct dir_walk walk = {.max_entries = 5, .max_depth = 3, .visit = record_entry, .ctx = &walked};
    scene_open(&s, *state, false);
    assert_ok(dir_mkdirs(&s.dir, "a/b", &err), &err);
    free(scratch_file(s.inside, "a/b/file", "x", 1));
    make_link(&s, s.outside, "a/b/link");
    make_link(&s, s.outside, "top");
    assert_ok(dir_walk(&s.dir, &walk, &err), &err);
    assert_int_equal(walked.n, 5);
    static const char *const all[] = {"a/ ", "a/b/ ", "a/b/file ", "a/b/link@ ", "top@ "};
    for (size_t i = 0; i < 5; i++)
        assert_contains(buf_str(&walked.paths), all[i]);
    walk.max_entries = 4;
    assert_int_equal(dir_walk(&s.dir, &walk, &err), -1);
    assert_contains(err.msg, "/inside has more than 4 entries");
    walk.max_entries = 5;
    walk.max_depth = 2;
    assert_int_equal(dir_walk(&s.dir, &walk, &err), -1);
    assert_contains(err.msg, " lies deeper than 2 directories");
    walk.max_depth = 3;
    walked.stop = "a/b";
    assert_int_equal(dir_walk(&s.dir, &walk, &err), -1);
    assert_string_equal(err.msg, "stopped");
    buf_release(&walked.paths);
    scene_close(&s);
}

/* ---- without openat2 --------------------------------------------------------------------------------- */

/* Makes openat2 fail with this errno value, like the seccomp filter of an old container. */
static int refuse_openat2(int error)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof code / sizeof *code, .filter = code};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

/* Runs in a child process, because the filter cannot be removed. */
static void a_kernel_without_openat2_is_supported(void **state)
{
    static const int errors[] = {ENOSYS, EPERM};
    for (size_t i = 0; i < 2; i++) {
        struct scene s;
        int status = -1;
        scene_open(&s, *state, false);
        make_link(&s, s.outside, "away");
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            struct err err = ERR_INIT;
            if (refuse_openat2(errors[i]) != 0)
                _exit(2);
            int rc = dir_mkdirs(&s.dir, "a/b", NULL) < 0 || dir_write(&s.dir, "a/b/c", "x", 1, NULL) < 0;
            rc |= dir_write(&s.dir, "away/precious", "x", 1, &err) == 0 || err.kind != ERR_FAILED;
            _exit(rc);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
        assert_inside_is(&s, "a/b/c", "x");
        scene_close(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH(no_operation_follows_a_link_in_the_middle_of_a_path),
        SCRATCH(a_link_at_the_end_is_not_followed),
        SCRATCH(only_an_open_directory_is_used),
        SCRATCH(absolute_and_parent_paths_are_refused),
        SCRATCH(only_regular_files_are_opened),
        SCRATCH(written_files_are_private_under_every_umask),
        SCRATCH(reading_a_file_beyond_the_limit_is_refused),
        SCRATCH(rename_replaces_a_file_and_rename_new_does_not),
        SCRATCH(a_nameless_file_never_replaces_a_file),
        SCRATCH(names_of_temporary_files_differ_and_lack_the_pid),
        SCRATCH(missing_directories_are_created_below_existing_ones),
        SCRATCH(an_existing_deep_directory_takes_as_long_as_a_lookup),
        SCRATCH(removal_follows_no_link),
        SCRATCH(a_walk_lists_every_entry_up_to_its_limits),
        SCRATCH(a_kernel_without_openat2_is_supported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
