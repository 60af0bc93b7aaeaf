#include "gateway/ssh/algorithms.h"

#include <stdlib.h>
#include <string.h>

#include "gateway/ssh/failure.h"
#include "keys/keys.h"
#include "base/banned.h"

#define LIST_MAX 4096

/* The order of the ciphers is by speed as measured with libssh2: ChaCha20 is fastest, Galois/Counter mode
 * slowest. libssh2 1.10 has only counter mode. SHA-1 is only in MACs, where it is safe. */
static const char key_exchanges[] =
    "mlkem768x25519-sha256,sntrup761x25519-sha512,sntrup761x25519-sha512@openssh.com,curve25519-sha256,"
    "curve25519-sha256@libssh.org,ecdh-sha2-nistp256,ecdh-sha2-nistp384,ecdh-sha2-nistp521,"
    "diffie-hellman-group16-sha512,diffie-hellman-group14-sha256,diffie-hellman-group-exchange-sha256,"
    "diffie-hellman-group18-sha512";
static const char ciphers[] = "chacha20-poly1305@openssh.com,aes128-ctr,aes192-ctr,aes256-ctr,"
                              "aes128-gcm@openssh.com,aes256-gcm@openssh.com";
static const char macs[] = "hmac-sha2-256-etm@openssh.com,hmac-sha2-512-etm@openssh.com,hmac-sha2-256,"
                           "hmac-sha2-512,hmac-sha1-etm@openssh.com,hmac-sha1";

static const char *const list_names[ALGORITHM_LISTS] = {"key exchanges", "host key types", "ciphers",
                                                        "ciphers",       "MACs",           "MACs"};

void algorithms_release(struct algorithms *a)
{
    for (int i = 0; i < ALGORITHM_LISTS; i++)
        free(a->lists[i]);
    *a = (struct algorithms){0};
}

/* Cuts the first name off a list. Returns false if the list is empty. */
static bool next_name(const char **list, const char **ret, size_t *ret_n)
{
    *list += strspn(*list, ",");
    *ret = *list;
    *ret_n = strcspn(*list, ",");
    *list += *ret_n;
    return *ret_n > 0;
}

static bool list_has(const char *list, const char *name, size_t n)
{
    const char *entry;
    size_t n_entry;
    while (next_name(&list, &entry, &n_entry))
        if (n_entry == n && memcmp(entry, name, n) == 0)
            return true;
    return false;
}

static bool is_supported(const char *name, size_t n, const char *const *supported, size_t n_supported)
{
    for (size_t i = 0; i < n_supported; i++)
        if (strlen(supported[i]) == n && memcmp(supported[i], name, n) == 0)
            return true;
    return false;
}

/* Checks for a certificate type. We never request such a type, because we verify only plain host keys. */
static bool is_certificate(const char *name, size_t n)
{
    static const char mark[] = "-cert-v01@";
    return memmem(name, n, mark, sizeof mark - 1) != NULL;
}

static void add_name(struct buf *b, const char *name, size_t n)
{
    if (b->len)
        buf_addc(b, ',');
    buf_add(b, name, n);
}

char *algorithms_pick(const char *ours, const char *allowed, const char *const *supported, size_t n_supported)
{
    struct buf b = BUF_INIT(LIST_MAX);
    const char *name;
    size_t n;
    buf_adds(&b, "");
    for (const char *rest = ours; next_name(&rest, &name, &n);)
        if (is_supported(name, n, supported, n_supported) && (!allowed || list_has(allowed, name, n)))
            add_name(&b, name, n);
    for (const char *rest = allowed ? allowed : ""; next_name(&rest, &name, &n);)
        if (is_supported(name, n, supported, n_supported) && !list_has(ours, name, n) &&
            !is_certificate(name, n))
            add_name(&b, name, n);
    char *list = b.failed ? NULL : strdup(buf_str(&b));
    buf_release(&b);
    return list;
}

struct proposal {
    int method;          /* LIBSSH2_METHOD_*, which is also the index in list_names */
    const char *ours;    /* in our order */
    const char *allowed; /* by the configuration; NULL: all of ours */
};

static int propose_list(LIBSSH2_SESSION *ssh, const struct proposal *p, char **ret, struct err *err)
{
    const char **supported = NULL;
    int n = libssh2_session_supported_algs(ssh, p->method, &supported);
    char *list = algorithms_pick(p->ours, p->allowed, supported, n > 0 ? (size_t)n : 0);
    if (n > 0)
        libssh2_free(ssh, (void *)(uintptr_t)supported);
    if (!list)
        return err_nomem(err);
    *ret = list;
    if (!*list)
        return failure_set(
            FAILURE_CONFIGURED_BEYOND_LIBSSH2,
            FAILURE_DETAILS(list_names[p->method], p->allowed ? p->allowed : p->ours, libssh2_version(0)),
            err);
    /* Pass only supported names: libssh2 1.10 drops the others with an overlapping memcpy. */
    if (libssh2_session_method_pref(ssh, p->method, list) != 0)
        return failure_set(FAILURE_ALGORITHMS_REFUSED,
                           FAILURE_DETAILS(libssh2_version(0), list_names[p->method], list), err);
    return 0;
}

int algorithms_propose(LIBSSH2_SESSION *ssh, const struct ssh_config *config, const char *host_keys,
                       struct algorithms *ret, struct err *err)
{
    const char *const ours[ALGORITHM_LISTS] = {key_exchanges, host_keys, ciphers, ciphers, macs, macs};
    const char *const allowed[ALGORITHM_LISTS] = {
        config->algorithms.key_exchanges, config->algorithms.host_keys, config->algorithms.ciphers,
        config->algorithms.ciphers,       config->algorithms.macs,      config->algorithms.macs};
    struct algorithms a = {0};
    for (int i = 0; i < ALGORITHM_LISTS; i++)
        if (propose_list(ssh, &(struct proposal){i, ours[i], allowed[i]}, &a.lists[i], err) < 0) {
            algorithms_release(&a);
            return -1;
        }
    *ret = a;
    return 0;
}

/* Skips the version line (RFC 4253 section 4.2). Other lines may precede it. */
static int skip_version(struct ssh_reader *r)
{
    for (;;) {
        const unsigned char *newline = memchr(r->p, '\n', r->left);
        if (!newline)
            return -1;
        bool version = r->left >= 4 && memcmp(r->p, "SSH-", 4) == 0;
        r->left -= (size_t)(newline + 1 - r->p);
        r->p = newline + 1;
        if (version)
            return 0;
    }
}

/* Moves to the lists of a complete SSH_MSG_KEXINIT, after its cookie (RFC 4253 sections 6 and 7.1). */
static int skip_to_lists(struct ssh_reader *r)
{
    enum { PADDING = 1, MESSAGE = 1, COOKIE = 16, SSH_MSG_KEXINIT = 20 };
    uint32_t n = 0;
    if (ssh_read_u32(r, &n) < 0 || n > r->left || n < PADDING + MESSAGE + COOKIE)
        return -1;
    size_t padding = r->p[0];
    if (padding > n - PADDING - MESSAGE - COOKIE || r->p[PADDING] != SSH_MSG_KEXINIT)
        return -1;
    r->p += PADDING + MESSAGE + COOKIE;
    r->left = n - PADDING - MESSAGE - COOKIE - padding;
    return 0;
}

static int read_list(struct ssh_reader *r, char **ret, struct err *err)
{
    const unsigned char *p = NULL;
    size_t n = 0;
    if (ssh_read_string(r, &p, &n) < 0)
        return failure_set(FAILURE_ALGORITHMS_CUT, FAILURE_DETAILS(NULL), err);
    size_t cap = n + sizeof "...";
    char *list = malloc(cap);
    if (!list)
        return err_nomem(err);
    *ret = text_printable(list, cap, (const char *)p, n);
    return 0;
}

int algorithms_read(const void *p, size_t n, struct algorithms *ret, struct err *err)
{
    struct ssh_reader r = {p, n};
    struct algorithms a = {0};
    if (n == 0 || skip_version(&r) < 0 || skip_to_lists(&r) < 0)
        return failure_set(FAILURE_ALGORITHMS_NOT_SHOWN, FAILURE_DETAILS(NULL), err);
    for (int i = 0; i < ALGORITHM_LISTS; i++)
        if (read_list(&r, &a.lists[i], err) < 0) {
            algorithms_release(&a);
            return -1;
        }
    *ret = a;
    return 0;
}

static bool have_common(const char *ours, const char *server)
{
    const char *name;
    size_t n;
    while (next_name(&ours, &name, &n))
        if (list_has(server, name, n))
            return true;
    return false;
}

/*
 * Appends the names for a message, without the markers that are no algorithms (RFC 8308, OpenSSH's PROTOCOL).
 */
static void append_names(const char *list, struct buf *b)
{
    const char *name;
    size_t n;
    while (next_name(&list, &name, &n))
        if (strncmp(name, "ext-info-", 9) != 0 && strncmp(name, "kex-strict-", 11) != 0)
            buf_addf(b, "%s%.*s", b->len ? ", " : "", (int)n, name);
}

int algorithms_compare(const struct algorithms *ours, const struct algorithms *server, struct err *err)
{
    int i = 0;
    while (i < ALGORITHM_LISTS && have_common(ours->lists[i], server->lists[i]))
        i++;
    if (i == ALGORITHM_LISTS)
        return 0;
    struct buf offered = BUF_INIT(2 * LIST_MAX);
    append_names(server->lists[i], &offered);
    failure_set(
        FAILURE_SERVER_BEYOND_LIBSSH2,
        FAILURE_DETAILS(list_names[i], offered.len ? buf_str(&offered) : "(none)", libssh2_version(0)), err);
    buf_release(&offered);
    return -1;
}
