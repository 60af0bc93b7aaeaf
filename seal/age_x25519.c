/* age's own recipients: X25519 computes a shared secret, and HKDF binds it to both points. */
#include <string.h>

#include "seal/age_stanza.h"
#include "base/banned.h"

static const char info[] = "age-encryption.org/v1/X25519";

static int derive_wrap_key(const unsigned char shared_secret[AGE_KEY], const unsigned char share[AGE_KEY],
                           const unsigned char point[AGE_KEY], unsigned char ret[AGE_KEY], struct err *err)
{
    unsigned char salt[2 * AGE_KEY];
    memcpy(salt, share, AGE_KEY);
    memcpy(salt + AGE_KEY, point, AGE_KEY);
    return age_hkdf((struct age_bytes){shared_secret, AGE_KEY}, (struct age_bytes){salt, sizeof salt}, info,
                    ret, err);
}

int age_x25519_wrap(const unsigned char point[AGE_KEY], const unsigned char file_key[AGE_FILE_KEY],
                    struct buf *header, struct err *err)
{
    unsigned char ephemeral[AGE_KEY], share[AGE_KEY], shared_secret[AGE_KEY], key[AGE_KEY],
        body[AGE_WRAPPED_KEY];
    struct buf arguments = BUF_INIT(100);
    int rc = -1;
    if (age_random(ephemeral, sizeof ephemeral, err) == 0 && age_x25519_base(ephemeral, share, err) == 0 &&
        age_x25519(ephemeral, point, shared_secret, err) == 0 &&
        derive_wrap_key(shared_secret, share, point, key, err) == 0)
        rc = age_wrap(key, file_key, body, err);
    if (rc == 0) {
        buf_adds(&arguments, "X25519 ");
        base64_add(&arguments, BASE64_RAW, share, sizeof share);
        rc = buf_check(&arguments, "a stanza", err);
    }
    if (rc == 0)
        age_stanza_add(header, buf_str(&arguments), body, sizeof body);
    buf_release(&arguments);
    explicit_bzero(ephemeral, sizeof ephemeral);
    explicit_bzero(shared_secret, sizeof shared_secret);
    explicit_bzero(key, sizeof key);
    return rc;
}

int age_x25519_unwrap(const unsigned char secret[AGE_KEY], const struct age_stanza *s,
                      struct age_unwrapped *ret, struct err *err)
{
    unsigned char point[AGE_KEY], shared_secret[AGE_KEY], key[AGE_KEY];
    int rc = -1;
    if (age_x25519_base(secret, point, err) < 0)
        return -1;
    if (age_x25519(secret, s->share, shared_secret, err) < 0)
        err_wrap(err, "the header is damaged");
    else if (derive_wrap_key(shared_secret, s->share, point, key, err) == 0)
        rc = age_unwrap(key, s->body, &ret->matches, ret->file_key, err);
    explicit_bzero(shared_secret, sizeof shared_secret);
    explicit_bzero(key, sizeof key);
    return rc;
}
