#include "seal/age_crypto.h"

#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <openssl/rand.h>
#include <string.h>

#include "base/banned.h"

static int set_openssl_error(const char *what, struct err *err)
{
    ERR_clear_error();
    return err_set(err, ERR_FAILED, "OpenSSL failed: %s", what);
}

int age_hkdf(struct age_bytes key, struct age_bytes salt, const char *info, unsigned char ret[AGE_KEY],
             struct err *err)
{
    unsigned char none = 0; /* OpenSSL needs an address even for no bytes */
    OSSL_PARAM parameters[5], *p = parameters;
    *p++ = OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, (char *)(uintptr_t) "SHA256", 0);
    *p++ = OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, key.n ? (void *)(uintptr_t)key.p : &none,
                                             key.n);
    *p++ = OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, (void *)(uintptr_t)info, strlen(info));
    if (salt.n)
        *p++ = OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SALT, (void *)(uintptr_t)salt.p, salt.n);
    *p = OSSL_PARAM_construct_end();
    EVP_KDF *kdf = EVP_KDF_fetch(NULL, "HKDF", NULL);
    EVP_KDF_CTX *context = kdf ? EVP_KDF_CTX_new(kdf) : NULL;
    int rc = context && EVP_KDF_derive(context, ret, AGE_KEY, parameters) == 1
                 ? 0
                 : set_openssl_error("HKDF", err);
    EVP_KDF_CTX_free(context);
    EVP_KDF_free(kdf);
    return rc;
}

int age_hmac(const unsigned char key[AGE_KEY], struct age_bytes text, unsigned char ret[AGE_KEY],
             struct err *err)
{
    return HMAC(EVP_sha256(), key, AGE_KEY, text.p, text.n, ret, NULL) ? 0 : set_openssl_error("HMAC", err);
}

int age_random(void *p, size_t n, struct err *err)
{
    return RAND_priv_bytes(p, (int)n) == 1 ? 0 : set_openssl_error("random numbers", err);
}

/* ---- X25519 ---- */

int age_x25519(const unsigned char scalar[AGE_KEY], const unsigned char point[AGE_KEY],
               unsigned char ret[AGE_KEY], struct err *err)
{
    unsigned char product[AGE_KEY];
    size_t n = sizeof product;
    EVP_PKEY *own = EVP_PKEY_new_raw_private_key(EVP_PKEY_X25519, NULL, scalar, AGE_KEY);
    EVP_PKEY *other = EVP_PKEY_new_raw_public_key(EVP_PKEY_X25519, NULL, point, AGE_KEY);
    EVP_PKEY_CTX *context = own ? EVP_PKEY_CTX_new(own, NULL) : NULL;
    int rc = -1;
    if (!other || !context || EVP_PKEY_derive_init(context) != 1 ||
        EVP_PKEY_derive_set_peer(context, other) != 1)
        set_openssl_error("X25519", err);
    else if (EVP_PKEY_derive(context, product, &n) != 1)
        err_set(err, ERR_FAILED, "the X25519 share of a stanza is invalid"); /* the product is zero */
    else
        rc = 0;
    if (rc == 0)
        memcpy(ret, product, AGE_KEY);
    explicit_bzero(product, sizeof product);
    ERR_clear_error();
    EVP_PKEY_CTX_free(context);
    EVP_PKEY_free(other);
    EVP_PKEY_free(own);
    return rc;
}

int age_x25519_base(const unsigned char scalar[AGE_KEY], unsigned char ret[AGE_KEY], struct err *err)
{
    size_t n = AGE_KEY;
    EVP_PKEY *own = EVP_PKEY_new_raw_private_key(EVP_PKEY_X25519, NULL, scalar, AGE_KEY);
    int rc = own && EVP_PKEY_get_raw_public_key(own, ret, &n) == 1 ? 0 : set_openssl_error("X25519", err);
    EVP_PKEY_free(own);
    return rc;
}

/* ---- wrapping ---- */

/* Each key is used once, so the nonce may be constant. */
static const unsigned char nonce[12];

int age_wrap(const unsigned char key[AGE_KEY], const unsigned char file_key[AGE_FILE_KEY],
             unsigned char ret[AGE_WRAPPED_KEY], struct err *err)
{
    EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
    int n = 0;
    bool done = c && EVP_EncryptInit_ex(c, EVP_chacha20_poly1305(), NULL, key, nonce) == 1 &&
                EVP_EncryptUpdate(c, ret, &n, file_key, AGE_FILE_KEY) == 1 &&
                EVP_EncryptFinal_ex(c, ret + n, &n) == 1 &&
                EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_GET_TAG, AGE_TAG, ret + AGE_FILE_KEY) == 1;
    EVP_CIPHER_CTX_free(c);
    return done ? 0 : set_openssl_error("ChaCha20-Poly1305", err);
}

int age_unwrap(const unsigned char key[AGE_KEY], const unsigned char body[AGE_WRAPPED_KEY], bool *ret_matches,
               unsigned char ret_file_key[AGE_FILE_KEY], struct err *err)
{
    EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
    unsigned char tag[AGE_TAG], file_key[AGE_FILE_KEY];
    int n = 0;
    memcpy(tag, body + AGE_FILE_KEY, AGE_TAG);
    bool done = c && EVP_DecryptInit_ex(c, EVP_chacha20_poly1305(), NULL, key, nonce) == 1 &&
                EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_SET_TAG, AGE_TAG, tag) == 1 &&
                EVP_DecryptUpdate(c, file_key, &n, body, AGE_FILE_KEY) == 1;
    bool matches = done && EVP_DecryptFinal_ex(c, file_key + n, &n) == 1;
    if (matches)
        memcpy(ret_file_key, file_key, AGE_FILE_KEY);
    explicit_bzero(file_key, sizeof file_key);
    ERR_clear_error();
    EVP_CIPHER_CTX_free(c);
    if (!done)
        return set_openssl_error("ChaCha20-Poly1305", err);
    *ret_matches = matches;
    return 0;
}
