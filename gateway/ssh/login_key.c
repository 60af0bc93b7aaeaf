#include "gateway/ssh/login_key.h"

#include <string.h>

#include "base/banned.h"

void login_key_add_text(struct buf *key, const char *text)
{
    if (text)
        buf_addf(key, "%zu:%s\n", strlen(text), text);
    else
        buf_adds(key, "-\n");
}

void login_key_add_number(struct buf *key, unsigned number)
{
    buf_addf(key, "%u\n", number);
}

static void add_list(struct buf *key, const struct strlist *list)
{
    login_key_add_number(key, (unsigned)list->n);
    for (size_t i = 0; i < list->n; i++)
        login_key_add_text(key, list->items[i]);
}

static void add_hop(struct buf *key, const struct hop *hop)
{
    const struct ssh_config *c = hop->config;
    const char *const texts[] = {c->user,
                                 c->hostname,
                                 c->login.agent,
                                 c->host_key.alias,
                                 c->connect.bind_address,
                                 c->connect.proxy_command,
                                 c->requested.jump,
                                 c->requested.config,
                                 c->login.preferred,
                                 c->algorithms.key_exchanges,
                                 c->algorithms.ciphers,
                                 c->algorithms.macs,
                                 c->algorithms.host_keys,
                                 c->algorithms.keys,
                                 c->only_openssh};
    const unsigned numbers[] = {c->port,
                                hop->via,
                                c->connect.family,
                                c->login.identities_only,
                                c->login.publickey,
                                c->login.password,
                                c->login.keyboard_interactive,
                                c->login.gssapi,
                                c->login.hostbased,
                                c->host_key.policy,
                                c->host_key.hash_names,
                                (unsigned)c->host_key.n_user_files};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        login_key_add_text(key, texts[i]);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        login_key_add_number(key, numbers[i]);
    add_list(key, &c->login.identity_files);
    add_list(key, &c->login.certificate_files);
    add_list(key, &c->host_key.files);
}

void login_key_add(struct buf *key, const struct hop *hop)
{
    for (const struct hop *h = hop; h; h = h->previous)
        add_hop(key, h);
}
