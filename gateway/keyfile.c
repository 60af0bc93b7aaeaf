/*
 * OpenSSH's own form (PROTOCOL.key: magic, cipher, kdf, options, count, public keys, private part) shows the
 * public key and whether the rest is encrypted without a passphrase; the PEM forms show only their type.
 */
#include "gateway/keyfile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/crypto.h>

#include "base/banned.h"

#define KEYFILE_MAX (64u << 10)

static const char openssh_begin[] = "-----BEGIN OPENSSH PRIVATE KEY-----";
static const char openssh_end[] = "-----END OPENSSH PRIVATE KEY-----";

static int parse_openssh_body(const unsigned char *p, size_t n, struct keyfile *ret, struct err *err)
{
    static const char magic[] = "openssh-key-v1"; /* with its NUL */
    struct ssh_reader r = {p, n};
    const unsigned char *cipher = NULL, *skipped = NULL, *blob = NULL;
    size_t n_cipher = 0, n_skipped = 0, n_blob = 0;
    uint32_t keys = 0;
    if (r.left < sizeof magic || memcmp(r.p, magic, sizeof magic) != 0)
        return err_set(err, ERR_FAILED, "not an OpenSSH private key");
    r.p += sizeof magic;
    r.left -= sizeof magic;
    if (ssh_read_string(&r, &cipher, &n_cipher) < 0 || ssh_read_string(&r, &skipped, &n_skipped) < 0 ||
        ssh_read_string(&r, &skipped, &n_skipped) < 0 || ssh_read_u32(&r, &keys) < 0 || keys != 1 ||
        ssh_read_string(&r, &blob, &n_blob) < 0)
        return err_set(err, ERR_FAILED, "the OpenSSH private key is damaged");
    struct keyfile k = {.encrypted = !(n_cipher == 4 && memcmp(cipher, "none", 4) == 0)};
    if (ssh_blob_copy(&k.blob, blob, n_blob, err) < 0)
        return -1;
    ssh_blob_type(&k.blob, k.type, sizeof k.type);
    *ret = k;
    return 0;
}

static int parse_openssh(const char *text, struct keyfile *ret, struct err *err)
{
    const char *from = text + sizeof openssh_begin - 1;
    const char *to = strstr(from, openssh_end);
    if (!to)
        return err_set(err, ERR_FAILED, "the private key's last line is missing");
    struct buf b = BUF_INIT(KEYFILE_MAX);
    for (const char *p = from; p < to; p++)
        if (!strchr(" \t\r\n", *p))
            buf_addc(&b, *p);
    struct ssh_blob body = {0};
    int rc = buf_check(&b, "the private key", err);
    if (rc == 0)
        rc = ssh_base64_decode(buf_str(&b), b.len, &body, err);
    if (rc == 0)
        rc = parse_openssh_body(body.data, body.n, ret, err);
    if (b.data)
        OPENSSL_cleanse(b.data, b.len);
    if (body.data)
        OPENSSL_cleanse(body.data, body.n);
    buf_release(&b);
    ssh_blob_release(&body);
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
        err_set(err, ERR_FAILED, "a kind of private key that is not known here");
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

/* The public half beside a key whose form hides it. A missing or odd .pub is no error: it only helps. */
static void look_beside(const char *path, struct keyfile *k)
{
    struct buf b = BUF_INIT(SSH_BLOB_MAX * 2);
    char *pub = NULL;
    if (asprintf(&pub, "%s.pub", path) < 0)
        return;
    if (file_read(pub, &b, NULL) == 0) {
        const char *type = buf_str(&b);
        size_t n_type = strcspn(type, " ");
        const char *base64 = type + n_type + (type[n_type] == ' ');
        if (ssh_base64_decode(base64, strcspn(base64, " \r\n"), &k->blob, NULL) == 0)
            ssh_blob_type(&k->blob, k->type, sizeof k->type);
    }
    buf_release(&b);
    free(pub);
}

int keyfile_inspect(const char *path, struct keyfile *ret, struct err *err)
{
    struct buf b = BUF_INIT(KEYFILE_MAX);
    struct keyfile k = {0};
    int rc = file_read(path, &b, err);
    if (rc == 0 && (rc = keyfile_parse(buf_str(&b), b.len, &k, err)) < 0)
        err_wrap(err, "%s", path);
    if (b.data)
        OPENSSL_cleanse(b.data, b.len);
    buf_release(&b);
    if (rc < 0)
        return -1;
    if (k.blob.n == 0)
        look_beside(path, &k);
    *ret = k;
    return 0;
}

void keyfile_release(struct keyfile *k)
{
    ssh_blob_release(&k->blob);
}
