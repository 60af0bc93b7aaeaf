/*
 * OpenSSH's own format (PROTOCOL.key) has these parts: magic, cipher, kdf, options, count, public keys,
 * private section. The public key is never encrypted. The private section is encrypted unless the cipher is
 * "none". From a file in a PEM format, keyfile_parse reads only whether the key is encrypted, and the type of
 * the key if the first line names it.
 */
#include "keys/keyfile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/crypto.h>

#include "keys/encrypted_key.h"
#include "base/banned.h"

static const char openssh_begin[] = "-----BEGIN OPENSSH PRIVATE KEY-----";
static const char openssh_end[] = "-----END OPENSSH PRIVATE KEY-----";

/* The parsed parts of OpenSSH's own format, which point into the decoded bytes of the file. */
struct openssh_parts {
    struct ssh_reader public;
    struct encrypted_key private;
};

static int read_part(struct ssh_reader *r, struct ssh_reader *ret)
{
    return ssh_read_string(r, &ret->p, &ret->left);
}

static int split_parts(const struct ssh_blob *decoded, struct openssh_parts *ret, struct err *err)
{
    static const char magic[] = "openssh-key-v1"; /* with its NUL */
    struct ssh_reader r = {decoded->data, decoded->n};
    struct openssh_parts o;
    uint32_t n_keys = 0;
    if (r.left < sizeof magic || memcmp(r.p, magic, sizeof magic) != 0)
        return err_set(err, ERR_FAILED, "not an OpenSSH private key");
    r.p += sizeof magic;
    r.left -= sizeof magic;
    if (read_part(&r, &o.private.cipher) < 0 || read_part(&r, &o.private.kdf) < 0 ||
        read_part(&r, &o.private.options) < 0 || ssh_read_u32(&r, &n_keys) < 0 || n_keys != 1 ||
        read_part(&r, &o.public) < 0)
        return err_set(err, ERR_FAILED, "the OpenSSH private key is damaged");
    /* A missing private section is no error here, because some callers need only the public key. */
    if (read_part(&r, &o.private.sealed) < 0)
        o.private.sealed = (struct ssh_reader){NULL, 0};
    o.private.tag = r;
    *ret = o;
    return 0;
}

static bool is_encrypted(const struct openssh_parts *o)
{
    return o->private.cipher.left != 4 || memcmp(o->private.cipher.p, "none", 4) != 0;
}

/* Decodes the bytes between the first and the last line; the caller wipes them. */
static int decode_openssh(const char *text, struct ssh_blob *ret, struct err *err)
{
    const char *from = text + sizeof openssh_begin - 1;
    const char *to = strstr(from, openssh_end);
    if (!to)
        return err_set(err, ERR_FAILED, "the private key's last line is missing");
    struct buf b = {.max = KEYFILE_MAX, .secret = true};
    for (const char *p = from; p < to; p++)
        if (!strchr(" \t\r\n", *p))
            buf_addc(&b, *p);
    int rc = buf_check(&b, "the private key", err);
    if (rc == 0)
        rc = ssh_base64_decode(buf_str(&b), b.len, ret, err);
    buf_release(&b);
    return rc;
}

static void wipe_blob(struct ssh_blob *b)
{
    if (b->data)
        OPENSSL_cleanse(b->data, b->n);
    ssh_blob_release(b);
}

static int parse_openssh(const char *text, struct keyfile *ret, struct err *err)
{
    struct ssh_blob decoded = {0};
    struct openssh_parts o;
    struct keyfile k = {0};
    if (decode_openssh(text, &decoded, err) < 0)
        return -1;
    int rc = split_parts(&decoded, &o, err);
    if (rc == 0)
        rc = ssh_blob_copy(&k.blob, o.public.p, o.public.left, err);
    if (rc == 0) {
        k.encrypted = is_encrypted(&o);
        k.rounds = k.encrypted ? encrypted_key_rounds(&o.private) : 0;
    }
    wipe_blob(&decoded);
    if (rc < 0)
        return -1;
    ssh_blob_type(&k.blob, k.type, sizeof k.type);
    *ret = k;
    return 0;
}

static int decrypt_section(const struct openssh_parts *o, const struct passphrase *passphrase,
                           struct ssh_blob *ret, struct err *err)
{
    if (!o->private.sealed.p)
        return err_set(err, ERR_FAILED, "the OpenSSH private key is damaged");
    if (!is_encrypted(o))
        return ssh_blob_copy(ret, o->private.sealed.p, o->private.sealed.left, err);
    return passphrase ? encrypted_key_decrypt(&o->private, passphrase, ret, err)
                      : err_set(err, ERR_NOT_FOUND, "the private key has a passphrase");
}

int keyfile_private_section(const void *p, size_t n, const struct passphrase *passphrase,
                            struct ssh_blob *ret, struct err *err)
{
    struct ssh_blob decoded = {0}, section = {0};
    struct openssh_parts o;
    char *text = strndup(p, n);
    if (!text)
        return err_nomem(err);
    const char *begin = strstr(text, openssh_begin);
    int rc = begin ? decode_openssh(begin, &decoded, err) : 0;
    if (rc == 0 && begin && (rc = split_parts(&decoded, &o, err)) == 0)
        rc = decrypt_section(&o, passphrase, &section, err);
    wipe_blob(&decoded);
    OPENSSL_cleanse(text, strlen(text));
    free(text);
    if (rc == 0)
        *ret = section;
    return rc;
}

int keyfile_parse(const void *p, size_t n, struct keyfile *ret, struct err *err)
{
    static const struct {
        const char *begin, *type;
        bool encrypted;
    } forms[] = {{"-----BEGIN EC PRIVATE KEY-----", "ecdsa", false},
                 {"-----BEGIN RSA PRIVATE KEY-----", "ssh-rsa", false},
                 {"-----BEGIN DSA PRIVATE KEY-----", "ssh-dss", false},
                 {"-----BEGIN PRIVATE KEY-----", "", false},
                 {"-----BEGIN ENCRYPTED PRIVATE KEY-----", "", true}};
    char *text = strndup(p, n);
    if (!text)
        return err_nomem(err);
    int rc = -1;
    const char *begin = strstr(text, "-----BEGIN ");
    if (!begin)
        err_set(err, ERR_FAILED, "not a private key");
    else if (strncmp(begin, openssh_begin, sizeof openssh_begin - 1) == 0)
        rc = parse_openssh(begin, ret, err);
    else
        err_set(err, ERR_FAILED, "the format of the private key is not supported");
    for (size_t i = 0; begin && i < sizeof forms / sizeof *forms; i++) {
        if (strncmp(begin, forms[i].begin, strlen(forms[i].begin)) != 0)
            continue;
        *ret = (struct keyfile){.encrypted = forms[i].encrypted || strstr(begin, "\nProc-Type: 4,ENCRYPTED")};
        snprintf(ret->type, sizeof ret->type, "%s", forms[i].type);
        rc = 0;
    }
    OPENSSL_cleanse(text, strlen(text));
    free(text);
    return rc;
}

/* ---- public keys ---- */

/* Parses one line, "TYPE BASE64 [COMMENT]". */
static int parse_public_line(struct str line, struct ssh_blob *ret, struct err *err)
{
    struct ssh_blob blob = {0};
    char type[64];
    struct str word = str_next_word(&line), base64 = str_next_word(&line);
    if (word.n == 0 || base64.n == 0)
        return err_set(err, ERR_FAILED, "not a public key");
    if (ssh_base64_decode(base64.p, base64.n, &blob, err) < 0)
        return -1;
    if (!str_is(word, ssh_blob_type(&blob, type, sizeof type))) {
        ssh_blob_release(&blob);
        return err_set(err, ERR_FAILED, "not a public key");
    }
    *ret = blob;
    return 0;
}

/* Parses the first line that is neither empty nor a comment, as ssh does. */
static int parse_public(const char *text, struct ssh_blob *ret, struct err *err)
{
    for (const char *p = text; *p;) {
        size_t n = strcspn(p, "\n");
        struct str line = str_trim((struct str){p, n});
        if (line.n > 0 && line.p[0] != '#')
            return parse_public_line(line, ret, err);
        p += n + (p[n] == '\n');
    }
    return err_set(err, ERR_FAILED, "not a public key");
}

int keyfile_read_public(const char *path, struct ssh_blob *ret, struct err *err)
{
    struct buf b = BUF_INIT(SSH_BLOB_MAX * 2);
    int rc = file_read(path, &b, err);
    if (rc == 0 && (rc = parse_public(buf_str(&b), ret, err)) < 0)
        err_wrap(err, "%s", path);
    buf_release(&b);
    return rc;
}

/* Returns 0 if FILE is a private key. Otherwise returns -1 with the error, and sets k->is_public and k->blob
 * if FILE is a public key. */
static int inspect_file(const char *path, struct keyfile *k, struct err *err)
{
    struct buf b = {.max = KEYFILE_MAX, .secret = true};
    struct err why = ERR_INIT;
    int rc = file_read(path, &b, err);
    if (rc == 0 && (rc = keyfile_parse(buf_str(&b), b.len, k, err)) < 0) {
        err_wrap(err, "%s", path);
        k->is_public = !err->out_of_memory && parse_public(buf_str(&b), &k->blob, &why) == 0;
        if (why.out_of_memory)
            *err = why;
    }
    buf_release(&b);
    return rc;
}

/* Reads the public half from FILE.pub. FILE.pub is optional: a missing or malformed file is no error. Returns
 * -1 only if memory runs out. */
static int inspect_pub_file(const char *path, struct keyfile *k, struct err *err)
{
    struct err why = ERR_INIT;
    char *pub = NULL;
    if (asprintf(&pub, "%s.pub", path) < 0)
        return err_nomem(err);
    keyfile_read_public(pub, &k->blob, &why);
    free(pub);
    return why.out_of_memory ? err_nomem(err) : 0;
}

/* FILE may be a private key. If it is not, FILE itself or FILE.pub may be a public key whose private half an
 * agent has. ssh accepts the same files. */
int keyfile_inspect(const char *path, struct keyfile *ret, struct err *err)
{
    struct err why = ERR_INIT;
    struct keyfile k = {0};
    int rc = inspect_file(path, &k, &why);
    bool out_of_memory = why.out_of_memory || (k.blob.n == 0 && inspect_pub_file(path, &k, &why) < 0);
    k.is_private_absent = rc < 0 && k.blob.n > 0;
    if (out_of_memory || (rc < 0 && !k.is_private_absent)) {
        if (err)
            *err = why;
        return -1;
    }
    if (k.is_private_absent && !k.is_public && why.kind != ERR_NOT_FOUND)
        snprintf(k.unusable, sizeof k.unusable, "%.299s", why.msg);
    if (k.blob.n > 0)
        ssh_blob_type(&k.blob, k.type, sizeof k.type);
    *ret = k;
    return 0;
}

void keyfile_release(struct keyfile *k)
{
    ssh_blob_release(&k->blob);
}
