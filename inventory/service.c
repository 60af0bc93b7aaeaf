#include "inventory/sections.h"

#include <stdlib.h>
#include <string.h>

#include "inventory/service_auth.h"
#include "inventory/service_tls.h"
#include "base/banned.h"

#define PATH_LENGTH_MAX 250 /* short enough for every request */
#define UNIX_PATH_MAX 107   /* sun_path of Linux without its NUL */

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

/* A service while it is read. */
struct entry {
    struct service *service;
    const struct yaml_node *port;
    const struct yaml_node *host;
    const struct yaml_node *unix_path;
    const struct yaml_node *tls;
};

static int replace_text(char **text, const char *with, size_t n, struct err *err)
{
    char *copy = strndup(with, n);
    if (!copy)
        return err_nomem(err);
    free(*text);
    *text = copy;
    return 0;
}

int service_set_path(struct service *service, const char *path, struct err *err)
{
    size_t n = strlen(path);
    if (*path != '/')
        return err_set(err, ERR_USAGE, "pprof's path must begin with \"/\"");
    if (n > PATH_LENGTH_MAX)
        return err_set(err, ERR_USAGE, "pprof's path must have at most %d characters", PATH_LENGTH_MAX);
    /* No character of a path may end the request line (RFC 3986, section 3.3). */
    if (strspn(path, LETTERS "0123456789/._-~%!$&'()*+,;=:@") < n)
        return err_set(err, ERR_USAGE, "pprof's path must be the path of a URL");
    while (n > 0 && path[n - 1] == '/')
        n--;
    return replace_text(&service->path, path, n, err);
}

int service_set_unix(struct service *service, const char *path, struct err *err)
{
    size_t n = strlen(path);
    if (*path != '/' || path[n - 1] == '/')
        return err_set(err, ERR_USAGE, "unix must be an absolute path that does not end with \"/\"");
    if (n > UNIX_PATH_MAX)
        return err_set(err, ERR_USAGE, "unix must be a path of at most %d bytes", UNIX_PATH_MAX);
    if (!text_is_visible(path))
        return err_set(err, ERR_USAGE, "unix must be a path of visible characters");
    return replace_text(&service->unix_path, path, n, err);
}

static int read_port(const struct schema *s, const struct yaml_node *value, void *into, struct err *err)
{
    struct entry *e = into;
    e->port = value;
    return schema_read_port(s, value, &e->service->port, err);
}

static int read_host(const struct schema *s, const struct yaml_node *value, void *into, struct err *err)
{
    struct entry *e = into;
    e->host = value;
    e->service->host_is_set = true;
    return schema_read_chars(s, value, &(struct schema_chars){"._-:", "a host's name or IP address"},
                             &e->service->host, err);
}

static int read_host_header(const struct schema *s, const struct yaml_node *value, void *into,
                            struct err *err)
{
    return schema_read_chars(s, value,
                             &(struct schema_chars){"._-:[]", "a host's name, with :port where needed"},
                             &((struct entry *)into)->service->host_header, err);
}

/* Reads text and passes it to one of the setters above. */
static int read_by_setter(int (*set)(struct service *service, const char *text, struct err *err),
                          const struct schema *s, const struct yaml_node *value, struct service *service,
                          struct err *err)
{
    char *text = NULL;
    if (schema_read_text(s, value, &text, err) < 0)
        return -1;
    int rc = set(service, text, err);
    free(text);
    return rc < 0 ? yaml_tree_err_wrap(s->tree, value, err) : 0;
}

static int read_path(const struct schema *s, const struct yaml_node *value, void *into, struct err *err)
{
    return read_by_setter(service_set_path, s, value, ((struct entry *)into)->service, err);
}

static int read_unix(const struct schema *s, const struct yaml_node *value, void *into, struct err *err)
{
    struct entry *e = into;
    e->unix_path = value;
    return read_by_setter(service_set_unix, s, value, e->service, err);
}

static int read_scheme(const struct schema *s, const struct yaml_node *value, void *into, struct err *err)
{
    bool https = value->kind == YAML_SCALAR && strcmp(value->text, "https") == 0;
    if (!https && (value->kind != YAML_SCALAR || strcmp(value->text, "http") != 0))
        return yaml_tree_err(s->tree, value, err, "scheme must be \"http\" or \"https\"");
    ((struct entry *)into)->service->https = https;
    return 0;
}

static int read_tls(const struct schema *s, const struct yaml_node *value, void *into, struct err *err)
{
    struct entry *e = into;
    e->tls = value;
    return service_tls_read(s, value, &e->service->tls, err);
}

static int read_auth(const struct schema *s, const struct yaml_node *value, void *into, struct err *err)
{
    return service_auth_read(s, value, &((struct entry *)into)->service->auth, err);
}

static int read_kinds(const struct schema *s, const struct yaml_node *value, void *into, struct err *err)
{
    struct service *service = ((struct entry *)into)->service;
    if (schema_require_list(s, value, "kinds of profile", err) < 0)
        return -1;
    for (const struct yaml_node *v = value->first; v; v = v->next) {
        char *kind = NULL;
        if (schema_read_text(s, v, &kind, err) < 0)
            return -1;
        int rc = strlist_add(&service->kinds, kind, err);
        free(kind);
        if (rc < 0)
            return -1;
    }
    return 0;
}

static int read_hint(const struct schema *s, const struct yaml_node *value, void *into, struct err *err)
{
    return schema_read_text(s, value, &((struct entry *)into)->service->hint, err);
}

const struct schema_key service_keys[] = {
    {"port", read_port},
    {"host", read_host},
    {"unix", read_unix},
    {"scheme", read_scheme},
    {"path", read_path},
    {"host_header", read_host_header},
    {"tls", read_tls},
    {"auth", read_auth},
    {"kinds", read_kinds},
    {"hint", read_hint},
    {"bearer", schema_refuse_secret},
    {"token", schema_refuse_secret},
    {"password", schema_refuse_secret},
    {NULL, NULL},
};

struct service *service_new(const char *name, unsigned port)
{
    struct service *service = calloc(1, sizeof *service);
    if (!service)
        return NULL;
    service->name = strdup(name);
    service->host = strdup("localhost");
    service->path = strdup(SERVICE_PATH);
    service->port = port;
    if (service->name && service->host && service->path)
        return service;
    service_free(service);
    return NULL;
}

/* Replaces a text by a copy, or by NULL. */
static int copy_text(char **to, const char *from, struct err *err)
{
    char *copy = from ? strdup(from) : NULL;
    if (from && !copy)
        return err_nomem(err);
    free(*to);
    *to = copy;
    return 0;
}

int service_copy(struct service *to, const struct service *from, struct err *err)
{
    to->https = from->https;
    to->host_is_set = from->host_is_set;
    to->tls.insecure = from->tls.insecure;
    to->auth.secret.kind = from->auth.secret.kind;
    const struct {
        char **to;
        const char *from;
    } texts[] = {
        {&to->host, from->host},
        {&to->path, from->path},
        {&to->query, from->query},
        {&to->unix_path, from->unix_path},
        {&to->tls.ca, from->tls.ca},
        {&to->tls.cert, from->tls.cert},
        {&to->tls.key, from->tls.key},
        {&to->tls.server_name, from->tls.server_name},
        {&to->auth.user, from->auth.user},
        {&to->auth.secret.locator, from->auth.secret.locator},
        {&to->host_header, from->host_header},
        {&to->hint, from->hint},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (copy_text(texts[i].to, texts[i].from, err) < 0)
            return -1;
    for (size_t i = 0; i < from->kinds.n; i++)
        if (strlist_add(&to->kinds, from->kinds.items[i], err) < 0)
            return -1;
    return 0;
}

/* Checks the combination of keys. */
static int check_keys(const struct schema *s, const struct entry *e, const struct yaml_node *key,
                      struct err *err)
{
    const struct yaml_node *tcp = e->port ? e->port : e->host;
    if (!e->port && !e->unix_path) {
        yaml_tree_err(s->tree, key, err, "service \"%s\" has no port", key->text);
        return err_hint(err, "add \"port: N\", the port that serves its /debug/pprof, or \"unix: /PATH\"");
    }
    if (e->unix_path && tcp) {
        yaml_tree_err(s->tree, tcp->key, err, "\"%s\" has no meaning with \"unix\"", tcp->key->text);
        return err_hint(err, "a service listens on a port or on a Unix socket");
    }
    if (e->tls && !e->service->https) {
        yaml_tree_err(s->tree, e->tls->key, err, "\"tls\" has no meaning without \"scheme: https\"");
        return err_hint(err, "add \"scheme: https\"");
    }
    return 0;
}

static int read_one(const struct schema *s, const struct yaml_node *value, struct err *err)
{
    if (schema_check_name(s, value->key, "service", err) < 0 ||
        schema_require_map(s, value, "settings", err) < 0)
        return -1;
    struct entry e = {.service = service_new(value->key->text, 0)};
    if (!e.service)
        return err_nomem(err);
    if (schema_read_settings(s, value, service_keys, &e, err) < 0 || check_keys(s, &e, value->key, err) < 0) {
        service_free(e.service);
        return -1;
    }
    if (services_add(&s->inv->services, e.service, err) < 0)
        return -1;
    return name_map_add(&s->inv->service_names, e.service->name, e.service, err);
}

/* Notes a broken service, so that hosts that name it report no second error. */
static int read_or_note_broken(const struct schema *s, const struct yaml_node *value, struct err *err)
{
    if (read_one(s, value, err) == 0)
        return 0;
    if (schema_note_mistake(s, err) < 0)
        return -1;
    return name_map_add(&s->inv->broken_services, value->key->text, value, err);
}

int service_read_all(const struct schema *s, const struct yaml_node *section, struct err *err)
{
    return schema_read_section(s, section, "services", read_or_note_broken, err);
}

bool service_shares_address(const struct service *a, const struct service *b)
{
    if (a->unix_path || b->unix_path)
        return a->unix_path && b->unix_path && strcmp(a->unix_path, b->unix_path) == 0;
    return a->port == b->port && strcmp(a->host, b->host) == 0;
}
