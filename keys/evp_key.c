#include "keys/evp_key.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>

#include "base/banned.h"

BIGNUM *evp_read_number(struct ssh_reader *r)
{
    const unsigned char *p = NULL;
    size_t n = 0;
    if (ssh_read_string(r, &p, &n) < 0 || n == 0 || n > SSH_BLOB_MAX || p[0] >= 0x80 ||
        (p[0] == 0 && (n == 1 || p[1] < 0x80)))
        return NULL;
    return BN_bin2bn(p, (int)n, NULL);
}

EVP_PKEY *evp_from_parameters(const char *type, int selection, OSSL_PARAM_BLD *build)
{
    EVP_PKEY *key = NULL;
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
    OSSL_PARAM *parameters = OSSL_PARAM_BLD_to_param(build);
    if (!context || !parameters || EVP_PKEY_fromdata_init(context) != 1 ||
        EVP_PKEY_fromdata(context, &key, selection, parameters) != 1)
        key = NULL;
    OSSL_PARAM_free(parameters);
    EVP_PKEY_CTX_free(context);
    return key;
}

EVP_PKEY *evp_read_rsa(struct ssh_reader *r)
{
    BIGNUM *e = evp_read_number(r), *n = evp_read_number(r);
    OSSL_PARAM_BLD *build = OSSL_PARAM_BLD_new();
    EVP_PKEY *key = NULL;
    if (e && n && build && BN_is_odd(e) && !BN_is_one(e) && BN_is_odd(n) &&
        OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_RSA_E, e) == 1 &&
        OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_RSA_N, n) == 1)
        key = evp_from_parameters("RSA", EVP_PKEY_PUBLIC_KEY, build);
    OSSL_PARAM_BLD_free(build);
    BN_free(e);
    BN_free(n);
    return key;
}
