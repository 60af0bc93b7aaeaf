#include "fetch/credentials.h"

#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

/* Each credential has its own allocation, because a growing array would leave copies behind. */
struct credential {
    struct credential *next;
    const struct service *service;
    struct secret secret;
};

/* SSH protects a secret on the network, and so does TLS with a verified certificate. A direct plain
 * connection to another machine does not. */
static int check_transport(const struct target *t, struct err *err)
{
    const struct service *s = t->service;
    const char *to = strcmp(s->host, "localhost") == 0 ? t->host->address : s->host;
    if (!t->host->direct || (s->https && !s->tls.insecure) || s->unix_path || address_is_loopback(to))
        return 0;
    err_set(err, ERR_USAGE, "%s: %s: its secret would be sent %s", t->host->name, s->name,
            s->https ? "to any server that imitates the service, because the certificate is not checked"
                     : "over the network in clear text");
    return err_hint(err, "set `scheme: https` with a certificate that is checked, or reach the host over SSH "
                         "instead of `connect: direct`");
}

static int add_credential(struct credentials *c, const struct service *service,
                          const struct proc_limits *limits, struct err *err)
{
    struct credential *credential = calloc(1, sizeof *credential);
    if (!credential)
        return err_nomem(err);
    credential->service = service;
    credential->next = c->first;
    c->first = credential;
    return secret_read(&service->auth.secret, limits, &credential->secret, err) < 0
               ? err_wrap(err, "%s", service->name)
               : 0;
}

int credentials_load(const struct targets *targets, const struct proc_limits *limits, struct credentials *ret,
                     struct err *err)
{
    struct credentials c = {0};
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < targets->n; i++) {
        const struct target *t = &targets->items[i];
        if (t->service->auth.secret.kind == SECRET_NONE)
            continue;
        rc = check_transport(t, err);
        if (rc == 0 && !credentials_find(&c, t->service))
            rc = add_credential(&c, t->service, limits, err);
    }
    if (rc < 0)
        credentials_release(&c);
    else
        *ret = c;
    return rc;
}

void credentials_release(struct credentials *c)
{
    while (c->first) {
        struct credential *credential = c->first;
        c->first = credential->next;
        secret_wipe(&credential->secret);
        free(credential);
    }
}

/* Returns whether two services use one secret. All services that one source lists use the secret of the
 * source's template. profgrab reads a secret only once, so that a command that asks the user asks once. */
static bool have_same_secret(const struct service *a, const struct service *b)
{
    const struct secret_ref *x = &a->auth.secret, *y = &b->auth.secret;
    return a == b || (a->source && a->source == b->source && x->kind == y->kind && x->locator && y->locator &&
                      strcmp(x->locator, y->locator) == 0);
}

const struct secret *credentials_find(const struct credentials *c, const struct service *service)
{
    for (const struct credential *i = c->first; i; i = i->next)
        if (have_same_secret(i->service, service))
            return &i->secret;
    return NULL;
}
