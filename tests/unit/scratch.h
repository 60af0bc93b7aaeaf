/* A test's own directory, and plain files in it. Every failure fails the test. */
#ifndef TESTS_UNIT_SCRATCH_H
#define TESTS_UNIT_SCRATCH_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/base.h"

/* Fills *state with the path of a new directory: for cmocka's set-up. */
static inline int scratch_setup(void **state)
{
    const char *tmp = getenv("TMPDIR");
    char *dir = file_join(tmp && *tmp ? tmp : "/tmp", "profgrab-unit-XXXXXX");
    if (!dir || !mkdtemp(dir))
        return -1;
    *state = dir;
    return 0;
}

static inline int scratch_teardown(void **state)
{
    int rc = file_remove(*state, NULL);
    free(*state);
    return rc;
}

/* Writes a file below the directory; returns its path, which the caller frees. Does not use file_write,
 * whose fsync would slow down thousands of small tests. */
static inline char *scratch_file(const char *dir, const char *name, const void *p, size_t n)
{
    char *path = file_join(dir, name);
    assert_non_null(path);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fchmod(fileno(f), 0600), 0); /* under any umask */
    assert_int_equal(fwrite(p, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
    return path;
}

static inline struct buf scratch_read(const char *path)
{
    struct buf b = BUF_INIT(64 << 20);
    struct err err = ERR_INIT;
    if (file_read(path, &b, &err) < 0)
        fail_msg("%s", err.msg);
    return b;
}

static inline unsigned scratch_mode(const char *path)
{
    struct stat st;
    assert_int_equal(lstat(path, &st), 0);
    return st.st_mode & 07777;
}

/* The number of entries of a directory. */
static inline size_t scratch_count(const char *dir)
{
    size_t n = 0;
    DIR *d = opendir(dir);
    assert_non_null(d);
    while (readdir(d))
        n++;
    closedir(d);
    return n - 2;
}

#endif
