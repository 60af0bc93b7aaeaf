/*
 * A profile is inflated as a whole, since its strings are known only at its end, and written by zlib as it
 * comes. Dumps are read line by line.
 */
#include "bundle/redact.h"

#include <fnmatch.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "proto/proto.h"
#include "base/banned.h"

enum { PROFILE_MAX = 256 << 20, CMDLINE_MAX = 4 << 20, LINE_MAX_BYTES = 1 << 20, CHUNK = 65536 };

const char *redact_rule_name(enum redact_rule rule)
{
    static const char *const names[] = {
        [REDACT_OPTION] = "option", [REDACT_URL] = "url", [REDACT_TOKEN] = "token", [REDACT_LABEL] = "label"};
    return names[rule];
}

uint64_t redact_sum(const struct redact_tally *t)
{
    uint64_t sum = 0;
    for (int i = 0; i < REDACT_RULES; i++)
        sum += t->n[i];
    return sum;
}

/* ---- labels ---------------------------------------------------------------------------------------------
 */

bool redact_wants_label(const struct strlist *more, const char *key, size_t n)
{
    static const char *const known[] = {
        "*user*",   "*email*",    "*mail*",   "*token*",   "*session*", "*authorization*", "*passw*",
        "*secret*", "*cookie*",   "*apikey*", "*api_key*", "*api-key*", "*api.key*",       "*credential*",
        "*phone*",  "*customer*", "login",    "*account*", "ip",        "*remote_addr*",   "*client_ip*"};
    char name[256];
    if (n >= sizeof name || memchr(key, '\0', n))
        return true; /* nothing a person has written */
    memcpy(name, key, n);
    name[n] = '\0';
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (fnmatch(known[i], name, FNM_CASEFOLD) == 0)
            return true;
    for (size_t i = 0; more && i < more->n; i++)
        if (fnmatch(more->items[i], name, FNM_CASEFOLD) == 0)
            return true;
    return false;
}

/* The length of the quoted text that begins here (Go's strconv.Quote), quotes included; 0: there is none. */
static size_t quoted_length(const char *p, size_t n)
{
    if (n == 0 || p[0] != '"')
        return 0;
    for (size_t i = 1; i < n; i++) {
        if (p[i] == '\\')
            i++;
        else if (p[i] == '"')
            return i + 1;
    }
    return 0;
}

/* `"key":"value"`, as `# labels: {...}` has them; the blank behind the colon is newer Go's. Returns how much
 * was dealt with; 0: no label begins here. */
static size_t redact_pair(const char *p, size_t n, const struct strlist *more, struct buf *ret,
                          struct redact_tally *tally)
{
    size_t key = quoted_length(p, n), at = key;
    if (key == 0 || at >= n || p[at] != ':')
        return 0;
    at += at + 1 < n && p[at + 1] == ' ' ? 2 : 1;
    size_t value = quoted_length(p + at, n - at);
    if (value == 0)
        return 0;
    bool goes = redact_wants_label(more, p + 1, key - 2);
    buf_add(ret, p, goes ? at : at + value);
    if (goes)
        buf_adds(ret, "\"" REDACTED "\"");
    tally->n[REDACT_LABEL] += goes;
    return at + value;
}

static bool begins(const char *p, size_t n, const char *s)
{
    return n >= strlen(s) && memcmp(p, s, strlen(s)) == 0;
}

void redact_dump_line(const char *p, size_t n, const struct strlist *more, struct buf *ret,
                      struct redact_tally *tally)
{
    if (!begins(p, n, "# labels: ") && !begins(p, n, "goroutine ")) {
        buf_add(ret, p, n);
        return;
    }
    for (size_t at = 0; at < n;) {
        size_t used = redact_pair(p + at, n - at, more, ret, tally);
        if (used == 0)
            buf_addc(ret, p[at]);
        at += used ? used : 1;
    }
}

/* ---- members --------------------------------------------------------------------------------------------
 */

/* Up to cap bytes; *ret is 0 at the end. */
static int read_some(int fd, char *p, size_t cap, size_t *ret, struct err *err)
{
    for (;;) {
        ssize_t n = read(fd, p, cap);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_sys(err, "cannot read");
        *ret = (size_t)n;
        return 0;
    }
}

static int read_all(int fd, struct buf *ret, const char *what, struct err *err)
{
    char chunk[CHUNK];
    for (size_t n = 1; n > 0;) {
        if (read_some(fd, chunk, sizeof chunk, &n, err) < 0)
            return -1;
        buf_add(ret, chunk, n);
        if (buf_check(ret, what, err) < 0)
            return -1;
    }
    return 0;
}

static int cmdline(const struct redact_work *w, struct redact_tally *tally, struct err *err)
{
    struct buf in = BUF_INIT(CMDLINE_MAX), out = BUF_INIT(16u * CMDLINE_MAX);
    int rc = read_all(w->from, &in, "the command line", err);
    if (rc == 0) {
        redact_cmdline(buf_str(&in), in.len, &out, tally);
        rc = buf_check(&out, "the command line", err);
    }
    if (rc == 0)
        rc = fd_write_all(w->to, buf_str(&out), out.len, err);
    buf_release(&in);
    buf_release(&out);
    return rc;
}

/* Deals with the whole lines in `in`, all of it `at_end`. */
static int lines(const struct redact_work *w, struct buf *in, bool at_end, struct redact_tally *tally,
                 struct err *err)
{
    struct buf out = BUF_INIT(64u * LINE_MAX_BYTES);
    size_t done = 0;
    while (done < in->len) {
        const char *p = in->data + done, *end = memchr(p, '\n', in->len - done);
        if (!end && !at_end)
            break;
        size_t n = end ? (size_t)(end - p) + 1 : in->len - done;
        redact_dump_line(p, n, w->labels, &out, tally);
        done += n;
    }
    int rc = buf_check(&out, "a goroutine dump", err);
    if (rc == 0)
        rc = fd_write_all(w->to, buf_str(&out), out.len, err);
    buf_release(&out);
    buf_consume(in, done);
    return rc;
}

static int dump(const struct redact_work *w, struct redact_tally *tally, struct err *err)
{
    struct buf in = BUF_INIT(LINE_MAX_BYTES + CHUNK);
    char chunk[CHUNK];
    int rc = 0;
    for (size_t n = 1; rc == 0 && n > 0;) {
        rc = read_some(w->from, chunk, sizeof chunk, &n, err);
        if (rc == 0) {
            buf_add(&in, chunk, n);
            rc = buf_check(&in, "a line of the goroutine dump", err);
        }
        if (rc == 0)
            rc = lines(w, &in, n == 0, tally, err);
    }
    buf_release(&in);
    return rc;
}

/* ---- profiles -------------------------------------------------------------------------------------------
 */

static int keep(void *ctx, const void *p, size_t n, struct err *err)
{
    buf_add(ctx, p, n);
    return buf_check(ctx, "the profile", err);
}

static int inflate_all(const struct buf *file, struct buf *ret, struct err *err)
{
    struct gunzip *z = gunzip_new(keep, ret, PROFILE_MAX, err);
    if (!z)
        return -1;
    int rc = gunzip_feed(z, file->data, file->len, err);
    if (rc == 0)
        rc = gunzip_finish(z, err);
    gunzip_free(z);
    return rc;
}

static bool wants_label(void *ctx, const char *key, size_t n)
{
    return redact_wants_label(ctx, key, n);
}

static int to_gzip(void *ctx, const void *p, size_t n, struct err *err)
{
    return gzwrite(ctx, p, (unsigned)n) == (int)n ? 0 : err_sys(err, "cannot write the profile");
}

/* gzip'ed, as profiles are. */
static int relabel(const struct redact_work *w, const struct buf *plain, struct redact_tally *tally,
                   struct err *err)
{
    int fd = dup(w->to);
    gzFile gz = fd < 0 ? NULL : gzdopen(fd, "wb");
    if (!gz) {
        fd_close(&fd);
        return err_nomem(err);
    }
    struct profile_relabel how = {.wanted = wants_label,
                                  .ctx = (void *)(uintptr_t)w->labels,
                                  .text = REDACTED,
                                  .sink = to_gzip,
                                  .sink_ctx = gz};
    uint64_t labels = 0;
    int rc = profile_relabel(buf_str(plain), plain->len, &how, &labels, err);
    if (gzclose(gz) != Z_OK && rc == 0)
        rc = err_sys(err, "cannot write the profile");
    if (rc == 0)
        tally->n[REDACT_LABEL] += labels;
    return rc;
}

static int profile(const struct redact_work *w, struct redact_tally *tally, struct err *err)
{
    struct buf file = BUF_INIT(PROFILE_MAX), inflated = BUF_INIT(PROFILE_MAX);
    int rc = read_all(w->from, &file, "the profile", err);
    bool zipped = begins(buf_str(&file), file.len, "\x1f\x8b");
    if (rc == 0 && zipped)
        rc = inflate_all(&file, &inflated, err);
    if (rc == 0)
        rc = relabel(w, zipped ? &inflated : &file, tally, err);
    buf_release(&file);
    buf_release(&inflated);
    return rc;
}

int redact_member(const struct redact_work *work, struct redact_tally *tally, struct err *err)
{
    static int (*const works[])(const struct redact_work *, struct redact_tally *, struct err *) = {
        [REDACT_CMDLINE] = cmdline, [REDACT_PROFILE] = profile, [REDACT_DUMP] = dump};
    return works[work->form](work, tally, err);
}
