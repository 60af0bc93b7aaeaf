#include "inventory/service.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

static int read_port(const struct schema *s, const struct tree_node *value, void *into, struct err *err)
{
    return schema_port(s, value, &((struct service *)into)->port, err);
}

/* Reads text of letters, digits and `also`: what goes into a URL or a header must not be able to end it. */
static int read_limited(const struct schema *s, const struct tree_node *value, const char *also,
                        const char *what, char **ret, struct err *err)
{
    char *text = NULL;
    if (schema_text(s, value, &text, err) < 0)
        return -1;
    for (const char *p = text; *p; p++)
        if (!isalnum((unsigned char)*p) && !strchr(also, *p)) {
            free(text);
            return tree_err(s->tree, value, err, "%s must be %s", schema_label(value), what);
        }
    free(*ret);
    *ret = text;
    return 0;
}

static int read_host(const struct schema *s, const struct tree_node *value, void *into, struct err *err)
{
    return read_limited(s, value, "._-:", "a host's name or IP address", &((struct service *)into)->host,
                        err);
}

static int read_host_header(const struct schema *s, const struct tree_node *value, void *into,
                            struct err *err)
{
    return read_limited(s, value, "._-:[]", "a host's name, with :port where needed",
                        &((struct service *)into)->host_header, err);
}

static int read_path(const struct schema *s, const struct tree_node *value, void *into, struct err *err)
{
    struct service *service = into;
    char *path = NULL;
    if (value->kind == TREE_SCALAR && *value->text && *value->text != '/')
        return tree_err(s->tree, value, err, "path must begin with \"/\"");
    if (read_limited(s, value, "/._-~%!$&'()*+,;=:@", "a URL's path", &path, err) < 0)
        return -1;
    // NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): read_limited has set it
    for (size_t n = strlen(path); n > 0 && path[n - 1] == '/'; n--)
        path[n - 1] = '\0';
    free(service->path);
    service->path = path;
    return 0;
}

static int read_kinds(const struct schema *s, const struct tree_node *value, void *into, struct err *err)
{
    struct service *service = into;
    if (schema_list(s, value, "kinds of profile", err) < 0)
        return -1;
    for (const struct tree_node *v = value->first; v; v = v->next) {
        char *kind = NULL;
        if (schema_text(s, v, &kind, err) < 0)
            return -1;
        int rc = strlist_add(&service->kinds, kind, err);
        free(kind);
        if (rc < 0)
            return -1;
    }
    return 0;
}

static int read_hint(const struct schema *s, const struct tree_node *value, void *into, struct err *err)
{
    return schema_text(s, value, &((struct service *)into)->hint, err);
}

static const struct schema_key keys[] = {
    {"port", read_port},   {"host", read_host}, {"path", read_path},
    {"kinds", read_kinds}, {"hint", read_hint}, {"host_header", read_host_header},
    {NULL, NULL},
};

struct service *service_new(const char *name, unsigned port)
{
    struct service *service = calloc(1, sizeof *service);
    if (!service)
        return NULL;
    service->name = strdup(name);
    service->host = strdup("localhost");
    service->path = strdup("/debug/pprof");
    service->port = port;
    if (service->name && service->host && service->path)
        return service;
    service_free(service);
    return NULL;
}

static int read_one(const struct schema *s, const struct tree_node *value, struct err *err)
{
    if (schema_name(s, value->key, "service", err) < 0 || schema_map(s, value, "settings", err) < 0)
        return -1;
    struct service *service = service_new(value->key->text, 0);
    if (!service)
        return err_nomem(err);
    if (schema_settings(s, value, keys, service, err) < 0) {
        service_free(service);
        return -1;
    }
    if (!service->port) {
        service_free(service);
        tree_err(s->tree, value->key, err, "service \"%s\" has no port", value->key->text);
        return err_hint(err, "add \"port: N\", the port its /debug/pprof listens on");
    }
    if (services_add(&s->inv->services, service, err) < 0)
        return -1;
    return names_add(&s->inv->service_names, service->name, service, err);
}

int service_read_all(const struct schema *s, const struct tree_node *section, struct err *err)
{
    if (schema_map(s, section, "services", err) < 0)
        return -1;
    for (const struct tree_node *v = section->first; v; v = v->next)
        if (read_one(s, v, err) < 0)
            return -1;
    return 0;
}
