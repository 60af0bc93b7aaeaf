#include "keys/encrypted_key.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <stdlib.h>
#include <string.h>

#include "keys/bcrypt_pbkdf.h"
#include "base/banned.h"

enum { KEY_MAX = 64, IV_MAX = 16, TAG = 16 };

/* How a cipher authenticates the section. */
enum authentication { NO_TAG, GCM, CHACHA };

static const struct cipher {
    const char *ssh_name, *openssl_name;
    size_t key_size, iv_size, block_size; /* in bytes */
    enum authentication authentication;
} ciphers[] = {{"aes256-ctr", "AES-256-CTR", 32, 16, 16, NO_TAG},
               {"aes192-ctr", "AES-192-CTR", 24, 16, 16, NO_TAG},
               {"aes128-ctr", "AES-128-CTR", 16, 16, 16, NO_TAG},
               {"aes256-cbc", "AES-256-CBC", 32, 16, 16, NO_TAG},
               {"aes192-cbc", "AES-192-CBC", 24, 16, 16, NO_TAG},
               {"aes128-cbc", "AES-128-CBC", 16, 16, 16, NO_TAG},
               {"3des-cbc", "DES-EDE3-CBC", 24, 8, 8, NO_TAG},
               {"aes256-gcm@openssh.com", "AES-256-GCM", 32, 12, 16, GCM},
               {"aes128-gcm@openssh.com", "AES-128-GCM", 16, 12, 16, GCM},
               {"chacha20-poly1305@openssh.com", "ChaCha20", 64, 0, 8, CHACHA}};

static bool is_name(const struct ssh_reader *r, const char *name)
{
    return r->left == strlen(name) && memcmp(r->p, name, r->left) == 0;
}

static int read_options(const struct encrypted_key *encrypted, struct bcrypt_options *ret)
{
    struct ssh_reader r = encrypted->options;
    const unsigned char *salt = NULL;
    size_t n = 0;
    uint32_t rounds = 0;
    if (!is_name(&encrypted->kdf, "bcrypt") || ssh_read_string(&r, &salt, &n) < 0 ||
        ssh_read_u32(&r, &rounds) < 0 || r.left > 0 || n == 0)
        return -1;
    *ret = (struct bcrypt_options){salt, n, rounds};
    return 0;
}

unsigned encrypted_key_rounds(const struct encrypted_key *encrypted)
{
    struct bcrypt_options options;
    return read_options(encrypted, &options) == 0 ? options.rounds : 0;
}

/* ---- ciphers ---- */

/* Decrypts, and checks the tag if the cipher has one. Sets *ret_matches to whether the tag is right or
 * absent. Returns false if OpenSSL fails. */
static bool decrypt_evp(const struct cipher *c, const unsigned char *key,
                        const struct encrypted_key *encrypted, unsigned char *dst, bool *ret_matches)
{
    EVP_CIPHER *cipher = EVP_CIPHER_fetch(NULL, c->openssl_name, NULL);
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    int n = 0;
    bool done = cipher && context && EVP_DecryptInit_ex(context, cipher, NULL, key, key + c->key_size) == 1 &&
                EVP_CIPHER_CTX_set_padding(context, 0) == 1 &&
                (c->authentication != GCM || EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, TAG,
                                                                 (void *)(uintptr_t)encrypted->tag.p) == 1) &&
                EVP_DecryptUpdate(context, dst, &n, encrypted->sealed.p, (int)encrypted->sealed.left) == 1;
    if (done)
        *ret_matches = EVP_DecryptFinal_ex(context, dst + n, &n) == 1;
    EVP_CIPHER_CTX_free(context);
    EVP_CIPHER_free(cipher);
    return done;
}

static bool compute_poly1305(const unsigned char key[32], const struct ssh_reader *text,
                             unsigned char ret[TAG])
{
    size_t n = 0;
    EVP_MAC *mac = EVP_MAC_fetch(NULL, "POLY1305", NULL);
    EVP_MAC_CTX *context = mac ? EVP_MAC_CTX_new(mac) : NULL;
    bool done = context && EVP_MAC_init(context, key, 32, NULL) == 1 &&
                EVP_MAC_update(context, text->p, text->left) == 1 &&
                EVP_MAC_final(context, ret, &n, TAG) == 1;
    EVP_MAC_CTX_free(context);
    EVP_MAC_free(mac);
    return done;
}

/* Encrypts or decrypts with the key stream from its block `first_block` on. Block 0 is the key of the tag;
 * block 1 belongs to the first bytes of the data. */
static bool apply_chacha(const unsigned char *key, uint32_t first_block, const unsigned char *src,
                         unsigned char *dst, size_t n)
{
    unsigned char counter[16] = {(unsigned char)first_block};
    EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
    int done = 0;
    bool ok = c && EVP_EncryptInit_ex(c, EVP_chacha20(), NULL, key, counter) == 1 &&
              EVP_EncryptUpdate(c, dst, &done, src, (int)n) == 1;
    EVP_CIPHER_CTX_free(c);
    return ok;
}

/* Decrypts OpenSSH's combination of ChaCha20 and Poly1305 (PROTOCOL.chacha20poly1305). The sequence number is
 * 0. The second half of the key is unused: it would encrypt a length, which a key file does not have. */
static bool decrypt_chacha(const unsigned char *key, const struct encrypted_key *encrypted,
                           unsigned char *dst, bool *ret_matches)
{
    static const unsigned char zeroes[32];
    unsigned char one_time[32], tag[TAG];
    bool done = apply_chacha(key, 0, zeroes, one_time, sizeof one_time) &&
                compute_poly1305(one_time, &encrypted->sealed, tag) &&
                apply_chacha(key, 1, encrypted->sealed.p, dst, encrypted->sealed.left);
    if (done)
        *ret_matches = CRYPTO_memcmp(tag, encrypted->tag.p, TAG) == 0;
    explicit_bzero(one_time, sizeof one_time);
    return done;
}

/* ---- decrypting ---- */

static int decrypt_section(const struct cipher *c, const struct encrypted_key *encrypted,
                           const unsigned char *key, struct ssh_blob *ret, struct err *err)
{
    bool matches = false;
    struct ssh_reader r;
    uint32_t check = 0, check_again = 1;
    unsigned char *section = malloc(encrypted->sealed.left + c->block_size);
    if (!section)
        return err_nomem(err);
    bool done = c->authentication == CHACHA ? decrypt_chacha(key, encrypted, section, &matches)
                                            : decrypt_evp(c, key, encrypted, section, &matches);
    /* Without a tag, only these two equal numbers show that the passphrase is right. */
    r = (struct ssh_reader){section, done ? encrypted->sealed.left : 0};
    matches = matches && ssh_read_u32(&r, &check) == 0 && ssh_read_u32(&r, &check_again) == 0 &&
              check == check_again;
    if (!matches) {
        OPENSSL_cleanse(section, encrypted->sealed.left);
        free(section);
        return done ? err_set(err, ERR_NOT_FOUND, "the passphrase is wrong")
                    : err_set(err, ERR_UNSUPPORTED, "this OpenSSL does not support %s", c->openssl_name);
    }
    *ret = (struct ssh_blob){section, encrypted->sealed.left};
    return 0;
}

int encrypted_key_decrypt(const struct encrypted_key *encrypted, const struct passphrase *passphrase,
                          struct ssh_blob *ret, struct err *err)
{
    unsigned char key[KEY_MAX + IV_MAX];
    const struct cipher *c = ciphers, *end = ciphers + sizeof ciphers / sizeof *ciphers;
    struct bcrypt_options options;
    char name[64];
    while (c < end && !is_name(&encrypted->cipher, c->ssh_name))
        c++;
    if (c == end)
        return err_set(
            err, ERR_UNSUPPORTED, "the cipher of the private key, \"%s\", is not supported",
            text_printable(name, sizeof name, (const char *)encrypted->cipher.p, encrypted->cipher.left));
    if (read_options(encrypted, &options) < 0 || encrypted->sealed.left == 0 ||
        encrypted->sealed.left % c->block_size != 0 ||
        encrypted->tag.left != (c->authentication == NO_TAG ? 0 : TAG))
        return err_set(err, ERR_FAILED, "the OpenSSH private key is damaged");
    int rc = bcrypt_pbkdf(passphrase, &options, key, c->key_size + c->iv_size, err);
    if (rc == 0)
        rc = decrypt_section(c, encrypted, key, ret, err);
    explicit_bzero(key, sizeof key);
    ERR_clear_error();
    return rc;
}
