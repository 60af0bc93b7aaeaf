#include "cli/input/input.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/banned.h"

/* ---- bytes --------------------------------------------------------------------------------------------- */

/* Sets the error of a failed call in Go's form: "open FILE: no such file or directory". */
static int set_call_error(struct err *err, const char *call, const char *name)
{
    const char *why = strerror(errno);
    return err_set(err, ERR_NOT_FOUND, "%s %s: %c%s", call, name, tolower(why[0]), why + 1);
}

static int read_all(int fd, const char *name, struct buf *ret, struct err *err)
{
    return fd_read_all(fd, ret) < 0 ? set_call_error(err, "read", name) : buf_check(ret, name, err);
}

/* Reads a pipe or a similar file, of which at most input_max_of_unknown_size bytes are accepted. */
static int read_unsized(int fd, const char *name, struct buf *ret, struct err *err)
{
    uint64_t max_inflated = ret->max, max_unsized = 0;
    if (input_max_of_unknown_size(&max_unsized, err) < 0)
        return -1;
    ret->max = max_unsized;
    int rc = read_all(fd, name, ret, err);
    ret->max = max_inflated;
    return rc < 0 && ret->failed && !ret->out_of_memory ? input_hint_unknown_size(err) : rc;
}

static int read_open_file(int fd, const char *name, struct buf *ret, struct err *err)
{
    struct stat st;
    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? read_all(fd, name, ret, err)
                                                      : read_unsized(fd, name, ret, err);
}

static int read_file(const char *name, struct buf *ret, struct err *err)
{
    int fd = open(name, O_RDONLY | O_CLOEXEC);
    int rc = fd < 0 ? set_call_error(err, "open", name) : read_open_file(fd, name, ret, err);
    fd_close(&fd);
    return rc < 0 ? workdir_hint_directory(name, err) : 0;
}

static int read_member(const char *bundle, const char *member, struct input_keys *keys, struct buf *ret,
                       struct err *err)
{
    int rc = input_bundle_member(bundle, member, keys, ret, err);
    if (rc < 0 && err->kind == ERR_NOT_FOUND && !err->hint[0])
        input_bundle_hint_member(bundle, member, keys, err);
    return rc;
}

int input_read(const char *name, struct input_keys *keys, struct buf *ret, struct err *err)
{
    struct stat st;
    uint64_t max_bytes = 0;
    int rc = input_max_bytes(&max_bytes, err);
    buf_init(ret, max_bytes);
    if (rc < 0)
        return -1;
    if (input_is_stdin(name))
        return read_open_file(STDIN_FILENO, "standard input", ret, err);
    if (stat(name, &st) == 0)
        return read_file(name, ret, err);
    int why = errno;
    const char *member;
    char *bundle = input_bundle_of(name, &member);
    errno = why;
    rc = bundle ? read_member(bundle, member, keys, ret, err) : set_call_error(err, "stat", name);
    free(bundle);
    return rc;
}

/* ---- types of files ------------------------------------------------------------------------------------ */

enum {
    HEAD_SIZE = 512,        /* the bytes that identify a type of file: a block of a tarball */
    COMPRESSED_HEAD = 8192, /* compressed bytes to inflate, enough for HEAD_SIZE bytes */
    TAR_MAGIC_OFFSET = 257,
    TEXT_CHECKED = 1 << 20, /* the bytes of a dump that are searched for a NUL */
};

/* The first bytes of a file, inflated, with a NUL at the end. */
struct head {
    char bytes[HEAD_SIZE + 1];
    size_t n;
};

static int add_head(void *ctx, const void *p, size_t n, struct err *err)
{
    struct head *h = ctx;
    size_t added = n < HEAD_SIZE - h->n ? n : HEAD_SIZE - h->n;
    memcpy(h->bytes + h->n, p, added);
    h->n += added;
    /* The error ends gunzip_feed. */
    return h->n < HEAD_SIZE ? 0 : err_set(err, ERR_FAILED, "the head is complete");
}

/* Copies the first bytes; inflates them if they are gzip'ed. */
static void read_head(const void *p, size_t n, struct head *ret)
{
    struct err unused = ERR_INIT;
    *ret = (struct head){.n = 0};
    if (n < 2 || memcmp(p, "\x1f\x8b", 2) != 0) {
        add_head(ret, p, n < HEAD_SIZE ? n : HEAD_SIZE, &unused);
        return;
    }
    struct gunzip *z = gunzip_new(add_head, ret, UINT64_MAX, &unused);
    if (z)
        (void)!gunzip_feed(z, p, n < COMPRESSED_HEAD ? n : COMPRESSED_HEAD, &unused);
    gunzip_free(z);
}

static bool is_trace(const struct head *h)
{
    return strncmp(h->bytes, "go 1.", 5) == 0 && strstr(h->bytes, " trace");
}

static bool is_tarball(const struct head *h)
{
    return h->n == HEAD_SIZE && memcmp(h->bytes + TAR_MAGIC_OFFSET, "ustar", 5) == 0;
}

static bool is_age(const struct head *h)
{
    return strncmp(h->bytes, "age-encryption.org/", 19) == 0 ||
           strncmp(h->bytes, "-----BEGIN AGE ENCRYPTED FILE", 29) == 0;
}

static bool is_dump(const struct head *h)
{
    const char *at = strncmp(h->bytes, "goroutine ", 10) == 0 ? h->bytes : strstr(h->bytes, "\ngoroutine ");
    return at && strstr(at, " [") && strstr(at, "]:");
}

static bool is_html(const struct head *h)
{
    const char *at = h->bytes + strspn(h->bytes, " \t\r\n");
    return strncasecmp(at, "<!doctype html", 14) == 0 || strncasecmp(at, "<html", 5) == 0;
}

static bool is_program(const struct head *h)
{
    return memcmp(h->bytes, "\177ELF", 4) == 0;
}

static const char trace_command[] = "go tool trace", goroutines_command[] = "profgrab goroutines",
                  list_command[] = "profgrab bundle list";

/* The types of files that users mistake for profiles or dumps. The dump is last, because other types may
 * contain its lines. */
static const struct file_type {
    bool (*matches)(const struct head *h);
    const char *description;
    const char *command; /* the command that reads such a file; NULL: none */
} types[] = {{is_trace, "an execution trace", trace_command},
             {is_tarball, "a bundle or tarball", list_command},
             {is_age, "encrypted", list_command},
             {is_html, "an HTML page", NULL},
             {is_program, "a program", NULL},
             {is_dump, "a dump of goroutines", goroutines_command}};

static const struct file_type *find_type(const void *p, size_t n)
{
    struct head h;
    read_head(p, n, &h);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].matches(&h))
            return &types[i];
    return NULL;
}

/* Adds a hint that names the command for this type. `names_type`: the hint names the type too. */
static int hint_type(const struct file_type *type, bool names_type, const char *name, struct err *err)
{
    const char *is = names_type ? "it is " : "", *colon = names_type ? ": " : "";
    const char *description = names_type ? type->description : "";
    if (!type->command)
        return names_type ? err_hint(err, "it is %s", description) : -1;
    if (input_is_stdin(name))
        return err_hint(err, "%s%s%ssave it to a file for `%s FILE`", is, description, colon, type->command);
    if (type->matches == is_tarball && file_exists(name) && !input_is_bundle(name))
        return err_hint(err, "%s%s%s`gzip %s` makes a file that profgrab reads", is, description, colon,
                        name);
    if (type->command == trace_command && !file_exists(name))
        return err_hint(err, "%s%s%s`profgrab bundle extract` unpacks it, and `%s FILE` shows it", is,
                        description, colon, type->command);
    return err_hint(err, "%s%s%s`%s %s` shows it", is, description, colon, type->command, name);
}

int input_hint_type(const char *name, const void *p, size_t n, struct err *err)
{
    const struct file_type *type = find_type(p, n);
    return type ? hint_type(type, true, name, err) : -1;
}

bool input_is_bundle(const char *name)
{
    char first[COMPRESSED_HEAD];
    struct head h;
    int fd = input_is_stdin(name) ? -1 : file_open(name, NULL);
    ssize_t n = fd >= 0 ? read(fd, first, sizeof first) : -1;
    fd_close(&fd);
    if (n <= 0)
        return false;
    read_head(first, (size_t)n, &h);
    return is_tarball(&h) ? memcmp(first, "\x1f\x8b", 2) == 0 : is_age(&h);
}

/* ---- profiles and dumps -------------------------------------------------------------------------------- */

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

int input_read_inflated(const char *name, struct input_keys *keys, struct buf *ret, struct err *err)
{
    struct buf inflated;
    int rc = input_read(name, keys, ret, err);
    if (rc < 0 || ret->len < 2 || memcmp(ret->data, "\x1f\x8b", 2) != 0)
        return rc;
    buf_init(&inflated, ret->max);
    if ((rc = inflate_into(&inflated, ret, err)) < 0)
        err_wrap(err, "%s", name);
    buf_release(ret);
    *ret = inflated;
    return rc;
}

bool input_error_is_skippable(const struct err *err)
{
    return err->kind == ERR_FAILED || err->kind == ERR_UNRECOGNIZED || err->kind == ERR_UNSUPPORTED ||
           err->kind == ERR_NOT_FOUND || err->kind == ERR_NO_KEY;
}

/* Returns whether the message names the input: NAME is at its start or after a space, and `:`, ` is ` or
 * nothing follows. A short name may also be a part of other words of the message. */
static bool names_input(const char *msg, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = strstr(msg, name); at; at = strstr(at + 1, name))
        if ((at == msg || at[-1] == ' ') && (!at[n] || at[n] == ':' || str_begins(str_of(at + n), " is ")))
            return true;
    return false;
}

int input_name_in_error(const char *name, struct err *err)
{
    return err && !names_input(err->msg, name) ? err_wrap(err, "%s", name) : -1;
}

int input_check_dump(const char *name, const struct buf *bytes, bool strict, struct err *err)
{
    const struct file_type *type = find_type(bytes->data, bytes->len);
    size_t n = bytes->len < TEXT_CHECKED ? bytes->len : TEXT_CHECKED;
    if (type && type->command != goroutines_command) {
        err_set(err, ERR_FAILED, "%s is no dump of goroutines: it is %s", name, type->description);
        return hint_type(type, false, name, err);
    }
    if (strict && n > 0 && memchr(bytes->data, '\0', n))
        return err_set(err, ERR_FAILED, "%s is no dump of goroutines: it is not text", name);
    return 0;
}

static int refuse_perf(const struct buf *bytes, const char *name, struct err *err)
{
    if (bytes->len < 8 || memcmp(bytes->data, "PERFILE2", 8) != 0)
        return 0;
    err_set(err, ERR_UNSUPPORTED, "%s is a file of perf record", name);
    return err_hint(err, "perf_to_profile of github.com/google/perf_data_converter converts it to a profile");
}

/* Copies the beginning of the bytes for the hint, because profile_parse_buf releases them. */
static int parse_input(struct buf *bytes, const char *name, struct profile **ret, struct err *err)
{
    char first[COMPRESSED_HEAD];
    size_t n = bytes->len < sizeof first ? bytes->len : sizeof first;
    memcpy(first, bytes->data, n);
    if (profile_parse_buf(bytes, bytes->max, ret, err) == 0)
        return 0;
    return input_hint_type(name, first, n, err);
}

int input_parse(struct buf *bytes, const char *name, struct profile **ret, struct err *err)
{
    return refuse_perf(bytes, name, err) < 0 ? -1 : parse_input(bytes, name, ret, err);
}

int input_read_profile(const char *name, struct input_keys *keys, struct profile **ret, struct err *err)
{
    struct buf bytes = BUF_INIT(0);
    int rc = input_read(name, keys, &bytes, err);
    if (rc == 0)
        rc = input_parse(&bytes, name, ret, err);
    buf_release(&bytes);
    return rc;
}
