/*
 * Sources: RFC 4253 section 6.6 and RFC 8332 (RSA), RFC 5656 (ECDSA), RFC 8709 (Ed25519), OpenSSH's
 * PROTOCOL.u2f (FIDO). A FIDO key signs these bytes: the SHA-256 of its application string, the flags, the
 * counter, the SHA-256 of the data.
 */
#include "keys/pubkey.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <stdlib.h>
#include <string.h>

#include "keys/evp_key.h"
#include "base/banned.h"

enum { RSA_BITS_MIN = 2048, RSA_BITS_MAX = 16384, HASH = 32 };

/* Bytes inside a larger buffer. */
struct piece {
    const unsigned char *p;
    size_t n;
};

/* A key type. `curve` and `group` are the names of its curve in SSH and in OpenSSL; NULL: no curve. In the
 * encoding of a FIDO key, an application string follows the key. */
struct scheme {
    const char *type;
    EVP_PKEY *(*read)(const struct scheme *s, struct ssh_reader *r);
    const char *curve, *group;
    const EVP_MD *(*hash)(void);
    bool fido;
};

/* ---- keys ---- */

static bool is_name(struct piece piece, const char *name)
{
    return piece.n == strlen(name) && memcmp(piece.p, name, piece.n) == 0;
}

static EVP_PKEY *read_rsa(const struct scheme *s, struct ssh_reader *r)
{
    (void)s;
    return evp_read_rsa(r);
}

/* Accepts only an uncompressed point, as OpenSSH does; RFC 5656 section 3.1 also allows compressed ones. */
static EVP_PKEY *read_ecdsa(const struct scheme *s, struct ssh_reader *r)
{
    struct piece curve = {0}, point = {0};
    if (ssh_read_string(r, &curve.p, &curve.n) < 0 || ssh_read_string(r, &point.p, &point.n) < 0 ||
        !is_name(curve, s->curve) || point.n == 0 || point.p[0] != 4)
        return NULL;
    OSSL_PARAM_BLD *build = OSSL_PARAM_BLD_new();
    EVP_PKEY *key = NULL;
    if (build && OSSL_PARAM_BLD_push_utf8_string(build, OSSL_PKEY_PARAM_GROUP_NAME, s->group, 0) == 1 &&
        OSSL_PARAM_BLD_push_octet_string(build, OSSL_PKEY_PARAM_PUB_KEY, point.p, point.n) == 1)
        key = evp_from_parameters("EC", EVP_PKEY_PUBLIC_KEY, build);
    OSSL_PARAM_BLD_free(build);
    return key;
}

static EVP_PKEY *read_ed25519(const struct scheme *s, struct ssh_reader *r)
{
    (void)s;
    struct piece point = {0};
    if (ssh_read_string(r, &point.p, &point.n) < 0)
        return NULL;
    return EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, point.p, point.n);
}

static const struct scheme schemes[] = {
    {.type = "ssh-ed25519", .read = read_ed25519},
    {.type = "ssh-rsa", .read = read_rsa},
    {"ecdsa-sha2-nistp256", read_ecdsa, "nistp256", "prime256v1", EVP_sha256, false},
    {"ecdsa-sha2-nistp384", read_ecdsa, "nistp384", "secp384r1", EVP_sha384, false},
    {"ecdsa-sha2-nistp521", read_ecdsa, "nistp521", "secp521r1", EVP_sha512, false},
    {.type = "sk-ssh-ed25519@openssh.com", .read = read_ed25519, .fido = true},
    {"sk-ecdsa-sha2-nistp256@openssh.com", read_ecdsa, "nistp256", "prime256v1", EVP_sha256, true},
};

static const struct scheme *find_scheme(struct piece type)
{
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++)
        if (is_name(type, schemes[i].type))
            return &schemes[i];
    return NULL;
}

bool pubkey_is_supported(const char *type)
{
    return find_scheme((struct piece){(const unsigned char *)type, strlen(type)}) != NULL;
}

struct pubkey {
    const struct scheme *scheme;
    EVP_PKEY *key;
    struct piece application; /* only for a FIDO key */
};

static int read_key(const struct ssh_blob *blob, struct pubkey *ret, struct err *err)
{
    struct ssh_reader r = {blob->data, blob->n};
    struct pubkey k = {0};
    struct piece type = {0};
    char shown[64];
    if (ssh_read_string(&r, &type.p, &type.n) < 0)
        return err_set(err, ERR_FAILED, "the public key is damaged");
    k.scheme = find_scheme(type);
    if (!k.scheme)
        return err_set(err, ERR_UNSUPPORTED, "cannot verify signatures of a key of type %s",
                       text_printable(shown, sizeof shown, (const char *)type.p, type.n));
    k.key = k.scheme->read(k.scheme, &r);
    ERR_clear_error();
    bool whole = k.key && (!k.scheme->fido || ssh_read_string(&r, &k.application.p, &k.application.n) == 0) &&
                 r.left == 0;
    if (whole && k.scheme->read == read_rsa &&
        (EVP_PKEY_get_bits(k.key) < RSA_BITS_MIN || EVP_PKEY_get_bits(k.key) > RSA_BITS_MAX)) {
        err_set(err, ERR_UNSUPPORTED,
                "an RSA key of %d bits is not supported: 2048 to 16384 bits are allowed",
                EVP_PKEY_get_bits(k.key));
        EVP_PKEY_free(k.key);
        return -1;
    }
    if (!whole) {
        EVP_PKEY_free(k.key);
        return err_set(err, ERR_FAILED, "the public key is damaged");
    }
    *ret = k;
    return 0;
}

/* ---- signatures ---- */

struct signature {
    struct piece algorithm, inner;
    struct piece flags_and_counter; /* only for a FIDO key */
};

static int refuse_signature(struct err *err)
{
    return err_set(err, ERR_DENIED, "the signature is not genuine");
}

static int read_signature(const struct pubkey *k, const struct ssh_blob *blob, struct signature *ret,
                          struct err *err)
{
    struct ssh_reader r = {blob->data, blob->n};
    struct signature s = {0};
    if (ssh_read_string(&r, &s.algorithm.p, &s.algorithm.n) < 0 ||
        ssh_read_string(&r, &s.inner.p, &s.inner.n) < 0 || r.left != (k->scheme->fido ? 5 : 0))
        return refuse_signature(err);
    s.flags_and_counter = (struct piece){r.p, r.left};
    *ret = s;
    return 0;
}

/* Chooses the hash and checks the signature's algorithm. For RSA the algorithm names the hash, for ECDSA the
 * curve determines it. Ed25519 has a built-in hash: *ret is NULL. */
static int choose_hash(const struct pubkey *k, struct piece algorithm, const EVP_MD **ret, struct err *err)
{
    char shown[64];
    const EVP_MD *hash = k->scheme->hash ? k->scheme->hash() : NULL;
    if (k->scheme->read == read_rsa)
        hash = is_name(algorithm, "rsa-sha2-512")   ? EVP_sha512()
               : is_name(algorithm, "rsa-sha2-256") ? EVP_sha256()
                                                    : NULL;
    if (k->scheme->read == read_rsa ? !hash : !is_name(algorithm, k->scheme->type))
        return err_set(err, ERR_UNSUPPORTED, "a key of type %s does not sign with %s", k->scheme->type,
                       text_printable(shown, sizeof shown, (const char *)algorithm.p, algorithm.n));
    *ret = hash;
    return 0;
}

/* Converts SSH's two numbers to the ASN.1 that OpenSSL needs. */
static int encode_ecdsa_der(struct piece inner, struct ssh_blob *ret, struct err *err)
{
    struct ssh_reader reader = {inner.p, inner.n};
    BIGNUM *r = evp_read_number(&reader), *s = evp_read_number(&reader);
    ECDSA_SIG *signature = ECDSA_SIG_new();
    unsigned char *der = NULL;
    int n = -1, rc = -1;
    if (r && s && signature && reader.left == 0 && ECDSA_SIG_set0(signature, r, s) == 1) {
        r = s = NULL;
        n = i2d_ECDSA_SIG(signature, &der);
    }
    rc = n > 0 ? ssh_blob_copy(ret, der, (size_t)n, err) : refuse_signature(err);
    OPENSSL_free(der);
    ECDSA_SIG_free(signature);
    BN_free(r);
    BN_free(s);
    return rc;
}

/* Adds the leading zeroes that some signers omit: an RSA signature is as long as the key. */
static int pad_rsa(const struct pubkey *k, struct piece inner, struct ssh_blob *ret, struct err *err)
{
    size_t size = (size_t)EVP_PKEY_get_size(k->key);
    if (inner.n == 0 || inner.n > size)
        return refuse_signature(err);
    unsigned char *padded = calloc(1, size);
    if (!padded)
        return err_nomem(err);
    memcpy(padded + size - inner.n, inner.p, inner.n);
    ret->data = padded;
    ret->n = size;
    return 0;
}

/* Converts the inner signature to OpenSSL's format. */
static int convert_signature(const struct pubkey *k, struct piece inner, struct ssh_blob *ret,
                             struct err *err)
{
    if (k->scheme->read == read_rsa)
        return pad_rsa(k, inner, ret, err);
    if (k->scheme->read == read_ecdsa)
        return encode_ecdsa_der(inner, ret, err);
    return ssh_blob_copy(ret, inner.p, inner.n, err);
}

/* Builds the data that a FIDO key signs. */
static int build_fido_data(const struct pubkey *k, struct piece flags_and_counter,
                           const struct ssh_blob *data, struct ssh_blob *ret, struct err *err)
{
    unsigned char all[2 * HASH + 5];
    if (EVP_Digest(k->application.p, k->application.n, all, NULL, EVP_sha256(), NULL) != 1 ||
        EVP_Digest(data->data, data->n, all + HASH + flags_and_counter.n, NULL, EVP_sha256(), NULL) != 1)
        return err_nomem(err);
    memcpy(all + HASH, flags_and_counter.p, flags_and_counter.n);
    return ssh_blob_copy(ret, all, sizeof all, err);
}

static int verify_raw(const struct pubkey *k, const EVP_MD *hash, const struct ssh_blob *signature,
                      const struct ssh_blob *data, struct err *err)
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    if (!context)
        return err_nomem(err);
    bool good = EVP_DigestVerifyInit(context, NULL, hash, NULL, k->key) == 1 &&
                EVP_DigestVerify(context, signature->data, signature->n, data->data, data->n) == 1;
    EVP_MD_CTX_free(context);
    return good ? 0 : refuse_signature(err);
}

static int verify_signature(const struct pubkey *k, const struct ssh_blob *signature,
                            const struct ssh_blob *data, struct err *err)
{
    struct signature s = {0};
    const EVP_MD *hash = NULL;
    struct ssh_blob inner = {0}, fido_data = {0};
    int rc = -1;
    if (read_signature(k, signature, &s, err) < 0 || choose_hash(k, s.algorithm, &hash, err) < 0 ||
        convert_signature(k, s.inner, &inner, err) < 0 ||
        (k->scheme->fido && build_fido_data(k, s.flags_and_counter, data, &fido_data, err) < 0))
        goto out;
    rc = verify_raw(k, hash, &inner, k->scheme->fido ? &fido_data : data, err);
out:
    ERR_clear_error();
    ssh_blob_release(&inner);
    ssh_blob_release(&fido_data);
    return rc;
}

int pubkey_verify(const struct ssh_blob *key, const struct ssh_blob *signature, const struct ssh_blob *data,
                  struct err *err)
{
    struct pubkey k = {0};
    if (read_key(key, &k, err) < 0)
        return -1;
    int rc = verify_signature(&k, signature, data, err);
    EVP_PKEY_free(k.key);
    return rc;
}
