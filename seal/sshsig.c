#include "seal/sshsig.h"

#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "seal/sshsig_format.h"
#include "base/banned.h"

#define BEGIN_LINE "-----BEGIN SSH SIGNATURE-----"
#define END_LINE "-----END SSH SIGNATURE-----"
#define PREAMBLE "SSHSIG"

enum { VERSION = 1, COLUMNS = 70 /* of a line of base64, as ssh-keygen wraps it */ };

/* ---- writing ---- */

int sshsig_signed_data(const char *namespace, bool sha256, struct str message, struct ssh_blob *ret,
                       struct err *err)
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    struct buf b = BUF_INIT(1024);
    const char *name = sha256 ? "sha256" : "sha512";
    if (EVP_Digest(message.p, message.n, digest, &size, sha256 ? EVP_sha256() : EVP_sha512(), NULL) != 1)
        return err_nomem(err);
    buf_adds(&b, PREAMBLE);
    ssh_add_string(&b, namespace, strlen(namespace));
    ssh_add_string(&b, "", 0);
    ssh_add_string(&b, name, strlen(name));
    ssh_add_string(&b, digest, size);
    int rc = buf_check(&b, "the data to sign", err);
    if (rc == 0)
        rc = ssh_blob_copy(ret, b.data, b.len, err);
    buf_release(&b);
    return rc;
}

/* Appends base64 in lines. */
static void add_lines(struct buf *b, const struct buf *blob)
{
    struct buf text = BUF_INIT(SSHSIG_MAX);
    ssh_base64_add(&text, blob->data, blob->len);
    for (size_t at = 0; at < text.len; at += COLUMNS) {
        buf_add(b, text.data + at, text.len - at < COLUMNS ? text.len - at : COLUMNS);
        buf_addc(b, '\n');
    }
    b->failed = b->failed || text.failed;
    b->out_of_memory = b->out_of_memory || text.out_of_memory;
    buf_release(&text);
}

int sshsig_armor(const char *namespace, const struct ssh_blob *key, const struct ssh_blob *signature,
                 char **ret, struct err *err)
{
    struct buf blob = BUF_INIT(SSHSIG_MAX), text = BUF_INIT(SSHSIG_MAX);
    buf_adds(&blob, PREAMBLE);
    ssh_add_u32(&blob, VERSION);
    ssh_add_string(&blob, key->data, key->n);
    ssh_add_string(&blob, namespace, strlen(namespace));
    ssh_add_string(&blob, "", 0);
    ssh_add_string(&blob, "sha512", 6);
    ssh_add_string(&blob, signature->data, signature->n);
    int rc = buf_check(&blob, "the signature", err);
    if (rc == 0) {
        buf_adds(&text, BEGIN_LINE "\n");
        add_lines(&text, &blob);
        buf_adds(&text, END_LINE "\n");
        rc = buf_check(&text, "the signature", err);
    }
    if (rc == 0)
        *ret = buf_detach(&text);
    buf_release(&blob);
    buf_release(&text);
    return rc;
}

/* ---- reading ---- */

static int refuse_malformed(const char *why, struct err *err)
{
    return err_set(err, ERR_FAILED, "the signature is malformed: %s", why);
}

/* Returns whether the n bytes start with s. */
static bool has_prefix(const char *p, size_t n, const char *s)
{
    return n >= strlen(s) && memcmp(p, s, strlen(s)) == 0;
}

/* Copies the base64 between the first and the last line, without line ends, into `ret`. */
static int strip_armor(const char *p, size_t n, struct buf *ret, struct err *err)
{
    static const char end[] = END_LINE;
    size_t at = strlen(BEGIN_LINE);
    if (!has_prefix(p, n, BEGIN_LINE) ||
        (!has_prefix(p + at, n - at, "\n") && !has_prefix(p + at, n - at, "\r\n")))
        return refuse_malformed("its first line is not " BEGIN_LINE, err);
    for (; at < n && p[at] != '-'; at++)
        if (p[at] != '\n' && p[at] != '\r')
            buf_addc(ret, p[at]);
    if (!has_prefix(p + at, n - at, end) || p[at - 1] != '\n')
        return refuse_malformed("its last line is not " END_LINE, err);
    at += strlen(end);
    while (at < n && (p[at] == '\n' || p[at] == '\r'))
        at++;
    if (at < n)
        return refuse_malformed("there is text after it", err);
    return buf_check(ret, "the signature", err);
}

/* Decodes canonical base64 and refuses any other, so that each signature has only one text. */
static int decode_base64(const struct buf *text, struct ssh_blob *ret, struct err *err)
{
    struct buf canonical = BUF_INIT(SSHSIG_MAX);
    struct ssh_blob blob = {0};
    struct err why = ERR_INIT;
    if (ssh_base64_decode(buf_str(text), text->len, &blob, &why) < 0)
        return why.kind == ERR_FAILED ? refuse_malformed(why.msg, err) : err_nomem(err);
    ssh_base64_add(&canonical, blob.data, blob.n);
    int rc = buf_check(&canonical, "the signature", err);
    if (rc == 0 && strcmp(buf_str(&canonical), buf_str(text)) != 0)
        rc = refuse_malformed("this is not base64", err);
    buf_release(&canonical);
    if (rc < 0)
        ssh_blob_release(&blob);
    else
        *ret = blob;
    return rc;
}

/* The fields of a signature, inside the blob. */
struct fields {
    struct {
        const unsigned char *p;
        size_t n;
    } key, namespace, reserved, hash, signature;
};

static int read_fields(const struct ssh_blob *blob, struct fields *ret, struct err *err)
{
    struct ssh_reader r = {blob->data, blob->n};
    struct fields f = {0};
    uint32_t version = 0;
    if (!has_prefix((const char *)r.p, r.left, PREAMBLE))
        return refuse_malformed("it does not begin with " PREAMBLE, err);
    r.p += strlen(PREAMBLE);
    r.left -= strlen(PREAMBLE);
    if (ssh_read_u32(&r, &version) < 0)
        return refuse_malformed("it is cut off", err);
    if (version != VERSION)
        return err_set(err, ERR_UNSUPPORTED, "the signature is of version %u, which is not supported",
                       version);
    if (ssh_read_string(&r, &f.key.p, &f.key.n) < 0 ||
        ssh_read_string(&r, &f.namespace.p, &f.namespace.n) < 0 ||
        ssh_read_string(&r, &f.reserved.p, &f.reserved.n) < 0 ||
        ssh_read_string(&r, &f.hash.p, &f.hash.n) < 0 ||
        ssh_read_string(&r, &f.signature.p, &f.signature.n) < 0)
        return refuse_malformed("it is cut off", err);
    if (r.left > 0)
        return refuse_malformed("there is text after it", err);
    if (f.reserved.n > 0)
        return err_set(err, ERR_UNSUPPORTED, "the signature has an unsupported reserved field");
    *ret = f;
    return 0;
}

static int fill_signature(const struct fields *f, struct sshsig *s, struct err *err)
{
    size_t n = f->namespace.n;
    if (n == 0 || n >= sizeof s->namespace)
        return refuse_malformed("its namespace is empty or too long", err);
    memcpy(s->namespace, f->namespace.p, n);
    if (strlen(s->namespace) != n || !text_is_visible(s->namespace))
        return refuse_malformed("its namespace cannot be shown", err);
    s->sha256 = has_prefix((const char *)f->hash.p, f->hash.n, "sha256") && f->hash.n == 6;
    if (!s->sha256 && !(has_prefix((const char *)f->hash.p, f->hash.n, "sha512") && f->hash.n == 6))
        return err_set(err, ERR_UNSUPPORTED, "the signature uses an unsupported hash");
    if (ssh_blob_copy(&s->key, f->key.p, f->key.n, err) < 0 ||
        ssh_blob_copy(&s->signature, f->signature.p, f->signature.n, err) < 0)
        return -1;
    ssh_blob_type(&s->key, s->type, sizeof s->type);
    ssh_blob_fingerprint(&s->key, s->fingerprint);
    return 0;
}

int sshsig_parse(const void *p, size_t n, struct sshsig *ret, struct err *err)
{
    struct buf text = BUF_INIT(SSHSIG_MAX);
    struct ssh_blob blob = {0};
    struct sshsig s = {0};
    struct fields fields = {0};
    int rc = strip_armor(p, n, &text, err);
    if (rc == 0)
        rc = decode_base64(&text, &blob, err);
    if (rc == 0)
        rc = read_fields(&blob, &fields, err);
    if (rc == 0)
        rc = fill_signature(&fields, &s, err);
    buf_release(&text);
    ssh_blob_release(&blob);
    if (rc < 0)
        sshsig_release(&s);
    else
        *ret = s;
    return rc;
}

void sshsig_release(struct sshsig *s)
{
    ssh_blob_release(&s->key);
    ssh_blob_release(&s->signature);
}

int sshsig_verify(const struct sshsig *s, const void *p, size_t n, struct err *err)
{
    struct ssh_blob data = {0};
    if (sshsig_signed_data(s->namespace, s->sha256, (struct str){p, n}, &data, err) < 0)
        return -1;
    int rc = pubkey_verify(&s->key, &s->signature, &data, err);
    ssh_blob_release(&data);
    return rc;
}
