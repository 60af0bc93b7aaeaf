#include "keys/oaep.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/rsa.h>
#include <stdlib.h>
#include <string.h>

#include "keys/evp_key.h"
#include "base/banned.h"

/* Builds the RSA key, or returns NULL if the blob contains none. */
static EVP_PKEY *read_rsa_blob(const struct ssh_blob *blob)
{
    struct ssh_reader r = {blob->data, blob->n};
    const unsigned char *type = NULL;
    size_t n_type = 0;
    if (ssh_read_string(&r, &type, &n_type) < 0 || n_type != 7 || memcmp(type, "ssh-rsa", 7) != 0)
        return NULL;
    EVP_PKEY *key = evp_read_rsa(&r);
    ERR_clear_error();
    if (r.left == 0)
        return key;
    EVP_PKEY_free(key);
    return NULL;
}

int oaep_key_bits(const struct ssh_blob *blob)
{
    EVP_PKEY *key = read_rsa_blob(blob);
    int bits = key ? EVP_PKEY_get_bits(key) : 0;
    EVP_PKEY_free(key);
    return bits;
}

int oaep_set_padding(EVP_PKEY_CTX *context, const char *label)
{
    size_t n = strlen(label);
    /* The context takes ownership of the copy. */
    char *copy = OPENSSL_strdup(label);
    if (!copy || EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_OAEP_PADDING) != 1 ||
        EVP_PKEY_CTX_set_rsa_oaep_md(context, EVP_sha256()) != 1 ||
        EVP_PKEY_CTX_set_rsa_mgf1_md(context, EVP_sha256()) != 1 ||
        EVP_PKEY_CTX_set0_rsa_oaep_label(context, copy, (int)n) != 1) {
        OPENSSL_free(copy);
        return -1;
    }
    return 0;
}

int oaep_encrypt(const struct ssh_blob *blob, const char *label, const struct ssh_blob *data,
                 struct ssh_blob *ret, struct err *err)
{
    EVP_PKEY *key = read_rsa_blob(blob);
    EVP_PKEY_CTX *context = key ? EVP_PKEY_CTX_new(key, NULL) : NULL;
    size_t n = key ? (size_t)EVP_PKEY_get_size(key) : 0;
    unsigned char *encrypted = malloc(n + 1);
    int rc = -1;
    if (!encrypted)
        err_nomem(err);
    else if (!context || EVP_PKEY_encrypt_init(context) != 1 || oaep_set_padding(context, label) < 0 ||
             EVP_PKEY_encrypt(context, encrypted, &n, data->data, data->n) != 1)
        err_set(err, ERR_FAILED, "OpenSSL cannot encrypt with the RSA key");
    else
        rc = 0;
    EVP_PKEY_CTX_free(context);
    EVP_PKEY_free(key);
    ERR_clear_error();
    if (rc < 0)
        free(encrypted);
    else
        *ret = (struct ssh_blob){encrypted, n};
    return rc;
}
