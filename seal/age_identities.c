/* Reads identity files: age's own identities and SSH keys. Does not decrypt files with a passphrase;
 * age_unwrap.c does. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "seal/age_identity.h"
#include "seal/bech32.h"
#include "base/banned.h"

/* The size limit of an identity file. It suits encrypted files too, because they are only slightly larger
 * than their content. */
#define FILE_MAX (256u << 10)
#define IDENTITIES_MAX 1000

int age_identities_new(ask_fn *ask, void *ask_ctx, int64_t ask_ms, struct age_identities **ret,
                       struct err *err)
{
    struct age_identities *identities = calloc(1, sizeof *identities);
    if (!identities)
        return err_nomem(err);
    *identities = (struct age_identities){.ask = ask, .ask_ctx = ask_ctx, .ask_ms = ask_ms, .cancel_fd = -1};
    *ret = identities;
    return 0;
}

void age_identities_set_cancel_fd(struct age_identities *identities, int cancel_fd)
{
    identities->cancel_fd = cancel_fd;
}

int age_identities_cancel_fd(const struct age_identities *identities)
{
    return identities ? identities->cancel_fd : -1;
}

static void free_identity(struct age_identity *identity)
{
    if (!identity)
        return;
    privkey_free(identity->privkey);
    ssh_blob_release(&identity->key);
    free(identity->path);
    explicit_bzero(identity, sizeof *identity);
    free(identity);
}

void age_identities_free(struct age_identities *identities)
{
    if (!identities)
        return;
    for (size_t k = 0; k < identities->n; k++)
        free_identity(identities->items[k]);
    free(identities->items);
    explicit_bzero(identities->last_key, sizeof identities->last_key);
    free(identities);
}

/* Appends a new identity. Returns NULL on failure. */
static struct age_identity *append_identity(struct age_identities *identities, const char *path,
                                            struct err *err)
{
    if (identities->n >= IDENTITIES_MAX) {
        err_set(err, ERR_USAGE, "there are more than %d identities", IDENTITIES_MAX);
        return NULL;
    }
    if (array_reserve((void **)&identities->items, &identities->cap, identities->n + 1,
                      sizeof(struct age_identity *), err) < 0)
        return NULL;
    struct age_identity *identity = calloc(1, sizeof *identity);
    char *copy = strdup(path);
    if (!identity || !copy) {
        free(identity);
        free(copy);
        err_nomem(err);
        return NULL;
    }
    identity->path = copy;
    identities->items[identities->n++] = identity;
    return identity;
}

static void remove_last_identity(struct age_identities *identities)
{
    free_identity(identities->items[--identities->n]);
}

/* ---- age's own ---- */

static bool has_prefix(const char *s, const char *prefix)
{
    return strncasecmp(s, prefix, strlen(prefix)) == 0;
}

/* Refuses a line that is no identity. The line may be a mistyped secret, so the message shows none of it. */
static int refuse_line(const char *line, const char *path, size_t number, struct err *err)
{
    static const struct {
        const char *begin, *what;
    } rows[] = {{"AGE-SECRET-KEY-PQ-", "a post-quantum identity, which profgrab does not support"},
                {"AGE-SECRET-KEY-", "a mistyped identity: its checksum is wrong"},
                {"AGE-PLUGIN-", "a plugin's identity, which profgrab does not support"},
                {"age1", "a recipient, which encrypts files; AGE-SECRET-KEY-1... decrypts them"},
                {"ssh-", "the public half of an SSH key; files are read with the private one"},
                {"sk-", "the public half of a key that cannot decrypt"},
                {"ecdsa-", "the public half of a key that cannot decrypt"},
                {"", "no identity: neither AGE-SECRET-KEY-1... nor an SSH private key"}};
    size_t k = 0;
    while (!has_prefix(line, rows[k].begin))
        k++;
    return err_set(err, ERR_USAGE, "%s:%zu: this is %s", path, number, rows[k].what);
}

static int add_line(struct age_identities *identities, const char *line, const char *path, size_t number,
                    struct err *err)
{
    unsigned char secret[AGE_KEY];
    int rc = 0;
    if (bech32_decode(line, strcspn(line, " \t"), "age-secret-key-", secret, sizeof secret) < 0)
        rc = refuse_line(line, path, number, err);
    struct age_identity *identity = rc == 0 ? append_identity(identities, path, err) : NULL;
    if (identity)
        memcpy(identity->secret, secret, sizeof secret);
    explicit_bzero(secret, sizeof secret);
    return identity ? 0 : -1;
}

static int add_lines(struct age_identities *identities, char *text, const char *path, struct err *err)
{
    size_t number = 0, found = 0;
    for (char *line; (line = text_next_entry(&text, &number)); found++) {
        if (add_line(identities, line, path, number, err) < 0)
            return -1;
    }
    return found ? 0 : err_set(err, ERR_USAGE, "%s contains no identity", path);
}

/* ---- SSH ---- */

static int refuse_type(const char *path, const char *type, struct err *err)
{
    err_set(err, ERR_USAGE, "%s is a key of type %s, which cannot decrypt", path, *type ? type : "unknown");
    return err_hint(err, "files are read with ssh-ed25519, ssh-rsa and age's own keys");
}

/* Stores the public half of the key, because stanzas are matched by it. */
static int read_ssh(struct age_identity *identity, const void *p, size_t n, const char *path, struct err *err)
{
    struct keyfile k = {0};
    int rc = keyfile_parse(p, n, &k, err);
    if (rc == 0 && !k.encrypted)
        rc = privkey_parse(p, n, NULL, &identity->privkey, err);
    if (rc == 0 && identity->privkey && !k.blob.n)
        rc = privkey_public(identity->privkey, &k.blob, err);
    if (rc < 0) {
        keyfile_release(&k);
        return err_wrap(err, "%s", path);
    }
    identity->key = k.blob;
    return 0;
}

/* Reads the public half from FILE.pub if FILE has none outside its encrypted part. */
static int read_pub_file(struct age_identity *identity, const char *path, struct err *err)
{
    char *pub = NULL;
    if (identity->key.n > 0)
        return 0;
    if (asprintf(&pub, "%s.pub", path) < 0)
        return err_nomem(err);
    int rc = keyfile_read_public(pub, &identity->key, NULL);
    if (rc < 0) {
        err_set(err, ERR_USAGE, "the public half of %s is encrypted, and there is no %s", path, pub);
        err_hint(err, "ssh-keygen -y -f %s > %s", path, pub);
    }
    free(pub);
    return rc;
}

static int add_ssh(struct age_identities *identities, const void *p, size_t n, const char *path,
                   struct err *err)
{
    char type[64];
    struct age_identity *identity = append_identity(identities, path, err);
    if (!identity)
        return -1;
    identity->form = IDENTITY_SSH;
    int rc = read_ssh(identity, p, n, path, err);
    if (rc == 0)
        rc = read_pub_file(identity, path, err);
    if (rc == 0) {
        ssh_blob_type(&identity->key, type, sizeof type);
        rc = strcmp(type, "ssh-ed25519") == 0 || strcmp(type, "ssh-rsa") == 0
                 ? age_ssh_tag(&identity->key, identity->tag, err)
                 : refuse_type(path, type, err);
    }
    if (rc < 0)
        remove_last_identity(identities);
    return rc;
}

/* ---- a file ---- */

static int add_encrypted_file(struct age_identities *identities, const char *path, struct err *err)
{
    struct age_identity *identity = append_identity(identities, path, err);
    if (!identity)
        return -1;
    identity->form = IDENTITY_ENCRYPTED;
    return 0;
}

int age_identities_parse(struct age_identities *identities, const void *p, size_t n, const char *path,
                         struct err *err)
{
    if (age_is_encrypted(p, n))
        return add_encrypted_file(identities, path, err);
    if (memchr(p, '\0', n))
        return err_set(err, ERR_USAGE, "%s contains no identity: it is not text", path);
    char *text = strndup(p, n);
    if (!text)
        return err_nomem(err);
    int rc;
    if (strstr(text, "-----BEGIN "))
        rc = add_ssh(identities, p, n, path, err);
    else
        rc = add_lines(identities, text, path, err);
    explicit_bzero(text, n);
    free(text);
    return rc;
}

int age_identities_add_file(struct age_identities *identities, const char *path, struct err *err)
{
    struct buf b = {.max = FILE_MAX, .secret = true};
    int rc = file_read(path, &b, err);
    if (rc < 0 && err && err->kind != ERR_LOCAL_IO)
        err->kind = ERR_USAGE;
    if (rc == 0)
        rc = age_identities_parse(identities, buf_str(&b), b.len, path, err);
    buf_release(&b);
    return rc;
}
