/* The saved settings of the page: the file settings.json, which `go tool pprof` reads and writes too. */
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "cli/pprof/shell.h"
#include "cli/pprof/web.h"
#include "base/banned.h"

#define FILE_BYTES ((size_t)4 << 20)
#define QUERY_BYTES ((size_t)1 << 20)

static const struct json_limits limits = {.what = "settings.json",
                                          .max_bytes = FILE_BYTES,
                                          .max_memory = (size_t)64 << 20,
                                          .max_depth = 8,
                                          .accept_repeated_keys = true};

/* ---- the file ------------------------------------------------------------------------------------------ */

/* Returns the directory of the file, a new string; NULL with err. */
static char *find_directory(struct err *err)
{
    const char *xdg = getenv("XDG_CONFIG_HOME");
    char *dir;
#ifdef __APPLE__
    (void)xdg;
    dir = file_expand_home("~/Library/Application Support/pprof");
#else
    dir = xdg && *xdg ? file_join(xdg, "pprof") : file_expand_home("~/.config/pprof");
#endif
    if (!dir)
        err_set(err, ERR_NOT_FOUND, "neither $XDG_CONFIG_HOME nor $HOME are defined");
    return dir;
}

/* Reads the settings; a missing file has none. *ret is a new reference to an object with a list "configs". */
static int read_settings(const char *path, json_t **ret, struct err *err)
{
    struct buf text = BUF_INIT(FILE_BYTES);
    struct err why = ERR_INIT;
    json_t *settings = NULL;
    int rc = file_read(path, &text, &why);
    if (rc < 0 && why.kind == ERR_NOT_FOUND)
        settings = json_object();
    else if (rc < 0)
        *err = why;
    else if (json_parse(&limits, buf_str(&text), text.len, &settings, err) < 0)
        err_wrap(err, "%s", path);
    buf_release(&text);
    if (!settings)
        return -1;
    /* NULL if the settings are no object. */
    json_t *configs = json_object_get(settings, "configs");
    bool is_object = json_is_object(settings), is_list = json_is_array(configs);
    if (is_object && !is_list)
        json_object_set_new(settings, "configs", json_array());
    if (is_object) {
        *ret = settings;
        return 0;
    }
    json_decref(settings);
    return err_set(err, ERR_FAILED, "%s has no settings", path);
}

static int write_settings(const char *path, const json_t *settings, struct err *err)
{
    struct atomic_file *file = NULL;
    char *text = json_dumps(settings, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
    if (!text)
        return err_nomem(err);
    int rc = atomic_file_new(path, &file, err);
    if (rc == 0)
        rc = fd_write_all(atomic_file_fd(file), text, strlen(text), err);
    if (rc == 0)
        rc = atomic_file_replace(file, path, err);
    atomic_file_free(file);
    free(text);
    return rc;
}

typedef int edit_fn(json_t *configs, const char *name, json_t *config, struct err *err);

/* Reads, edits and writes the settings. A lock of the directory keeps the changes of two requests apart. */
static int edit_settings(edit_fn *edit, const char *name, json_t *config, struct err *err)
{
    json_t *settings = NULL;
    char *dir = find_directory(err), *path = dir ? file_join(dir, "settings.json") : NULL;
    int lock = -1, rc = dir && path ? file_mkdirs(dir, NULL, err) : dir ? err_nomem(err) : -1;
    if (rc == 0)
        rc = (lock = dir_open_user_path(dir, err)) < 0 ? -1 : 0;
    if (rc == 0 && flock(lock, LOCK_EX) < 0)
        rc = err_sys(err, "cannot lock %s", dir);
    if (rc == 0)
        rc = read_settings(path, &settings, err);
    if (rc == 0)
        rc = edit(json_object_get(settings, "configs"), name, config, err);
    if (rc == 0)
        rc = write_settings(path, settings, err);
    json_decref(settings);
    fd_close(&lock);
    free(path);
    free(dir);
    return rc;
}

/* ---- one setting --------------------------------------------------------------------------------------- */

static const char *name_of(const json_t *config)
{
    const char *name = json_string_value(json_object_get(config, "name"));
    return name ? name : "";
}

/* Returns the chosen value of `sort` or `granularity`; NULL for any other option. */
static const char *find_choice(const struct pprof_options *o, const char *option)
{
    if (strcmp(option, "sort") == 0)
        return o->sort ? o->sort : "flat";
    return strcmp(option, "granularity") == 0 ? (o->granularity ? o->granularity : "") : NULL;
}

/* Returns the value of an option, or NULL for the value that the file leaves out: false, 0 or "". */
static json_t *value_of(const struct pprof_options *o, const char *option)
{
    const struct pprof_flag *f = pprof_flag_find(option, strlen(option));
    const void *at = f ? (const char *)o + f->offset : NULL;
    const char *text = f ? NULL : find_choice(o, option);
    if (f && f->type == TEXT)
        text = *(const char *const *)at;
    if (!f || f->type == TEXT)
        return text && *text ? json_string(text) : NULL;
    if (f->type == BOOL)
        return *(const bool *)at ? json_true() : NULL;
    if (f->type == INT)
        return *(const long *)at != 0 ? json_integer(*(const long *)at) : NULL;
    return *(const double *)at != 0 ? json_real(*(const double *)at) : NULL;
}

static json_t *make_config(const struct pprof_options *o, const char *name)
{
    json_t *config = json_object();
    json_object_set_new(config, "name", json_string(name));
    for (size_t i = 0; web_parameter_at(i); i++) {
        const struct web_parameter *p = web_parameter_at(i);
        json_t *value = p->saved ? value_of(o, p->option) : NULL;
        if (value)
            json_object_set_new(config, p->option, value);
    }
    return config;
}

static size_t find_config(const json_t *configs, const char *name)
{
    size_t i = 0;
    while (i < json_array_size(configs) && strcmp(name_of(json_array_get(configs, i)), name) != 0)
        i++;
    return i;
}

static int put_config(json_t *configs, const char *name, json_t *config, struct err *err)
{
    size_t at = find_config(configs, name);
    int rc = at < json_array_size(configs) ? json_array_set(configs, at, config)
                                           : json_array_append(configs, config);
    return rc < 0 ? err_nomem(err) : 0;
}

static int remove_config(json_t *configs, const char *name, json_t *config, struct err *err)
{
    size_t at = find_config(configs, name);
    (void)config;
    if (at == json_array_size(configs))
        return err_set(err, ERR_FAILED, "config %s not found", name);
    return json_array_remove(configs, at) < 0 ? err_nomem(err) : 0;
}

int web_settings_save(const struct pprof_options *from, const struct delegate_request *r, struct err *err)
{
    const char *name = delegate_parameter(r, "config");
    struct pprof_options o;
    if (!name || !*name)
        return err_set(err, ERR_USAGE, "invalid config name");
    if (web_read_query(from, r, &o, err) < 0)
        return -1;
    json_t *config = make_config(&o, name);
    int rc = config ? edit_settings(put_config, name, config, err) : err_nomem(err);
    json_decref(config);
    shell_options_release(&o);
    return rc;
}

int web_settings_remove(const struct delegate_request *r, struct err *err)
{
    const char *name = delegate_parameter(r, "config");
    return edit_settings(remove_config, name ? name : "", NULL, err);
}

/* ---- the menu ------------------------------------------------------------------------------------------ */

/* Writes the value that the parameter has in the query of a setting; "" for the default. `config` NULL: the
 * default settings. */
static void format_value(const json_t *config, const char *option, struct buf *ret)
{
    const struct pprof_flag *f = pprof_flag_find(option, strlen(option));
    const json_t *value = json_object_get(config, option);
    const char *unset = f ? f->default_value : strcmp(option, "sort") == 0 ? "flat" : "";
    buf_clear(ret);
    if (!config)
        return;
    if (f && f->type == BOOL) {
        bool on = json_is_true(value);
        buf_adds(ret, on == (strcmp(unset, "true") == 0) ? unset : on ? "t" : "f");
    } else if (f && f->type == INT) {
        buf_addf(ret, "%" PRId64, (int64_t)json_integer_value(value));
    } else if (f && f->type == FLOAT) {
        shell_add_float(json_number_value(value), ret);
    } else if (json_is_string(value)) {
        buf_adds(ret, json_string_value(value));
    }
    if (strcmp(buf_str(ret), unset) == 0)
        buf_clear(ret);
}

/* A parameter of a query. */
struct pair {
    const char *name;
    char *value;
};

static int compare_pairs(const void *a, const void *b)
{
    return strcmp(((const struct pair *)a)->name, ((const struct pair *)b)->name);
}

/* Finds which parameter the setting determines; NULL: none. */
static const struct web_parameter *find_saved(const char *name)
{
    for (size_t i = 0; web_parameter_at(i); i++) {
        const struct web_parameter *p = web_parameter_at(i);
        if (p->saved && p->name && strcmp(p->name, name) == 0)
            return p;
    }
    return NULL;
}

static bool is_first(const struct delegate_request *r, size_t i)
{
    return delegate_parameter(r, r->parameters[i].name) == r->parameters[i].value;
}

/* Collects the request's parameters that no setting determines, and those of the setting. *ret_changed: the
 * query differs from the request's. Returns the number of pairs. `ret` has room for all. */
static size_t collect_pairs(const struct delegate_request *r, const json_t *config, struct pair *ret,
                            bool *ret_changed)
{
    struct buf value = BUF_INIT(QUERY_BYTES);
    size_t n = 0;
    *ret_changed = false;
    for (size_t i = 0; i < r->n_parameters; i++)
        if (!find_saved(r->parameters[i].name) && is_first(r, i))
            ret[n++] = (struct pair){r->parameters[i].name, strdup(r->parameters[i].value)};
    for (size_t i = 0; web_parameter_at(i); i++) {
        const struct web_parameter *p = web_parameter_at(i);
        const char *now = p->name ? delegate_parameter(r, p->name) : NULL;
        if (!p->saved || !p->name)
            continue;
        format_value(config, p->option, &value);
        *ret_changed = *ret_changed || strcmp(now ? now : "", buf_str(&value)) != 0;
        if (value.len > 0)
            ret[n++] = (struct pair){p->name, strdup(buf_str(&value))};
    }
    buf_release(&value);
    return n;
}

int web_add_query(const struct pprof_options *o, struct buf *to, struct err *err)
{
    struct buf value = BUF_INIT(QUERY_BYTES);
    json_t *config = make_config(o, "");
    const char *separator = "?";
    for (size_t i = 0; config && web_parameter_at(i); i++) {
        const struct web_parameter *p = web_parameter_at(i);
        if (!p->saved || !p->name)
            continue;
        format_value(config, p->option, &value);
        if (value.len == 0)
            continue;
        buf_addf(to, "%s%s=", separator, p->name);
        buf_add_percent_encoded(to, buf_str(&value));
        separator = "&";
    }
    json_decref(config);
    buf_release(&value);
    return config ? buf_check(to, "the address", err) : err_nomem(err);
}

int web_add_defaults(const struct pprof_options *o, struct buf *to, struct err *err)
{
    struct buf value = BUF_INIT(QUERY_BYTES);
    json_t *config = make_config(o, ""), *defaults = json_object();
    for (size_t i = 0; config && defaults && web_parameter_at(i); i++) {
        const struct web_parameter *p = web_parameter_at(i);
        if (!p->saved || !p->name)
            continue;
        format_value(config, p->option, &value);
        if (value.len > 0)
            json_object_set_new(defaults, p->name, json_string(buf_str(&value)));
    }
    char *text = config && defaults ? json_dumps(defaults, JSON_COMPACT) : NULL;
    if (text)
        buf_adds(to, text);
    int rc = text ? buf_check(&value, "a setting", err) : err_nomem(err);
    free(text);
    json_decref(defaults);
    json_decref(config);
    buf_release(&value);
    return rc;
}

/* An entry of the menu. */
struct entry {
    json_t *json;
    bool is_current;
};

static int make_entry(const struct delegate_request *r, const json_t *config, struct entry *ret,
                      struct err *err)
{
    struct buf query = BUF_INIT(QUERY_BYTES);
    size_t room = r->n_parameters;
    bool changed = false;
    for (size_t i = 0; web_parameter_at(i); i++)
        room++;
    struct pair *pairs = calloc(room + 1, sizeof *pairs);
    size_t n = pairs ? collect_pairs(r, config, pairs, &changed) : 0;
    if (n > 0)
        qsort(pairs, n, sizeof *pairs, compare_pairs);
    for (size_t i = 0; i < n; i++) {
        buf_adds(&query, i > 0 ? "&" : "");
        buf_add_percent_encoded(&query, pairs[i].name);
        buf_addc(&query, '=');
        buf_add_percent_encoded(&query, pairs[i].value ? pairs[i].value : "");
        free(pairs[i].value);
    }
    int rc = pairs ? buf_check(&query, "the query", err) : err_nomem(err);
    if (rc == 0)
        *ret = (struct entry){json_pack("{s:s, s:s, s:b}", "name", config ? name_of(config) : "Default",
                                        "query", buf_str(&query), "saved", config != NULL),
                              !changed};
    if (rc == 0 && !ret->json)
        rc = err_nomem(err);
    free(pairs);
    buf_release(&query);
    return rc;
}

/* Adds the default and all saved settings to `menu`. The last one whose query is the request's is current. */
static int add_entries(const struct delegate_request *r, const json_t *configs, json_t *menu, struct err *err)
{
    size_t n = json_array_size(configs);
    json_t *current = NULL;
    for (size_t i = 0; i <= n; i++) {
        struct entry entry = {NULL, false};
        if (make_entry(r, i > 0 ? json_array_get(configs, i - 1) : NULL, &entry, err) < 0)
            return -1;
        if (entry.is_current)
            current = entry.json;
        if (json_array_append_new(menu, entry.json) < 0)
            return err_nomem(err);
    }
    for (size_t i = 0; i <= n; i++) {
        json_t *item = json_array_get(menu, i);
        json_object_set_new(item, "current", json_boolean(item == current));
    }
    return 0;
}

int web_settings_add_menu(const struct delegate_request *r, struct buf *to, struct err *err)
{
    json_t *settings = NULL, *menu = json_array();
    char *dir = find_directory(NULL), *path = dir ? file_join(dir, "settings.json") : NULL;
    /* A view needs no settings: as upstream, shows the default alone if the file cannot be read. */
    if (path && read_settings(path, &settings, &(struct err)ERR_INIT) < 0)
        settings = NULL;
    int rc = menu ? add_entries(r, json_object_get(settings, "configs"), menu, err) : err_nomem(err);
    char *text = rc == 0 ? json_dumps(menu, JSON_COMPACT) : NULL;
    if (rc == 0 && !text)
        rc = err_nomem(err);
    if (rc == 0)
        buf_adds(to, text);
    free(text);
    json_decref(menu);
    json_decref(settings);
    free(path);
    free(dir);
    return rc;
}
