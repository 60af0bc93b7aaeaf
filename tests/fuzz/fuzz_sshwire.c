/*
 * The parsers of SSH's own data. The first byte chooses: `a` an agent's list of keys, `k` a private key file,
 * inspected and opened, `c` a certificate, `s` a server's first bytes, anything else the output of
 * `ssh-keygen -F`.
 */
#include "tests/fuzz/fuzz.h"

#include "keys/agent.h"
#include "gateway/ssh/algorithms.h"
#include "gateway/ssh/certificate.h"
#include "keys/keyfile.h"
#include "gateway/ssh/knownhosts.h"
#include "keys/privkey.h"
#include "base/banned.h"

static void check_agent(const uint8_t *p, size_t n)
{
    struct agent a = {.fd = -1};
    struct err err = ERR_INIT;
    if (agent_parse_keys(&a, p, n, &err) < 0)
        fuzz_expect_err(&err);
    assert(a.n_keys <= 64);
    size_t total = 0;
    for (size_t i = 0; i < a.n_keys; i++) {
        assert(a.keys[i].blob.data && fuzz_is_printable(a.keys[i].type) && a.keys[i].type[0]);
        total += a.keys[i].blob.n;
    }
    assert(total <= n);
    agent_release(&a);
}

static void check_keyfile(const uint8_t *p, size_t n)
{
    struct keyfile k = {0};
    struct err err = ERR_INIT;
    if (keyfile_parse(p, n, &k, &err) < 0) {
        fuzz_expect_err(&err);
        assert(!k.blob.data);
    }
    assert(fuzz_is_printable(k.type) && k.blob.n <= n);
    keyfile_release(&k);
}

static void check_server(const uint8_t *p, size_t n)
{
    struct algorithms a = {0};
    struct err err = ERR_INIT;
    if (algorithms_read(p, n, &a, &err) < 0) {
        fuzz_expect_err(&err);
        assert(!a.lists[0]);
        return;
    }
    size_t total = 0;
    for (int i = 0; i < ALGORITHM_LISTS; i++) {
        assert(fuzz_is_printable(a.lists[i]));
        total += strlen(a.lists[i]);
    }
    assert(total < n);
    /* Equal lists have an algorithm in common, except empty ones. */
    bool all = true;
    for (int i = 0; i < ALGORITHM_LISTS; i++)
        all = all && a.lists[i][strspn(a.lists[i], ",")];
    int rc = algorithms_compare(&a, &a, &err);
    assert(rc == (all ? 0 : -1));
    if (rc < 0)
        fuzz_expect_err(&err);
    algorithms_release(&a);
}

/* Returns whether the key's derivation from a passphrase is too slow for a test. */
static bool takes_long(const uint8_t *p, size_t n)
{
    struct keyfile k = {0};
    bool takes = keyfile_parse(p, n, &k, NULL) == 0 && k.rounds > 4;
    keyfile_release(&k);
    return takes;
}

/* An opened key has a public half and can sign. */
static void check_privkey(const uint8_t *p, size_t n)
{
    if (takes_long(p, n))
        return;
    struct privkey *k = NULL;
    struct secret passphrase = {.text = "secret", .len = 6};
    struct ssh_blob data = {(unsigned char *)(uintptr_t)p, n}, public = {0}, signature = {0};
    struct err err = ERR_INIT;
    if (privkey_parse(p, n, &(struct passphrase){&passphrase, -1}, &k, &err) < 0)
        fuzz_expect_err(&err);
    else if (privkey_public(k, &public, &err) < 0 ||
             privkey_sign(k, "rsa-sha2-512", &data, &signature, &err) < 0)
        fuzz_expect_err(&err);
    assert(!signature.data || (public.n > 0 && signature.n > 0));
    ssh_blob_release(&public);
    ssh_blob_release(&signature);
    privkey_free(k);
}

static void check_certificate(const uint8_t *p, size_t n)
{
    struct certificate c = {0};
    struct err err = ERR_INIT;
    if (certificate_parse(p, n, &c, &err) < 0) {
        fuzz_expect_err(&err);
        assert(!c.blob.data && !c.key.data);
    } else {
        assert(c.blob.n == n && c.key.n < n && certificate_is_type(c.type));
    }
    assert(fuzz_is_printable(c.id) && fuzz_is_printable(c.type));
    certificate_release(&c);
}

/* Trust requires an unmarked line with this key, and no line that revokes it. */
static void check_trust(const struct known_hosts *k, const struct ssh_blob *key)
{
    struct strlist files = {0};
    struct err err = ERR_INIT;
    bool plain = false, revoked = false;
    for (size_t i = 0; i < k->n; i++) {
        bool equal = ssh_blob_equal(&k->items[i].blob, key);
        plain = plain || (equal && k->items[i].marker == KNOWN_MARKER_NONE);
        revoked = revoked || (equal && k->items[i].marker == KNOWN_MARKER_REVOKED);
    }
    int rc = known_hosts_check(k, key, "here", &files, &err);
    assert(rc == (plain && !revoked ? 0 : -1));
    assert(rc == 0 || err.kind == ERR_HOST_KEY);
    if (rc < 0)
        fuzz_expect_err(&err);
}

static void check_known_hosts(const uint8_t *p, size_t n)
{
    struct known_hosts k = {0};
    struct err err = ERR_INIT;
    char preference[256], type[64];
    char *text = strndup((const char *)p, n);
    assert(text && known_hosts_parse(&k, "file", text, &err) == 0);
    for (size_t i = 0; i < k.n; i++) {
        assert(k.items[i].blob.n <= n && strcmp(k.items[i].file, "file") == 0);
        assert(strcmp(ssh_blob_type(&k.items[i].blob, type, sizeof type), k.items[i].type) == 0);
        check_trust(&k, &k.items[i].blob);
    }
    check_trust(&k, &(struct ssh_blob){0});
    known_hosts_preference(&k, preference, sizeof preference);
    assert(strstr(preference, "ssh-ed25519") && strstr(preference, "rsa-sha2-512"));
    known_hosts_release(&k);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    if (n == 0)
        return 0;
    if (p[0] == 'a') {
        check_agent(p + 1, n - 1);
    } else if (p[0] == 'c') {
        check_certificate(p + 1, n - 1);
    } else if (p[0] == 'k') {
        check_keyfile(p + 1, n - 1);
        check_privkey(p + 1, n - 1);
    } else if (p[0] == 's') {
        check_server(p + 1, n - 1);
    } else {
        check_known_hosts(p + 1, n - 1);
    }
    return 0;
}
