/*
 * The server first answers whether it accepts a key. Only then libssh2 calls us for the signature, and only
 * then we ask for the passphrase. So the user types no passphrase for a refused key. The agent or OpenSSL
 * signs.
 */
#include "gateway/ssh/auth_offer.h"

#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

/* Reads the algorithm's name from the data to sign (RFC 4252 section 7): session, 50, user, service,
 * "publickey", TRUE, name, key. libssh2 1.11 chooses the algorithm and does not report it. */
static int read_algorithm(const unsigned char *p, size_t n, char *dst, size_t cap)
{
    struct ssh_reader r = {p, n};
    const unsigned char *s = NULL;
    size_t n_s = 0;
    if (ssh_read_string(&r, &s, &n_s) < 0 || r.left < 1)
        return -1;
    r.p++;
    r.left--;
    for (int i = 0; i < 3; i++)
        if (ssh_read_string(&r, &s, &n_s) < 0)
            return -1;
    if (r.left < 1)
        return -1;
    r.p++;
    r.left--;
    if (ssh_read_string(&r, &s, &n_s) < 0)
        return -1;
    text_printable(dst, cap, (const char *)s, n_s);
    return 0;
}

static int sign_data(struct attempt *t, const struct ssh_blob *data, struct ssh_blob *ret)
{
    struct auth *a = t->auth;
    const struct candidate *c = t->candidate;
    char algorithm[64];
    if (read_algorithm(data->data, data->n, algorithm, sizeof algorithm) < 0)
        return err_set(&t->err, ERR_FAILED, "libssh2 wants something unknown to be signed");
    if (!c->file) {
        struct agent_request request = {.key = c->key,
                                        .algorithm = algorithm,
                                        .data = *data,
                                        .deadline = clock_deadline(a->options->ask_ms)};
        int64_t began = clock_now();
        int rc = agent_sign(&a->keys->agent, &request, ret, &t->err);
        a->deadline += clock_now() - began;
        return rc;
    }
    if (auth_open_file(a, c->file, &t->err) < 0)
        return -1;
    return privkey_sign(c->file->opened, algorithm, data, ret, &t->err);
}

static int on_sign(LIBSSH2_SESSION *ssh, unsigned char **sig, size_t *sig_len, const unsigned char *data,
                   size_t data_len, void **abstract)
{
    (void)ssh;
    struct attempt *t = *abstract;
    struct ssh_blob signed_data = {(unsigned char *)(uintptr_t)data, data_len}, signature = {0};
    t->wanted = true;
    if (sign_data(t, &signed_data, &signature) < 0)
        return -1;
    *sig = signature.data;
    *sig_len = signature.n;
    return 0;
}

int auth_offer(struct attempt *t, int *ret_rc, struct err *err)
{
    struct auth *a = t->auth;
    void *abstract = t;
    int rc;
    while ((rc = libssh2_userauth_publickey(session_libssh2(a->s), a->config->user, t->offer->data,
                                            t->offer->n, on_sign, &abstract)) == LIBSSH2_ERROR_EAGAIN)
        if (session_wait(a->s, a->deadline, err) < 0)
            return err_wrap(err, "authentication");
    *ret_rc = rc;
    return 0;
}
