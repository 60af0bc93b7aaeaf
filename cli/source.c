#include "cli/source.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/whole.h"
#include "base/banned.h"

int source_most(uint64_t *ret, struct err *err)
{
    uint64_t most = UINT64_C(4) << 30;
    const char *set = getenv("PROFGRAB_PPROF_MAX");
    if (set && text_to_bytes(set, &most) < 0)
        return err_set(err, ERR_USAGE, "PROFGRAB_PPROF_MAX wants a size such as 8GB, not \"%s\"", set);
    *ret = most;
    return 0;
}

/* ---- where it is -----------------------------------------------------------------------------------------
 */

bool source_is_input(const char *name)
{
    return strcmp(name, "-") == 0;
}

/* BUNDLE:MEMBER, where what stands before a colon is a file: a new string for that, NULL if it is not so.
 * *ret_member points into the name. */
static char *bundle_of(const char *name, const char **ret_member)
{
    struct stat st;
    for (const char *colon = strchr(name, ':'); colon; colon = strchr(colon + 1, ':')) {
        char *path = strndup(name, (size_t)(colon - name));
        if (path && colon[1] && stat(path, &st) == 0 && S_ISREG(st.st_mode)) {
            *ret_member = colon + 1;
            return path;
        }
        free(path);
    }
    return NULL;
}

bool source_is_here(const char *name)
{
    const char *member;
    struct stat st;
    if (source_is_input(name) || stat(name, &st) == 0)
        return true;
    char *bundle = bundle_of(name, &member);
    free(bundle);
    return bundle != NULL;
}

uint64_t source_size(const char *name)
{
    const char *member;
    struct stat st;
    bool known = source_is_input(name) ? fstat(STDIN_FILENO, &st) == 0 : stat(name, &st) == 0;
    if (!known) {
        char *bundle = bundle_of(name, &member);
        known = bundle && stat(bundle, &st) == 0;
        free(bundle);
    }
    return known && S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
}

/* ---- its bytes -------------------------------------------------------------------------------------------
 */

/* A call that failed, as Go says it: with a small letter. */
static int failed(struct err *err, const char *call, const char *name)
{
    const char *why = strerror(errno);
    return err_set(err, ERR_NOT_FOUND, "%s %s: %c%s", call, name, tolower(why[0]), why + 1);
}

static int read_all(int fd, const char *name, struct buf *ret, struct err *err)
{
    return fd_read_all(fd, ret) < 0 ? failed(err, "read", name) : buf_check(ret, name, err);
}

static int read_file(const char *name, struct buf *ret, struct err *err)
{
    int fd = open(name, O_RDONLY | O_CLOEXEC);
    int rc = fd < 0 ? failed(err, "open", name) : read_all(fd, name, ret, err);
    fd_close(&fd);
    return rc;
}

static int read_member(const char *bundle, const char *member, struct buf *ret, struct err *err)
{
    const struct whole *whole = whole_get(err);
    int rc = whole ? whole->bundle_member_bytes(bundle, NULL, member, ret, err) : -1;
    if (rc < 0 && !err->hint[0])
        err_hint(err, "`profgrab bundle list %s` names what is in it", bundle);
    return rc;
}

int source_read(const char *name, struct buf *ret, struct err *err)
{
    struct stat st;
    uint64_t most = 0;
    int rc = source_most(&most, err);
    buf_init(ret, most);
    if (rc < 0)
        return -1;
    if (source_is_input(name))
        return read_all(STDIN_FILENO, "standard input", ret, err);
    if (stat(name, &st) == 0)
        return read_file(name, ret, err);
    int why = errno;
    const char *member;
    char *bundle = bundle_of(name, &member);
    errno = why;
    rc = bundle ? read_member(bundle, member, ret, err) : failed(err, "stat", name);
    free(bundle);
    return rc;
}

/* ---- what it holds ---------------------------------------------------------------------------------------
 */

static int add_inflated(void *ctx, const void *p, size_t n, struct err *err)
{
    buf_add(ctx, p, n);
    return buf_check(ctx, "the dump", err);
}

static int inflate_into(struct buf *to, const struct buf *from, struct err *err)
{
    struct gunzip *z = gunzip_new(add_inflated, to, to->max, err);
    int rc = z && gunzip_feed(z, from->data, from->len, err) == 0 ? gunzip_finish(z, err) : -1;
    gunzip_free(z);
    return rc;
}

int source_read_inflated(const char *name, struct buf *ret, struct err *err)
{
    struct buf inflated;
    int rc = source_read(name, ret, err);
    if (rc < 0 || ret->len < 2 || memcmp(ret->data, "\x1f\x8b", 2) != 0)
        return rc;
    buf_init(&inflated, ret->max);
    if ((rc = inflate_into(&inflated, ret, err)) < 0)
        err_wrap(err, "%s", name);
    buf_release(ret);
    *ret = inflated;
    return rc;
}

static int refuse_perf(const struct buf *bytes, const char *name, struct err *err)
{
    if (bytes->len < 8 || memcmp(bytes->data, "PERFILE2", 8) != 0)
        return 0;
    err_set(err, ERR_UNSUPPORTED, "%s is of perf record", name);
    return err_hint(err, "perf_to_profile of github.com/google/perf_data_converter makes a profile of it");
}

int source_profile(const char *name, struct profile **ret, struct err *err)
{
    struct buf bytes = BUF_INIT(0);
    int rc = source_read(name, &bytes, err);
    if (rc == 0)
        rc = refuse_perf(&bytes, name, err);
    if (rc == 0)
        rc = profile_parse_buf(&bytes, bytes.max, ret, err);
    buf_release(&bytes);
    return rc;
}
