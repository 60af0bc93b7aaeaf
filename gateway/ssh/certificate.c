/* A certificate has these fields: type, nonce, the parts of the plain key, serial, kind, id, principals, two
 * times, critical options, extensions, a reserved string, the authority's key, the authority's signature. */
#include "gateway/ssh/certificate.h"

#include <stdio.h>
#include <string.h>

#include "gateway/ssh/failure.h"
#include "keys/keys.h"
#include "base/banned.h"

static const char suffix[] = "-cert-v01@openssh.com";

/* The number of strings in the plain key of each type. */
static const struct {
    const char *plain;
    unsigned parts;
} types[] = {{"ssh-ed25519", 1},           {"ssh-rsa", 2},
             {"ecdsa-sha2-nistp256", 2},   {"ecdsa-sha2-nistp384", 2},
             {"ecdsa-sha2-nistp521", 2},   {"sk-ssh-ed25519", 2},
             {"sk-ecdsa-sha2-nistp256", 3}};

bool certificate_is_type(const char *type)
{
    size_t n = strlen(type);
    return n >= sizeof suffix && strcmp(type + n - (sizeof suffix - 1), suffix) == 0;
}

/* Builds the plain key: the plain type's name, then the same parts. */
static int read_key(const char *type, struct ssh_reader *r, struct buf *key)
{
    char name[64];
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        size_t n = strlen(types[i].plain);
        if (strncmp(type, types[i].plain, n) != 0 || strcmp(type + n, suffix) != 0)
            continue;
        /* Plain types of security keys also have their vendor's name. */
        snprintf(name, sizeof name, "%s%s", types[i].plain,
                 type[0] == 's' && type[1] == 'k' ? "@openssh.com" : "");
        ssh_add_string(key, name, strlen(name));
        for (unsigned part = 0; part < types[i].parts; part++) {
            const unsigned char *p = NULL;
            if (ssh_read_string(r, &p, &n) < 0)
                return -1;
            ssh_add_string(key, p, n);
        }
        return 0;
    }
    return -1;
}

static int read_u64(struct ssh_reader *r, uint64_t *ret)
{
    uint32_t high = 0, low = 0;
    if (ssh_read_u32(r, &high) < 0 || ssh_read_u32(r, &low) < 0)
        return -1;
    *ret = (uint64_t)high << 32 | low;
    return 0;
}

/* Reads the fields after the key. */
static int read_rest(struct ssh_reader *r, struct certificate *c)
{
    const unsigned char *p = NULL, *id = NULL;
    size_t n = 0, n_id = 0;
    uint64_t serial = 0, valid_after = 0;
    uint32_t kind = 0;
    if (read_u64(r, &serial) < 0 || ssh_read_u32(r, &kind) < 0 || ssh_read_string(r, &id, &n_id) < 0 ||
        ssh_read_string(r, &p, &n) < 0 || read_u64(r, &valid_after) < 0 || read_u64(r, &c->valid_before) < 0)
        return -1;
    text_printable(c->id, sizeof c->id, (const char *)id, n_id);
    /* Skip the options, the extensions and the reserved string; the fourth string is the authority's key. */
    for (int i = 0; i < 4; i++)
        if (ssh_read_string(r, &p, &n) < 0)
            return -1;
    struct ssh_blob authority = {(unsigned char *)(uintptr_t)p, n};
    ssh_blob_fingerprint(&authority, c->authority);
    return ssh_read_string(r, &p, &n); /* the signature */
}

static int skip_strings(struct ssh_reader *r, int n)
{
    const unsigned char *skipped = NULL;
    size_t n_skipped = 0;
    for (int i = 0; i < n; i++)
        if (ssh_read_string(r, &skipped, &n_skipped) < 0)
            return -1;
    return 0;
}

int certificate_parse(const void *p, size_t n, struct certificate *ret, struct err *err)
{
    struct ssh_blob whole = {(unsigned char *)(uintptr_t)p, n};
    struct ssh_reader r = {p, n};
    struct certificate c = {0};
    struct buf key = BUF_INIT(SSH_BLOB_MAX);
    int rc = -1;
    ssh_blob_type(&whole, c.type, sizeof c.type);
    if (!certificate_is_type(c.type))
        failure_set(FAILURE_NO_CERTIFICATE, FAILURE_DETAILS(NULL), err);
    else if (skip_strings(&r, 2) < 0 || read_key(c.type, &r, &key) < 0 || read_rest(&r, &c) < 0)
        failure_set(FAILURE_CERTIFICATE_DAMAGED, FAILURE_DETAILS(NULL), err);
    else if (buf_check(&key, "the key in the certificate", err) == 0 &&
             ssh_blob_copy(&c.key, key.data, key.len, err) == 0)
        rc = ssh_blob_copy(&c.blob, p, n, err);
    buf_release(&key);
    if (rc < 0)
        certificate_release(&c);
    else
        *ret = c;
    return rc;
}

int certificate_read(const char *path, struct certificate *ret, struct err *err)
{
    struct ssh_blob blob = {0};
    if (keyfile_read_public(path, &blob, err) < 0)
        return -1;
    int rc = certificate_parse(blob.data, blob.n, ret, err);
    ssh_blob_release(&blob);
    return rc < 0 ? err_wrap(err, "%s", path) : 0;
}

void certificate_release(struct certificate *c)
{
    ssh_blob_release(&c->blob);
    ssh_blob_release(&c->key);
    *c = (struct certificate){0};
}
