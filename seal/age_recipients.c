#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "seal/age.h"
#include "seal/age_recipient.h"
#include "seal/bech32.h"
#include "base/banned.h"

/* The size limit of a recipients file; the authorized_keys of large teams are far smaller. */
#define FILE_MAX (1u << 20)
#define RECIPIENTS_MAX 1000

int age_recipients_new(struct age_recipients **ret, struct err *err)
{
    struct age_recipients *r = calloc(1, sizeof *r);
    if (!r)
        return err_nomem(err);
    *ret = r;
    return 0;
}

static void release_recipient(struct age_recipient *r)
{
    ssh_blob_release(&r->key);
    secret_wipe(&r->passphrase);
    free(r->name);
}

void age_recipients_free(struct age_recipients *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < r->n; i++) {
        release_recipient(r->items[i]);
        free(r->items[i]);
    }
    free(r->items);
    free(r);
}

size_t age_recipients_count(const struct age_recipients *r)
{
    return r->n;
}

const char *age_recipients_name(const struct age_recipients *r, size_t i)
{
    return r->items[i]->name;
}

static int append_recipient(struct age_recipients *r, const struct age_recipient *recipient, struct err *err)
{
    if (r->n >= RECIPIENTS_MAX)
        return err_set(err, ERR_USAGE, "there are more than %d recipients", RECIPIENTS_MAX);
    if (array_reserve((void **)&r->items, &r->cap, r->n + 1, sizeof(struct age_recipient *), err) < 0)
        return -1;
    struct age_recipient *copy = malloc(sizeof *copy);
    if (!copy)
        return err_nomem(err);
    *copy = *recipient;
    r->items[r->n++] = copy;
    return 0;
}

/* Takes ownership of the recipient's members. Releases them on failure, and if `r` already has the recipient.
 */
static int add_recipient(struct age_recipients *r, struct age_recipient *recipient, struct err *err)
{
    bool is_duplicate = false;
    int rc = recipient->name ? 0 : err_nomem(err);
    for (size_t i = 0; rc == 0 && !is_duplicate && i < r->n; i++) {
        is_duplicate = strcmp(r->items[i]->name, recipient->name) == 0;
        if (!is_duplicate && (recipient->kind == AGE_SCRYPT || r->items[i]->kind == AGE_SCRYPT))
            rc = err_set(err, ERR_USAGE, "a passphrase must be the only recipient of a file");
    }
    if (rc == 0 && !is_duplicate && (rc = append_recipient(r, recipient, err)) == 0)
        return 0;
    release_recipient(recipient);
    return rc;
}

/* ---- a recipient's text ---- */

struct word {
    const char *p;
    size_t n;
};

static bool has_prefix(const struct word *w, const char *prefix)
{
    return w->n >= strlen(prefix) && strncasecmp(w->p, prefix, strlen(prefix)) == 0;
}

/* Refuses text that is no recipient; its prefix selects the message. The message omits the text, which may be
 * a secret. */
static int refuse_age_key(const struct word *w, struct err *err)
{
    static const struct {
        const char *begin, *what, *hint;
    } rows[] = {
        {"AGE-SECRET-KEY-", "this is a secret key, not a recipient",
         "its recipient begins with age1: age-keygen -y shows it"},
        {"AGE-PLUGIN-", "this is a plugin's identity, not a recipient", "use an age1 or SSH key"},
        {"age1pq1", "post-quantum recipients are not supported", "use an age1 or SSH key of the same person"},
        {"age1tagpq1", "hardware recipients are not supported", "use an age1 or SSH key of the same person"},
        {"age1tag1", "hardware recipients are not supported", "use an age1 or SSH key of the same person"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (has_prefix(w, rows[i].begin)) {
            err_set(err, ERR_USAGE, "%s", rows[i].what);
            return err_hint(err, "%s", rows[i].hint);
        }
    /* A plugin's recipient has the plugin's name between two 1s. */
    if (has_prefix(w, "age1") && w->n > 5 && memchr(w->p + 4, '1', w->n - 4)) {
        err_set(err, ERR_USAGE, "recipients of age plugins are not supported");
        return err_hint(err, "use an age1 or SSH key of the same person");
    }
    return err_set(err, ERR_USAGE,
                   has_prefix(w, "age1") ? "the age1 key is mistyped: its checksum is wrong"
                                         : "this is no recipient: neither age1... nor an SSH key");
}

static int add_age(struct age_recipients *r, const struct word *w, struct err *err)
{
    struct age_recipient recipient = {.kind = AGE_X25519};
    struct buf name = BUF_INIT(100);
    if (bech32_decode(w->p, w->n, "age", recipient.point, sizeof recipient.point) < 0)
        return refuse_age_key(w, err);
    bech32_add(&name, "age", recipient.point, sizeof recipient.point);
    recipient.name = buf_detach(&name);
    buf_release(&name);
    return add_recipient(r, &recipient, err);
}

/* Refuses an SSH key that cannot decrypt; the start or end of its type selects the message. */
static int refuse_ssh_key(const char *type, struct err *err)
{
    size_t n = strlen(type);
    const char *why = "is of a type that profgrab does not support";
    if (n > 21 && strcmp(type + n - 21, "-cert-v01@openssh.com") == 0)
        why = "is a certificate, not a key";
    else if (strncmp(type, "sk-", 3) == 0)
        why = "belongs to a security key, which can sign but not decrypt";
    else if (strncmp(type, "ecdsa-", 6) == 0)
        why = "is an ECDSA key, which can sign but not decrypt";
    else if (strcmp(type, "ssh-dss") == 0)
        why = "is a DSA key, which can sign but not decrypt";
    err_set(err, ERR_USAGE, "%s: it %s", type, why);
    return err_hint(err, "use an ssh-ed25519, ssh-rsa or age1 key of the same person");
}

static int check_ssh(struct age_recipient *recipient, struct err *err)
{
    unsigned char point[AGE_KEY];
    return recipient->kind == AGE_SSH_RSA ? age_ssh_check_rsa(&recipient->key, err)
                                          : age_ssh_point(&recipient->key, point, err);
}

static int add_ssh(struct age_recipients *r, const struct word *type, const struct word *base64,
                   struct err *err)
{
    struct age_recipient recipient = {.kind = AGE_OTHER};
    char shown[64], inner_type[64], fingerprint[SSH_FINGERPRINT];
    text_printable(shown, sizeof shown, type->p, type->n);
    if (strcmp(shown, "ssh-ed25519") == 0)
        recipient.kind = AGE_SSH_ED25519;
    if (strcmp(shown, "ssh-rsa") == 0)
        recipient.kind = AGE_SSH_RSA;
    if (recipient.kind == AGE_OTHER)
        return refuse_ssh_key(shown, err);
    struct err why = ERR_INIT;
    if (ssh_base64_decode(base64->p, base64->n, &recipient.key, &why) < 0) {
        if (why.kind == ERR_LOCAL_IO)
            return err_nomem(err);
        return err_set(err, ERR_USAGE, "the %s key is cut or damaged", shown);
    }
    if (strcmp(ssh_blob_type(&recipient.key, inner_type, sizeof inner_type), shown) != 0) {
        ssh_blob_release(&recipient.key);
        return err_set(err, ERR_USAGE, "the line says %s, but its key is of type %s", shown, inner_type);
    }
    if (check_ssh(&recipient, err) < 0) {
        ssh_blob_release(&recipient.key);
        return -1;
    }
    if (asprintf(&recipient.name, "%s %s", shown, ssh_blob_fingerprint(&recipient.key, fingerprint)) < 0)
        recipient.name = NULL;
    return add_recipient(r, &recipient, err);
}

/* Returns the next word; blanks within double quotes do not end it (sshd(8): options). */
static struct word next_word(const char **p)
{
    bool quoted = false;
    *p += strspn(*p, " \t");
    const char *from = *p;
    for (; **p && (quoted || !strchr(" \t", **p)); ++*p) {
        if (**p == '\\' && (*p)[1] == '"')
            ++*p;
        else if (**p == '"')
            quoted = !quoted;
    }
    return (struct word){from, (size_t)(*p - from)};
}

static bool is_ssh_type(const struct word *w)
{
    static const char *const begin[] = {"ssh-", "ecdsa-", "sk-"};
    for (size_t i = 0; i < sizeof begin / sizeof *begin; i++)
        if (w->n > strlen(begin[i]) && strncmp(w->p, begin[i], strlen(begin[i])) == 0)
            return true;
    return false;
}

static int add_line(struct age_recipients *r, const char *line, struct err *err)
{
    struct word first = next_word(&line), second = next_word(&line), third = next_word(&line);
    if (is_ssh_type(&first))
        return add_ssh(r, &first, &second, err);
    if (is_ssh_type(&second))
        return add_ssh(r, &second, &third, err);
    if (second.n > 0 && !has_prefix(&first, "age1"))
        return err_set(err, ERR_USAGE, "this is no recipient: neither age1... nor an SSH key");
    return second.n > 0 ? err_set(err, ERR_USAGE, "there is text after the age1 key")
                        : add_age(r, &first, err);
}

int age_recipients_add(struct age_recipients *r, const char *text, const char *where, struct err *err)
{
    size_t n = strcspn(text, "\r\n");
    char *line = strndup(text, n);
    if (!line)
        return err_nomem(err);
    int rc = text[n + strspn(text + n, "\r\n")] ? err_set(err, ERR_USAGE, "more than one line")
                                                : add_line(r, line, err);
    explicit_bzero(line, n);
    free(line);
    return rc < 0 && err && err->kind == ERR_USAGE ? err_wrap(err, "%s", where) : rc;
}

/* ---- files ---- */

/* Refuses a private key, because users copy lists of recipients to other people. */
static int refuse_private(const char *path, struct err *err)
{
    err_set(err, ERR_USAGE, "%s is a private key", path);
    return err_hint(err, "name its public key instead: %s.pub", path);
}

static int add_lines(struct age_recipients *r, char *text, const char *path, struct err *err)
{
    size_t number = 0, found = 0;
    char where[300];
    for (char *line; (line = text_next_entry(&text, &number)); found++) {
        snprintf(where, sizeof where, "%s:%zu", path, number);
        if (age_recipients_add(r, line, where, err) < 0)
            return -1;
    }
    return found ? 0 : err_set(err, ERR_USAGE, "%s contains no recipient", path);
}

int age_recipients_add_file(struct age_recipients *r, const char *path, struct err *err)
{
    struct buf b = {.max = FILE_MAX, .secret = true};
    int rc = file_read(path, &b, err);
    if (rc < 0 && err && err->kind != ERR_LOCAL_IO)
        err->kind = ERR_USAGE;
    if (rc == 0 && strlen(buf_str(&b)) != b.len)
        rc = err_set(err, ERR_USAGE, "%s is no list of recipients: it is not text", path);
    else if (rc == 0 && strstr(buf_str(&b), "-----BEGIN "))
        rc = refuse_private(path, err);
    else if (rc == 0)
        rc = b.len ? add_lines(r, b.data, path, err)
                   : err_set(err, ERR_USAGE, "%s contains no recipient", path);
    buf_release(&b);
    return rc;
}

/* Returns whether the text counts as a key, not as a file name: it begins with `age1` or `AGE-`, or contains
 * a blank. */
static bool looks_like_key(const char *s)
{
    return strncmp(s, "age1", 4) == 0 || strncmp(s, "AGE-", 4) == 0 || strchr(s, ' ');
}

/* Returns the host of `github:NAME` or `gitlab:NAME`, which some programs based on age accept; NULL for other
 * text. */
static const char *find_key_service(const char *text)
{
    return strncmp(text, "github:", 7) == 0   ? "github.com"
           : strncmp(text, "gitlab:", 7) == 0 ? "gitlab.com"
                                              : NULL;
}

static int refuse_key_service(const char *text, const char *service, const char *option, struct err *err)
{
    const char *name = text + strlen("github:");
    if (!text_is_name(name))
        name = "NAME";
    err_set(err, ERR_USAGE, "%s %.6s:%s: profgrab does not fetch keys", option, text, name);
    return err_hint(
        err,
        "run `curl -fsSo %s.keys https://%s/%s.keys`, check that the keys belong to that person, then use "
        "`%s ./%s.keys`",
        name, service, name, option, name);
}

int age_recipients_add_any(struct age_recipients *r, const char *text, const char *option, struct err *err)
{
    const char *service = find_key_service(text);
    if (service && !file_exists(text))
        return refuse_key_service(text, service, option, err);
    return looks_like_key(text) ? age_recipients_add(r, text, option, err)
                                : age_recipients_add_file(r, text, err);
}

int age_recipients_add_passphrase(struct age_recipients *r, const struct secret *passphrase, struct err *err)
{
    struct age_recipient recipient = {
        .kind = AGE_SCRYPT, .passphrase = *passphrase, .name = strdup("passphrase")};
    int rc = passphrase->len > 0 ? add_recipient(r, &recipient, err)
                                 : err_set(err, ERR_USAGE, "the passphrase is empty");
    if (passphrase->len == 0)
        release_recipient(&recipient);
    secret_wipe(&recipient.passphrase);
    return rc;
}

/* ---- wrapping ---- */

static int wrap_file_key(const struct age_recipient *r, const unsigned char file_key[AGE_FILE_KEY],
                         struct buf *header, struct err *err)
{
    switch (r->kind) {
    case AGE_X25519:
        return age_x25519_wrap(r->point, file_key, header, err);
    case AGE_SSH_ED25519:
        return age_ssh_wrap_ed25519(&r->key, file_key, header, err);
    case AGE_SSH_RSA:
        return age_ssh_wrap_rsa(&r->key, file_key, header, err);
    case AGE_SCRYPT:
        return age_scrypt_wrap(&r->passphrase, AGE_SCRYPT_LOG, file_key, header, err);
    case AGE_OTHER:
        break;
    }
    return err_set(err, ERR_FAILED, "a recipient of an unknown kind");
}

int age_recipients_wrap(const struct age_recipients *r, const unsigned char file_key[AGE_FILE_KEY],
                        struct buf *header, struct err *err)
{
    if (r->n == 0)
        return err_set(err, ERR_USAGE, "there is no recipient");
    for (size_t i = 0; i < r->n; i++)
        if (wrap_file_key(r->items[i], file_key, header, err) < 0)
            return err_wrap(err, "%s", r->items[i]->name);
    return 0;
}
