#include "inventory/source.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "inventory/discovery.h"
#include "inventory/discovered.h"
#include "inventory/service.h"
#include "inventory/service_auth.h"
#include "inventory/service_tls.h"
#include "base/banned.h"

#define URL_MAX 1000
/* The characters of a URL's path and query (RFC 3986), without a fragment. */
#define URL_CHARS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-~%!$&'()*+,;=:@?[]"
#define MATCH_LIMIT 100000

static const struct {
    const char *name;
    bool url;
} kinds[] = {
    [SOURCE_PROMETHEUS] = {"prometheus", true},
    [SOURCE_HTTP_SD] = {"http_sd", true},
    [SOURCE_FILE_SD] = {"file_sd", false},
    [SOURCE_PARCA] = {"parca", false},
    [SOURCE_SCRAPE_CONFIGS] = {"scrape_configs", false},
};
#define N_KINDS (sizeof kinds / sizeof *kinds)

/* A source while it is read. */
struct entry {
    struct source *source;
    const struct yaml_node *place; /* the key of the kind */
    const struct yaml_node *through;
    const struct yaml_node *tls;
    const struct yaml_node *auth;
    const struct yaml_node *max_age;
};

const char *source_kind_name(enum source_kind kind)
{
    return kinds[kind].name;
}

void source_free(struct source *s)
{
    if (!s)
        return;
    free(s->name);
    free(s->place);
    service_free(s->ask);
    strlist_release(&s->jobs);
    free(s->match);
    pcre2_code_free(s->matcher);
    free(s);
}

/* ---- URLs ---------------------------------------------------------------------------------------------- */

/* Cuts the paths of Prometheus' own pages, because users copy them. */
static size_t length_without_page(const char *path, size_t n)
{
    static const char *const pages[] = {"/api/v1/targets", "/targets", "/graph", "/classic/targets"};
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++) {
        size_t m = strlen(pages[i]);
        if (n >= m && memcmp(path + n - m, pages[i], m) == 0)
            return n - m;
    }
    return n;
}

/* Builds the path of the request: Prometheus' API below the path, else the path itself. */
static char *request_path(enum source_kind kind, const char *path)
{
    char *ret = NULL;
    size_t n = strcspn(path, "?");
    if (kind != SOURCE_PROMETHEUS)
        return asprintf(&ret, "%s%s", *path == '/' ? "" : "/", path) < 0 ? NULL : ret;
    while (n > 0 && path[n - 1] == '/')
        n--;
    n = length_without_page(path, n);
    return asprintf(&ret, "%.*s/api/v1/targets?state=active", (int)n, path) < 0 ? NULL : ret;
}

static int refuse_url(struct err *err)
{
    err_set(err, ERR_USAGE, "it must be http://HOST[:PORT][/PATH] or https://...");
    return err_hint(err, "who asks goes under `auth:`, never into the URL");
}

/* Parses the URL strictly, because a secret may be sent there: no other parser may read it in another way. */
static int read_url(struct source *s, const char *url, struct err *err)
{
    struct discovered parts = {0};
    size_t job = 0, n = strlen(url);
    bool https = strncmp(url, "https://", 8) == 0;
    if ((!https && strncmp(url, "http://", 7) != 0) || n > URL_MAX || strspn(url, URL_CHARS) < n)
        return refuse_url(err);
    const char *host = url + (https ? 8 : 7), *path = host + strcspn(host, "/?");
    int rc = discovered_add_job(&parts, "", &job, err);
    if (rc == 0)
        rc = discovered_add(&parts, job, url, https, err);
    if (rc == 0 && (parts.n == 0 || memchr(host, '@', (size_t)(path - host))))
        rc = refuse_url(err);
    if (rc == 0 && !s->ask && !(s->ask = service_new(s->name ? s->name : kinds[s->kind].name, 0)))
        rc = err_nomem(err);
    if (rc == 0) {
        free(s->ask->host);
        free(s->ask->path);
        s->ask->host = strdup(parts.targets[0].address);
        s->ask->path = request_path(s->kind, path);
        s->ask->port = parts.targets[0].port;
        s->ask->https = https;
        rc = s->ask->host && s->ask->path ? 0 : err_nomem(err);
    }
    discovered_release(&parts);
    return rc;
}

static int read_place(const struct schema *s, const struct yaml_node *value, void *into, struct err *err)
{
    struct entry *e = into;
    size_t kind = 0;
    if (e->place) {
        yaml_tree_err(s->tree, value->key, err, "\"%s\" and \"%s\" are two sources", e->place->key->text,
                      value->key->text);
        return err_hint(err, "make an entry of its own of each");
    }
    e->place = value;
    while (strcmp(kinds[kind].name, value->key->text) != 0)
        kind++;
    e->source->kind = (enum source_kind)kind;
    if (!kinds[kind].url)
        return schema_path(s, value, &e->source->place, err);
    if (schema_text(s, value, &e->source->place, err) < 0)
        return -1;
    return read_url(e->source, e->source->place, err) < 0 ? yaml_tree_err_wrap(s->tree, value, err) : 0;
}

/* ---- keys ---------------------------------------------------------------------------------------------- */

static int read_name(const struct schema *s, const struct yaml_node *value, void *into, struct err *err)
{
    if (schema_text(s, value, &((struct entry *)into)->source->name, err) < 0)
        return -1;
    return schema_name(s, value, "source", err);
}

static int read_job(const struct schema *s, const struct yaml_node *value, void *into, struct err *err)
{
    struct strlist *jobs = &((struct entry *)into)->source->jobs;
    bool list = value->kind == YAML_LIST;
    for (const struct yaml_node *v = list ? value->first : value; v; v = list ? v->next : NULL) {
        char *job = NULL;
        if (schema_text(s, v, &job, err) < 0)
            return -1;
        int rc = strlist_add(jobs, job, err);
        free(job);
        if (rc < 0)
            return -1;
    }
    return jobs->n ? 0
                   : yaml_tree_err(s->tree, value, err, "job must be the name of a job, or a list of such");
}

static int refuse_kind(const struct schema *s, const struct yaml_node *value, const char *what,
                       const struct names *known, struct err *err)
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
    source->service = names_get(&s->inv->service_names, value->text);
    if (!source->service)
        return refuse_kind(s, value, "service", &s->inv->service_names, err);
    if (!source->service->unix_path)
        return 0;
    yaml_tree_err(s->tree, value, err, "service \"%s\" listens on a Unix socket", source->service->name);
    return err_hint(err, "what is found are ports: name a service with \"port\"");
}

static int read_host_name(const struct schema *s, const struct yaml_node *value, const struct host **ret,
                          struct err *err)
{
    if (value->kind != YAML_SCALAR)
        return yaml_tree_err(s->tree, value, err, "%s must be the name of a host", value->key->text);
    *ret = names_get(&s->inv->host_names, value->text);
    return *ret ? 0 : refuse_kind(s, value, "host", &s->inv->host_names, err);
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
    PCRE2_UCHAR words[200];
    if (schema_text(s, value, &source->match, err) < 0)
        return -1;
    source->matcher = pcre2_compile((PCRE2_SPTR)source->match, PCRE2_ZERO_TERMINATED,
                                    PCRE2_UTF | PCRE2_DOLLAR_ENDONLY, &code, &at, NULL);
    if (source->matcher)
        return 0;
    pcre2_get_error_message(code, words, sizeof words);
    return yaml_tree_err(s->tree, value, err, "match is no regular expression: %s, at character %zu",
                         (const char *)words, at + 1);
}

/* Settings of the request may precede the URL. */
static int need_ask(struct source *s, struct err *err)
{
    if (!s->ask)
        s->ask = service_new("", 0);
    return s->ask ? 0 : err_nomem(err);
}

static int read_tls(const struct schema *s, const struct yaml_node *value, void *into, struct err *err)
{
    struct entry *e = into;
    e->tls = value;
    return need_ask(e->source, err) < 0 ? -1 : service_tls_read(s, value, &e->source->ask->tls, err);
}

static int read_auth(const struct schema *s, const struct yaml_node *value, void *into, struct err *err)
{
    struct entry *e = into;
    e->auth = value;
    return need_ask(e->source, err) < 0 ? -1 : service_auth_read(s, value, &e->source->ask->auth, err);
}

static int read_max_age(const struct schema *s, const struct yaml_node *value, void *into, struct err *err)
{
    struct entry *e = into;
    char *text = NULL;
    e->max_age = value;
    if (schema_text(s, value, &text, err) < 0)
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
    {"prometheus", read_place},  {"http_sd", read_place},        {"file_sd", read_place},
    {"parca", read_place},       {"scrape_configs", read_place}, {"name", read_name},
    {"job", read_job},           {"service", read_service},      {"host", read_host},
    {"match", read_match},       {"through", read_through},      {"tls", read_tls},
    {"auth", read_auth},         {"max_age", read_max_age},      {"bearer", schema_no_secret},
    {"token", schema_no_secret}, {"password", schema_no_secret}, {NULL, NULL},
};

/* Checks the combination of keys. */
static int check_keys(const struct schema *s, const struct entry *e, const struct yaml_node *at,
                      struct err *err)
{
    if (!e->place) {
        yaml_tree_err(s->tree, at, err, "an entry does not say where to look");
        return err_hint(err, "add one of prometheus, http_sd, file_sd, parca and scrape_configs");
    }
    const struct yaml_node *of_url[] = {e->through, e->tls, e->auth, e->max_age};
    for (size_t i = 0; i < sizeof of_url / sizeof *of_url; i++)
        if (of_url[i] && !kinds[e->source->kind].url)
            return yaml_tree_err(s->tree, of_url[i]->key, err, "\"%s\" has no meaning with \"%s\"",
                                 of_url[i]->key->text, e->place->key->text);
    if (!e->tls || e->source->ask->https)
        return 0;
    yaml_tree_err(s->tree, e->tls->key, err, "\"tls\" has no meaning without https://");
    return -1;
}

/* ---- the section --------------------------------------------------------------------------------------- */

/* Names a source KIND, KIND-2, KIND-3, ...: the count of a kind continues after its last number. */
static int give_name(struct inventory *inv, struct source *s, struct err *err)
{
    char name[64];
    unsigned *last = &inv->sources.last_number[s->kind];
    if (s->name)
        return 0;
    do {
        ++*last;
        snprintf(name, sizeof name, *last > 1 ? "%s-%u" : "%s", kinds[s->kind].name, *last);
    } while (names_get(&inv->sources.by_name, name));
    s->name = strdup(name);
    return s->name ? 0 : err_nomem(err);
}

static int register_name(struct inventory *inv, const struct source *s, struct err *err)
{
    struct names *names = &inv->sources.by_name;
    return !s->name || names_get(names, s->name) ? 0 : names_add(names, s->name, s, err);
}

/* Takes ownership of the source, also on failure. */
static int add_source(struct inventory *inv, struct source *s, struct err *err)
{
    struct sources *l = &inv->sources;
    if (array_reserve((void **)&l->items, &l->cap, l->n + 1, sizeof(struct source *), err) < 0 ||
        register_name(inv, s, err) < 0) {
        source_free(s);
        return -1;
    }
    l->items[l->n++] = s;
    return 0;
}

/* Sets the name under which messages ask for the source's secret. */
static int name_ask(struct source *s, struct err *err)
{
    if (!s->ask)
        return 0;
    free(s->ask->name);
    s->ask->name = strdup(s->name);
    return s->ask->name ? 0 : err_nomem(err);
}

static int read_one(const struct schema *s, const struct yaml_node *value, struct err *err)
{
    if (value->kind != YAML_MAP)
        return yaml_tree_err(s->tree, value, err, "an entry must be a mapping, as in { prometheus: URL }");
    struct entry e = {.source = calloc(1, sizeof *e.source)};
    if (!e.source)
        return err_nomem(err);
    e.source->max_age_ms = SOURCE_MAX_AGE_MS;
    if (schema_settings(s, value, keys, &e, err) < 0 || check_keys(s, &e, value, err) < 0) {
        source_free(e.source);
        return -1;
    }
    e.source->line = value->line;
    const struct source *first = e.source->name ? names_get(&s->inv->sources.by_name, e.source->name) : NULL;
    if (first) {
        yaml_tree_err(s->tree, value, err, "source \"%s\" is there twice, first in line %zu", e.source->name,
                      first->line);
        source_free(e.source);
        return -1;
    }
    return add_source(s->inv, e.source, err);
}

int source_read_all(const struct schema *s, const struct yaml_node *section, struct err *err)
{
    if (schema_list(s, section, "sources", err) < 0)
        return -1;
    for (const struct yaml_node *v = section->first; v; v = v->next)
        if (read_one(s, v, err) < 0 && schema_note(s, err) < 0)
            return -1;
    for (size_t i = 0; i < s->inv->sources.n; i++)
        if (give_name(s->inv, s->inv->sources.items[i], err) < 0 ||
            register_name(s->inv, s->inv->sources.items[i], err) < 0 ||
            name_ask(s->inv->sources.items[i], err) < 0)
            return -1;
    return 0;
}

const struct source *const *inventory_sources(const struct inventory *inv, size_t *ret_n)
{
    *ret_n = inv->sources.n;
    return (const struct source *const *)inv->sources.items;
}

/* ---- KIND:PLACE ---------------------------------------------------------------------------------------- */

static int refuse_source(const struct inventory *inv, const char *text, struct err *err)
{
    char shown[120], near_text[300];
    struct nearest near = NEAREST_INIT(text);
    for (size_t i = 0; i < inv->sources.n; i++)
        nearest_offer(&near, inv->sources.items[i]->name);
    err_set(err, ERR_USAGE, "unknown source \"%s\"", text_printable(shown, sizeof shown, text, strlen(text)));
    if (near.n)
        return err_hint(err, "did you mean %s?", nearest_text(&near, near_text, sizeof near_text));
    return err_hint(err,
                    "a source is the name of an entry under \"discovery\", a file, a URL, or KIND:PLACE, "
                    "as in prometheus:http://localhost:9090 or parca:parca.yaml");
}

/* Makes a path absolute, as in the inventory. The caller frees it. */
static int make_absolute(const char *path, char **ret, struct err *err)
{
    char dir[4096];
    if (!getcwd(dir, sizeof dir))
        return err_sys(err, "cannot tell the working directory");
    char *expanded = file_expand_home(path);
    *ret = expanded ? file_join(dir, expanded) : NULL;
    free(expanded);
    return *ret ? 0 : err_nomem(err);
}

/* Compares files instead of their paths. */
static bool is_same_file(const char *a, const char *b)
{
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* Finds the entry with that kind and place; NULL without one. */
static const struct source *source_at(const struct inventory *inv, size_t kind, const char *place)
{
    for (size_t i = 0; i < inv->sources.n; i++) {
        const struct source *s = inv->sources.items[i];
        if (s->kind == (enum source_kind)kind &&
            (strcmp(s->place, place) == 0 || (!kinds[kind].url && is_same_file(s->place, place))))
            return s;
    }
    return NULL;
}

/* Takes ownership of the place, also on failure. */
static int make_source(struct inventory *inv, size_t kind, char *place, const struct source **ret,
                       struct err *err)
{
    struct source *s = calloc(1, sizeof *s);
    if (!s) {
        free(place);
        return err_nomem(err);
    }
    s->kind = (enum source_kind)kind;
    s->max_age_ms = SOURCE_MAX_AGE_MS;
    s->place = place;
    if ((kinds[kind].url && read_url(s, place, err) < 0) || give_name(inv, s, err) < 0) {
        source_free(s);
        return err_wrap(err, "%s", kinds[kind].name);
    }
    if (add_source(inv, s, err) < 0)
        return -1;
    *ret = s;
    return 0;
}

/* ---- the kind of a place ------------------------------------------------------------------------------- */

#define GUESS_BYTES (1u << 20)

/* The address of a Prometheus, or of one of its pages; any other path is an http_sd. */
static enum source_kind kind_of_url(const char *url)
{
    const char *host = strstr(url, "://") + 3, *path = host + strcspn(host, "/?");
    size_t n = strlen(path);
    return strcmp(path, "/") == 0 || n == 0 || length_without_page(path, n) < n ? SOURCE_PROMETHEUS
                                                                                : SOURCE_HTTP_SD;
}

/* Checks whether a line of the text begins with the key. */
static bool has_line(const char *text, const char *key)
{
    size_t n = strlen(key);
    for (; text; text = strchr(text, '\n') ? strchr(text, '\n') + 1 : NULL)
        if (strncmp(text, key, n) == 0)
            return true;
    return false;
}

/* Recognises a configuration by its keys; other text is a file of targets. */
static enum source_kind kind_of_text(const char *text)
{
    if (!has_line(text, "scrape_configs:"))
        return SOURCE_FILE_SD;
    return has_line(text, "object_storage:") ? SOURCE_PARCA : SOURCE_SCRAPE_CONFIGS;
}

/* Returns -1 if the place is neither a URL nor a file. */
static int guess_kind(const char *place, size_t *ret)
{
    struct stat st;
    struct buf text = BUF_INIT(GUESS_BYTES);
    if (strncmp(place, "http://", 7) == 0 || strncmp(place, "https://", 8) == 0) {
        *ret = kind_of_url(place);
        return 0;
    }
    if (stat(place, &st) < 0 || !S_ISREG(st.st_mode))
        return -1;
    /* The reader of the source reports an unreadable or large file. */
    bool read = !text_ends_in(place, ".json") && file_read(place, &text, NULL) == 0;
    *ret = read ? kind_of_text(buf_str(&text)) : SOURCE_FILE_SD;
    buf_release(&text);
    return 0;
}

/* Splits KIND:PLACE. A place alone is valid if its kind can be guessed. */
static int split_source(const char *text, size_t *ret_kind, const char **ret_place)
{
    const char *colon = strchr(text, ':');
    size_t kind = 0;
    while (colon && kind < N_KINDS && !str_is((struct str){text, (size_t)(colon - text)}, kinds[kind].name))
        kind++;
    if (!text_is_visible(text))
        return -1;
    *ret_kind = kind;
    *ret_place = colon ? colon + 1 : NULL;
    if (colon && kind < N_KINDS)
        return colon[1] ? 0 : -1;
    *ret_place = text;
    return guess_kind(text, ret_kind);
}

int inventory_source(struct inventory *inv, const char *text, const struct source **ret, struct err *err)
{
    const struct source *named = names_get(&inv->sources.by_name, text);
    const char *at = NULL;
    char *place = NULL;
    size_t kind = 0;
    if (named) {
        *ret = named;
        return 0;
    }
    if (split_source(text, &kind, &at) < 0)
        return refuse_source(inv, text, err);
    if (!kinds[kind].url && make_absolute(at, &place, err) < 0)
        return -1;
    if (kinds[kind].url && !(place = strdup(at)))
        return err_nomem(err);
    *ret = source_at(inv, kind, place);
    if (!*ret)
        return make_source(inv, kind, place, ret, err);
    free(place);
    return 0;
}

/* ---- match --------------------------------------------------------------------------------------------- */

bool source_match(const struct source *s, const char *address, char *ret, size_t cap)
{
    pcre2_match_data *found = pcre2_match_data_create_from_pattern(s->matcher, NULL);
    pcre2_match_context *limits = pcre2_match_context_create(NULL);
    bool is = false;
    if (found && limits) {
        pcre2_set_match_limit(limits, MATCH_LIMIT);
        int n = pcre2_match(s->matcher, (PCRE2_SPTR)address, PCRE2_ZERO_TERMINATED, 0, 0, found, limits);
        const PCRE2_SIZE *at = pcre2_get_ovector_pointer(found);
        const PCRE2_SIZE *group = n > 1 ? at + 2 : at;
        is = n > 0 && group[0] != PCRE2_UNSET && group[1] >= group[0] && group[1] - group[0] < cap;
        if (is)
            snprintf(ret, cap, "%.*s", (int)(group[1] - group[0]), address + group[0]);
    }
    pcre2_match_data_free(found);
    pcre2_match_context_free(limits);
    return is;
}
