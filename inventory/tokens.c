#include "inventory/tokens.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/banned.h"

int tokens_init(struct tokens *t, const struct ssh_config *c, const char *original, struct err *err)
{
    char text[4096];
    struct passwd pw, *found = NULL;
    *t = (struct tokens){.original = original, .c = c};
    if (getpwuid_r(getuid(), &pw, text, sizeof text, &found) != 0 || !found)
        return err_set(err, ERR_FAILED, "there is no user with the id %ld", (long)getuid());
    if (gethostname(t->local_host, sizeof t->local_host - 1) < 0)
        return err_sys(err, "cannot get this machine's name");
    memcpy(t->local_short, t->local_host, sizeof t->local_short);
    t->local_short[strcspn(t->local_short, ".")] = '\0';
    snprintf(t->uid, sizeof t->uid, "%ld", (long)getuid());
    snprintf(t->port, sizeof t->port, "%u", c->port);
    t->home = strdup(pw.pw_dir);
    t->local_user = strdup(pw.pw_name);
    return t->home && t->local_user ? 0 : err_nomem(err);
}

void tokens_release(struct tokens *t)
{
    free(t->home);
    free(t->local_user);
}

/* The text behind a `%`; NULL for a token ssh knows and we do not (%C, %k, %j), which then stays. */
static const char *token(const struct tokens *t, char c)
{
    const struct {
        char name;
        const char *value;
    } known[] = {
        {'%', "%"},           {'d', t->home},        {'h', t->c->hostname}, {'i', t->uid},
        {'l', t->local_host}, {'L', t->local_short}, {'n', t->original},    {'p', t->port},
        {'r', t->c->user},    {'u', t->local_user},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].name == c)
            return known[i].value;
    return NULL;
}

/* Adds the value of the ${VARIABLE} that `p` begins with, and returns how long that is; 0 if it is none that
 * is set, or one with a name nobody has. */
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

int tokens_expand(const struct tokens *t, char **text, bool path, struct err *err)
{
    struct buf b = BUF_INIT(64 << 10);
    const char *p = *text;
    if (path && p[0] == '~' && (!p[1] || p[1] == '/')) {
        buf_adds(&b, t->home);
        p++;
    }
    while (*p) {
        const char *value = *p == '%' && p[1] ? token(t, p[1]) : NULL;
        size_t n = path && !value ? add_variable(&b, p) : 0;
        if (value)
            buf_adds(&b, value);
        else if (!n)
            buf_addc(&b, *p);
        p += value ? 2 : n ? n : 1;
    }
    buf_addc(&b, '\0');
    int rc = buf_check(&b, "a value of ssh -G", err);
    if (rc == 0) {
        free(*text);
        *text = buf_take(&b);
    }
    buf_release(&b);
    return rc;
}
