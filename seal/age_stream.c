/* The cipher's context is initialised once, because an initialisation takes as long as the encryption of some
 * kilobytes. Each chunk only changes the nonce. */
#include "seal/age_stream.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

enum { NONCE = 12 };

struct age_stream {
    EVP_CIPHER_CTX *context; /* has the key; encrypts or decrypts */
    uint64_t number;         /* number of the next chunk */
};

int age_stream_new(const unsigned char file_key[AGE_FILE_KEY], const unsigned char nonce[AGE_NONCE],
                   struct age_stream **ret, struct err *err)
{
    unsigned char key[AGE_KEY];
    struct age_stream *s = calloc(1, sizeof *s);
    if (!s)
        return err_nomem(err);
    s->context = EVP_CIPHER_CTX_new();
    int rc = s->context ? age_hkdf((struct age_bytes){file_key, AGE_FILE_KEY},
                                   (struct age_bytes){nonce, AGE_NONCE}, "payload", key, err)
                        : err_nomem(err);
    if (rc == 0 && EVP_CipherInit_ex(s->context, EVP_chacha20_poly1305(), NULL, key, NULL, 1) != 1)
        rc = err_set(err, ERR_FAILED, "OpenSSL cannot do ChaCha20-Poly1305");
    explicit_bzero(key, sizeof key);
    if (rc < 0)
        age_stream_free(s);
    else
        *ret = s;
    return rc;
}

void age_stream_free(struct age_stream *s)
{
    if (!s)
        return;
    EVP_CIPHER_CTX_free(s->context);
    free(s);
}

/* Sets the nonce: 11 bytes of the chunk's number, and one byte that marks the last chunk. */
static bool set_nonce(struct age_stream *s, bool last, bool seal)
{
    unsigned char nonce[NONCE] = {0};
    for (int i = 0; i < 8; i++)
        nonce[NONCE - 2 - i] = (unsigned char)(s->number >> 8 * i);
    nonce[NONCE - 1] = last;
    return EVP_CipherInit_ex(s->context, NULL, NULL, NULL, nonce, seal) == 1;
}

int age_stream_seal(struct age_stream *s, struct age_bytes chunk, bool last, void *ret, struct err *err)
{
    size_t n = chunk.n;
    unsigned char *out = ret;
    int len = 0;
    if (!set_nonce(s, last, true) ||
        (n > 0 && EVP_EncryptUpdate(s->context, out, &len, chunk.p, (int)n) != 1) ||
        EVP_EncryptFinal_ex(s->context, out + n, &len) != 1 ||
        EVP_CIPHER_CTX_ctrl(s->context, EVP_CTRL_AEAD_GET_TAG, AGE_TAG, out + n) != 1) {
        ERR_clear_error();
        return err_set(err, ERR_FAILED, "OpenSSL cannot encrypt");
    }
    s->number++;
    return 0;
}

static bool open_chunk(struct age_stream *s, bool last, const unsigned char *p, size_t n, unsigned char *out)
{
    int len = 0;
    return set_nonce(s, last, false) &&
           EVP_CIPHER_CTX_ctrl(s->context, EVP_CTRL_AEAD_SET_TAG, AGE_TAG, (void *)(uintptr_t)(p + n)) == 1 &&
           (n == 0 || EVP_DecryptUpdate(s->context, out, &len, p, (int)n) == 1) &&
           EVP_DecryptFinal_ex(s->context, out + n, &len) == 1;
}

int age_stream_open(struct age_stream *s, struct age_bytes sealed, void *ret, bool *ret_last, struct err *err)
{
    const unsigned char *p = sealed.p;
    size_t n = sealed.n;
    if (n < AGE_TAG)
        return err_set(err, ERR_FAILED, "it ends too early");
    n -= AGE_TAG;
    /* A short chunk must be the last one. A full chunk usually is not the last one: try that nonce first. */
    bool last = n < AGE_CHUNK;
    if ((last || !open_chunk(s, false, p, n, ret)) && !open_chunk(s, last = true, p, n, ret)) {
        explicit_bzero(ret, n);
        ERR_clear_error();
        return err_set(err, ERR_FAILED, "it was changed or cut");
    }
    ERR_clear_error();
    if (n == 0 && s->number > 0)
        return err_set(err, ERR_FAILED, "it was changed: its last chunk is empty");
    s->number++;
    *ret_last = last;
    return 0;
}
