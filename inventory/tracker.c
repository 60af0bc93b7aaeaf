#include "inventory/sections.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inventory/secret_key.h"
#include "base/banned.h"

#define URL_MAX 500
#define NAME_CHARS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-"
#define PATH_CHARS NAME_CHARS "/_~"

/* A tracker while it is read. */
struct entry {
    struct tracker *tracker;
    const struct yaml_node *kind;
    const struct yaml_node *url;
    struct secret_location token;
};

#define KINDS_TEXT 200
/* Writes the names of all kinds, each between two copies of `quote` (which may be ""): gitlab, redmine or rt.
 * Returns dst. */
static const char *list_kinds(const struct schema *s, const char *quote, char dst[static KINDS_TEXT])
{
    const struct tracker_kind *const *kinds = s->tracker_kinds;
    size_t used = 0;
    snprintf(dst, KINDS_TEXT, "of a known tracker");
    for (size_t i = 0; kinds[i] && used < KINDS_TEXT; i++)
        used += (size_t)snprintf(dst + used, KINDS_TEXT - used, "%s%s%s%s",
                                 i == 0         ? ""
                                 : kinds[i + 1] ? ", "
                                                : " or ",
                                 quote, kinds[i]->name, quote);
    return dst;
}

static int read_kind(const struct schema *s, const struct yaml_node *value, void *into, struct err *err)
{
    struct entry *e = into;
    char names[KINDS_TEXT];
    e->kind = value;
    for (size_t i = 0; value->kind == YAML_SCALAR && s->tracker_kinds[i]; i++)
        if (strcmp(value->text, s->tracker_kinds[i]->name) == 0) {
            e->tracker->kind = s->tracker_kinds[i];
            return 0;
        }
    return yaml_tree_err(s->tree, value, err, "kind must be %s", list_kinds(s, "\"", names));
}

/* Returns the length of "HOST" or "[ADDRESS]" at the start; 0 without one. */
static size_t host_length(const char *p)
{
    if (*p != '[')
        return strspn(p, NAME_CHARS);
    size_t n = 1 + strspn(p + 1, "0123456789abcdefABCDEF:.");
    return n > 1 && p[n] == ']' ? n + 1 : 0;
}

static bool is_loopback(const char *host, size_t n)
{
    char name[URL_MAX + 1];
    bool brackets = *host == '[';
    memcpy(name, host + brackets, n - 2 * (size_t)brackets);
    name[n - 2 * (size_t)brackets] = '\0';
    return address_is_loopback(name);
}

/* Returns what is wrong with the URL; NULL: nothing. The check is strict, because a token is sent to the URL:
 * every other parser must find the same host in it. */
static const char *url_fault(const char *url)
{
    bool tls = strncmp(url, "https://", 8) == 0;
    if (!tls && strncmp(url, "http://", 7) != 0)
        return "must begin with \"https://\"";
    const char *host = url + (tls ? 8 : 7);
    size_t n = strlen(url) <= URL_MAX ? host_length(host) : 0;
    const char *rest = host + n;
    if (n > 0 && *rest == ':') {
        uint64_t port = 0;
        char digits[6] = "";
        size_t n_digits = strspn(rest + 1, "0123456789");
        if (n_digits < sizeof digits)
            memcpy(digits, rest + 1, n_digits);
        n = text_to_uint(digits, 65535, &port) == 0 && port > 0 ? n : 0;
        rest += 1 + n_digits;
    }
    if (n == 0 || (*rest && (*rest != '/' || rest[strspn(rest, PATH_CHARS)])))
        return "must be https://HOST, https://HOST:PORT or https://HOST/PATH";
    if (!tls && !is_loopback(host, n))
        return "must begin with \"https://\": without TLS the token would be sent unencrypted";
    return NULL;
}

static int read_url(const struct schema *s, const struct yaml_node *value, void *into, struct err *err)
{
    struct entry *e = into;
    e->url = value;
    if (schema_read_text(s, value, &e->tracker->url, err) < 0)
        return -1;
    const char *fault = url_fault(e->tracker->url);
    if (fault)
        return yaml_tree_err(s->tree, value, err, "url %s", fault);
    size_t n = strlen(e->tracker->url);
    while (e->tracker->url[n - 1] == '/')
        e->tracker->url[--n] = '\0';
    return 0;
}

static int read_token_env(const struct schema *s, const struct yaml_node *value, void *into, struct err *err)
{
    struct entry *e = into;
    return secret_key_read(s, value, SECRET_ENV, &e->token, err);
}

static int read_token_file(const struct schema *s, const struct yaml_node *value, void *into, struct err *err)
{
    struct entry *e = into;
    return secret_key_read(s, value, SECRET_FILE, &e->token, err);
}

static int read_token_command(const struct schema *s, const struct yaml_node *value, void *into,
                              struct err *err)
{
    struct entry *e = into;
    return secret_key_read(s, value, SECRET_COMMAND, &e->token, err);
}

static int read_ca(const struct schema *s, const struct yaml_node *value, void *into, struct err *err)
{
    return schema_read_path(s, value, &((struct entry *)into)->tracker->ca, err);
}

static const struct schema_key keys[] = {
    {"kind", read_kind},
    {"url", read_url},
    {"token_env", read_token_env},
    {"token_file", read_token_file},
    {"token_command", read_token_command},
    {"ca", read_ca},
    {"token", schema_refuse_token},
    {"password", schema_refuse_token},
    {NULL, NULL},
};

static int check_keys(const struct schema *s, const struct entry *e, const struct yaml_node *key,
                      struct err *err)
{
    char names[KINDS_TEXT];
    if (!e->kind || !e->url) {
        yaml_tree_err(s->tree, key, err, "tracker \"%s\" has no \"%s\"", key->text, e->kind ? "url" : "kind");
        return err_hint(err, "it needs kind: %s, and url: https://HOST", list_kinds(s, "", names));
    }
    if (!e->token.value) {
        yaml_tree_err(s->tree, key, err, "tracker \"%s\" does not name the location of its token", key->text);
        return err_hint(err, "add token_env, token_file or token_command");
    }
    return 0;
}

static int read_one(const struct schema *s, const struct yaml_node *value, struct err *err)
{
    struct inventory *inv = s->inv;
    if (schema_check_name(s, value->key, "tracker", err) < 0 ||
        schema_require_map(s, value, "settings", err) < 0)
        return -1;
    if (array_reserve((void **)&inv->trackers.items, &inv->trackers.cap, inv->trackers.n + 1,
                      sizeof(struct tracker *), err) < 0)
        return -1;
    struct entry e = {.tracker = calloc(1, sizeof *e.tracker)};
    if (!e.tracker || !(e.tracker->name = strdup(value->key->text))) {
        tracker_free(e.tracker);
        return err_nomem(err);
    }
    inv->trackers.items[inv->trackers.n++] = e.tracker;
    e.token.ref = &e.tracker->token;
    if (schema_read_settings(s, value, keys, &e, err) < 0 || check_keys(s, &e, value->key, err) < 0)
        return -1;
    return name_map_add(&inv->tracker_names, e.tracker->name, e.tracker, err);
}

int tracker_read_all(const struct schema *s, const struct yaml_node *section, struct err *err)
{
    return schema_read_section(s, section, "trackers", read_one, err);
}

void tracker_free(struct tracker *t)
{
    if (!t)
        return;
    free(t->name);
    free(t->url);
    free(t->ca);
    secret_ref_release(&t->token);
    free(t);
}

int inventory_tracker(const struct inventory *inv, const char *name, const struct tracker **ret,
                      struct err *err)
{
    if ((*ret = name_map_get(&inv->tracker_names, name)))
        return 0;
    err_set(err, ERR_USAGE, "no tracker \"%.60s\" in the inventory", name);
    schema_hint_nearest(&inv->tracker_names, name,
                        "trackers are defined in the inventory's section \"trackers\"", err);
    return -1;
}
