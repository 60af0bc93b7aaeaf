/*
 * A security key in software, for ssh's SecurityKeyProvider: tests get a FIDO key without a hardware token.
 * The interface is that of OpenSSH's sk-api.h, version 10; its PROTOCOL.u2f describes the signed data.
 *
 * The key handle, which ssh-keygen writes into the key's file, is the private key itself. A key made with `-O
 * verify-required` requires the PIN 1234. $SOFTKEY_TOUCH names a FIFO: a process touches the key by opening
 * the FIFO to write. Without that variable the key is touched at once.
 */
#include <fcntl.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/sha.h>
#include <openssl/x509.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/banned.h"

/* ---- OpenSSH's interface ------------------------------------------------------------------------------- */

enum { SK_VERSION = 0x000a0000 };
enum { SK_ECDSA = 0, SK_ED25519 = 1 };
enum { SK_PRESENT = 0x01, SK_VERIFIED = 0x04 };
enum { SK_ERR_GENERAL = -1, SK_ERR_UNSUPPORTED = -2, SK_ERR_PIN_REQUIRED = -3 };

/* ssh frees this struct and everything that it points to. */
struct sk_enroll_response {
    uint8_t flags;
    uint8_t *public_key;
    size_t public_key_len;
    uint8_t *key_handle;
    size_t key_handle_len;
    uint8_t *signature;
    size_t signature_len;
    uint8_t *attestation_cert;
    size_t attestation_cert_len;
    uint8_t *authdata;
    size_t authdata_len;
};

/* ssh frees this too. An Ed25519 signature has only sig_r. */
struct sk_sign_response {
    uint8_t flags;
    uint32_t counter;
    uint8_t *sig_r;
    size_t sig_r_len;
    uint8_t *sig_s;
    size_t sig_s_len;
};

struct sk_option;
struct sk_resident_key;

uint32_t sk_api_version(void);
int sk_enroll(uint32_t alg, const uint8_t *challenge, size_t challenge_len, const char *application,
              uint8_t flags, const char *pin, struct sk_option **options, struct sk_enroll_response **ret);
int sk_sign(uint32_t alg, const uint8_t *data, size_t data_len, const char *application,
            const uint8_t *key_handle, size_t key_handle_len, uint8_t flags, const char *pin,
            struct sk_option **options, struct sk_sign_response **ret);
int sk_load_resident_keys(const char *pin, struct sk_option **options, struct sk_resident_key ***ret,
                          size_t *ret_n);

uint32_t sk_api_version(void)
{
    return SK_VERSION;
}

int sk_load_resident_keys(const char *pin, struct sk_option **options, struct sk_resident_key ***ret,
                          size_t *ret_n)
{
    (void)pin, (void)options, (void)ret, (void)ret_n;
    return SK_ERR_UNSUPPORTED;
}

/* ---- the touch ----------------------------------------------------------------------------------------- */

/* The longest wait, in case the test does not end ssh. */
enum { TOUCH_TIMEOUT_S = 60 };

/* Waits until a process opens the FIFO to write. Without a FIFO the key is touched at once. */
static void wait_for_touch(void)
{
    const char *fifo = getenv("SOFTKEY_TOUCH");
    if (!fifo)
        return;
    alarm(TOUCH_TIMEOUT_S);
    close(open(fifo, O_RDONLY | O_CLOEXEC));
    alarm(0);
}

/* Checks the PIN and waits for the touch, if the flags require them. */
static int check_user(uint8_t flags, const char *pin)
{
    if ((flags & SK_VERIFIED) && (!pin || strcmp(pin, "1234") != 0))
        return SK_ERR_PIN_REQUIRED;
    if (flags & SK_PRESENT)
        wait_for_touch();
    return 0;
}

/* ---- making a key -------------------------------------------------------------------------------------- */

static int copy_bytes(uint8_t **ret, size_t *ret_n, const void *p, size_t n)
{
    *ret = malloc(n);
    if (!*ret)
        return -1;
    memcpy(*ret, p, n);
    *ret_n = n;
    return 0;
}

static int put_key(struct sk_enroll_response *r, EVP_PKEY *key)
{
    unsigned char public[128], *private = NULL;
    size_t n = 0;
    if (!EVP_PKEY_get_octet_string_param(key, OSSL_PKEY_PARAM_PUB_KEY, public, sizeof public, &n))
        return -1;
    int private_n = i2d_PrivateKey(key, &private);
    int rc = private_n <= 0 || copy_bytes(&r->public_key, &r->public_key_len, public, n) < 0 ||
                     copy_bytes(&r->key_handle, &r->key_handle_len, private, (size_t)private_n) < 0
                 ? -1
                 : 0;
    OPENSSL_free(private);
    return rc;
}

int sk_enroll(uint32_t alg, const uint8_t *challenge, size_t challenge_len, const char *application,
              uint8_t flags, const char *pin, struct sk_option **options, struct sk_enroll_response **ret)
{
    (void)challenge, (void)challenge_len, (void)application, (void)options;
    int rc = check_user(flags, pin);
    if (rc < 0)
        return rc;
    EVP_PKEY *key = alg == SK_ED25519 ? EVP_PKEY_Q_keygen(NULL, NULL, "ED25519") : EVP_EC_gen("P-256");
    struct sk_enroll_response *r = calloc(1, sizeof *r);
    if (key && r && put_key(r, key) == 0) {
        r->flags = flags;
        *ret = r;
        r = NULL;
    } else {
        rc = SK_ERR_GENERAL;
    }
    if (r) {
        free(r->public_key);
        free(r->key_handle);
        free(r);
    }
    EVP_PKEY_free(key);
    return rc;
}

/* ---- signing ------------------------------------------------------------------------------------------- */

enum { SIGNED_SIZE = SHA256_DIGEST_LENGTH + 1 + 4 + SHA256_DIGEST_LENGTH };

/* Writes the bytes to sign: SHA-256 of the application, the flags of the user's actions, the counter, SHA-256
 * of the data. */
static void compose_signed_data(const struct sk_sign_response *r, const char *application,
                                const uint8_t *data, size_t data_len, unsigned char dst[SIGNED_SIZE])
{
    SHA256((const unsigned char *)application, strlen(application), dst);
    dst += SHA256_DIGEST_LENGTH;
    *dst++ = r->flags;
    for (int shift = 24; shift >= 0; shift -= 8)
        *dst++ = (unsigned char)(r->counter >> shift);
    SHA256(data, data_len, dst);
}

static int put_number(uint8_t **ret, size_t *ret_n, const BIGNUM *number)
{
    unsigned char p[32];
    int n = BN_num_bytes(number) <= (int)sizeof p ? BN_bn2bin(number, p) : 0;
    return n > 0 ? copy_bytes(ret, ret_n, p, (size_t)n) : -1;
}

static int put_signature(struct sk_sign_response *r, uint32_t alg, const unsigned char *p, size_t n)
{
    if (alg == SK_ED25519)
        return copy_bytes(&r->sig_r, &r->sig_r_len, p, n);
    ECDSA_SIG *pair = d2i_ECDSA_SIG(NULL, &p, (long)n);
    int rc = !pair || put_number(&r->sig_r, &r->sig_r_len, ECDSA_SIG_get0_r(pair)) < 0 ||
                     put_number(&r->sig_s, &r->sig_s_len, ECDSA_SIG_get0_s(pair)) < 0
                 ? -1
                 : 0;
    ECDSA_SIG_free(pair);
    return rc;
}

static int sign_message(struct sk_sign_response *r, uint32_t alg, EVP_PKEY *key,
                        const unsigned char message[SIGNED_SIZE])
{
    unsigned char signature[128];
    size_t n = sizeof signature;
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    int rc = -1;
    if (context &&
        EVP_DigestSignInit(context, NULL, alg == SK_ED25519 ? NULL : EVP_sha256(), NULL, key) > 0 &&
        EVP_DigestSign(context, signature, &n, message, SIGNED_SIZE) > 0)
        rc = put_signature(r, alg, signature, n);
    EVP_MD_CTX_free(context);
    return rc;
}

int sk_sign(uint32_t alg, const uint8_t *data, size_t data_len, const char *application,
            const uint8_t *key_handle, size_t key_handle_len, uint8_t flags, const char *pin,
            struct sk_option **options, struct sk_sign_response **ret)
{
    (void)options;
    unsigned char message[SIGNED_SIZE];
    int rc = check_user(flags, pin);
    if (rc < 0)
        return rc;
    EVP_PKEY *key = d2i_AutoPrivateKey(NULL, &key_handle, (long)key_handle_len);
    struct sk_sign_response *r = calloc(1, sizeof *r);
    rc = SK_ERR_GENERAL;
    if (r) {
        r->flags = flags & (SK_PRESENT | SK_VERIFIED);
        r->counter = 1;
        compose_signed_data(r, application, data, data_len, message);
    }
    if (key && r && sign_message(r, alg, key, message) == 0) {
        *ret = r;
        r = NULL;
        rc = 0;
    }
    if (r) {
        free(r->sig_r);
        free(r->sig_s);
        free(r);
    }
    EVP_PKEY_free(key);
    return rc;
}
