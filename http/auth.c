#include "http/auth.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "http/escaped.h"
#include "base/banned.h"

#define CHUNK 65536
/* A shorter secret is in most texts; secret_mask ignores it, too. */
#define SHORTEST 3
/* Enough for "USER:SECRET" in base64, with its NUL. */
#define ENCODED_SIZE (2 * (SECRET_MAX + 300))
/* The most bytes of a copy of the secret. */
#define COPY_MAX (ESCAPED_BYTE_MAX * (SECRET_MAX + 300))

/* Writes the base64 text of Basic authentication; "" for a bearer token. The caller wipes it. */
static void encode_basic(const struct http_auth *auth, char dst[static ENCODED_SIZE])
{
    char plain[SECRET_MAX + 300];
    *dst = '\0';
    if (!auth->user)
        return;
    int n = snprintf(plain, sizeof plain, "%.255s:%s", auth->user, auth->secret->text);
    EVP_EncodeBlock((unsigned char *)dst, (const unsigned char *)plain, n);
    explicit_bzero(plain, sizeof plain);
}

static void mask_escaped(char *text, const char *secret)
{
    static const char stars[] = "***";
    size_t at, length;
    for (char *p = text; (length = escaped_find(p, strlen(p), secret, true, &at)) > 0;
         p += at + strlen(stars)) {
        if (length < strlen(stars))
            return;
        memcpy(p + at, stars, strlen(stars));
        memmove(p + at + strlen(stars), p + at + length, strlen(p + at + length) + 1);
    }
}

void http_auth_mask(const struct http_auth *auth, char *text)
{
    char encoded[ENCODED_SIZE];
    if (!auth->secret || !auth->secret->len)
        return;
    secret_mask(text, auth->secret->text);
    encode_basic(auth, encoded);
    secret_mask(text, encoded);
    if (auth->secret->len >= SHORTEST && escaped_may_differ(auth->secret->text))
        mask_escaped(text, auth->secret->text);
    explicit_bzero(encoded, sizeof encoded);
}

static bool contains(const char *p, size_t n, const char *needle)
{
    size_t length = strlen(needle);
    return length > 0 && memmem(p, n, needle, length) != NULL;
}

/* Returns whether n bytes contain the secret, plain, encoded in a header, or escaped. */
static bool contains_secret(const char *p, size_t n, const char *secret, const char *encoded)
{
    size_t at;
    return contains(p, n, secret) || contains(p, n, encoded) ||
           (escaped_may_differ(secret) && escaped_find(p, n, secret, false, &at) > 0);
}

bool http_auth_find(const struct http_auth *auth, const char *text)
{
    char encoded[ENCODED_SIZE];
    if (!auth->secret || auth->secret->len < SHORTEST)
        return false;
    encode_basic(auth, encoded);
    bool found = contains_secret(text, strlen(text), auth->secret->text, encoded);
    explicit_bzero(encoded, sizeof encoded);
    return found;
}

int http_auth_find_in_file(const struct http_auth *auth, int fd, bool *ret_found)
{
    char encoded[ENCODED_SIZE], window[CHUNK + COPY_MAX];
    bool found = false;
    size_t kept = 0;
    ssize_t n = 1;
    if (!auth->secret || !auth->secret->len) {
        *ret_found = false;
        return 0;
    }
    encode_basic(auth, encoded);
    for (off_t at = 0; !found && (n = pread(fd, window + kept, CHUNK, at)) > 0; at += n) {
        size_t size = kept + (size_t)n;
        found = contains_secret(window, size, auth->secret->text, encoded);
        /* Keep the end of this piece, because a copy of the secret may begin there. */
        kept = size < COPY_MAX ? size : COPY_MAX;
        memmove(window, window + size - kept, kept);
    }
    explicit_bzero(encoded, sizeof encoded);
    explicit_bzero(window, sizeof window);
    if (n < 0)
        return -1;
    *ret_found = found;
    return 0;
}
