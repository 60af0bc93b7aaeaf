#include "keys/sshwire.h"

#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

int ssh_blob_copy(struct ssh_blob *ret, const void *p, size_t n, struct err *err)
{
    unsigned char *data = malloc(n ? n : 1);
    if (!data)
        return err_nomem(err);
    if (n)
        memcpy(data, p, n);
    *ret = (struct ssh_blob){data, n};
    return 0;
}

void ssh_blob_release(struct ssh_blob *b)
{
    free(b->data);
    *b = (struct ssh_blob){0};
}

bool ssh_blob_equal(const struct ssh_blob *a, const struct ssh_blob *b)
{
    return a->n == b->n && a->n > 0 && memcmp(a->data, b->data, a->n) == 0;
}

char *ssh_blob_type(const struct ssh_blob *b, char *dst, size_t cap)
{
    struct ssh_reader r = {b->data, b->n};
    const unsigned char *type = NULL;
    size_t n = 0;
    if (ssh_read_string(&r, &type, &n) < 0 || !*text_printable(dst, cap, (const char *)type, n))
        return text_printable(dst, cap, "?", 1);
    return dst;
}

char *ssh_blob_fingerprint(const struct ssh_blob *b, char dst[SSH_FINGERPRINT])
{
    unsigned char digest[32], text[48];
    memcpy(dst, "SHA256:", 8);
    if (EVP_Digest(b->data, b->n, digest, NULL, EVP_sha256(), NULL) != 1)
        return dst;
    int n = EVP_EncodeBlock(text, digest, sizeof digest);
    while (n > 0 && text[n - 1] == '=')
        n--;
    memcpy(dst + 7, text, (size_t)n);
    dst[7 + n] = '\0';
    return dst;
}

static bool is_base64(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '+' || c == '/';
}

int ssh_base64_decode(const char *p, size_t n, struct ssh_blob *ret, struct err *err)
{
    /* EVP_DecodeBlock also accepts blanks around the text and padding in the middle. */
    size_t padding = 0, letters = 0;
    while (padding < 2 && padding < n && p[n - 1 - padding] == '=')
        padding++;
    while (letters < n - padding && is_base64(p[letters]))
        letters++;
    if (n == 0 || n % 4 != 0 || n > SSH_BLOB_MAX / 3 * 4 || letters + padding != n)
        return err_set(err, ERR_FAILED, "this is not base64");
    unsigned char *data = malloc(n / 4 * 3);
    if (!data)
        return err_nomem(err);
    int len = EVP_DecodeBlock(data, (const unsigned char *)p, (int)n);
    if (len < 0) {
        free(data);
        return err_set(err, ERR_FAILED, "this is not base64");
    }
    /* EVP_DecodeBlock counts the padding as data. */
    *ret = (struct ssh_blob){data, (size_t)len - padding};
    return 0;
}

void ssh_base64_add(struct buf *b, const void *p, size_t n)
{
    const unsigned char *bytes = p;
    unsigned char text[65];
    for (size_t at = 0; at < n; at += 48) {
        size_t piece = n - at < 48 ? n - at : 48;
        buf_add(b, text, (size_t)EVP_EncodeBlock(text, bytes + at, (int)piece));
    }
}

int ssh_read_u32(struct ssh_reader *r, uint32_t *ret)
{
    if (r->left < 4)
        return -1;
    *ret = (uint32_t)r->p[0] << 24 | (uint32_t)r->p[1] << 16 | (uint32_t)r->p[2] << 8 | r->p[3];
    r->p += 4;
    r->left -= 4;
    return 0;
}

int ssh_read_string(struct ssh_reader *r, const unsigned char **ret, size_t *ret_n)
{
    struct ssh_reader after = *r;
    uint32_t n = 0;
    if (ssh_read_u32(&after, &n) < 0 || n > after.left)
        return -1;
    *ret = after.p;
    *ret_n = n;
    after.p += n;
    after.left -= n;
    *r = after;
    return 0;
}

void ssh_add_u32(struct buf *b, uint32_t v)
{
    unsigned char bytes[4] = {(unsigned char)(v >> 24), (unsigned char)(v >> 16), (unsigned char)(v >> 8),
                              (unsigned char)v};
    buf_add(b, bytes, sizeof bytes);
}

void ssh_add_string(struct buf *b, const void *p, size_t n)
{
    ssh_add_u32(b, (uint32_t)n);
    buf_add(b, p, n);
}
