#include "inventory/sections.h"

#include <stdlib.h>
#include <string.h>

#include "inventory/address.h"
#include "inventory/range.h"
#include "base/banned.h"

/* A host while its settings are read. */
struct host_reader {
    struct host *host;
    const struct yaml_node *address;
    const struct yaml_node *ssh;
    const struct yaml_node *services;
};

static int read_user(const struct schema *s, const struct yaml_node *value, void *into, struct err *err)
{
    return schema_read_word(s, value, &((struct ssh_settings *)into)->user, err);
}

static int read_port(const struct schema *s, const struct yaml_node *value, void *into, struct err *err)
{
    return schema_read_port(s, value, &((struct ssh_settings *)into)->port, err);
}

static int read_identity(const struct schema *s, const struct yaml_node *value, void *into, struct err *err)
{
    return schema_read_path(s, value, &((struct ssh_settings *)into)->identity, err);
}

static int read_known_hosts(const struct schema *s, const struct yaml_node *value, void *into,
                            struct err *err)
{
    return schema_read_path(s, value, &((struct ssh_settings *)into)->known_hosts, err);
}

static int read_jump(const struct schema *s, const struct yaml_node *value, void *into, struct err *err)
{
    return schema_read_word(s, value, &((struct ssh_settings *)into)->jump, err);
}

static int read_agent(const struct schema *s, const struct yaml_node *value, void *into, struct err *err)
{
    char **agent = &((struct ssh_settings *)into)->agent;
    if (value->kind == YAML_SCALAR && strcmp(value->text, "none") == 0)
        return schema_read_text(s, value, agent, err);
    return schema_read_path(s, value, agent, err);
}

static int read_config(const struct schema *s, const struct yaml_node *value, void *into, struct err *err)
{
    return schema_read_path(s, value, &((struct ssh_settings *)into)->config, err);
}

static int read_via(const struct schema *s, const struct yaml_node *value, void *into, struct err *err)
{
    if (value->kind != YAML_SCALAR)
        return yaml_tree_err(s->tree, value, err, "via must be \"auto\", \"libssh2\" or \"openssh\"");
    if (ssh_via_parse("via", value->text, &((struct ssh_settings *)into)->via, err) < 0)
        return yaml_tree_err_wrap(s->tree, value, err);
    return 0;
}

static const struct schema_key ssh_keys[] = {
    {"user", read_user},
    {"port", read_port},
    {"identity", read_identity},
    {"known_hosts", read_known_hosts},
    {"jump", read_jump},
    {"agent", read_agent},
    {"config", read_config},
    {"via", read_via},
    {NULL, NULL},
};

static int read_ssh(const struct schema *s, const struct yaml_node *value, void *into, struct err *err)
{
    struct host_reader *e = into;
    e->ssh = value;
    if (schema_require_map(s, value, "settings", err) < 0)
        return -1;
    return schema_read_settings(s, value, ssh_keys, &e->host->ssh, err);
}

static int read_connect(const struct schema *s, const struct yaml_node *value, void *into, struct err *err)
{
    struct host_reader *e = into;
    bool direct = value->kind == YAML_SCALAR && strcmp(value->text, "direct") == 0;
    if (!direct && (value->kind != YAML_SCALAR || strcmp(value->text, "ssh") != 0))
        return yaml_tree_err(s->tree, value, err, "connect must be \"ssh\" or \"direct\"");
    e->host->direct = direct;
    return 0;
}

static int read_address(const struct schema *s, const struct yaml_node *value, void *into, struct err *err)
{
    struct host_reader *e = into;
    e->address = value;
    return schema_read_text(s, value, &e->host->address, err);
}

/* Sets the error of a repeated list item, with the line of the first one. */
static int refuse_repeated_item(const struct schema *s, const struct yaml_node *list,
                                const struct yaml_node *item, struct err *err)
{
    const struct yaml_node *first = list->first;
    while (first->kind != YAML_SCALAR || strcmp(first->text, item->text) != 0)
        first = first->next;
    return yaml_tree_err(s->tree, item, err, "\"%s\" is listed twice, first in line %u", item->text,
                         first->line);
}

static int add_service(const struct schema *s, const struct yaml_node *list, const struct yaml_node *value,
                       struct host *host, struct err *err)
{
    if (value->kind != YAML_SCALAR)
        return yaml_tree_err(s->tree, value, err, "each item must be the name of a service");
    const struct service *service = name_map_get(&s->inv->service_names, value->text);
    /* A broken service already has its own error. */
    if (!service && ((s->services && s->services->kind != YAML_MAP) ||
                     name_map_get(&s->inv->broken_services, value->text)))
        return 0;
    if (!service) {
        yaml_tree_err(s->tree, value, err, "unknown service \"%.60s\"", value->text);
        schema_hint_nearest(&s->inv->service_names, value->text, "services are defined under \"services\"",
                            err);
        return -1;
    }
    for (size_t i = 0; i < host->n_services; i++)
        if (host->services[i] == service)
            return refuse_repeated_item(s, list, value, err);
    host->services[host->n_services++] = service;
    return 0;
}

static int read_services(const struct schema *s, const struct yaml_node *value, void *into, struct err *err)
{
    struct host_reader *e = into;
    size_t n = 0;
    e->services = value;
    if (schema_require_list(s, value, "services", err) < 0)
        return -1;
    for (const struct yaml_node *v = value->first; v; v = v->next)
        n++;
    e->host->services = calloc(n ? n : 1, sizeof *e->host->services);
    if (!e->host->services)
        return err_nomem(err);
    for (const struct yaml_node *v = value->first; v; v = v->next)
        if (add_service(s, value, v, e->host, err) < 0 && schema_note_mistake(s, err) < 0)
            return -1;
    return 0;
}

static int add_label(const struct schema *s, const struct yaml_node *value, struct host *host,
                     struct err *err)
{
    if (schema_check_name(s, value->key, "label", err) < 0)
        return -1;
    struct label *label = &host->labels[host->n_labels++];
    /* An unquoted `true` or `no` is a valid label, but schema_read_text refuses it. */
    if (value->kind == YAML_SCALAR && value->plain && *value->text && strcmp(value->text, "~") != 0 &&
        strcasecmp(value->text, "null") != 0)
        label->value = strdup(value->text);
    else if (schema_read_text(s, value, &label->value, err) < 0)
        return -1;
    label->name = strdup(value->key->text);
    return label->name && label->value ? 0 : err_nomem(err);
}

static int read_labels(const struct schema *s, const struct yaml_node *value, void *into, struct err *err)
{
    struct host *host = ((struct host_reader *)into)->host;
    size_t n = 0;
    if (schema_require_map(s, value, "labels", err) < 0)
        return -1;
    for (const struct yaml_node *v = value->first; v; v = v->next)
        n++;
    host->labels = calloc(n ? n : 1, sizeof *host->labels);
    if (!host->labels)
        return err_nomem(err);
    for (const struct yaml_node *v = value->first; v; v = v->next)
        if (!v->key->earlier && add_label(s, v, host, err) < 0)
            return -1;
    return 0;
}

const struct schema_key host_keys[] = {
    {"address", read_address}, {"services", read_services}, {"ssh", read_ssh},
    {"labels", read_labels},   {"connect", read_connect},   {NULL, NULL},
};

/* Replaces every {name} by the host's name. */
static int fill_name(const char *pattern, const char *name, char **ret, struct err *err)
{
    static const char placeholder[] = "{name}";
    struct buf b = BUF_INIT(4096);
    for (const char *p; (p = strstr(pattern, placeholder)); pattern = p + sizeof placeholder - 1) {
        buf_add(&b, pattern, (size_t)(p - pattern));
        buf_adds(&b, name);
    }
    buf_adds(&b, pattern);
    int rc = buf_check(&b, "the address", err);
    char *text = rc == 0 ? buf_detach(&b) : NULL;
    buf_release(&b);
    if (!text)
        return rc < 0 ? -1 : err_nomem(err);
    free(*ret);
    *ret = text;
    return 0;
}

/* Checks the address: [user@]host for ssh, only a host for a direct route. The port has its own key. */
static int check_address(const struct schema *s, const struct host_reader *e, struct err *err)
{
    struct address a = {0};
    if (strchr(e->host->address, '{') || strchr(e->host->address, '}'))
        return yaml_tree_err(s->tree, e->address, err, "only {name} is allowed in braces");
    if (address_parse(e->host->address, &a, err) < 0)
        return yaml_tree_err_wrap(s->tree, e->address, err);
    int rc = 0;
    if (a.port || strchr(e->host->address, '/')) {
        yaml_tree_err(s->tree, e->address, err, "address must be a host, without \"ssh://\" or a port");
        rc = err_hint(err, e->host->direct ? "the port belongs to the service"
                                           : "SSH's port goes under \"ssh\": { port: N }");
    } else if (a.user && e->host->direct) {
        rc = yaml_tree_err(s->tree, e->address, err, "a direct connection has no user");
    } else if (strchr(e->host->address, '[')) {
        /* ssh accepts brackets around an IPv6 address only in a URL. */
        char *text = address_text(&a);
        free(e->host->address);
        e->host->address = text;
        rc = text ? 0 : err_nomem(err);
    }
    address_release(&a);
    return rc;
}

static int finish_host(const struct schema *s, struct host_reader *e, const struct yaml_node *key,
                       struct err *err)
{
    if (!e->services && !s->inv->has_discovery) {
        yaml_tree_err(s->tree, key, err, "host \"%s\" has no services", e->host->name);
        return err_hint(err, "add \"services: [NAME]\"");
    }
    if (e->ssh && e->host->direct)
        return yaml_tree_err(s->tree, e->ssh->key, err, "\"ssh\" has no meaning with \"connect: direct\"");
    if (fill_name(e->host->address ? e->host->address : e->host->name, e->host->name, &e->host->address,
                  err) < 0)
        return yaml_tree_err_wrap(s->tree, key, err);
    if (!e->address)
        return 0;
    return check_address(s, e, err);
}

/* Sets the error of a repeated host, with the location of the first one. */
static int refuse_repeated_host(const struct schema *s, const struct yaml_node *key, const char *name,
                                struct err *err)
{
    const struct yaml_node *first = key;
    const struct host *other = name_map_get(&s->inv->host_names, name);
    for (const struct yaml_node *v = s->hosts->first; v && first == key; v = v->next) {
        struct strlist names = {0};
        if (range_expand(v->key->text, INVENTORY_MAX_HOSTS, &names, err) < 0)
            return -1;
        if (strlist_has(&names, other->name))
            first = v->key;
        strlist_release(&names);
        if (v->key == key)
            break;
    }
    if (strcmp(name, other->name) != 0) {
        yaml_tree_err(s->tree, key, err, "host \"%s\" differs only by case from \"%s\" at %s:%u:%u", name,
                      other->name, file_base(yaml_tree_name(s->tree)), first->line, first->column);
        return err_hint(err, "host names ignore case, as in DNS");
    }
    return yaml_tree_err(s->tree, key, err, "host \"%s\" is defined twice, first at %s:%u:%u", name,
                         file_base(yaml_tree_name(s->tree)), first->line, first->column);
}

static int read_host(const struct schema *s, const struct yaml_node *value, const char *name, struct err *err)
{
    struct host_reader e = {.host = calloc(1, sizeof *e.host)};
    if (!e.host || !(e.host->name = strdup(name))) {
        host_free(e.host);
        return err_nomem(err);
    }
    if (schema_read_settings(s, value, host_keys, &e, err) < 0 || finish_host(s, &e, value->key, err) < 0) {
        host_free(e.host);
        return -1;
    }
    if (hosts_add(&s->inv->hosts, e.host, err) < 0)
        return -1;
    return name_map_add(&s->inv->host_names, e.host->name, e.host, err);
}

/* Reads the host or the range of hosts that one key of the section names. */
static int read_hosts(const struct schema *s, const struct yaml_node *value, struct err *err)
{
    int rc = -1;
    struct strlist names = {0};
    if (range_expand(value->key->text, INVENTORY_MAX_HOSTS, &names, err) < 0) {
        yaml_tree_err_wrap(s->tree, value->key, err);
        goto out;
    }
    if (schema_require_map(s, value, "settings", err) < 0)
        goto out;
    if (s->inv->hosts.n + names.n > INVENTORY_MAX_HOSTS) {
        yaml_tree_err(s->tree, value->key, err, "more than %d hosts", INVENTORY_MAX_HOSTS);
        goto out;
    }
    for (size_t i = 0; i < names.n; i++) {
        if (!text_is_name(names.items[i])) {
            schema_check_name(s, value->key, "host", err);
            goto out;
        }
        if (name_map_get(&s->inv->host_names, names.items[i])) {
            refuse_repeated_host(s, value->key, names.items[i], err);
            goto out;
        }
        if (read_host(s, value, names.items[i], err) < 0)
            goto out;
    }
    rc = 0;
out:
    strlist_release(&names);
    return rc;
}

int host_read_all(const struct schema *s, const struct yaml_node *section, struct err *err)
{
    return schema_read_section(s, section, "hosts", read_hosts, err);
}
