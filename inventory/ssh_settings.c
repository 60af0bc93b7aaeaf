#include "inventory/ssh_settings.h"

#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

/* The string settings. */
static const size_t text_offsets[] = {
    offsetof(struct ssh_settings, user),        offsetof(struct ssh_settings, identity),
    offsetof(struct ssh_settings, known_hosts), offsetof(struct ssh_settings, jump),
    offsetof(struct ssh_settings, agent),       offsetof(struct ssh_settings, config),
};
#define N_TEXTS (sizeof text_offsets / sizeof *text_offsets)

static char **text_at(const struct ssh_settings *s, size_t i)
{
    return (char **)(void *)((char *)(uintptr_t)s + text_offsets[i]);
}

int ssh_settings_copy(const struct ssh_settings *s, struct ssh_settings *ret, struct err *err)
{
    struct ssh_settings copy = {
        .port = s->port, .via = s->via, .compress = s->compress, .accept_new = s->accept_new};
    for (size_t i = 0; i < N_TEXTS; i++) {
        const char *text = *text_at(s, i);
        if (text && !(*text_at(&copy, i) = strdup(text))) {
            ssh_settings_release(&copy);
            return err_nomem(err);
        }
    }
    *ret = copy;
    return 0;
}

void ssh_settings_release(struct ssh_settings *s)
{
    for (size_t i = 0; i < N_TEXTS; i++)
        free(*text_at(s, i));
    *s = (struct ssh_settings){0};
}

struct ssh_settings ssh_settings_merge(const struct ssh_settings *base, const struct ssh_settings *overrides)
{
    struct ssh_settings s = *base;
    if (!overrides)
        return s;
    for (size_t i = 0; i < N_TEXTS; i++)
        if (*text_at(overrides, i))
            *text_at(&s, i) = *text_at(overrides, i);
    if (overrides->port)
        s.port = overrides->port;
    if (overrides->via != SSH_VIA_UNSET)
        s.via = overrides->via;
    if (overrides->compress != SSH_COMPRESS_AUTO)
        s.compress = overrides->compress;
    s.accept_new = s.accept_new || overrides->accept_new;
    return s;
}

int ssh_via_parse(const char *what, const char *word, enum ssh_via *ret, struct err *err)
{
    static const char *const words[] = {
        [SSH_VIA_AUTO] = "auto", [SSH_VIA_LIBSSH2] = "libssh2", [SSH_VIA_OPENSSH] = "openssh"};
    struct nearest near = NEAREST_INIT(word);
    char shown[80], names[200];
    for (size_t i = SSH_VIA_AUTO; i < sizeof words / sizeof *words; i++) {
        if (strcmp(word, words[i]) == 0) {
            *ret = (enum ssh_via)i;
            return 0;
        }
        nearest_add(&near, words[i]);
    }
    err_set(err, ERR_USAGE, "%s must be \"auto\", \"libssh2\" or \"openssh\", not \"%s\"", what,
            text_printable(shown, sizeof shown, word, strlen(word)));
    if (near.n > 0)
        err_hint(err, "did you mean %s?", nearest_text(&near, names, sizeof names));
    return -1;
}
