#include "gateway/ssh/preauth.h"

#include <stdio.h>
#include <string.h>

#include "gateway/ssh/failure.h"
#include "base/banned.h"

/* Finds the version line or the start of one. Returns NULL without either. */
static const char *find_version(const char *p, size_t n)
{
    while (n > 0 && memcmp(p, "SSH-", n < 4 ? n : 4) != 0) {
        const char *end = memchr(p, '\n', n);
        if (!end)
            return NULL;
        n -= (size_t)(end + 1 - p);
        p = end + 1;
    }
    return n > 0 ? p : NULL;
}

/* Checks whether the server accepts SSH 2.0. Version 1.99 means that it also accepts 1.5 (RFC 4253
 * section 5.1). */
static bool is_version_2(const char *version, size_t n)
{
    return (n >= 8 && memcmp(version, "SSH-2.0-", 8) == 0) ||
           (n >= 9 && memcmp(version, "SSH-1.99-", 9) == 0);
}

/* Copies the first line, made printable and cut to a message's length. */
static char *first_line(const void *p, size_t n, char *dst, size_t cap)
{
    const char *end = memchr(p, '\n', n);
    size_t n_line = end ? (size_t)(end - (const char *)p) : n;
    while (n_line > 0 && ((const char *)p)[n_line - 1] == '\r')
        n_line--;
    return text_printable(dst, cap, p, n_line);
}

static int set_no_server(const void *p, size_t n, enum err_kind kind, struct err *err)
{
    char line[80], quoted[100];
    snprintf(quoted, sizeof quoted, ": it says \"%s\"", first_line(p, n, line, sizeof line));
    failure_set(FAILURE_NO_SSH_SERVER,
                FAILURE_DETAILS(quoted, " `ssh -G` shows what your configuration says"), err);
    if (err)
        err->kind = kind;
    return -1;
}

int preauth_check(const void *p, size_t n, struct err *err)
{
    const char *version = find_version(p, n);
    if (!version)
        return n < PREAUTH_BEFORE_MAX ? 0 : set_no_server(p, n, ERR_FAILED, err);
    size_t left = n - (size_t)(version - (const char *)p);
    if (!memchr(version, '\n', left) || is_version_2(version, left))
        return 0;
    char line[80];
    return failure_set(FAILURE_OLD_VERSION, FAILURE_DETAILS(first_line(version, left, line, sizeof line)),
                       err);
}

/* Sets the error for a server that sent nothing. */
static int explain_silence(enum preauth_end end, int64_t waited_ms, struct err *err)
{
    char limit[32], waited[80];
    if (end != PREAUTH_SILENT)
        return failure_set(FAILURE_CLOSED_EARLY, FAILURE_DETAILS(" before it sent any data"), err);
    snprintf(waited, sizeof waited, " (waited %s for an SSH banner)",
             text_duration(limit, sizeof limit, waited_ms));
    return failure_set(FAILURE_SERVER_SILENT, FAILURE_DETAILS(waited, " --connect-timeout sets the limit"),
                       err);
}

/* Sets the error for a server that sent text, but no version. */
static int explain_text(const void *p, size_t n, enum preauth_end end, struct err *err)
{
    char line[80];
    first_line(p, n, line, sizeof line);
    /* sshd sends this text if it has too many logins; older versions only close the connection. */
    if (strstr(line, "MaxStartups"))
        return failure_set(FAILURE_SERVER_BUSY, FAILURE_DETAILS(line), err);
    return set_no_server(p, n, end == PREAUTH_SILENT ? ERR_TIMEOUT : ERR_FAILED, err);
}

/* Sets the error for a server that failed after sending its SSH version. */
static int explain_handshake(enum preauth_end end, int64_t waited_ms, struct err *err)
{
    char waited[32];
    if (end == PREAUTH_CLOSED)
        return failure_set(FAILURE_HANDSHAKE_CLOSED, FAILURE_DETAILS(NULL), err);
    if (end == PREAUTH_SILENT)
        return failure_set(FAILURE_HANDSHAKE_SLOW,
                           FAILURE_DETAILS(text_duration(waited, sizeof waited, waited_ms)), err);
    return failure_set(FAILURE_HANDSHAKE_INVALID, FAILURE_DETAILS(NULL), err);
}

int preauth_explain(const void *p, size_t n, enum preauth_end end, int64_t waited_ms, struct err *err)
{
    if (n == 0)
        return explain_silence(end, waited_ms, err);
    if (preauth_check(p, n, err) < 0)
        return -1;
    return find_version(p, n) ? explain_handshake(end, waited_ms, err) : explain_text(p, n, end, err);
}
