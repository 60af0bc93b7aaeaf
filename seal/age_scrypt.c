/* Derives a key from a passphrase with scrypt (RFC 7914). */
#include <openssl/err.h>
#include <openssl/evp.h>
#include <string.h>

#include "seal/age_stanza.h"
#include "base/banned.h"

static const char label[] = "age-encryption.org/v1/scrypt";

static int derive_key(const struct secret *passphrase, const unsigned char salt[AGE_SALT], unsigned log_n,
                      unsigned char ret[AGE_KEY], struct err *err)
{
    unsigned char labelled[sizeof label - 1 + AGE_SALT];
    uint64_t n = UINT64_C(1) << log_n;
    memcpy(labelled, label, sizeof label - 1);
    memcpy(labelled + sizeof label - 1, salt, AGE_SALT);
    /* OpenSSL's default limit is 32 MB. scrypt needs 128 * r * n bytes, r = 8. */
    uint64_t memory = 2 * 128 * 8 * n + (1u << 20);
    int rc = EVP_PBE_scrypt(passphrase->text, passphrase->len, labelled, sizeof labelled, n, 8, 1, memory,
                            ret, AGE_KEY);
    ERR_clear_error();
    return rc == 1 ? 0
                   : err_set(err, ERR_FAILED,
                             "not enough memory to derive the key from the passphrase (scrypt, 2^%u)", log_n);
}

int age_scrypt_wrap(const struct secret *passphrase, unsigned log_n,
                    const unsigned char file_key[AGE_FILE_KEY], struct buf *header, struct err *err)
{
    unsigned char salt[AGE_SALT], key[AGE_KEY], body[AGE_WRAPPED_KEY];
    struct buf arguments = BUF_INIT(100);
    int rc = -1;
    if (age_random(salt, sizeof salt, err) == 0 && derive_key(passphrase, salt, log_n, key, err) == 0)
        rc = age_wrap(key, file_key, body, err);
    if (rc == 0) {
        buf_adds(&arguments, "scrypt ");
        base64_add(&arguments, BASE64_RAW, salt, sizeof salt);
        buf_addf(&arguments, " %u", log_n);
        rc = buf_check(&arguments, "a stanza", err);
    }
    if (rc == 0)
        age_stanza_add(header, buf_str(&arguments), body, sizeof body);
    buf_release(&arguments);
    explicit_bzero(key, sizeof key);
    return rc;
}

struct derivation {
    const struct secret *passphrase;
    const struct age_stanza *stanza;
};

static int derive_in_child(void *ctx, struct buf *ret, struct err *err)
{
    const struct derivation *d = ctx;
    unsigned char key[AGE_KEY];
    int rc = derive_key(d->passphrase, d->stanza->salt, d->stanza->log_n, key, err);
    if (rc == 0)
        buf_add(ret, key, sizeof key);
    explicit_bzero(key, sizeof key);
    return rc;
}

/* OpenSSL's scrypt takes up to half a minute and cannot be interrupted, so it runs in a child process, which
 * can be killed. */
int age_scrypt_unwrap(const struct passphrase *passphrase, const struct age_stanza *s,
                      struct age_unwrapped *ret, struct err *err)
{
    struct derivation d = {passphrase->secret, s};
    const struct proc_fork_limits limits = {.cancel_fd = passphrase->cancel_fd, .max_result = AGE_KEY};
    struct buf key = {.max = AGE_KEY, .secret = true};
    int rc = proc_run_confined(derive_in_child, &d, &limits, &key, err);
    if (rc == 0 && key.len != AGE_KEY)
        rc = err_set(err, ERR_FAILED, "its key could not be derived");
    if (rc == 0)
        rc = age_unwrap((const unsigned char *)key.data, s->body, &ret->matches, ret->file_key, err);
    buf_release(&key);
    return rc;
}
