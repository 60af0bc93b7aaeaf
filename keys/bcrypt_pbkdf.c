/*
 * bcrypt is Blowfish with a slow key schedule. OpenSSL's Blowfish does not expose its schedule, so this file
 * implements Blowfish. The initial tables are the fractional digits of pi. Machin's formula pi = 16
 * arctan(1/5) - 4 arctan(1/239) computes them in a few milliseconds.
 */
#include "keys/bcrypt_pbkdf.h"

#include <openssl/bn.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

enum {
    ROUNDS = 16,
    SUBKEYS = ROUNDS + 2,
    WORDS = SUBKEYS + 4 * 256,
    GUARD = 64, /* extra bits of pi, because each term is rounded */
    HASH = 64,  /* bytes of a SHA-512 hash */
    BLOCK = 32, /* bytes of one bcrypt result */
    COST = 64,  /* iterations of bcrypt's loops; bcrypt_pbkdf fixes them */
    KEY_MAX = 256,
};

struct blowfish {
    uint32_t p[SUBKEYS];
    uint32_t s[4][256];
};

static uint32_t word_at(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* ---- pi ---- */

/* Adds factor * arctan(1 / x) * 2^bits to sum, or subtracts it. */
static bool add_arctan(BIGNUM *sum, BN_ULONG factor, BN_ULONG x, int bits, bool minus)
{
    BIGNUM *power = BN_new(), *term = BN_new();
    bool ok = power && term && BN_set_bit(power, bits) && BN_mul_word(power, factor) &&
              BN_div_word(power, x) != (BN_ULONG)-1;
    for (BN_ULONG k = 1; ok && !BN_is_zero(power); k += 2, minus = !minus) {
        ok = BN_copy(term, power) && BN_div_word(term, k) != (BN_ULONG)-1 &&
             (minus ? BN_sub(sum, sum, term) : BN_add(sum, sum, term)) &&
             BN_div_word(power, x * x) != (BN_ULONG)-1;
    }
    BN_free(power);
    BN_free(term);
    return ok;
}

static bool init_with_pi(struct blowfish *b)
{
    static const int bits = WORDS * 32 + GUARD;
    unsigned char digits[WORDS * 4];
    BIGNUM *pi = BN_new();
    bool ok = pi && add_arctan(pi, 16, 5, bits, false) && add_arctan(pi, 4, 239, bits, true) &&
              BN_mask_bits(pi, bits) && BN_rshift(pi, pi, GUARD) &&
              BN_bn2binpad(pi, digits, sizeof digits) == sizeof digits;
    BN_free(pi);
    if (!ok)
        return false;
    for (size_t i = 0; i < WORDS; i++) {
        uint32_t word = word_at(digits + 4 * i);
        if (i < SUBKEYS)
            b->p[i] = word;
        else
            b->s[(i - SUBKEYS) / 256][(i - SUBKEYS) % 256] = word;
    }
    return true;
}

/* ---- Blowfish ---- */

struct pair {
    uint32_t left, right;
};

static uint32_t round_function(const struct blowfish *b, uint32_t x)
{
    return ((b->s[0][x >> 24] + b->s[1][x >> 16 & 255]) ^ b->s[2][x >> 8 & 255]) + b->s[3][x & 255];
}

static struct pair encrypt_pair(const struct blowfish *b, struct pair x)
{
    for (size_t i = 0; i < ROUNDS; i += 2) {
        x.left ^= b->p[i];
        x.right ^= round_function(b, x.left) ^ b->p[i + 1];
        x.left ^= round_function(b, x.right);
    }
    return (struct pair){x.right ^ b->p[ROUNDS + 1], x.left ^ b->p[ROUNDS]};
}

/* Reads word i of a hash, cyclically. */
static uint32_t cyclic_word(const unsigned char hash[HASH], size_t i)
{
    return word_at(hash + i % (HASH / 4) * 4);
}

/* Runs the key schedule: mixes the key into the subkeys, then replaces all tables by repeated encryption,
 * mixed with the salt unless it is NULL. */
static void expand_key(struct blowfish *b, const unsigned char key[HASH], const unsigned char *salt)
{
    struct pair x = {0, 0};
    uint32_t *s = b->s[0];
    for (size_t i = 0; i < SUBKEYS; i++)
        b->p[i] ^= cyclic_word(key, i);
    for (size_t i = 0; i < WORDS; i += 2) {
        if (salt) {
            x.left ^= cyclic_word(salt, i);
            x.right ^= cyclic_word(salt, i + 1);
        }
        x = encrypt_pair(b, x);
        uint32_t *to = i < SUBKEYS ? &b->p[i] : &s[i - SUBKEYS];
        to[0] = x.left;
        to[1] = x.right;
    }
}

/* ---- bcrypt ---- */

static void bcrypt_hash(const struct blowfish *initial, const unsigned char key[HASH],
                        const unsigned char salt[HASH], unsigned char ret[BLOCK])
{
    static const unsigned char text[BLOCK + 1] = "OxychromaticBlowfishSwatDynamite";
    struct blowfish b = *initial;
    expand_key(&b, key, salt);
    for (int i = 0; i < COST; i++) {
        expand_key(&b, salt, NULL);
        expand_key(&b, key, NULL);
    }
    for (size_t at = 0; at < BLOCK; at += 8) {
        struct pair x = {word_at(text + at), word_at(text + at + 4)};
        for (int i = 0; i < COST; i++)
            x = encrypt_pair(&b, x);
        for (size_t i = 0; i < 4; i++) {
            ret[at + i] = (unsigned char)(x.left >> 8 * i);
            ret[at + 4 + i] = (unsigned char)(x.right >> 8 * i);
        }
    }
    explicit_bzero(&b, sizeof b);
}

static bool sha512_hash(const void *p, size_t n, unsigned char ret[HASH])
{
    return EVP_Digest(p, n, ret, NULL, EVP_sha512(), NULL) == 1;
}

/* The inputs that all blocks share. `key` is the hash of the passphrase. */
struct derivation {
    const struct blowfish *initial;
    unsigned char key[HASH];
    unsigned rounds;
    int cancel_fd;
};

/* Computes one block: the XOR of `rounds` bcrypt hashes. `salt` is the salt of the first hash; the SHA-512 of
 * each hash overwrites it, as the salt of the next hash. A cancellation ends the computation early. */
static bool derive_block(const struct derivation *d, unsigned char salt[HASH], unsigned char ret[BLOCK])
{
    unsigned char hash[BLOCK];
    bool ok = true;
    memset(ret, 0, BLOCK);
    for (unsigned round = 0; ok && round < d->rounds && !fd_cancelled(d->cancel_fd); round++) {
        bcrypt_hash(d->initial, d->key, salt, hash);
        for (size_t i = 0; i < BLOCK; i++)
            ret[i] ^= hash[i];
        ok = sha512_hash(hash, sizeof hash, salt);
    }
    explicit_bzero(hash, sizeof hash);
    return ok;
}

/* Hashes the salt and the block's number. */
static bool hash_salt_and_number(const struct bcrypt_options *options, uint32_t number,
                                 unsigned char ret[HASH])
{
    unsigned char big_endian[4] = {(unsigned char)(number >> 24), (unsigned char)(number >> 16),
                                   (unsigned char)(number >> 8), (unsigned char)number};
    EVP_MD_CTX *c = EVP_MD_CTX_new();
    bool ok = c && EVP_DigestInit_ex(c, EVP_sha512(), NULL) == 1 &&
              EVP_DigestUpdate(c, options->salt, options->n_salt) == 1 &&
              EVP_DigestUpdate(c, big_endian, sizeof big_endian) == 1 &&
              EVP_DigestFinal_ex(c, ret, NULL) == 1;
    EVP_MD_CTX_free(c);
    return ok;
}

static bool derive_blocks(const struct blowfish *initial, const struct passphrase *passphrase,
                          const struct bcrypt_options *options, unsigned char *ret, size_t n)
{
    unsigned char salt[HASH], block[BLOCK];
    struct derivation d = {.initial = initial, .rounds = options->rounds, .cancel_fd = passphrase->cancel_fd};
    size_t blocks = (n + BLOCK - 1) / BLOCK;
    bool ok = sha512_hash(passphrase->secret->text, passphrase->secret->len, d.key);
    for (size_t b = 0; ok && b < blocks; b++) {
        ok = hash_salt_and_number(options, (uint32_t)b + 1, salt) && derive_block(&d, salt, block);
        for (size_t i = 0; ok && i * blocks + b < n; i++)
            ret[i * blocks + b] = block[i];
    }
    explicit_bzero(d.key, sizeof d.key);
    explicit_bzero(salt, sizeof salt);
    explicit_bzero(block, sizeof block);
    return ok;
}

int bcrypt_pbkdf(const struct passphrase *passphrase, const struct bcrypt_options *options, void *ret,
                 size_t n, struct err *err)
{
    if (n > KEY_MAX || options->rounds == 0 || options->rounds > BCRYPT_ROUNDS_MAX)
        return err_set(err, ERR_FAILED, "the private key needs %u rounds of bcrypt, and 1 to %d are allowed",
                       options->rounds, BCRYPT_ROUNDS_MAX);
    struct blowfish *initial = malloc(sizeof *initial);
    if (!initial)
        return err_nomem(err);
    bool ok = init_with_pi(initial) && derive_blocks(initial, passphrase, options, ret, n);
    free(initial);
    ERR_clear_error();
    if (fd_cancelled(passphrase->cancel_fd))
        return err_set(err, ERR_CANCELLED, "interrupted");
    return ok ? 0 : err_nomem(err);
}
