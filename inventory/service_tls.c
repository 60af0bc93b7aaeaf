#include "inventory/service_tls.h"

#include "base/banned.h"

/* The settings while they are read. */
struct tls_reading {
    struct service_tls *tls;
    const struct yaml_node *key_node;
    const struct yaml_node *insecure_node;
};

static int read_ca(const struct schema *s, const struct yaml_node *value, void *into, struct err *err)
{
    return schema_read_path(s, value, &((struct tls_reading *)into)->tls->ca, err);
}

static int read_cert(const struct schema *s, const struct yaml_node *value, void *into, struct err *err)
{
    return schema_read_path(s, value, &((struct tls_reading *)into)->tls->cert, err);
}

static int read_key(const struct schema *s, const struct yaml_node *value, void *into, struct err *err)
{
    struct tls_reading *reading = into;
    reading->key_node = value;
    return schema_read_path(s, value, &reading->tls->key, err);
}

static int read_server_name(const struct schema *s, const struct yaml_node *value, void *into,
                            struct err *err)
{
    return schema_read_chars(s, value, &(struct schema_chars){"._-", "a host's name"},
                             &((struct tls_reading *)into)->tls->server_name, err);
}

static int read_insecure(const struct schema *s, const struct yaml_node *value, void *into, struct err *err)
{
    struct tls_reading *reading = into;
    reading->insecure_node = value;
    return schema_read_flag(s, value, &reading->tls->insecure, err);
}

static const struct schema_key keys[] = {
    {"ca", read_ca},
    {"cert", read_cert},
    {"key", read_key},
    {"server_name", read_server_name},
    {"insecure", read_insecure},
    {NULL, NULL},
};

int service_tls_read(const struct schema *s, const struct yaml_node *value, struct service_tls *ret,
                     struct err *err)
{
    struct tls_reading reading = {.tls = ret};
    if (value->kind == YAML_SCALAR) {
        yaml_tree_err(s->tree, value, err, "tls must be a mapping of settings");
        return err_hint(err,
                        "`scheme: https` enables TLS; the optional `tls: { ca: FILE }` says how to check "
                        "certificates");
    }
    if (schema_require_map(s, value, "settings", err) < 0 ||
        schema_read_settings(s, value, keys, &reading, err) < 0)
        return -1;
    if (ret->key && !ret->cert) {
        yaml_tree_err(s->tree, reading.key_node->key, err, "\"key\" has no meaning without \"cert\"");
        return err_hint(err, "add \"cert: FILE\", the certificate that the key belongs to");
    }
    if (ret->insecure && ret->ca) {
        yaml_tree_err(s->tree, reading.insecure_node->key, err,
                      "\"insecure\" and \"ca\" contradict each other");
        return err_hint(err, "keep \"ca\": with it the certificate is checked");
    }
    return 0;
}
