#include "seal/age_stanza.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

enum { COLUMNS = 64, ARGUMENTS_MAX = 4 };

static int refuse_stanza(const char *what, struct err *err)
{
    return err_set(err, ERR_FAILED, "the header is damaged: %s", what);
}

void age_stanza_release(struct age_stanza *s)
{
    free(s->body);
    s->body = NULL;
}

/* ---- arguments ---- */

struct argument {
    const char *p;
    size_t n;
};

/* Splits visible ASCII words at single blanks. Stores at most ARGUMENTS_MAX, because no known kind has more.
 * *ret_n is the number of words. */
static int split_arguments(const char *p, size_t n, struct argument ret[ARGUMENTS_MAX], size_t *ret_n,
                           struct err *err)
{
    size_t count = 0;
    for (const char *end = p + n;; p++) {
        const char *from = p;
        while (p<end && * p> ' ' && *p <= '~')
            p++;
        if (p == from || (p < end && *p != ' '))
            return refuse_stanza("an argument of a stanza is empty or not ASCII", err);
        if (count < ARGUMENTS_MAX)
            ret[count] = (struct argument){from, (size_t)(p - from)};
        count++;
        if (p == end)
            break;
    }
    *ret_n = count;
    return 0;
}

/* Decodes exactly n bytes of base64. */
static int decode_base64(const struct argument *a, void *dst, size_t n, struct err *err)
{
    size_t got = 0;
    return base64_decode(BASE64_RAW, (struct str){a->p, a->n}, dst, n, &got) == 0 && got == n
               ? 0
               : refuse_stanza("an argument of a stanza is invalid", err);
}

/* Parses the binary logarithm of the cost: a decimal number without leading zeroes. */
static int parse_scrypt_cost(const struct argument *a, unsigned *ret, struct err *err)
{
    char digits[4];
    uint64_t number = 0;
    snprintf(digits, sizeof digits, "%.*s", a->n < sizeof digits ? (int)a->n : 0, a->p);
    if (digits[0] == '0' || text_to_uint(digits, 999, &number) < 0)
        return refuse_stanza("the scrypt cost is no number", err);
    if (number > AGE_SCRYPT_LOG_MAX)
        return refuse_stanza("the scrypt cost is too high", err);
    *ret = (unsigned)number;
    return 0;
}

static const struct kind {
    const char *name;
    size_t n_arguments; /* with the type */
    enum age_kind kind;
} kinds[] = {{"X25519", 2, AGE_X25519},
             {"ssh-ed25519", 3, AGE_SSH_ED25519},
             {"ssh-rsa", 2, AGE_SSH_RSA},
             {"scrypt", 3, AGE_SCRYPT}};

static int parse_arguments(const struct argument *a, struct age_stanza *s, struct err *err)
{
    switch (s->kind) {
    case AGE_X25519:
        return decode_base64(&a[1], s->share, sizeof s->share, err);
    case AGE_SSH_ED25519:
        return decode_base64(&a[1], s->tag, sizeof s->tag, err) < 0
                   ? -1
                   : decode_base64(&a[2], s->share, sizeof s->share, err);
    case AGE_SSH_RSA:
        return decode_base64(&a[1], s->tag, sizeof s->tag, err);
    case AGE_SCRYPT:
        return decode_base64(&a[1], s->salt, sizeof s->salt, err) < 0
                   ? -1
                   : parse_scrypt_cost(&a[2], &s->log_n, err);
    case AGE_OTHER:
        break;
    }
    return 0;
}

int age_stanza_parse(const char *p, size_t n, struct age_stanza *ret, struct err *err)
{
    struct argument arguments[ARGUMENTS_MAX];
    struct age_stanza s = {.kind = AGE_OTHER};
    size_t count = 0;
    if (split_arguments(p, n, arguments, &count, err) < 0)
        return -1;
    text_printable(s.type, sizeof s.type, arguments[0].p, arguments[0].n);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (arguments[0].n != strlen(kinds[i].name) ||
            memcmp(arguments[0].p, kinds[i].name, arguments[0].n) != 0)
            continue;
        if (count != kinds[i].n_arguments)
            return refuse_stanza("a stanza has too many or too few arguments", err);
        s.kind = kinds[i].kind;
    }
    if (parse_arguments(arguments, &s, err) < 0)
        return -1;
    *ret = s;
    return 0;
}

/* ---- body ---- */

int age_stanza_set_body(struct age_stanza *s, const void *p, size_t n, struct err *err)
{
    if (s->kind == AGE_OTHER)
        return 0;
    if (s->kind == AGE_SSH_RSA ? n == 0 || n > AGE_BODY_MAX : n != AGE_WRAPPED_KEY)
        return refuse_stanza("a stanza's body has the wrong size for its kind", err);
    s->body = malloc(n);
    if (!s->body)
        return err_nomem(err);
    memcpy(s->body, p, n);
    s->n_body = n;
    return 0;
}

/* ---- writing and naming ---- */

/* The body's last line must be shorter than the others, so it may be empty. */
void age_stanza_add(struct buf *header, const char *arguments, const void *body, size_t n)
{
    const unsigned char *bytes = body;
    buf_addf(header, "-> %s\n", arguments);
    for (size_t line = COLUMNS / 4 * 3; n >= line; bytes += line, n -= line) {
        base64_add(header, BASE64_RAW, bytes, line);
        buf_addc(header, '\n');
    }
    base64_add(header, BASE64_RAW, bytes, n);
    buf_addc(header, '\n');
}

/* A tag is the first four bytes of the key's SHA-256. They determine the first five base64 letters of the
 * fingerprint. */
char *age_stanza_name(const struct age_stanza *s, char *dst, size_t cap)
{
    if (s->kind != AGE_SSH_ED25519 && s->kind != AGE_SSH_RSA) {
        snprintf(dst, cap, "%s", s->kind == AGE_SCRYPT ? "a passphrase" : s->type);
        return dst;
    }
    struct buf b = BUF_INIT(16);
    base64_add(&b, BASE64_RAW, s->tag, sizeof s->tag);
    snprintf(dst, cap, "%s SHA256:%.5s...", s->type, buf_str(&b));
    buf_release(&b);
    return dst;
}
