#include "inventory/secret_key.h"

#include <ctype.h>

#include "base/banned.h"

static bool is_variable(const char *name)
{
    if (isdigit((unsigned char)*name))
        return false;
    while (isalnum((unsigned char)*name) || *name == '_')
        name++;
    return !*name;
}

int secret_key_read(const struct schema *s, const struct yaml_node *value, enum secret_kind kind,
                    struct secret_location *location, struct err *err)
{
    struct secret_ref *ret = location->ref;
    if (location->value) {
        yaml_tree_err(s->tree, value->key, err, "\"%s\" and \"%s\" both name a secret",
                      location->value->key->text, value->key->text);
        return err_hint(err, "keep one of them");
    }
    location->value = value;
    ret->kind = kind;
    if (kind == SECRET_FILE)
        return schema_read_path(s, value, &ret->locator, err);
    if (schema_read_text(s, value, &ret->locator, err) < 0)
        return -1;
    if (kind != SECRET_ENV || is_variable(ret->locator))
        return 0;
    yaml_tree_err(s->tree, value, err, "%s must be the name of an environment variable",
                  schema_value_name(value));
    return err_hint(err, "a name has letters, digits and \"_\"; the secret is the variable's value");
}
