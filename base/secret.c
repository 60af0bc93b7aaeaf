/*
 * secret_read reads the source into an array on the stack, trims and checks the text, copies it to the
 * caller, and wipes the array. Messages name the variable or the file, but not the command, because a
 * command may contain a secret.
 */
#include "base/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "base/fd.h"
#include "base/file.h"
#include "base/data/text.h"
#include "base/banned.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define WITH_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define WITH_SANITIZER 1
#endif
#endif
#ifndef WITH_SANITIZER
#define WITH_SANITIZER 0
#endif

#define SECRET_FORMAT "a secret is one line of visible ASCII characters and blanks"
#define THE_COMMAND "the command for the secret"

/* A file or a pipe with a secret, and the limits of the wait for its writer. */
struct line_source {
    const char *path;
    int64_t deadline;
    int cancel_fd;
};

void secret_ref_release(struct secret_ref *ref)
{
    free(ref->locator);
    *ref = (struct secret_ref){0};
}

void secret_wipe(struct secret *s)
{
    explicit_bzero(s, sizeof *s);
}

static int refuse_long_text(const char *what, struct err *err)
{
    err_set(err, ERR_USAGE, "%s contains more than %d bytes", what, SECRET_MAX - 1);
    return err_hint(err, SECRET_FORMAT);
}

/* Cuts the line end and checks the rest. `what` names the source. */
static int check_line(struct secret *s, const char *what, struct err *err)
{
    if (s->len && s->text[s->len - 1] == '\n')
        s->len--;
    if (s->len && s->text[s->len - 1] == '\r')
        s->len--;
    s->text[s->len] = '\0';
    bool visible = true;
    for (size_t i = 0; i < s->len; i++)
        visible = visible && s->text[i] >= ' ' && s->text[i] <= '~';
    if (s->len && visible)
        return 0;
    err_set(err, ERR_USAGE, "%s %s", what,
            s->len ? "contains more than one line, or characters that no secret has" : "is empty");
    return err_hint(err, SECRET_FORMAT);
}

static int copy_line(struct secret *s, const char *text, size_t n, const char *what, struct err *err)
{
    if (n >= sizeof s->text)
        return refuse_long_text(what, err);
    memcpy(s->text, text, n);
    s->len = n;
    return check_line(s, what, err);
}

static int read_variable(const char *name, struct secret *s, struct err *err)
{
    char what[200];
    snprintf(what, sizeof what, "the environment variable %s", name);
    const char *value = getenv(name);
    if (value)
        return copy_line(s, value, strlen(value), what, err);
    err_set(err, ERR_USAGE, "%s is not set", what);
    return err_hint(err, "set it without showing it: read -rs %s; export %s", name, name);
}

/* Checks owner and mode: other users must neither read the secret nor replace it. */
static int check_file(int fd, const char *path, struct err *err)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return err_sys(err, "cannot look at %s", path);
    if (st.st_uid != geteuid() && st.st_uid != 0) {
        err_set(err, ERR_USAGE, "%s belongs to neither you nor root", path);
        return err_hint(err, "make a copy of your own, with mode 0600");
    }
    if (st.st_mode & (S_IRWXG | S_IRWXO)) {
        err_set(err, ERR_USAGE, "%s can be read or changed by others than its owner", path);
        return err_hint(err, "chmod 600 %s", path);
    }
    return 0;
}

/* Reads the file into the array. Fails if the text fills the array, because a NUL must follow it. */
static int read_file(int fd, const char *path, struct secret *s, struct err *err)
{
    while (s->len < sizeof s->text) {
        ssize_t n = read(fd, s->text + s->len, sizeof s->text - s->len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_sys(err, "cannot read %s", path);
        if (n == 0)
            return check_line(s, path, err);
        s->len += (size_t)n;
    }
    return refuse_long_text(path, err);
}

static int read_secret_file(const char *path, struct secret *s, struct err *err)
{
    int fd = file_open(path, err);
    if (fd < 0) {
        if (err && err->kind == ERR_NOT_FOUND)
            err_hint(err, "create it so that only you can read it: (umask 077; cat > %s)", path);
        if (err)
            err->kind = ERR_USAGE;
        return -1;
    }
    int rc = check_file(fd, path, err) == 0 ? read_file(fd, path, s, err) : -1;
    fd_close(&fd);
    return rc;
}

static int open_line_source(const char *path, struct err *err)
{
    struct stat st;
    /* O_NONBLOCK: opening a pipe does not wait for its writer. The read waits, with a deadline. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        err_sys(err, "cannot open %s", path);
        if (err)
            err->kind = ERR_USAGE;
        return -1;
    }
    if (fstat(fd, &st) < 0)
        err_sys(err, "cannot look at %s", path);
    else if (!S_ISREG(st.st_mode) && !S_ISFIFO(st.st_mode))
        err_set(err, ERR_USAGE, "%s is neither a file nor a pipe", path);
    else if (check_file(fd, path, err) == 0)
        return fd;
    fd_close(&fd);
    return -1;
}

/* Reads up to the end of the first line or of the file. s->text may contain bytes after that line; *ret_n
 * counts them too. */
static int read_first_line(int fd, const struct line_source *from, struct secret *s, size_t *ret_n,
                           struct err *err)
{
    size_t n = 0;
    while (n < sizeof s->text) {
        if (fd_wait(fd, POLLIN, from->deadline, from->cancel_fd, err) < 0)
            return err_wrap(err, "reading %s", from->path);
        ssize_t got = read(fd, s->text + n, sizeof s->text - n);
        if (got < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (got < 0)
            return err_sys(err, "cannot read %s", from->path);
        n += (size_t)got;
        if (got == 0 || memchr(s->text, '\n', n)) {
            *ret_n = n;
            return 0;
        }
    }
    return refuse_long_text(from->path, err);
}

/* Removes everything after the first line. */
static int keep_first_line(const char *path, size_t n, struct secret *s, struct err *err)
{
    const char *end = memchr(s->text, '\n', n);
    s->len = end ? (size_t)(end - s->text) : n;
    if (s->len == sizeof s->text)
        return refuse_long_text(path, err);
    if (s->len && s->text[s->len - 1] == '\r')
        s->len--;
    explicit_bzero(s->text + s->len, sizeof s->text - s->len);
    if (s->len && !memchr(s->text, '\0', s->len))
        return 0;
    return err_set(err, ERR_USAGE, "the first line of %s %s", path,
                   s->len ? "contains a NUL byte" : "is empty");
}

int secret_read_line(const char *path, int64_t deadline, int cancel_fd, struct secret *ret, struct err *err)
{
    const struct line_source from = {path, deadline, cancel_fd};
    struct secret s = {.len = 0};
    size_t n = 0;
    int fd = open_line_source(path, err);
    if (fd < 0)
        return -1;
    int rc = read_first_line(fd, &from, &s, &n, err);
    if (rc == 0)
        rc = keep_first_line(path, n, &s, err);
    if (rc == 0)
        *ret = s;
    secret_wipe(&s);
    fd_close(&fd);
    return rc;
}

static int refuse_exit_code(const struct proc_result *r, struct err *err)
{
    err_set(err, ERR_USAGE, THE_COMMAND " ended with %d%s%s", r->exit_code, *r->error_output ? ": " : "",
            r->error_output);
    return err_hint(err, "/bin/sh runs it without input; it must print the secret and end with 0");
}

static int run_command(const char *command, const struct proc_limits *limits, struct secret *s,
                       struct err *err)
{
    struct proc_result r;
    struct proc_limits own = *limits;
    own.max_output = SECRET_MAX - 1;
    own.secret_output = true;
    if (proc_run((const char *const[]){"/bin/sh", "-c", command, NULL}, &own, &r, err) < 0) {
        err_wrap(err, THE_COMMAND);
        /* ERR_FAILED means that the command printed too much. Other errors keep their kind. */
        if (err && err->kind == ERR_FAILED)
            err->kind = ERR_USAGE;
        return -1;
    }
    int rc = r.exit_code ? refuse_exit_code(&r, err)
                         : copy_line(s, buf_str(&r.out), r.out.len, "the output of " THE_COMMAND, err);
    proc_result_release(&r);
    return rc;
}

static int read_source(const struct secret_ref *ref, const struct proc_limits *limits, struct secret *s,
                       struct err *err)
{
    switch (ref->kind) {
    case SECRET_ENV:
        return read_variable(ref->locator, s, err);
    case SECRET_FILE:
        return read_secret_file(ref->locator, s, err);
    case SECRET_COMMAND:
        return run_command(ref->locator, limits, s, err);
    case SECRET_NONE:
        break;
    }
    return err_set(err, ERR_USAGE, "the secret has no source: name a variable, a file or a command");
}

int secret_read(const struct secret_ref *ref, const struct proc_limits *limits, struct secret *ret,
                struct err *err)
{
    struct secret s = {.len = 0};
    int rc = read_source(ref, limits, &s, err);
    if (rc == 0)
        *ret = s;
    secret_wipe(&s);
    return rc;
}

int secret_check(const struct secret_ref *ref, struct err *err)
{
    struct secret s = {.len = 0};
    if (ref->kind == SECRET_COMMAND)
        return 0;
    int rc = read_source(ref, NULL, &s, err);
    secret_wipe(&s);
    return rc;
}

/* ---- masking ---- */

#define STARS "***"

/* Replaces n bytes with three asterisks. */
static void replace_with_stars(char *p, size_t n)
{
    memset(p, STARS[0], strlen(STARS));
    memmove(p + strlen(STARS), p + n, strlen(p + n) + 1);
}

/* If the text before offset `at` ends with a beginning of `needle` (at least four bytes), masks that
 * beginning. */
static void mask_truncated(char *text, size_t at, const char *needle)
{
    size_t n = strlen(needle);
    for (size_t k = n - 1 < at ? n - 1 : at; k > strlen(STARS); k--)
        if (strncmp(text + at - k, needle, k) == 0) {
            replace_with_stars(text + at - k, k);
            return;
        }
}

/* Masks every `needle`, also one that is incomplete because the text was cut (at the end of the text or
 * before `...`). Ignores a needle of fewer than three bytes, and an incomplete one of fewer than four. */
static void mask_text(char *text, const char *needle)
{
    size_t n = strlen(needle);
    if (n < strlen(STARS))
        return;
    for (char *p = text; (p = strstr(p, needle)); p += strlen(STARS))
        replace_with_stars(p, n);
    mask_truncated(text, strlen(text), needle);
    for (char *p = text; (p = strstr(p, "...")); p++)
        mask_truncated(text, (size_t)(p - text), needle);
}

void secret_mask(char *text, const char *needle)
{
    char shown[SECRET_MAX * 2];
    mask_text(text, needle);
    mask_text(text, text_printable(shown, sizeof shown, needle, strlen(needle)));
    explicit_bzero(shown, sizeof shown);
}

int secret_make_hex(char *ret, size_t n, struct err *err)
{
    for (size_t i = 0; i < n; i++) {
        unsigned char byte;
        if (getentropy(&byte, 1) < 0)
            return err_sys(err, "the system has no random numbers");
        snprintf(ret + 2 * i, 3, "%02x", byte);
    }
    return 0;
}

void secret_protect_process(void)
{
    setrlimit(RLIMIT_CORE, &(struct rlimit){0});
#ifdef __linux__
    /* RLIMIT_CORE has no effect if core dumps are piped to a program (core(5),
     * /proc/sys/kernel/core_pattern). */
    if (!WITH_SANITIZER)
        prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
#endif
}
