#include "inventory/service_auth.h"

#include <string.h>

#include "inventory/secret_key.h"
#include "base/banned.h"

#define PASSWORD_KEYS "password_env, password_file or password_command"

#define USER_MAX 255

/* The settings while they are read. */
struct auth_reading {
    struct service_auth *auth;
    const struct yaml_node *user;
    struct secret_location secret;
};

static bool is_bearer(const struct yaml_node *secret)
{
    return strncmp(secret->key->text, "bearer", 6) == 0;
}

static int read_user(const struct schema *s, const struct yaml_node *value, void *into, struct err *err)
{
    struct auth_reading *reading = into;
    reading->user = value;
    if (schema_read_text(s, value, &reading->auth->user, err) < 0)
        return -1;
    if (strlen(reading->auth->user) > USER_MAX)
        return yaml_tree_err(s->tree, value, err, "user must have at most %d characters", USER_MAX);
    /* RFC 7617, section 2: the password is everything after the first colon. */
    if (strchr(reading->auth->user, ':'))
        return yaml_tree_err(s->tree, value, err, "user must not contain \":\"");
    return 0;
}

static int read_env(const struct schema *s, const struct yaml_node *value, void *into, struct err *err)
{
    struct auth_reading *reading = into;
    return secret_key_read(s, value, SECRET_ENV, &reading->secret, err);
}

static int read_file(const struct schema *s, const struct yaml_node *value, void *into, struct err *err)
{
    struct auth_reading *reading = into;
    return secret_key_read(s, value, SECRET_FILE, &reading->secret, err);
}

static int read_command(const struct schema *s, const struct yaml_node *value, void *into, struct err *err)
{
    struct auth_reading *reading = into;
    return secret_key_read(s, value, SECRET_COMMAND, &reading->secret, err);
}

static const struct schema_key keys[] = {
    {"bearer_env", read_env},
    {"bearer_file", read_file},
    {"bearer_command", read_command},
    {"user", read_user},
    {"password_env", read_env},
    {"password_file", read_file},
    {"password_command", read_command},
    {"bearer", schema_refuse_secret},
    {"token", schema_refuse_secret},
    {"password", schema_refuse_secret},
    {NULL, NULL},
};

static int refuse_missing_secret(const struct schema *s, const struct yaml_node *value,
                                 const struct auth_reading *reading, struct err *err)
{
    if (reading->user) {
        yaml_tree_err(s->tree, reading->user->key, err, "\"user\" has no password");
        return err_hint(err, "add " PASSWORD_KEYS);
    }
    yaml_tree_err(s->tree, value->key, err, "auth does not name the location of the secret");
    return err_hint(
        err, "a token: bearer_env, bearer_file or bearer_command; a password: user with " PASSWORD_KEYS);
}

int service_auth_read(const struct schema *s, const struct yaml_node *value, struct service_auth *ret,
                      struct err *err)
{
    struct auth_reading reading = {.auth = ret, .secret = {.ref = &ret->secret}};
    if (schema_require_map(s, value, "settings", err) < 0 ||
        schema_read_settings(s, value, keys, &reading, err) < 0)
        return -1;
    if (!reading.secret.value)
        return refuse_missing_secret(s, value, &reading, err);
    if (reading.user && is_bearer(reading.secret.value)) {
        yaml_tree_err(s->tree, reading.user->key, err, "\"user\" has no meaning with \"%s\"",
                      reading.secret.value->key->text);
        return err_hint(err, "a token has no user; a user has " PASSWORD_KEYS);
    }
    if (!reading.user && !is_bearer(reading.secret.value)) {
        yaml_tree_err(s->tree, reading.secret.value->key, err, "\"%s\" has no meaning without \"user\"",
                      reading.secret.value->key->text);
        return err_hint(
            err, "add \"user: NAME\"; a token belongs under bearer_env, bearer_file or bearer_command");
    }
    return 0;
}
