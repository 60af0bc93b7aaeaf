#include "gateway/config/tokens.h"

#include <openssl/evp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/banned.h"

/* Sets t->jump to the host name of the last entry of ProxyJump, the host that connects to the target. */
static int find_jump(struct tokens *t, const char *jumps, struct err *err)
{
    struct address a = {0};
    struct err why = ERR_INIT;
    const char *comma = jumps ? strrchr(jumps, ',') : NULL;
    if (!jumps)
        return 0;
    /* An invalid address is no error here: route.c reports it. */
    if (address_parse(comma ? comma + 1 : jumps, &a, &why) < 0)
        return why.kind == ERR_USAGE ? 0 : err_nomem(err);
    snprintf(t->jump, sizeof t->jump, "%s", a.host);
    address_release(&a);
    return 0;
}

/* Computes %C: the SHA-1 of %l%h%p%r, or of %l%h%p%r%j since OpenSSH 9.6. */
static int compute_hash(struct tokens *t, bool with_jump, struct err *err)
{
    unsigned char digest[20];
    struct buf b = BUF_INIT(8192);
    buf_addf(&b, "%s%s%s%s%s", t->local_host, t->config->hostname, t->port, t->config->user,
             with_jump ? t->jump : "");
    int rc = buf_check(&b, "the output of ssh -G for the host", err);
    if (rc == 0 && EVP_Digest(b.data, b.len, digest, NULL, EVP_sha1(), NULL) != 1)
        rc = err_set(err, ERR_FAILED, "SHA-1 is not available in OpenSSL");
    for (size_t i = 0; rc == 0 && i < sizeof digest; i++)
        snprintf(t->hash + 2 * i, 3, "%02x", digest[i]);
    buf_release(&b);
    return rc;
}

int tokens_init(struct tokens *t, const struct ssh_config *c, const char *original, bool hash_includes_jump,
                struct err *err)
{
    char text[4096];
    struct passwd pw, *found = NULL;
    *t = (struct tokens){.original = original, .config = c};
    if (getpwuid_r(getuid(), &pw, text, sizeof text, &found) != 0 || !found)
        return err_set(err, ERR_FAILED, "there is no user with the id %ld", (long)getuid());
    if (gethostname(t->local_host, sizeof t->local_host - 1) < 0)
        return err_sys(err, "cannot get this machine's name");
    memcpy(t->local_host_short, t->local_host, sizeof t->local_host_short);
    t->local_host_short[strcspn(t->local_host_short, ".")] = '\0';
    snprintf(t->uid, sizeof t->uid, "%ld", (long)getuid());
    snprintf(t->port, sizeof t->port, "%u", c->port);
    t->home = strdup(pw.pw_dir);
    t->local_user = strdup(pw.pw_name);
    if (!t->home || !t->local_user)
        return err_nomem(err);
    if (find_jump(t, c->connect.jump, err) < 0)
        return -1;
    return compute_hash(t, hash_includes_jump, err);
}

void tokens_release(struct tokens *t)
{
    free(t->home);
    free(t->local_user);
}

/* Returns the value of a token; NULL for one that ssh does not accept in this use. */
static const char *token_value(const struct tokens *t, char c, enum tokens_use use)
{
    const struct {
        char name;
        bool proxy; /* also valid in ProxyCommand and ProxyJump */
        const char *value;
    } known[] = {
        {'%', true, "%"},
        {'C', false, t->hash},
        {'d', false, t->home},
        {'h', true, t->config->hostname},
        {'i', false, t->uid},
        {'j', false, t->jump},
        {'k', true, t->config->host_key.alias ? t->config->host_key.alias : t->original},
        {'L', false, t->local_host_short},
        {'l', false, t->local_host},
        {'n', true, t->original},
        {'p', true, t->port},
        {'r', true, t->config->user},
        {'u', false, t->local_user},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].name == c && (known[i].proxy || use == TOKENS_PATH))
            return known[i].value;
    return NULL;
}

static int refuse_token(const char *p, struct err *err)
{
    char shown[16];
    err_set(err, ERR_FAILED, "ssh does not support \"%s\" in a ProxyCommand or ProxyJump",
            text_printable(shown, sizeof shown, p, p[1] ? 2 : 1));
    return err_hint(err, "write %%%% for a per cent sign; ssh_config(5) lists the allowed tokens (TOKENS)");
}

/*
 * Adds the value of the variable that the text ${NAME} at `p` names. Returns the length of that text; 0 if
 * the variable is not set or NAME is invalid.
 */
static size_t add_variable(struct buf *b, const char *p)
{
    char name[256];
    const char *close = p[0] == '$' && p[1] == '{' ? strchr(p, '}') : NULL;
    if (!close || (size_t)(close - p) > sizeof name)
        return 0;
    snprintf(name, sizeof name, "%.*s", (int)(close - p - 2), p + 2);
    const char *value = getenv(name);
    if (!value)
        return 0;
    buf_adds(b, value);
    return (size_t)(close - p) + 1;
}

/* Adds the expansion of the next piece and returns the length of the piece; 0 for an invalid token. */
static size_t add_piece(const struct tokens *t, struct buf *b, const char *p, enum tokens_use use)
{
    const char *value = *p == '%' ? token_value(t, p[1], use) : NULL;
    size_t n = use == TOKENS_PATH ? add_variable(b, p) : 0;
    if (value) {
        buf_adds(b, value);
        return 2;
    }
    if (n)
        return n;
    if (*p == '%' && use == TOKENS_PROXY)
        return 0;
    buf_addc(b, *p);
    return 1;
}

int tokens_expand(const struct tokens *t, char **text, enum tokens_use use, struct err *err)
{
    struct buf b = BUF_INIT(64 << 10);
    const char *p = *text;
    size_t n = 1;
    int rc = -1;
    if (use == TOKENS_PATH && p[0] == '~' && (!p[1] || p[1] == '/')) {
        buf_adds(&b, t->home);
        p++;
    }
    for (; *p && n; p += n)
        n = add_piece(t, &b, p, use);
    buf_addc(&b, '\0');
    if (!n) {
        refuse_token(p, err);
    } else if (buf_check(&b, "a value of ssh -G", err) == 0) {
        free(*text);
        *text = buf_detach(&b);
        rc = 0;
    }
    buf_release(&b);
    return rc;
}
