#include "inventory/sections.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inventory/service_auth.h"
#include "inventory/service_tls.h"
#include "inventory/source_make.h"
#include "base/banned.h"

#define URL_MAX 1000
/* The characters of a URL's path and query (RFC 3986), without a fragment. */
#define URL_CHARS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-~%!$&'()*+,;=:@?[]"
#define MATCH_LIMIT 100000

static const struct {
    const char *name;
    bool has_url;
} kinds[] = {
    [SOURCE_PROMETHEUS] = {"prometheus", true},
    [SOURCE_HTTP_SD] = {"http_sd", true},
    [SOURCE_FILE_SD] = {"file_sd", false},
    [SOURCE_PARCA] = {"parca", false},
    [SOURCE_SCRAPE_CONFIGS] = {"scrape_configs", false},
};

/* A source while it is read. */
struct entry {
    struct source *source;
    const struct yaml_node *url_or_path; /* the value of the key that names the kind */
    const struct yaml_node *through;
    const struct yaml_node *tls;
    const struct yaml_node *auth;
    const struct yaml_node *max_age;
};

const char *source_kind_name(enum source_kind kind)
{
    return kinds[kind].name;
}

bool source_kind_has_url(enum source_kind kind)
{
    return kinds[kind].has_url;
}

int source_kind_parse(struct str name, enum source_kind *ret)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (str_is(name, kinds[i].name)) {
            *ret = (enum source_kind)i;
            return 0;
        }
    return -1;
}

void source_free(struct source *s)
{
    if (!s)
        return;
    free(s->name);
    free(s->url_or_path);
    service_free(s->endpoint);
    strlist_release(&s->jobs);
    free(s->match);
    pcre2_code_free(s->matcher);
    free(s);
}

void sources_release(struct sources *l)
{
    for (size_t i = 0; i < l->n; i++)
        source_free(l->items[i]);
    free(l->items);
    name_map_release(&l->by_name);
    *l = (struct sources){0};
}

/* ---- URLs ---------------------------------------------------------------------------------------------- */

size_t source_length_without_page(const char *path, size_t n)
{
    static const char *const pages[] = {"/api/v1/targets", "/targets", "/graph", "/classic/targets"};
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++) {
        size_t m = strlen(pages[i]);
        if (n >= m && memcmp(path + n - m, pages[i], m) == 0)
            return n - m;
    }
    return n;
}

/* Builds the path of the request: for a Prometheus, its API below `path`; for other kinds, `path` itself. */
static char *request_path(enum source_kind kind, const char *path)
{
    char *ret = NULL;
    size_t n = strcspn(path, "?");
    if (kind != SOURCE_PROMETHEUS)
        return asprintf(&ret, "%s%s", *path == '/' ? "" : "/", path) < 0 ? NULL : ret;
    while (n > 0 && path[n - 1] == '/')
        n--;
    n = source_length_without_page(path, n);
    return asprintf(&ret, "%.*s/api/v1/targets?state=active", (int)n, path) < 0 ? NULL : ret;
}

static int refuse_url(struct err *err)
{
    err_set(err, ERR_USAGE, "it must be http://HOST[:PORT][/PATH] or https://...");
    return err_hint(err, "credentials belong under `auth:`, never into the URL");
}

/* Parses the URL strictly, because a secret may be sent to it: every other parser must find the same host in
 * it. */
int source_set_url(struct source *s, const char *url, struct err *err)
{
    char host[ADDRESS_MAX];
    size_t n = strlen(url);
    bool https = strncmp(url, "https://", 8) == 0;
    unsigned port = https ? 443 : 80;
    if ((!https && strncmp(url, "http://", 7) != 0) || n > URL_MAX || strspn(url, URL_CHARS) < n)
        return refuse_url(err);
    const char *authority = url + (https ? 8 : 7), *path = authority + strcspn(authority, "/?");
    size_t n_authority = (size_t)(path - authority);
    if (memchr(authority, '@', n_authority) || address_split(authority, n_authority, host, &port) < 0)
        return refuse_url(err);
    if (!s->endpoint && !(s->endpoint = service_new(s->name ? s->name : kinds[s->kind].name, 0)))
        return err_nomem(err);
    free(s->endpoint->host);
    free(s->endpoint->path);
    s->endpoint->host = strdup(host);
    s->endpoint->path = request_path(s->kind, path);
    s->endpoint->port = port;
    s->endpoint->https = https;
    return s->endpoint->host && s->endpoint->path ? 0 : err_nomem(err);
}

void source_set_literal(struct source *s, const char *written)
{
    /* The home directory replaces a tilde. */
    s->n_literal = strlen(s->url_or_path) - strlen(written + (*written == '~'));
}

static int read_url_or_path(const struct schema *s, const struct yaml_node *value, void *into,
                            struct err *err)
{
    struct entry *e = into;
    size_t kind = 0;
    if (e->url_or_path) {
        yaml_tree_err(s->tree, value->key, err, "\"%s\" and \"%s\" are two sources",
                      e->url_or_path->key->text, value->key->text);
        return err_hint(err, "write one entry for each");
    }
    e->url_or_path = value;
    while (strcmp(kinds[kind].name, value->key->text) != 0)
        kind++;
    e->source->kind = (enum source_kind)kind;
    if (!kinds[kind].has_url) {
        if (schema_read_path(s, value, &e->source->url_or_path, err) < 0)
            return -1;
        source_set_literal(e->source, value->text);
        return 0;
    }
    if (schema_read_text(s, value, &e->source->url_or_path, err) < 0)
        return -1;
    return source_set_url(e->source, e->source->url_or_path, err) < 0
               ? yaml_tree_err_wrap(s->tree, value, err)
               : 0;
}

/* ---- keys ---------------------------------------------------------------------------------------------- */

static int read_name(const struct schema *s, const struct yaml_node *value, void *into, struct err *err)
{
    if (schema_read_text(s, value, &((struct entry *)into)->source->name, err) < 0)
        return -1;
    return schema_check_name(s, value, "source", err);
}

static int read_job(const struct schema *s, const struct yaml_node *value, void *into, struct err *err)
{
    struct strlist *jobs = &((struct entry *)into)->source->jobs;
    bool is_list = value->kind == YAML_LIST;
    for (const struct yaml_node *v = is_list ? value->first : value; v; v = is_list ? v->next : NULL) {
        char *job = NULL;
        if (schema_read_text(s, v, &job, err) < 0)
            return -1;
        int rc = strlist_add(jobs, job, err);
        free(job);
        if (rc < 0)
            return -1;
    }
    return jobs->n ? 0
                   : yaml_tree_err(s->tree, value, err, "job must be the name of a job, or a list of names");
}

static int refuse_unknown(const struct schema *s, const struct yaml_node *value, const char *what,
                          const struct name_map *known, struct err *err)
{
    yaml_tree_err(s->tree, value, err, "unknown %s \"%.60s\"", what, value->text);
    schema_hint_nearest(known, value->text, NULL, err);
    return -1;
}

static int read_service(const struct schema *s, const struct yaml_node *value, void *into, struct err *err)
{
    struct source *source = ((struct entry *)into)->source;
    if (value->kind != YAML_SCALAR)
        return yaml_tree_err(s->tree, value, err, "service must be the name of a service");
    source->service = name_map_get(&s->inv->service_names, value->text);
    if (!source->service)
        return refuse_unknown(s, value, "service", &s->inv->service_names, err);
    if (!source->service->unix_path)
        return 0;
    yaml_tree_err(s->tree, value, err, "service \"%s\" listens on a Unix socket", source->service->name);
    return err_hint(err, "a source defines ports: name a service with \"port\"");
}

static int read_host_name(const struct schema *s, const struct yaml_node *value, const struct host **ret,
                          struct err *err)
{
    if (value->kind != YAML_SCALAR)
        return yaml_tree_err(s->tree, value, err, "%s must be the name of a host", value->key->text);
    *ret = name_map_get(&s->inv->host_names, value->text);
    return *ret ? 0 : refuse_unknown(s, value, "host", &s->inv->host_names, err);
}

static int read_host(const struct schema *s, const struct yaml_node *value, void *into, struct err *err)
{
    return read_host_name(s, value, &((struct entry *)into)->source->host, err);
}

static int read_through(const struct schema *s, const struct yaml_node *value, void *into, struct err *err)
{
    struct entry *e = into;
    e->through = value;
    return read_host_name(s, value, &e->source->through, err);
}

static int read_match(const struct schema *s, const struct yaml_node *value, void *into, struct err *err)
{
    struct source *source = ((struct entry *)into)->source;
    int code = 0;
    PCRE2_SIZE at = 0;
    PCRE2_UCHAR message[200];
    if (schema_read_text(s, value, &source->match, err) < 0)
        return -1;
    source->matcher = pcre2_compile((PCRE2_SPTR)source->match, PCRE2_ZERO_TERMINATED,
                                    PCRE2_UTF | PCRE2_DOLLAR_ENDONLY, &code, &at, NULL);
    if (source->matcher)
        return 0;
    pcre2_get_error_message(code, message, sizeof message);
    return yaml_tree_err(s->tree, value, err, "match is no regular expression: %s, at character %zu",
                         (const char *)message, at + 1);
}

/* Creates the endpoint if it is missing: its settings may precede the URL in the file. */
static int make_endpoint(struct source *s, struct err *err)
{
    if (!s->endpoint)
        s->endpoint = service_new("", 0);
    return s->endpoint ? 0 : err_nomem(err);
}

static int read_tls(const struct schema *s, const struct yaml_node *value, void *into, struct err *err)
{
    struct entry *e = into;
    e->tls = value;
    return make_endpoint(e->source, err) < 0 ? -1
                                             : service_tls_read(s, value, &e->source->endpoint->tls, err);
}

static int read_auth(const struct schema *s, const struct yaml_node *value, void *into, struct err *err)
{
    struct entry *e = into;
    e->auth = value;
    return make_endpoint(e->source, err) < 0 ? -1
                                             : service_auth_read(s, value, &e->source->endpoint->auth, err);
}

static int read_max_age(const struct schema *s, const struct yaml_node *value, void *into, struct err *err)
{
    struct entry *e = into;
    char *text = NULL;
    e->max_age = value;
    if (schema_read_text(s, value, &text, err) < 0)
        return -1;
    int rc = text_to_duration(text, &e->source->max_age_ms, err);
    free(text);
    if (rc == 0)
        return 0;
    if (err)
        err->kind = ERR_USAGE;
    return yaml_tree_err_wrap(s->tree, value, err);
}

static const struct schema_key keys[] = {
    {"prometheus", read_url_or_path},
    {"http_sd", read_url_or_path},
    {"file_sd", read_url_or_path},
    {"parca", read_url_or_path},
    {"scrape_configs", read_url_or_path},
    {"name", read_name},
    {"job", read_job},
    {"service", read_service},
    {"host", read_host},
    {"match", read_match},
    {"through", read_through},
    {"tls", read_tls},
    {"auth", read_auth},
    {"max_age", read_max_age},
    {"bearer", schema_refuse_secret},
    {"token", schema_refuse_secret},
    {"password", schema_refuse_secret},
    {NULL, NULL},
};

/* Checks the combination of keys. */
static int check_keys(const struct schema *s, const struct entry *e, const struct yaml_node *at,
                      struct err *err)
{
    if (!e->url_or_path) {
        yaml_tree_err(s->tree, at, err, "an entry names no source");
        return err_hint(err, "add one of prometheus, http_sd, file_sd, parca and scrape_configs");
    }
    const struct yaml_node *url_keys[] = {e->through, e->tls, e->auth, e->max_age};
    for (size_t i = 0; i < sizeof url_keys / sizeof *url_keys; i++)
        if (url_keys[i] && !kinds[e->source->kind].has_url)
            return yaml_tree_err(s->tree, url_keys[i]->key, err, "\"%s\" has no meaning with \"%s\"",
                                 url_keys[i]->key->text, e->url_or_path->key->text);
    if (!e->tls || e->source->endpoint->https)
        return 0;
    yaml_tree_err(s->tree, e->tls->key, err, "\"tls\" has no meaning without https://");
    return -1;
}

/* ---- the section --------------------------------------------------------------------------------------- */

int source_set_name(const struct sources *others, struct sources *l, struct source *s, struct err *err)
{
    char name[64];
    unsigned *last = &l->last_number[s->kind];
    if (s->name)
        return 0;
    if (*last < others->last_number[s->kind])
        *last = others->last_number[s->kind];
    do {
        ++*last;
        snprintf(name, sizeof name, *last > 1 ? "%s-%u" : "%s", kinds[s->kind].name, *last);
    } while (name_map_get(&l->by_name, name) || name_map_get(&others->by_name, name));
    s->name = strdup(name);
    return s->name ? 0 : err_nomem(err);
}

static int register_name(struct sources *l, const struct source *s, struct err *err)
{
    return !s->name || name_map_get(&l->by_name, s->name) ? 0 : name_map_add(&l->by_name, s->name, s, err);
}

int sources_add(struct sources *l, struct source *s, struct err *err)
{
    if (array_reserve((void **)&l->items, &l->cap, l->n + 1, sizeof(struct source *), err) < 0 ||
        register_name(l, s, err) < 0) {
        source_free(s);
        return -1;
    }
    l->items[l->n++] = s;
    return 0;
}

/* Sets the endpoint's name, which messages about the source's secret contain. */
static int name_endpoint(struct source *s, struct err *err)
{
    if (!s->endpoint)
        return 0;
    free(s->endpoint->name);
    s->endpoint->name = strdup(s->name);
    return s->endpoint->name ? 0 : err_nomem(err);
}

static int read_one(const struct schema *s, const struct yaml_node *value, struct err *err)
{
    if (value->kind != YAML_MAP)
        return yaml_tree_err(s->tree, value, err, "an entry must be a mapping, as in { prometheus: URL }");
    struct entry e = {.source = calloc(1, sizeof *e.source)};
    if (!e.source)
        return err_nomem(err);
    e.source->max_age_ms = SOURCE_MAX_AGE_MS;
    if (schema_read_settings(s, value, keys, &e, err) < 0 || check_keys(s, &e, value, err) < 0) {
        source_free(e.source);
        return -1;
    }
    e.source->line = value->line;
    const struct source *first =
        e.source->name ? name_map_get(&s->inv->sources.by_name, e.source->name) : NULL;
    if (first) {
        yaml_tree_err(s->tree, value, err, "source \"%s\" is defined twice, first in line %zu",
                      e.source->name, first->line);
        source_free(e.source);
        return -1;
    }
    return sources_add(&s->inv->sources, e.source, err);
}

int source_read_all(const struct schema *s, const struct yaml_node *section, struct err *err)
{
    if (schema_require_list(s, section, "sources", err) < 0)
        return -1;
    for (const struct yaml_node *v = section->first; v; v = v->next)
        if (read_one(s, v, err) < 0 && schema_note_mistake(s, err) < 0)
            return -1;
    struct sources *l = &s->inv->sources;
    for (size_t i = 0; i < l->n; i++)
        if (source_set_name(l, l, l->items[i], err) < 0 || register_name(l, l->items[i], err) < 0 ||
            name_endpoint(l->items[i], err) < 0)
            return -1;
    return 0;
}

const struct source *const *inventory_sources(const struct inventory *inv, size_t *ret_n)
{
    *ret_n = inv->sources.n;
    return (const struct source *const *)inv->sources.items;
}

/* ---- match --------------------------------------------------------------------------------------------- */

bool source_match(const struct source *s, const char *address, char *ret, size_t cap)
{
    pcre2_match_data *found = pcre2_match_data_create_from_pattern(s->matcher, NULL);
    pcre2_match_context *limits = pcre2_match_context_create(NULL);
    bool fits = false;
    if (found && limits) {
        pcre2_set_match_limit(limits, MATCH_LIMIT);
        int n = pcre2_match(s->matcher, (PCRE2_SPTR)address, PCRE2_ZERO_TERMINATED, 0, 0, found, limits);
        const PCRE2_SIZE *at = pcre2_get_ovector_pointer(found);
        const PCRE2_SIZE *group = n > 1 ? at + 2 : at;
        fits = n > 0 && group[0] != PCRE2_UNSET && group[1] >= group[0] && group[1] - group[0] < cap;
        if (fits)
            snprintf(ret, cap, "%.*s", (int)(group[1] - group[0]), address + group[0]);
    }
    pcre2_match_data_free(found);
    pcre2_match_context_free(limits);
    return fits;
}
