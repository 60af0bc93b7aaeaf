#include "gateway/ssh/login_key.h"

#include <string.h>

#include "base/banned.h"

void login_key_text(struct buf *key, const char *text)
{
    if (text)
        buf_addf(key, "%zu:%s\n", strlen(text), text);
    else
        buf_adds(key, "-\n");
}

void login_key_number(struct buf *key, unsigned number)
{
    buf_addf(key, "%u\n", number);
}

static void add_list(struct buf *key, const struct strlist *list)
{
    login_key_number(key, (unsigned)list->n);
    for (size_t i = 0; i < list->n; i++)
        login_key_text(key, list->items[i]);
}

static void add_hop(struct buf *key, const struct hop *hop)
{
    const struct ssh_config *c = hop->config;
    const char *const texts[] = {c->user,           c->hostname,      c->agent,       c->host_key_alias,
                                 c->bind_address,   c->proxy_command, c->asked.jump,  c->asked.config,
                                 c->preferred,      c->key_exchanges, c->ciphers,     c->macs,
                                 c->host_key_types, c->key_types,     c->only_openssh};
    const unsigned numbers[] = {c->port,
                                hop->via,
                                c->family,
                                c->identities_only,
                                c->publickey,
                                c->password,
                                c->keyboard_interactive,
                                c->gssapi,
                                c->hostbased,
                                c->host_key_policy,
                                c->hash_known_hosts,
                                (unsigned)c->n_user_known_hosts};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        login_key_text(key, texts[i]);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        login_key_number(key, numbers[i]);
    add_list(key, &c->identity_files);
    add_list(key, &c->certificate_files);
    add_list(key, &c->known_hosts);
}

void login_key_add(struct buf *key, const struct hop *hop)
{
    for (const struct hop *h = hop; h; h = h->before)
        add_hop(key, h);
}
