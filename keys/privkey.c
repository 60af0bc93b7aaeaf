#include "keys/privkey.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>
#include <stdlib.h>
#include <string.h>

#include "keys/evp_key.h"
#include "keys/keyfile.h"
#include "keys/oaep.h"
#include "base/banned.h"

struct privkey {
    EVP_PKEY *key;
};

/* The three curves of RFC 5656. */
static const struct curve {
    const char *ssh_name, *openssl_name, *key_type;
    const EVP_MD *(*hash)(void);
} curves[] = {{"nistp256", "prime256v1", "ecdsa-sha2-nistp256", EVP_sha256},
              {"nistp384", "secp384r1", "ecdsa-sha2-nistp384", EVP_sha384},
              {"nistp521", "secp521r1", "ecdsa-sha2-nistp521", EVP_sha512}};

static int refuse_damaged(struct err *err)
{
    return err_set(err, ERR_FAILED, "the private key is damaged");
}

/* ---- reading ---- */

static EVP_PKEY *read_rsa(struct ssh_reader *r)
{
    static const char *const names[] = {OSSL_PKEY_PARAM_RSA_N, OSSL_PKEY_PARAM_RSA_E, OSSL_PKEY_PARAM_RSA_D};
    BIGNUM *numbers[3] = {NULL};
    OSSL_PARAM_BLD *build = OSSL_PARAM_BLD_new();
    EVP_PKEY *key = NULL;
    bool ok = build != NULL;
    for (size_t i = 0; ok && i < 3; i++) {
        numbers[i] = evp_read_number(r);
        ok = numbers[i] && OSSL_PARAM_BLD_push_BN(build, names[i], numbers[i]) == 1;
    }
    if (ok)
        key = evp_from_parameters("RSA", EVP_PKEY_KEYPAIR, build);
    OSSL_PARAM_BLD_free(build);
    for (size_t i = 0; i < 3; i++)
        BN_clear_free(numbers[i]);
    return key;
}

static EVP_PKEY *read_ecdsa(const struct curve *curve, struct ssh_reader *r)
{
    const unsigned char *name = NULL, *point = NULL;
    size_t n_name = 0, n_point = 0;
    if (ssh_read_string(r, &name, &n_name) < 0 || ssh_read_string(r, &point, &n_point) < 0)
        return NULL;
    BIGNUM *number = evp_read_number(r);
    OSSL_PARAM_BLD *build = OSSL_PARAM_BLD_new();
    EVP_PKEY *key = NULL;
    if (number && build &&
        OSSL_PARAM_BLD_push_utf8_string(build, OSSL_PKEY_PARAM_GROUP_NAME, curve->openssl_name, 0) == 1 &&
        OSSL_PARAM_BLD_push_octet_string(build, OSSL_PKEY_PARAM_PUB_KEY, point, n_point) == 1 &&
        OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_PRIV_KEY, number) == 1)
        key = evp_from_parameters("EC", EVP_PKEY_KEYPAIR, build);
    OSSL_PARAM_BLD_free(build);
    BN_clear_free(number);
    return key;
}

/* The private key is the seed, followed by the public half. */
static EVP_PKEY *read_ed25519(struct ssh_reader *r)
{
    const unsigned char *public = NULL, *both = NULL;
    size_t n_public = 0, n_both = 0;
    if (ssh_read_string(r, &public, &n_public) < 0 || ssh_read_string(r, &both, &n_both) < 0 || n_both != 64)
        return NULL;
    return EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, both, 32);
}

static bool is_type(const unsigned char *p, size_t n, const char *name)
{
    return n == strlen(name) && memcmp(p, name, n) == 0;
}

/* Reads the private section (PROTOCOL.key): the same number twice, then the key's type, parts and comment. */
static int read_openssh(const struct ssh_blob *section, EVP_PKEY **ret, struct err *err)
{
    struct ssh_reader r = {section->data, section->n};
    const unsigned char *type = NULL;
    size_t n = 0;
    uint32_t check = 0, check_again = 1;
    EVP_PKEY *key = NULL;
    if (ssh_read_u32(&r, &check) < 0 || ssh_read_u32(&r, &check_again) < 0 || check != check_again ||
        ssh_read_string(&r, &type, &n) < 0)
        return refuse_damaged(err);
    if (is_type(type, n, "ssh-rsa"))
        key = read_rsa(&r);
    if (is_type(type, n, "ssh-ed25519"))
        key = read_ed25519(&r);
    for (size_t i = 0; i < sizeof curves / sizeof *curves; i++)
        if (is_type(type, n, curves[i].key_type))
            key = read_ecdsa(&curves[i], &r);
    ERR_clear_error();
    if (!key)
        return refuse_damaged(err);
    *ret = key;
    return 0;
}

static int on_passphrase(char *dst, int cap, int writing, void *ctx)
{
    const struct passphrase *passphrase = ctx;
    (void)writing;
    /* Without a callback OpenSSL would ask on the terminal. */
    if (!passphrase || passphrase->secret->len > (size_t)cap)
        return -1;
    memcpy(dst, passphrase->secret->text, passphrase->secret->len);
    return (int)passphrase->secret->len;
}

static int read_pem(const void *p, size_t n, const struct passphrase *passphrase, EVP_PKEY **ret,
                    struct err *err)
{
    BIO *in = BIO_new_mem_buf(p, (int)n);
    if (!in)
        return err_nomem(err);
    *ret = PEM_read_bio_PrivateKey(in, NULL, on_passphrase, (void *)(uintptr_t)passphrase);
    BIO_free(in);
    ERR_clear_error();
    if (*ret)
        return 0;
    return err_set(err, ERR_NOT_FOUND,
                   passphrase ? "the passphrase is wrong"
                              : "the private key is damaged, or it has a passphrase");
}

static void wipe_section(struct ssh_blob *section)
{
    if (section->data)
        explicit_bzero(section->data, section->n);
    ssh_blob_release(section);
}

int privkey_parse(const void *p, size_t n, const struct passphrase *passphrase, struct privkey **ret,
                  struct err *err)
{
    struct ssh_blob section = {0};
    EVP_PKEY *key = NULL;
    int rc = keyfile_private_section(p, n, passphrase, &section, err);
    if (rc == 0)
        rc = section.n ? read_openssh(&section, &key, err) : read_pem(p, n, passphrase, &key, err);
    wipe_section(&section);
    if (rc < 0)
        return -1;
    struct privkey *k = calloc(1, sizeof *k);
    if (!k) {
        EVP_PKEY_free(key);
        return err_nomem(err);
    }
    k->key = key;
    *ret = k;
    return 0;
}

/* Decrypts the file and drops the key. Does not parse the key of a file in OpenSSH's own format. */
static int decrypt_file(const void *p, size_t n, const struct passphrase *passphrase, struct err *err)
{
    struct ssh_blob section = {0};
    EVP_PKEY *key = NULL;
    int rc = keyfile_private_section(p, n, passphrase, &section, err);
    if (rc == 0 && section.n == 0)
        rc = read_pem(p, n, passphrase, &key, err);
    wipe_section(&section);
    EVP_PKEY_free(key);
    return rc;
}

int privkey_check_passphrase(const void *p, size_t n, const struct passphrase *passphrase, struct err *err)
{
    struct err why = ERR_INIT;
    /* Any passphrase "opens" a file that is not encrypted. */
    if (decrypt_file(p, n, NULL, &why) == 0)
        return err_set(err, ERR_FAILED, "the private key has no passphrase");
    if (why.kind == ERR_NOT_FOUND)
        return decrypt_file(p, n, passphrase, err);
    if (err)
        *err = why;
    return -1;
}

void privkey_free(struct privkey *k)
{
    if (!k)
        return;
    EVP_PKEY_free(k->key);
    free(k);
}

/* ---- writing ---- */

/* Adds RFC 4251's mpint: no leading zeroes, except one that keeps the number positive. */
static void add_number(struct buf *b, const BIGNUM *number)
{
    unsigned char bytes[SSH_BLOB_MAX / 8 + 1] = {0};
    int n = BN_num_bytes(number);
    if ((size_t)n >= sizeof bytes) {
        b->failed = true;
        return;
    }
    BN_bn2bin(number, bytes + 1);
    bool padded = n > 0 && bytes[1] >= 0x80;
    ssh_add_string(b, bytes + !padded, (size_t)n + padded);
}

static int move_to_blob(struct buf *b, const char *what, struct ssh_blob *ret, struct err *err)
{
    int rc = buf_check(b, what, err);
    if (rc == 0)
        rc = ssh_blob_copy(ret, b->data, b->len, err);
    buf_release(b);
    return rc;
}

static const struct curve *find_curve(const struct privkey *k)
{
    char group[64] = "";
    EVP_PKEY_get_utf8_string_param(k->key, OSSL_PKEY_PARAM_GROUP_NAME, group, sizeof group, NULL);
    for (size_t i = 0; i < sizeof curves / sizeof *curves; i++)
        if (strcmp(group, curves[i].openssl_name) == 0)
            return &curves[i];
    return NULL;
}

static void add_rsa(struct buf *b, const struct privkey *k)
{
    BIGNUM *e = NULL, *n = NULL;
    EVP_PKEY_get_bn_param(k->key, OSSL_PKEY_PARAM_RSA_E, &e);
    EVP_PKEY_get_bn_param(k->key, OSSL_PKEY_PARAM_RSA_N, &n);
    if (e && n) {
        ssh_add_string(b, "ssh-rsa", 7);
        add_number(b, e);
        add_number(b, n);
    }
    BN_free(e);
    BN_free(n);
}

static void add_ecdsa(struct buf *b, const struct privkey *k)
{
    const struct curve *curve = find_curve(k);
    unsigned char point[200];
    size_t n = 0;
    if (!curve ||
        EVP_PKEY_get_octet_string_param(k->key, OSSL_PKEY_PARAM_PUB_KEY, point, sizeof point, &n) != 1)
        return;
    ssh_add_string(b, curve->key_type, strlen(curve->key_type));
    ssh_add_string(b, curve->ssh_name, strlen(curve->ssh_name));
    ssh_add_string(b, point, n);
}

static void add_ed25519(struct buf *b, const struct privkey *k)
{
    unsigned char point[32];
    size_t n = sizeof point;
    if (EVP_PKEY_get_raw_public_key(k->key, point, &n) != 1)
        return;
    ssh_add_string(b, "ssh-ed25519", 11);
    ssh_add_string(b, point, n);
}

int privkey_public(const struct privkey *k, struct ssh_blob *ret, struct err *err)
{
    struct buf b = BUF_INIT(SSH_BLOB_MAX);
    if (EVP_PKEY_is_a(k->key, "RSA"))
        add_rsa(&b, k);
    else if (EVP_PKEY_is_a(k->key, "EC"))
        add_ecdsa(&b, k);
    else if (EVP_PKEY_is_a(k->key, "ED25519"))
        add_ed25519(&b, k);
    ERR_clear_error();
    if (!b.failed && b.len == 0)
        return err_set(err, ERR_FAILED, "SSH does not support the type of the private key");
    return move_to_blob(&b, "the public key", ret, err);
}

/* ---- signing ---- */

/* Returns NULL for an Ed25519 key, which has a built-in hash. */
static const EVP_MD *choose_hash(const struct privkey *k, const char *algorithm)
{
    const struct curve *curve = find_curve(k);
    if (curve)
        return curve->hash();
    if (strncmp(algorithm, "rsa-sha2-512", 12) == 0)
        return EVP_sha512();
    if (strncmp(algorithm, "rsa-sha2-256", 12) == 0)
        return EVP_sha256();
    return EVP_PKEY_is_a(k->key, "RSA") ? EVP_sha1() : NULL;
}

/* Converts OpenSSL's ASN.1 signature to SSH's two numbers. */
static int decode_ecdsa_der(const struct ssh_blob *signature, struct ssh_blob *ret, struct err *err)
{
    struct buf b = BUF_INIT(1000);
    const unsigned char *p = signature->data;
    ECDSA_SIG *parts = d2i_ECDSA_SIG(NULL, &p, (long)signature->n);
    if (!parts)
        return err_set(err, ERR_FAILED, "OpenSSL cannot sign with the private key");
    add_number(&b, ECDSA_SIG_get0_r(parts));
    add_number(&b, ECDSA_SIG_get0_s(parts));
    ECDSA_SIG_free(parts);
    return move_to_blob(&b, "the signature", ret, err);
}

/* Signs in OpenSSL's format. */
static int sign_raw(const struct privkey *k, const EVP_MD *hash, const struct ssh_blob *data,
                    struct ssh_blob *ret, struct err *err)
{
    size_t n = (size_t)EVP_PKEY_get_size(k->key);
    unsigned char *signature = malloc(n);
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    int rc = -1;
    if (!context || !signature)
        err_nomem(err);
    else if (EVP_DigestSignInit(context, NULL, hash, NULL, k->key) != 1 ||
             EVP_DigestSign(context, signature, &n, data->data, data->n) != 1)
        err_set(err, ERR_FAILED, "OpenSSL cannot sign with the private key");
    else
        rc = 0;
    EVP_MD_CTX_free(context);
    ERR_clear_error();
    if (rc < 0)
        free(signature);
    else
        *ret = (struct ssh_blob){signature, n};
    return rc;
}

int privkey_sign(const struct privkey *k, const char *algorithm, const struct ssh_blob *data,
                 struct ssh_blob *ret, struct err *err)
{
    struct ssh_blob signature = {0};
    if (sign_raw(k, choose_hash(k, algorithm), data, &signature, err) < 0)
        return -1;
    if (!EVP_PKEY_is_a(k->key, "EC")) {
        *ret = signature;
        return 0;
    }
    int rc = decode_ecdsa_der(&signature, ret, err);
    ssh_blob_release(&signature);
    return rc;
}

/* ---- decrypting ---- */

/* RFC 8032 section 5.1.5: the scalar is the first half of the seed's hash. OpenSSL's X25519 clamps it. */
int privkey_x25519(const struct privkey *k, unsigned char ret[PRIVKEY_X25519], struct err *err)
{
    unsigned char seed[32], hash[64];
    size_t n = sizeof seed;
    bool done = EVP_PKEY_is_a(k->key, "ED25519") && EVP_PKEY_get_raw_private_key(k->key, seed, &n) == 1 &&
                EVP_Digest(seed, n, hash, NULL, EVP_sha512(), NULL) == 1;
    if (done)
        memcpy(ret, hash, PRIVKEY_X25519);
    explicit_bzero(seed, sizeof seed);
    explicit_bzero(hash, sizeof hash);
    ERR_clear_error();
    return done ? 0 : err_set(err, ERR_FAILED, "the private key is not of type ssh-ed25519");
}

int privkey_decrypt(const struct privkey *k, const char *label, const struct ssh_blob *data,
                    struct ssh_blob *ret, struct err *err)
{
    size_t n = (size_t)EVP_PKEY_get_size(k->key);
    unsigned char *plain = malloc(n + 1);
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new(k->key, NULL);
    int rc = -1;
    if (!plain || !context)
        err_nomem(err);
    else if (EVP_PKEY_decrypt_init(context) != 1 || oaep_set_padding(context, label) < 0)
        err_set(err, ERR_FAILED, "OpenSSL cannot decrypt with the private key");
    else if (EVP_PKEY_decrypt(context, plain, &n, data->data, data->n) != 1)
        err_set(err, ERR_NOT_FOUND, "the file is not encrypted to this key");
    else
        rc = 0;
    EVP_PKEY_CTX_free(context);
    ERR_clear_error();
    if (rc < 0)
        free(plain);
    else
        *ret = (struct ssh_blob){plain, n};
    return rc;
}
