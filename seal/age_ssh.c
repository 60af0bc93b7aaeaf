/*
 * SSH keys as recipients. An Ed25519 key is a point of X25519's curve in another form. This file converts it
 * to the X25519 point. The SSH key also signs. A tweak, derived from it, separates the key's use for
 * encryption from its use for signatures. An RSA key wraps the file key with OAEP.
 */
#include <openssl/bn.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <string.h>

#include "seal/age_stanza.h"
#include "base/banned.h"

#define RSA_BITS_MIN 2048

static const char ed25519_label[] = "age-encryption.org/v1/ssh-ed25519";
static const char rsa_label[] = "age-encryption.org/v1/ssh-rsa";

int age_ssh_tag(const struct ssh_blob *key, unsigned char ret[AGE_SSH_TAG], struct err *err)
{
    unsigned char digest[32];
    if (EVP_Digest(key->data, key->n, digest, NULL, EVP_sha256(), NULL) != 1)
        return err_set(err, ERR_FAILED, "OpenSSL cannot do SHA-256");
    memcpy(ret, digest, AGE_SSH_TAG);
    return 0;
}

/* ---- Ed25519 to X25519 ---- */

/* Checks whether a point has this y: (y^2 - 1) / (d y^2 + 1) must be a square, d = -121665 / 121666. Then the
 * product (y^2 - 1) (d y^2 + 1) is a square too. The code multiplies this product by the square of 121666,
 * and checks (y^2 - 1) (121666 - 121665 y^2) 121666. */
static bool is_on_curve(const BIGNUM *y, const BIGNUM *p, BN_CTX *c)
{
    BIGNUM *square = BN_CTX_get(c), *a = BN_CTX_get(c), *b = BN_CTX_get(c);
    if (!b || !BN_mod_sqr(square, y, p, c) || !BN_copy(a, square) || !BN_sub_word(a, 1) ||
        !BN_copy(b, square) || !BN_mul_word(b, 121665) || !BN_sub(b, p, b) || !BN_add_word(b, 121666) ||
        !BN_mul_word(b, 121666) || !BN_nnmod(b, b, p, c) || !BN_mod_mul(a, a, b, p, c))
        return false;
    return BN_is_zero(a) || BN_kronecker(a, p, c) == 1;
}

/* Computes u = (1 + y) / (1 - y) modulo 2^255 - 19. All values are public, so the time may depend on them. */
static bool convert_point(const unsigned char ed[AGE_KEY], unsigned char ret[AGE_KEY], BN_CTX *c)
{
    unsigned char bytes[AGE_KEY];
    memcpy(bytes, ed, AGE_KEY);
    bytes[AGE_KEY - 1] &= 0x7f; /* clear the sign of x */
    BIGNUM *p = BN_CTX_get(c), *y = BN_CTX_get(c), *numerator = BN_CTX_get(c), *denominator = BN_CTX_get(c);
    if (!denominator || !BN_set_bit(p, 255) || !BN_sub_word(p, 19) || !BN_lebin2bn(bytes, AGE_KEY, y) ||
        BN_cmp(y, p) >= 0 || BN_is_one(y) || !is_on_curve(y, p, c))
        return false;
    return BN_copy(numerator, y) && BN_add_word(numerator, 1) && BN_one(denominator) &&
           BN_mod_sub(denominator, denominator, y, p, c) && BN_mod_inverse(denominator, denominator, p, c) &&
           BN_mod_mul(numerator, numerator, denominator, p, c) &&
           BN_bn2lebinpad(numerator, ret, AGE_KEY) == AGE_KEY;
}

/* Returns the 32 bytes of an ssh-ed25519 key, or NULL if the blob is none. */
static const unsigned char *read_ed25519(const struct ssh_blob *key)
{
    struct ssh_reader r = {key->data, key->n};
    const unsigned char *type = NULL, *raw = NULL;
    size_t n_type = 0, n = 0;
    if (ssh_read_string(&r, &type, &n_type) < 0 || n_type != 11 || memcmp(type, "ssh-ed25519", 11) != 0 ||
        ssh_read_string(&r, &raw, &n) < 0 || n != AGE_KEY || r.left)
        return NULL;
    return raw;
}

int age_ssh_point(const struct ssh_blob *key, unsigned char ret[AGE_KEY], struct err *err)
{
    const unsigned char *raw = read_ed25519(key);
    BN_CTX *c = BN_CTX_new();
    if (!c)
        return err_nomem(err);
    BN_CTX_start(c);
    bool done = raw && convert_point(raw, ret, c);
    BN_CTX_end(c);
    BN_CTX_free(c);
    ERR_clear_error();
    return done ? 0 : err_set(err, ERR_USAGE, "the ssh-ed25519 key is damaged");
}

/* Derives the wrapping key: multiplies the shared secret by the tweak, and binds the product to both
 * points. */
static int derive_wrap_key(const struct ssh_blob *key, const unsigned char share[AGE_KEY],
                           const unsigned char shared_secret[AGE_KEY], unsigned char ret[AGE_KEY],
                           struct err *err)
{
    unsigned char tweak[AGE_KEY], secret[AGE_KEY], salt[2 * AGE_KEY];
    memcpy(salt, share, AGE_KEY);
    int rc = -1;
    if (age_ssh_point(key, salt + AGE_KEY, err) == 0 &&
        age_hkdf((struct age_bytes){NULL, 0}, (struct age_bytes){key->data, key->n}, ed25519_label, tweak,
                 err) == 0 &&
        age_x25519(tweak, shared_secret, secret, err) == 0)
        rc = age_hkdf((struct age_bytes){secret, AGE_KEY}, (struct age_bytes){salt, sizeof salt},
                      ed25519_label, ret, err);
    explicit_bzero(secret, sizeof secret);
    return rc;
}

/* Formats `TYPE TAG`, with ` SHARE` if there is one. */
static int add_arguments(struct buf *b, const char *type, const struct ssh_blob *key,
                         const unsigned char *share, struct err *err)
{
    unsigned char tag[AGE_SSH_TAG];
    if (age_ssh_tag(key, tag, err) < 0)
        return -1;
    buf_addf(b, "%s ", type);
    base64_add(b, BASE64_RAW, tag, sizeof tag);
    if (share) {
        buf_addc(b, ' ');
        base64_add(b, BASE64_RAW, share, AGE_KEY);
    }
    return buf_check(b, "a stanza", err);
}

int age_ssh_wrap_ed25519(const struct ssh_blob *key, const unsigned char file_key[AGE_FILE_KEY],
                         struct buf *header, struct err *err)
{
    unsigned char point[AGE_KEY], ephemeral[AGE_KEY], share[AGE_KEY], shared_secret[AGE_KEY],
        wrap_key[AGE_KEY], body[AGE_WRAPPED_KEY];
    struct buf arguments = BUF_INIT(100);
    int rc = -1;
    if (age_ssh_point(key, point, err) == 0 && age_random(ephemeral, sizeof ephemeral, err) == 0 &&
        age_x25519_base(ephemeral, share, err) == 0 &&
        age_x25519(ephemeral, point, shared_secret, err) == 0 &&
        derive_wrap_key(key, share, shared_secret, wrap_key, err) == 0 &&
        age_wrap(wrap_key, file_key, body, err) == 0)
        rc = add_arguments(&arguments, "ssh-ed25519", key, share, err);
    if (rc == 0)
        age_stanza_add(header, buf_str(&arguments), body, sizeof body);
    buf_release(&arguments);
    explicit_bzero(ephemeral, sizeof ephemeral);
    explicit_bzero(shared_secret, sizeof shared_secret);
    explicit_bzero(wrap_key, sizeof wrap_key);
    return rc;
}

static int unwrap_ed25519(const struct privkey *private, const struct ssh_blob *key,
                          const struct age_stanza *s, struct age_unwrapped *ret, struct err *err)
{
    unsigned char secret[AGE_KEY], shared_secret[AGE_KEY], wrap_key[AGE_KEY];
    int rc = privkey_x25519(private, secret, err);
    if (rc == 0 && (rc = age_x25519(secret, s->share, shared_secret, err)) < 0)
        err_wrap(err, "the header is damaged");
    if (rc == 0)
        rc = derive_wrap_key(key, s->share, shared_secret, wrap_key, err);
    if (rc == 0)
        rc = age_unwrap(wrap_key, s->body, &ret->matches, ret->file_key, err);
    explicit_bzero(secret, sizeof secret);
    explicit_bzero(shared_secret, sizeof shared_secret);
    explicit_bzero(wrap_key, sizeof wrap_key);
    return rc;
}

/* ---- RSA ---- */

int age_ssh_check_rsa(const struct ssh_blob *key, struct err *err)
{
    int bits = oaep_key_bits(key);
    if (bits == 0)
        return err_set(err, ERR_USAGE, "the ssh-rsa key is damaged");
    if (bits < RSA_BITS_MIN || bits > AGE_RSA_BITS_MAX)
        return err_set(err, ERR_USAGE, "it is an RSA key of %d bits, and %d to %d are allowed", bits,
                       RSA_BITS_MIN, AGE_RSA_BITS_MAX);
    return 0;
}

int age_ssh_wrap_rsa(const struct ssh_blob *key, const unsigned char file_key[AGE_FILE_KEY],
                     struct buf *header, struct err *err)
{
    struct ssh_blob data = {(unsigned char *)(uintptr_t)file_key, AGE_FILE_KEY}, body = {0};
    struct buf arguments = BUF_INIT(100);
    int rc = oaep_encrypt(key, rsa_label, &data, &body, err);
    if (rc == 0)
        rc = add_arguments(&arguments, "ssh-rsa", key, NULL, err);
    if (rc == 0)
        age_stanza_add(header, buf_str(&arguments), body.data, body.n);
    buf_release(&arguments);
    ssh_blob_release(&body);
    return rc;
}

/* Sets ret->matches to false if the stanza is for another key whose tag is the same by chance. */
static int unwrap_rsa(const struct privkey *private, const struct age_stanza *s, struct age_unwrapped *ret,
                      struct err *err)
{
    struct ssh_blob body = {s->body, s->n_body}, data = {0};
    struct err why = ERR_INIT;
    if (privkey_decrypt(private, rsa_label, &body, &data, &why) < 0 && why.kind != ERR_NOT_FOUND) {
        if (err)
            *err = why;
        return -1;
    }
    ret->matches = data.n == AGE_FILE_KEY;
    if (ret->matches)
        memcpy(ret->file_key, data.data, AGE_FILE_KEY);
    if (data.data)
        explicit_bzero(data.data, data.n);
    ssh_blob_release(&data);
    return 0;
}

int age_ssh_unwrap(const struct privkey *private, const struct ssh_blob *key, const struct age_stanza *s,
                   struct age_unwrapped *ret, struct err *err)
{
    return s->kind == AGE_SSH_RSA ? unwrap_rsa(private, s, ret, err)
                                  : unwrap_ed25519(private, key, s, ret, err);
}
