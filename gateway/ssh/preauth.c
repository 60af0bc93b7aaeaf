#include "gateway/ssh/preauth.h"

#include <string.h>

#include "base/banned.h"

#define BUSY_HINT "too many logins at once; take fewer hosts at a time (--parallel 4)"

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

/* RFC 4253 section 5.1: 1.99 is a 2.0 server that also accepts 1.5. */
static bool is_version_2(const char *version, size_t n)
{
    return (n >= 8 && memcmp(version, "SSH-2.0-", 8) == 0) ||
           (n >= 9 && memcmp(version, "SSH-1.99-", 9) == 0);
}

/* Copies the first line, made printable and cut to a message's length. */
static char *first_line(const void *p, size_t n, char *dst, size_t cap)
{
    const char *end = memchr(p, '\n', n);
    size_t line = end ? (size_t)(end - (const char *)p) : n;
    while (line > 0 && ((const char *)p)[line - 1] == '\r')
        line--;
    return text_printable(dst, cap, p, line);
}

static int no_server(const void *p, size_t n, enum err_kind kind, struct err *err)
{
    char said[80];
    err_set(err, kind, "this is no SSH server: it says \"%s\"", first_line(p, n, said, sizeof said));
    return err_hint(err, "is the port right? `ssh -G` shows what your configuration says");
}

int preauth_check(const void *p, size_t n, struct err *err)
{
    const char *version = find_version(p, n);
    if (!version)
        return n < PREAUTH_BEFORE_MAX ? 0 : no_server(p, n, ERR_FAILED, err);
    size_t left = n - (size_t)(version - (const char *)p);
    if (!memchr(version, '\n', left) || is_version_2(version, left))
        return 0;
    char said[80];
    err_set(err, ERR_FAILED, "the server speaks an old version of SSH: \"%s\"",
            first_line(version, left, said, sizeof said));
    return err_hint(err, "only version 2.0 (RFC 4253) is spoken here: is the port right?");
}

/* The server sent nothing. */
static int explain_silence(enum preauth_end end, int64_t waited_ms, struct err *err)
{
    char waited[32];
    if (end == PREAUTH_SILENT) {
        err_set(err, ERR_TIMEOUT, "it accepts the connection but says nothing (waited %s for an SSH banner)",
                text_duration(waited, sizeof waited, waited_ms));
        err_unreached(err);
        return err_hint(
            err, "is the port right, and is the host alive? --connect-timeout sets how long is waited");
    }
    err_set(err, ERR_BUSY, "the server closed the connection before it said anything");
    return err_hint(err,
                    "is it an SSH server? a busy one turns connections away too (MaxStartups): take fewer "
                    "hosts at a time (--parallel 4)");
}

/* The server sent text, but no version. */
static int explain_text(const void *p, size_t n, enum preauth_end end, struct err *err)
{
    char said[80];
    first_line(p, n, said, sizeof said);
    /* sshd sends these words above its limit; older versions close without a text. */
    if (strstr(said, "MaxStartups")) {
        err_set(err, ERR_BUSY, "the server is busy: it says \"%s\"", said);
        return err_hint(err, BUSY_HINT);
    }
    return no_server(p, n, end == PREAUTH_SILENT ? ERR_TIMEOUT : ERR_FAILED, err);
}

/* The server sent its SSH version; the failure came later. */
static int explain_exchange(enum preauth_end end, int64_t waited_ms, struct err *err)
{
    char waited[32];
    switch (end) {
    case PREAUTH_CLOSED:
        err_set(err, ERR_FAILED, "the server closed the connection in the middle of the SSH handshake");
        return err_hint(err,
                        "its log says why; `ssh -v` to the same host tells whether it does so to everybody");
    case PREAUTH_SILENT:
        err_set(err, ERR_TIMEOUT, "the server began the SSH handshake, but did not end it within %s",
                text_duration(waited, sizeof waited, waited_ms));
        err_unreached(err);
        return err_hint(err, "an overloaded host, or a way on which large packets are lost (MTU); "
                             "--connect-timeout sets how long is waited");
    case PREAUTH_FAILED:
        break;
    }
    err_set(err, ERR_FAILED,
            "the SSH handshake failed: what the server sent is not what the protocol wants, or was "
            "changed on the way");
    return err_hint(err,
                    "is there a proxy or firewall that looks into SSH? `ssh -v` to the same host tells more");
}

int preauth_explain(const void *p, size_t n, enum preauth_end end, int64_t waited_ms, struct err *err)
{
    if (n == 0)
        return explain_silence(end, waited_ms, err);
    if (preauth_check(p, n, err) < 0)
        return -1;
    return find_version(p, n) ? explain_exchange(end, waited_ms, err) : explain_text(p, n, end, err);
}
