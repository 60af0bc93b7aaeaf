/*
 * Members are read in pieces. A profile is read several times (proto/relabel.c) and inflated each time, which
 * costs less than keeping it in memory. A command line is kept in memory, because its arguments depend on
 * each other.
 */
#include "bundle/redact/redact.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "bundle/redact/redact_lines.h"
#include "proto/proto.h"
#include "base/banned.h"

#define PROFILE_MAX (UINT64_C(4) << 30) /* inflated; fetch accepts none larger */
#define TEXT_MAX (UINT64_C(256) << 20)  /* inflated, for a gzip'ed text */

/* Compression level 3; Go itself writes profiles at level 1. */
#define GZIP_MODE "wb3"

/* GROWTH: the most output bytes for one input byte. */
enum { CMDLINE_MAX = 4 << 20, CHUNK = 65536, GROWTH = 16 };

const char *redact_rule_name(enum redact_rule rule)
{
    static const char *const names[] = {
        [REDACT_OPTION] = "option",  [REDACT_URL] = "url",       [REDACT_TOKEN] = "token",
        [REDACT_LABEL] = "label",    [REDACT_REPEAT] = "repeat", [REDACT_NAME] = "name",
        [REDACT_UNKNOWN] = "unknown"};
    return names[rule];
}

uint64_t redact_sum(const struct redact_tally *t)
{
    uint64_t sum = 0;
    for (int i = 0; i < REDACT_RULES; i++)
        sum += t->n[i];
    return sum;
}

/* ---- labels -------------------------------------------------------------------------------------------- */

bool redact_is_secret_label(const struct strlist *more, const char *key, size_t n)
{
    static const char *const known[] = {
        "*user*",   "*email*",    "*mail*",   "*token*",   "*session*", "*authorization*", "*passw*",
        "*secret*", "*cookie*",   "*apikey*", "*api_key*", "*api-key*", "*api.key*",       "*credential*",
        "*phone*",  "*customer*", "login",    "*account*", "ip",        "*remote_addr*",   "*client_ip*"};
    char name[256];
    if (n >= sizeof name || memchr(key, '\0', n))
        return true; /* longer than a person writes */
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

/* ---- dumps --------------------------------------------------------------------------------------------- */

/* The parser's state in a dump. A label is `"key":"value"`, as in `# labels: {...}`: quoted as in Go, with a
 * blank after the colon in newer versions of Go. */
enum { BEGINNING, OTHER_LINE, OUTSIDE_QUOTES, IN_KEY, BEHIND_KEY, BEHIND_COLON, BEHIND_BLANK, IN_VALUE };

/* The beginnings of the lines that may have labels. */
static const char *const labelled_beginnings[] = {"# labels: ", "goroutine "};

/* Returns whether a line that begins with these n bytes may contain labels. *ret_whole: the n bytes are a
 * whole entry of `labelled_beginnings`. */
static bool may_have_labels(const char *p, size_t n, bool *ret_whole)
{
    for (size_t i = 0; i < sizeof labelled_beginnings / sizeof *labelled_beginnings; i++)
        if (strncmp(labelled_beginnings[i], p, n) == 0) {
            *ret_whole = labelled_beginnings[i][n] == '\0';
            return true;
        }
    return false;
}

static unsigned begin_line(struct redact_dump *d, char c)
{
    bool whole = false;
    d->key[d->n++] = c;
    if (!may_have_labels(d->key, d->n, &whole))
        return OTHER_LINE;
    return whole ? OUTSIDE_QUOTES : BEGINNING;
}

/* Returns whether the byte ends the quoted text. */
static bool ends_quotes(struct redact_dump *d, char c)
{
    bool ends = c == '"' && !d->escaped;
    d->escaped = c == '\\' && !d->escaped;
    return ends;
}

static unsigned begin_key(struct redact_dump *d)
{
    d->n = 0;
    d->escaped = false;
    return IN_KEY;
}

static unsigned continue_key(struct redact_dump *d, char c)
{
    if (ends_quotes(d, c))
        return BEHIND_KEY;
    if (d->n < sizeof d->key)
        d->key[d->n] = c;
    d->n++;
    return IN_KEY;
}

/* Returns the state after the byte that follows the closing quote of a key. Without a colon, the quoted text
 * was no key, and its closing quote may be the opening quote of the next key. */
static unsigned behind_key(struct redact_dump *d, char c)
{
    if (c == ':')
        return BEHIND_COLON;
    begin_key(d);
    return continue_key(d, c);
}

static unsigned begin_value(struct redact_dump *d, struct buf *ret)
{
    d->escaped = false;
    d->is_secret = d->n > sizeof d->key || redact_is_secret_label(d->more, d->key, d->n);
    if (d->is_secret) {
        buf_adds(ret, REDACTED);
        d->tally->n[REDACT_LABEL]++;
    }
    return IN_VALUE;
}

/* Returns the state after a byte outside of values. Writes [redacted] if a secret value begins. */
static unsigned next_state(struct redact_dump *d, char c, struct buf *ret)
{
    switch (d->state) {
    case BEGINNING:
        return begin_line(d, c);
    case IN_KEY:
        return continue_key(d, c);
    case BEHIND_KEY:
        return behind_key(d, c);
    case BEHIND_COLON:
        if (c == ' ')
            return BEHIND_BLANK;
        /* fall through */
    case BEHIND_BLANK:
        return c == '"' ? begin_value(d, ret) : OUTSIDE_QUOTES;
    default:
        return c == '"' ? begin_key(d) : OUTSIDE_QUOTES;
    }
}

static void redact_byte(struct redact_dump *d, char c, struct buf *ret)
{
    bool inside = d->state == IN_VALUE && c != '\n', ends = inside && ends_quotes(d, c);
    if (!inside || ends || !d->is_secret)
        buf_addc(ret, c);
    if (c == '\n') {
        d->state = BEGINNING;
        d->n = 0;
    } else if (!inside) {
        d->state = next_state(d, c, ret);
    } else if (ends) {
        d->state = OUTSIDE_QUOTES;
    }
}

void redact_dump(struct redact_dump *d, const char *p, size_t n, struct buf *ret)
{
    for (size_t at = 0; at < n;) {
        const char *end = d->state == OTHER_LINE ? memchr(p + at, '\n', n - at) : NULL;
        size_t plain = d->state != OTHER_LINE ? 0 : end ? (size_t)(end - p) - at : n - at;
        buf_add(ret, p + at, plain);
        at += plain;
        if (at < n)
            redact_byte(d, p[at++], ret);
    }
}

/* ---- members ------------------------------------------------------------------------------------------- */

/* Reads up to cap bytes; *ret is 0 at the end. */
static int read_some(const struct redact_work *w, char *p, size_t cap, size_t *ret, struct err *err)
{
    if (stop_check(w->stop, err) < 0)
        return -1;
    for (;;) {
        ssize_t n = read(w->from, p, cap);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_sys(err, "cannot read");
        *ret = (size_t)n;
        return 0;
    }
}

/* Passes all bytes to `sink`, from the beginning. */
static int read_all(const struct redact_work *w, gunzip_sink_fn *sink, void *ctx, struct err *err)
{
    char chunk[CHUNK];
    if (lseek(w->from, 0, SEEK_SET) < 0)
        return err_sys(err, "cannot read");
    for (size_t n = 1; n > 0;)
        if (read_some(w, chunk, sizeof chunk, &n, err) < 0 || (n > 0 && sink(ctx, chunk, n, err) < 0))
            return -1;
    return 0;
}

/* A callback for the pieces of a member, with a check of `stop`. */
struct checked_sink {
    const struct redact_work *w;
    gunzip_sink_fn *sink;
    void *ctx;
};

/* Passes a piece on. Checks `stop` for each inflated piece, because a few bytes of a file may inflate to
 * many. */
static int pass_checked(void *ctx, const void *p, size_t n, struct err *err)
{
    const struct checked_sink *to = ctx;
    return stop_check(to->w->stop, err) < 0 ? -1 : to->sink(to->ctx, p, n, err);
}

static int to_gunzip(void *ctx, const void *p, size_t n, struct err *err)
{
    return gunzip_feed(ctx, p, n, err);
}

/* A member, inflated if it is gzip'ed. */
struct member {
    const struct redact_work *w;
    uint64_t max; /* inflated bytes */
    bool zipped;
    bool has_unsearched; /* the gzip headers may have bytes that no rule searches: an optional field such as a
                            name, or a second header */
};

static int read_gzip_header(struct member *m, struct err *err)
{
    unsigned char head[4] = {0};
    ssize_t n = pread(m->w->from, head, sizeof head, 0);
    m->zipped = n > 1 && head[0] == 0x1f && head[1] == 0x8b;
    m->has_unsearched = m->zipped && head[3] != 0;
    return n < 0 ? err_sys(err, "cannot read") : 0;
}

/* Passes all inflated bytes of the member to `sink`, from the beginning. */
static int read_member(void *ctx, gunzip_sink_fn *sink, void *sink_ctx, struct err *err)
{
    struct member *m = ctx;
    struct checked_sink to = {.w = m->w, .sink = sink, .ctx = sink_ctx};
    if (!m->zipped)
        return read_all(m->w, pass_checked, &to, err);
    struct gunzip *z = gunzip_new(pass_checked, &to, m->max, err);
    int rc = z ? read_all(m->w, to_gunzip, z, err) : -1;
    if (rc == 0)
        rc = gunzip_finish(z, err);
    if (z && gunzip_members(z) > 1)
        m->has_unsearched = true;
    gunzip_free(z);
    return rc;
}

static int append_piece(void *ctx, const void *p, size_t n, struct err *err)
{
    buf_add(ctx, p, n);
    return buf_check(ctx, "the command line", err);
}

static int redact_cmdline_member(const struct redact_work *w, struct redact_tally *tally, struct err *err)
{
    struct buf in = BUF_INIT(CMDLINE_MAX), out = BUF_INIT((size_t)GROWTH * CMDLINE_MAX);
    struct member m = {.w = w, .max = CMDLINE_MAX};
    int rc = read_gzip_header(&m, err) < 0 ? -1 : read_member(&m, append_piece, &in, err);
    if (rc == 0) {
        tally->n[REDACT_UNKNOWN] += m.has_unsearched;
        const struct redact_output into = {.out = &out, .tally = tally, .learned = w->learned};
        redact_arguments(buf_str(&in), in.len, &into);
        rc = buf_check(&out, "the command line", err);
    }
    if (rc == 0)
        rc = fd_write_all(w->to, buf_str(&out), out.len, err);
    buf_release(&in);
    buf_release(&out);
    return rc;
}

struct dump_writer {
    const struct redact_work *w;
    struct redact_dump dump;
    bool begun;
    struct buf without_nuls;    /* a piece without NULs */
    struct buf labels_redacted; /* the piece with its labels redacted */
    struct redact_lines lines;
    struct buf out;
    struct redact_output into;
};

static int write_dump(struct dump_writer *d, struct err *err)
{
    if (buf_check(&d->out, "the text", err) < 0 ||
        fd_write_all(d->w->to, buf_str(&d->out), d->out.len, err) < 0)
        return -1;
    buf_clear(&d->out);
    return 0;
}

/* Fails with ERR_FAILED if the member is no text, but compressed data, a picture or a program. */
static int refuse_other_formats(const void *p, size_t n, struct err *err)
{
    static const struct {
        const char *magic, *name;
    } formats[] = {{"\x1f\x8b", "gzip"},
                   {"\x28\xb5\x2f\xfd", "zstd"},
                   {"\xfd\x37zXZ", "xz"},
                   {"BZh", "bzip2"},
                   {"PK\x03\x04", "zip"},
                   {"\x04\x22\x4d\x18", "lz4"},
                   {"\x89PNG", "a picture"},
                   {"\x7f"
                    "ELF",
                    "a program"}};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (n >= strlen(formats[i].magic) && memcmp(p, formats[i].magic, strlen(formats[i].magic)) == 0)
            return err_set(err, ERR_FAILED, "it is no text (%s)", formats[i].name);
    return 0;
}

/* Drops NULs, which UTF-16 and UTF-32 have between the bytes of ASCII, so that the rules match. The output
 * has no NULs either, but the caller uses the output only if a rule matches. */
static void drop_nuls(const char *p, size_t n, struct buf *ret)
{
    buf_clear(ret);
    for (size_t at = 0; at < n;) {
        const char *nul = memchr(p + at, '\0', n - at);
        size_t plain = nul ? (size_t)(nul - p) - at : n - at;
        buf_add(ret, p + at, plain);
        at += plain + (nul != NULL);
    }
}

static int redact_dump_piece(void *ctx, const void *p, size_t n, struct err *err)
{
    struct dump_writer *d = ctx;
    if (!d->begun && refuse_other_formats(p, n, err) < 0)
        return -1;
    d->begun = true;
    if (memchr(p, '\0', n)) {
        drop_nuls(p, n, &d->without_nuls);
        if (buf_check(&d->without_nuls, "the text", err) < 0)
            return -1;
        p = buf_str(&d->without_nuls);
        n = d->without_nuls.len;
    }
    buf_clear(&d->labels_redacted);
    redact_dump(&d->dump, p, n, &d->labels_redacted);
    if (buf_check(&d->labels_redacted, "the text", err) < 0)
        return -1;
    redact_lines_add(&d->lines, (struct str){buf_str(&d->labels_redacted), d->labels_redacted.len}, &d->into);
    return buf_check(&d->lines.line, "the text", err) < 0 ? -1 : write_dump(d, err);
}

static int redact_dump_member(const struct redact_work *w, struct redact_tally *tally, struct err *err)
{
    struct dump_writer d = {.w = w,
                            .dump = REDACT_DUMP_INIT(w->labels, tally),
                            .without_nuls = BUF_INIT(2u * CHUNK),
                            .labels_redacted = BUF_INIT((size_t)GROWTH * CHUNK),
                            .lines = REDACT_LINES_INIT,
                            .out = BUF_INIT(GROWTH * (REDACT_LINE_MAX + (size_t)GROWTH * CHUNK))};
    d.into = (struct redact_output){.out = &d.out, .tally = tally, .learned = w->learned};
    struct member m = {.w = w, .max = TEXT_MAX};
    int rc = read_gzip_header(&m, err) < 0 ? -1 : read_member(&m, redact_dump_piece, &d, err);
    if (rc == 0) {
        tally->n[REDACT_UNKNOWN] += m.has_unsearched;
        redact_lines_end(&d.lines, &d.into);
        rc = write_dump(&d, err);
    }
    buf_release(&d.without_nuls);
    buf_release(&d.labels_redacted);
    buf_release(&d.lines.line);
    buf_release(&d.out);
    return rc;
}

/* ---- profiles ------------------------------------------------------------------------------------------ */

/* A profile during its redaction. */
struct relabelling {
    const struct redact_work *w;
    struct redact_tally *tally;
};

static bool is_replaced_label(void *ctx, const char *key, size_t n)
{
    const struct relabelling *r = ctx;
    return redact_is_secret_label(r->w->labels, key, n);
}

/* Returns whether a rule matches. Counts the matches only if the text is written (`ret`), so that each match
 * counts once. */
static bool rewrite_string(void *ctx, const char *text, size_t n, struct buf *ret)
{
    const struct relabelling *r = ctx;
    struct redact_tally tally = {{0}};
    const struct redact_output into = {.out = ret, .tally = &tally, .learned = r->w->learned};
    redact_text((struct str){text, n}, &into);
    for (int i = 0; ret && i < REDACT_RULES; i++)
        r->tally->n[i] += tally.n[i];
    return redact_sum(&tally) > 0;
}

static int to_gzip(void *ctx, const void *p, size_t n, struct err *err)
{
    return gzwrite(ctx, p, (unsigned)n) == (int)n ? 0 : err_sys(err, "cannot write the profile");
}

/* Redacts a profile and writes it as gzip. */
static int redact_profile_member(const struct redact_work *w, struct redact_tally *tally, struct err *err)
{
    int fd = fcntl(w->to, F_DUPFD_CLOEXEC, 0);
    gzFile gz = fd < 0 ? NULL : gzdopen(fd, GZIP_MODE);
    if (!gz) {
        fd_close(&fd);
        return err_nomem(err);
    }
    gzbuffer(gz, 2u * CHUNK);
    struct relabelling relabelling = {w, tally};
    struct member member = {.w = w, .max = PROFILE_MAX};
    struct profile_relabel options = {.is_replaced = is_replaced_label,
                                      .rewrite = rewrite_string,
                                      .ctx = &relabelling,
                                      .text = REDACTED,
                                      .source = read_member,
                                      .source_ctx = &member,
                                      .sink = to_gzip,
                                      .sink_ctx = gz};
    struct profile_relabelled relabelled = {0};
    int rc = read_gzip_header(&member, err) < 0 ? -1 : profile_relabel(&options, &relabelled, err);
    bool written = relabelled.labels + relabelled.strings + relabelled.unknown > 0;
    if (rc == 0 && member.has_unsearched && !written)
        rc = read_member(&member, to_gzip, gz, err);
    if (gzclose(gz) != Z_OK && rc == 0)
        rc = err_sys(err, "cannot write the profile");
    if (rc == 0)
        tally->n[REDACT_LABEL] += relabelled.labels;
    if (rc == 0)
        tally->n[REDACT_UNKNOWN] += relabelled.unknown + member.has_unsearched;
    return rc;
}

int redact_member(const struct redact_work *work, struct redact_tally *tally, struct err *err)
{
    static int (*const functions[])(const struct redact_work *, struct redact_tally *,
                                    struct err *) = {[REDACT_CMDLINE] = redact_cmdline_member,
                                                     [REDACT_PROFILE] = redact_profile_member,
                                                     [REDACT_DUMP] = redact_dump_member};
    return functions[work->form](work, tally, err);
}
