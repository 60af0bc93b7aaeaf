#include "seal/age_header.h"

#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>

#include "seal/age.h"
#include "seal/age_armor.h"
#include "base/banned.h"

enum { COLUMNS = 64 };

struct line {
    const char *p;
    size_t n; /* bytes without the line end */
};

bool age_is_encrypted(const void *p, size_t n)
{
    static const char version[] = "age-encryption.org/";
    return (n >= sizeof version - 1 && memcmp(p, version, sizeof version - 1) == 0) || age_armor_begins(p, n);
}

static int refuse_header(const char *what, struct err *err)
{
    return err_set(err, ERR_FAILED, "the header is damaged: %s", what);
}

static bool has_prefix(const struct line *l, const char *prefix)
{
    size_t n = strlen(prefix);
    return l->n >= n && memcmp(l->p, prefix, n) == 0;
}

/* Removes the next line from the start of *rest. */
static int next_line(struct line *rest, struct line *ret, struct err *err)
{
    const char *end = memchr(rest->p, '\n', rest->n);
    if (!end)
        return refuse_header("it ends too early", err);
    *ret = (struct line){rest->p, (size_t)(end - rest->p)};
    rest->n -= ret->n + 1;
    rest->p = end + 1;
    return 0;
}

/* A body has lines of 64 characters and a shorter last line. A body that is longer than AGE_BODY_MAX is
 * checked, but not stored: the kind of the stanza is unknown, or age_stanza_set_body refuses the size. */
static int parse_body(struct line *rest, struct age_stanza *s, struct err *err)
{
    unsigned char body[AGE_BODY_MAX + COLUMNS], piece[COLUMNS];
    struct line l;
    size_t n = 0, got = 0;
    do {
        if (next_line(rest, &l, err) < 0)
            return -1;
        if (l.n > COLUMNS || base64_decode(BASE64_RAW, (struct str){l.p, l.n}, piece, sizeof piece, &got) < 0)
            return refuse_header("a stanza's body is not base64 in lines of 64", err);
        if (got <= sizeof body - n) {
            memcpy(body + n, piece, got);
            n += got;
        } else {
            n = sizeof body;
        }
    } while (l.n == COLUMNS);
    return age_stanza_set_body(s, body, n, err);
}

static int parse_stanza(struct age_header *h, const struct line *first, struct line *rest, struct err *err)
{
    struct age_stanza s;
    if (!has_prefix(first, "-> "))
        return refuse_header("a line is neither a stanza nor the end", err);
    if (h->n >= AGE_STANZAS_MAX)
        return refuse_header("it has too many stanzas", err);
    if (array_reserve((void **)&h->stanzas, &h->cap, h->n + 1, sizeof *h->stanzas, err) < 0 ||
        age_stanza_parse(first->p + 3, first->n - 3, &s, err) < 0 || parse_body(rest, &s, err) < 0)
        return -1;
    h->stanzas[h->n++] = s;
    return 0;
}

/* Parses the last line, `--- MAC`. */
static int parse_end(struct age_header *h, const struct line *last, struct err *err)
{
    size_t n = 0;
    if (!has_prefix(last, "--- ") ||
        base64_decode(BASE64_RAW, (struct str){last->p + 4, last->n - 4}, h->mac, sizeof h->mac, &n) < 0 ||
        n != AGE_KEY)
        return refuse_header("its MAC is not readable", err);
    return 0;
}

static int check_stanzas(const struct age_header *h, struct err *err)
{
    if (h->n == 0)
        return refuse_header("it has no stanza", err);
    for (size_t i = 0; i < h->n; i++)
        if (h->stanzas[i].kind == AGE_SCRYPT && h->n > 1)
            return refuse_header("a passphrase is not its only recipient", err);
    return 0;
}

static int parse_lines(struct age_header *h, const char *p, size_t n, struct err *err)
{
    struct line rest = {p, n}, l;
    if (!has_prefix(&rest, AGE_VERSION_LINE))
        return refuse_header("its version is not supported", err);
    rest.p += strlen(AGE_VERSION_LINE);
    rest.n -= strlen(AGE_VERSION_LINE);
    for (;;) {
        if (next_line(&rest, &l, err) < 0)
            return -1;
        if (has_prefix(&l, "---"))
            break;
        if (parse_stanza(h, &l, &rest, err) < 0)
            return -1;
    }
    h->n_covered = (size_t)(l.p - p) + 3;
    if (rest.n > 0)
        return refuse_header("there is data after its end", err);
    return parse_end(h, &l, err) < 0 ? -1 : check_stanzas(h, err);
}

int age_header_parse(const void *p, size_t n, struct age_header *ret, struct err *err)
{
    struct age_header h = {.n = 0};
    if (parse_lines(&h, p, n, err) < 0) {
        age_header_release(&h);
        return -1;
    }
    *ret = h;
    return 0;
}

void age_header_release(struct age_header *h)
{
    for (size_t i = 0; i < h->n; i++)
        age_stanza_release(&h->stanzas[i]);
    free(h->stanzas);
    *h = (struct age_header){.n = 0};
}

/* ---- the MAC ---- */

static int compute_mac(struct age_bytes text, const unsigned char file_key[AGE_FILE_KEY],
                       unsigned char ret[AGE_KEY], struct err *err)
{
    unsigned char key[AGE_KEY];
    int rc =
        age_hkdf((struct age_bytes){file_key, AGE_FILE_KEY}, (struct age_bytes){NULL, 0}, "header", key, err);
    if (rc == 0)
        rc = age_hmac(key, text, ret, err);
    explicit_bzero(key, sizeof key);
    return rc;
}

int age_header_check(const struct age_header *h, const void *p, const unsigned char file_key[AGE_FILE_KEY],
                     struct err *err)
{
    unsigned char mac[AGE_KEY];
    if (compute_mac((struct age_bytes){p, h->n_covered}, file_key, mac, err) < 0)
        return -1;
    return CRYPTO_memcmp(mac, h->mac, sizeof mac) == 0
               ? 0
               : err_set(err, ERR_FAILED, "the header was changed: its MAC is wrong");
}

int age_header_finish(struct buf *header, const unsigned char file_key[AGE_FILE_KEY], struct err *err)
{
    unsigned char mac[AGE_KEY];
    buf_adds(header, "---");
    if (buf_check(header, "the header", err) < 0 ||
        compute_mac((struct age_bytes){header->data, header->len}, file_key, mac, err) < 0)
        return -1;
    buf_addc(header, ' ');
    base64_add(header, BASE64_RAW, mac, sizeof mac);
    buf_addc(header, '\n');
    return buf_check(header, "the header", err);
}
