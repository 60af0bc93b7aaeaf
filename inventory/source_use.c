/* The sources of one run: those of the inventory, and the one that --from names as [KIND:]URL or [KIND:]FILE.
 */
#include "inventory/source_make.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "inventory/adhoc.h"
#include "inventory/created_objects.h"
#include "base/banned.h"

/* ---- the kind of a source ---------------------------------------------------------------------------- */

#define GUESS_BYTES (1u << 20)

/* Guesses the kind of a URL: a URL without a path, or of a page of Prometheus, is a Prometheus; any other one
 * is an http_sd. */
static enum source_kind kind_of_url(const char *url)
{
    const char *host = strstr(url, "://") + 3, *path = host + strcspn(host, "/?");
    size_t n = strlen(path);
    return strcmp(path, "/") == 0 || n == 0 || source_length_without_page(path, n) < n ? SOURCE_PROMETHEUS
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

/* Guesses the kind of a source. Returns -1 if the text is neither a URL nor a file. */
static int guess_kind(const char *url_or_path, enum source_kind *ret)
{
    struct stat st;
    struct buf text = BUF_INIT(GUESS_BYTES);
    if (strncmp(url_or_path, "http://", 7) == 0 || strncmp(url_or_path, "https://", 8) == 0) {
        *ret = kind_of_url(url_or_path);
        return 0;
    }
    if (stat(url_or_path, &st) < 0 || !S_ISREG(st.st_mode))
        return -1;
    /* The reader of the source reports an unreadable or large file. */
    bool is_read = !text_ends_in(url_or_path, ".json") && file_read(url_or_path, &text, NULL) == 0;
    *ret = is_read ? kind_of_text(buf_str(&text)) : SOURCE_FILE_SD;
    buf_release(&text);
    return 0;
}

/* Splits [KIND:]URL or [KIND:]FILE, and guesses a missing kind. Returns -1 for any other text. */
static int split_text(const char *text, enum source_kind *ret_kind, const char **ret_url_or_path)
{
    const char *colon = strchr(text, ':');
    if (!text_is_visible(text))
        return -1;
    if (colon && source_kind_parse((struct str){text, (size_t)(colon - text)}, ret_kind) == 0) {
        *ret_url_or_path = colon + 1;
        return colon[1] ? 0 : -1;
    }
    *ret_url_or_path = text;
    return guess_kind(text, ret_kind);
}

/* ---- find or create ------------------------------------------------------------------------------------ */

static int refuse_source(const struct inventory *inv, const char *text, struct err *err)
{
    char shown[120], near_text[300];
    struct nearest near = NEAREST_INIT(text);
    for (size_t i = 0; i < inv->sources.n; i++)
        nearest_add(&near, inv->sources.items[i]->name);
    err_set(err, ERR_USAGE, "unknown source \"%s\"", text_printable(shown, sizeof shown, text, strlen(text)));
    if (near.n)
        return err_hint(err, "did you mean %s?", nearest_text(&near, near_text, sizeof near_text));
    return err_hint(
        err, "a source is the name of an entry under \"discovery\", a file, a URL, KIND:FILE or KIND:URL, "
             "as in prometheus:http://localhost:9090 or parca:parca.yaml");
}

/* Makes a path absolute, as in the inventory. The caller frees it. */
static int make_absolute(const char *path, char **ret, struct err *err)
{
    char dir[4096];
    if (!getcwd(dir, sizeof dir))
        return err_sys(err, "cannot find the working directory");
    char *expanded = file_expand_home(path);
    *ret = expanded ? file_join(dir, expanded) : NULL;
    free(expanded);
    return *ret ? 0 : err_nomem(err);
}

/* Returns whether two paths lead to the same file. */
static bool is_same_file(const char *a, const char *b)
{
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* Finds the source with that kind and URL or path in a list; NULL without one. */
static const struct source *find_source(const struct sources *l, enum source_kind kind,
                                        const char *url_or_path)
{
    for (size_t i = 0; i < l->n; i++) {
        const struct source *s = l->items[i];
        if (s->kind == kind && (strcmp(s->url_or_path, url_or_path) == 0 ||
                                (!source_kind_has_url(kind) && is_same_file(s->url_or_path, url_or_path))))
            return s;
    }
    return NULL;
}

/* Creates a source. Takes ownership of the text, also on failure. */
static int create_source(enum source_kind kind, char *url_or_path, struct source **ret, struct err *err)
{
    struct source *s = calloc(1, sizeof *s);
    if (!s) {
        free(url_or_path);
        return err_nomem(err);
    }
    *s = (struct source){.kind = kind, .max_age_ms = SOURCE_MAX_AGE_MS, .url_or_path = url_or_path};
    *ret = s;
    return 0;
}

/* Completes a new source and adds it. Takes ownership of it, also on failure. `others` are the sources of the
 * inventory. */
static int add_source(const struct sources *others, struct created_objects *c, struct source *s,
                      struct err *err)
{
    if ((source_kind_has_url(s->kind) && source_set_url(s, s->url_or_path, err) < 0) ||
        source_set_name(others, &c->sources, s, err) < 0) {
        err_wrap(err, "%s", source_kind_name(s->kind));
        source_free(s);
        return -1;
    }
    return sources_add(&c->sources, s, err);
}

static int find_or_create_source(const struct inventory *inv, struct created_objects *c, const char *text,
                                 const struct source **ret, struct err *err)
{
    enum source_kind kind = SOURCE_PROMETHEUS;
    const char *written = NULL;
    char *url_or_path = NULL;
    if (split_text(text, &kind, &written) < 0)
        return refuse_source(inv, text, err);
    if (!source_kind_has_url(kind) && make_absolute(written, &url_or_path, err) < 0)
        return -1;
    if (!url_or_path && !(url_or_path = strdup(written)))
        return err_nomem(err);
    const struct source *s = find_source(&inv->sources, kind, url_or_path);
    if (!s)
        s = find_source(&c->sources, kind, url_or_path);
    if (s) {
        free(url_or_path);
        *ret = s;
        return 0;
    }
    struct source *made = NULL;
    if (create_source(kind, url_or_path, &made, err) < 0)
        return -1;
    if (!source_kind_has_url(kind))
        source_set_literal(made, written);
    if (add_source(&inv->sources, c, made, err) < 0)
        return -1;
    *ret = made;
    return 0;
}

/* ---- use ----------------------------------------------------------------------------------------------- */

int targets_use_source(struct targets *t, const struct source *source, struct source_use **ret,
                       struct err *err)
{
    struct created_objects *c = targets_created(t, err);
    for (size_t i = 0; c && i < c->n_uses; i++)
        if (c->uses[i]->source == source) {
            *ret = c->uses[i];
            return 0;
        }
    if (!c || array_reserve((void **)&c->uses, &c->cap_uses, c->n_uses + 1, sizeof *c->uses, err) < 0)
        return -1;
    struct source_use *use = calloc(1, sizeof *use);
    if (!use)
        return err_nomem(err);
    *use = (struct source_use){.source = source, .host = source->host};
    c->uses[c->n_uses++] = use;
    *ret = use;
    return 0;
}

int targets_find_source(const struct inventory *inv, struct targets *t, const char *text,
                        struct source_use **ret, struct err *err)
{
    struct created_objects *c = targets_created(t, err);
    if (!c)
        return -1;
    const struct source *s = name_map_get(&inv->sources.by_name, text);
    if (!s)
        s = name_map_get(&c->sources.by_name, text);
    if (!s && find_or_create_source(inv, c, text, &s, err) < 0)
        return -1;
    return targets_use_source(t, s, ret, err);
}

/* Returns the selection's only named host, NULL if there are none or several. */
static const struct host *only_host(const struct inventory *inv, const struct created_objects *c,
                                    const struct selection *sel)
{
    if (sel->hosts.n != 1 || sel->groups.n > 0)
        return NULL;
    const struct host *created = name_map_get(&c->by_address, sel->hosts.items[0]);
    return created ? created : scope_find_host(&(struct scope){inv, c}, sel->hosts.items[0]);
}

int targets_select_source(const struct inventory *inv, struct targets *t, const char *text,
                          struct selection *sel, struct err *err)
{
    struct source_use *use = NULL;
    if (sel->port || sel->unix_path) {
        err_set(err, ERR_USAGE, "--from cannot be combined with a port or a Unix socket");
        return err_hint(err, "--from SOURCE defines the ports");
    }
    if (targets_find_source(inv, t, text, &use, err) < 0)
        return -1;
    for (size_t i = 0; i < sel->hosts.n; i++)
        if (adhoc_create_named_hosts(inv, t->created, sel->hosts.items[i], err) < 0)
            return -1;
    use->is_only = true;
    if (!use->host)
        use->host = only_host(inv, t->created, sel);
    sel->source = use;
    return 0;
}
