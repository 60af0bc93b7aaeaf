/* Answers the requests of the page of -http: a view as JSON, as a page or as a file, the profile, and the
 * settings. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/pprof/web_view.h"
#include "http/http.h"
#include "page/page.h"
#include "base/banned.h"

/* ---- what all views have ------------------------------------------------------------------------------- */

static void add_lines(struct buf *to, const char *key, const struct buf *lines)
{
    const char *separator = "";
    buf_addf(to, ",\"%s\":[", key);
    for (const char *at = buf_str(lines); *at; separator = ",") {
        size_t n = strcspn(at, "\n");
        buf_adds(to, separator);
        page_add_text(to, (struct str){at, n});
        at += n + (at[n] == '\n');
    }
    buf_addc(to, ']');
}

/* Returns what follows `label` in the heading, as in "File: prometheus". */
static struct str find_in_heading(const struct buf *heading, const char *label)
{
    for (const char *at = buf_str(heading); *at;) {
        struct str line = {at, strcspn(at, "\n")};
        if (str_begins(line, label))
            return (struct str){line.p + strlen(label), line.n - strlen(label)};
        at += line.n + (at[line.n] == '\n');
    }
    return STR("unknown");
}

/* "prometheus cpu" */
static void add_title(struct buf *to, const struct buf *heading)
{
    struct buf title = BUF_INIT(WEB_VIEW_BYTES);
    struct str file = find_in_heading(heading, "File: "), type = find_in_heading(heading, "Type: ");
    buf_add(&title, file.p, file.n);
    buf_addc(&title, ' ');
    buf_add(&title, type.p, type.n);
    buf_adds(to, ",\"title\":");
    page_add_text(to, (struct str){buf_str(&title), title.len});
    buf_release(&title);
}

static void add_bool(struct buf *to, const char *key, bool value)
{
    buf_addf(to, ",\"%s\":%s", key, value ? "true" : "false");
}

/* Returns a source's name as a new string. A URL is shown without its password; HOST:PORT is one, too. */
static char *shown_name(const char *name)
{
    char *url = NULL, *shown;
    if (!pprof_may_be_url(name))
        return strdup(name);
    if (!strstr(name, "://") && asprintf(&url, "http://%s", name) < 0)
        return NULL;
    shown = url_without_password(url ? url : name);
    free(url);
    return shown;
}

/* Adds the names of sources. */
static void add_names(struct buf *to, const char *key, char *const *names, size_t n)
{
    buf_addf(to, ",\"%s\":[", key);
    for (size_t i = 0; i < n; i++) {
        char *shown = shown_name(names[i]);
        buf_adds(to, i > 0 ? "," : "");
        page_add_text(to, str_of(shown ? shown : "?"));
        free(shown);
    }
    buf_addc(to, ']');
}

/* Adds the names of the profiles that can be compared, and of the bases among them. */
static void add_sources(struct buf *to, const struct view *v)
{
    const struct pprof_options *o = &v->options;
    const struct pprof_kept *kept = v->kept;
    if (kept->names.n > 0) {
        add_names(to, "sources", kept->names.items, kept->n_sources);
        add_names(to, "bases", kept->names.items + kept->n_sources, kept->names.n - kept->n_sources);
    } else {
        add_names(to, "sources", o->sources, o->n_sources);
        add_names(to, "bases", (char *const *)(uintptr_t)&o->base, o->base != NULL);
    }
    add_bool(to, "comparable", kept->names.n > 0);
}

static int add_types(struct buf *to, const struct view *v, struct err *err)
{
    const struct profile *p = v->profile;
    size_t type = 0;
    if (report_sample_index(p, v->options.report.sample_index, &type, err) < 0)
        return -1;
    buf_adds(to, ",\"types\":[");
    for (size_t i = 0; i < p->n_sample_types; i++) {
        buf_adds(to, i > 0 ? ",{\"type\":" : "{\"type\":");
        page_add_text(to, profile_str(p, p->sample_types[i].type));
        buf_adds(to, ",\"unit\":");
        page_add_text(to, profile_str(p, p->sample_types[i].unit));
        buf_addc(to, '}');
    }
    buf_addf(to, "],\"type\":%zu", type);
    return 0;
}

/* Adds the members of the JSON that stand before `data`. */
static int add_frame(struct buf *to, const struct view *v, const char *name, struct err *err)
{
    const struct pprof_options *o = &v->options;
    buf_addf(to, "{\"view\":\"%s\"", name);
    add_title(to, &v->heading);
    add_lines(to, "heading", &v->heading);
    add_lines(to, "errors", &v->messages);
    add_sources(to, v);
    add_bool(to, "isDifference", v->is_compared ? v->is_change : o->base != NULL);
    add_bool(to, "totalsAreOfBase", v->is_compared ? v->is_change : o->base && o->diff_base);
    buf_addf(to, ",\"granularity\":\"%s\",\"defaults\":", o->granularity ? o->granularity : "");
    if (web_add_defaults(v->defaults, to, err) < 0 || add_types(to, v, err) < 0)
        return -1;
    if (v->totals.len > 0)
        buf_addf(to, ",\"totals\":%s", buf_str(&v->totals));
    if (v->is_frozen) {
        const char *place = delegate_parameter(v->request, "place");
        buf_adds(to, ",\"frozen\":");
        page_add_text(to, str_of(place ? place : name));
    }
    return 0;
}

static int add_to_heading(void *ctx, const void *p, size_t n, struct err *err)
{
    buf_add(ctx, p, n);
    return buf_check(ctx, "the heading of the view", err);
}

static int make_heading(struct view *v, struct err *err)
{
    bool empty;
    /* The report itself says the same messages. */
    const struct report_callbacks callbacks = {.sink = add_to_heading, .ctx = &v->heading};
    return report_heading(v->profile, &v->options.report, &callbacks, &empty, err);
}

/* Makes the JSON of a view. */
static int make_view(struct view *v, const struct view_type *type, struct buf *ret, struct err *err)
{
    struct buf data = BUF_INIT(WEB_VIEW_BYTES);
    int rc = make_heading(v, err);
    /* Upstream's status of a view that finds nothing is 400. */
    if (rc == 0 && (rc = type->make(v, &data, err)) < 0 && err->kind == ERR_NOT_FOUND)
        err->kind = ERR_FAILED;
    if (rc == 0)
        rc = buf_check(&data, "the view", err);
    if (rc == 0)
        rc = add_frame(ret, v, type->name, err);
    if (rc == 0) {
        buf_adds(ret, ",\"data\":");
        buf_add(ret, data.data, data.len);
        buf_addc(ret, '}');
        rc = buf_check(ret, "the view", err);
    }
    buf_release(&data);
    return rc;
}

/* ---- answers ------------------------------------------------------------------------------------------- */

/* Replaces a placeholder of a page's template. */
static void add_part(struct buf *page, const struct page_web *web, struct str name, const struct buf *json)
{
    if (str_is(name, "style")) {
        buf_adds(page, "<style>");
        buf_add(page, web->style.p, web->style.n);
        buf_adds(page, "</style>");
    } else if (str_is(name, "script")) {
        buf_adds(page, "<script type=\"module\">");
        buf_add(page, web->script.p, web->script.n);
        buf_adds(page, "</script>");
    } else if (str_is(name, "data")) {
        buf_adds(page, "<script type=\"application/json\" id=\"view\">");
        page_add_json(page, (struct str){buf_str(json), json->len});
        buf_adds(page, "</script>");
    }
}

/* Writes the template of a page with its placeholders, <!--NAME-->, replaced. */
static int write_page(const struct page_web *web, const struct buf *json, int body_fd, struct err *err)
{
    const struct str template = web->template;
    struct buf page = BUF_INIT(2 * WEB_VIEW_BYTES);
    size_t at = 0;
    for (const char *mark; (mark = memmem(template.p + at, template.n - at, "<!--", strlen("<!--")));) {
        size_t begin = (size_t)(mark - template.p);
        struct str name = {mark + strlen("<!--"), strcspn(mark + strlen("<!--"), "-")};
        buf_add(&page, template.p + at, begin - at);
        add_part(&page, web, name, json);
        at = begin + strlen("<!--") + name.n + strlen("-->");
    }
    buf_add(&page, template.p + at, template.n - at);
    int rc = buf_check(&page, "the page", err);
    if (rc == 0)
        rc = fd_write_all(body_fd, page.data, page.len, err);
    buf_release(&page);
    return rc;
}

static int answer_view(struct view *v, const struct view_type *type, int body_fd, unsigned *ret_kind,
                       struct err *err)
{
    struct buf json = BUF_INIT(WEB_VIEW_BYTES);
    int rc = make_view(v, type, &json, err);
    *ret_kind = v->is_frozen ? WEB_FROZEN_PAGE : v->request->wants_json ? WEB_JSON : WEB_PAGE;
    if (rc == 0)
        rc = *ret_kind == WEB_JSON
                 ? fd_write_all(body_fd, json.data, json.len, err)
                 : write_page(v->is_frozen ? &page_web_frozen : &page_web_pprof, &json, body_fd, err);
    buf_release(&json);
    return rc;
}

static int write_fd(void *ctx, const void *p, size_t n, struct err *err)
{
    return fd_write_all(*(const int *)ctx, p, n, err);
}

/* Writes the whole profile, whatever the parameters are. */
static int answer_download(const struct web *web, int body_fd, struct err *err)
{
    const struct report_settings whole = {.format = REPORT_PROTO, .divide_by = 1, .unit = "minimum"};
    const struct report_callbacks callbacks = {.sink = write_fd, .ctx = &body_fd};
    return report_make(web->profile, &whole, &callbacks, err);
}

/* Writes the menu of the saved settings. */
static int answer_configs(const struct delegate_request *r, int body_fd, struct err *err)
{
    struct buf menu = BUF_INIT(WEB_VIEW_BYTES);
    int rc = web_settings_add_menu(r, &menu, err);
    if (rc == 0)
        rc = buf_check(&menu, "the menu of settings", err);
    if (rc == 0)
        rc = fd_write_all(body_fd, menu.data, menu.len, err);
    buf_release(&menu);
    return rc;
}

/* ---- comparing sources --------------------------------------------------------------------------------- */

/* Reads the number of a kept profile, from 0 on. *ret: SIZE_MAX without the parameter. */
static int read_source(const struct web *web, const struct delegate_request *r, const char *parameter,
                       size_t *ret, struct err *err)
{
    const char *number = delegate_parameter(r, parameter);
    uint64_t at;
    *ret = SIZE_MAX;
    if (!number || !*number)
        return 0;
    if (web->kept.names.n == 0)
        return err_set(err, ERR_USAGE, "%s=%s: 2 to %d profiles can be compared", parameter, number,
                       PPROF_KEPT_MAX);
    if (text_to_uint(number, web->kept.names.n - 1, &at) < 0)
        return err_set(err, ERR_USAGE, "%s=%s is no number of a source", parameter, number);
    *ret = (size_t)at;
    return 0;
}

/* Makes the profile that the parameters `from` and `to` name: `to` alone, or the change between both. */
static int load_compared(struct web *web, struct view *v, struct err *err)
{
    struct pprof_options o = *web->options;
    struct pprof_change change;
    if (read_source(web, v->request, "from", &change.from, err) < 0 ||
        read_source(web, v->request, "to", &change.to, err) < 0)
        return -1;
    if (change.from == SIZE_MAX && change.to == SIZE_MAX)
        return 0;
    if (change.to == SIZE_MAX)
        return err_set(err, ERR_USAGE, "from=%zu needs to=", change.from);
    if (change.from == change.to)
        return err_set(err, ERR_USAGE, "from=%zu and to=%zu are the same profile", change.from, change.to);
    v->is_compared = true;
    o.diff_base = v->is_change = change.from != SIZE_MAX;
    return pprof_load_kept(&o, &web->kept, change, &v->profile, err);
}

static int answer_with_view(struct web *web, struct view *v, int body_fd, unsigned *ret_kind, struct err *err)
{
    static const char freeze[] = "freeze/";
    const char *name = v->request->path + strlen("/ui/");
    v->is_frozen = strncmp(name, freeze, strlen(freeze)) == 0;
    const struct view_type *type = web_find_view(v->is_frozen ? name + strlen(freeze) : name);
    if (!type)
        return err_set(err, ERR_NOT_FOUND, "404 page not found");
    if (web_read_query(web->options, v->request, &v->options, err) < 0)
        return -1;
    int rc = load_compared(web, v, err);
    if (rc == 0)
        rc = answer_view(v, type, body_fd, ret_kind, err);
    shell_options_release(&v->options);
    buf_release(&v->heading);
    buf_release(&v->messages);
    buf_release(&v->totals);
    return rc;
}

/* Paths are /ui/NAME, and /ui/freeze/NAME for a view as a file. */
int web_answer(void *ctx, const struct delegate_request *r, int body_fd, unsigned *ret_kind, struct err *err)
{
    struct web *web = ctx;
    const char *name = r->path + strlen("/ui/");
    *ret_kind = WEB_NOTHING;
    if (strcmp(name, "saveconfig") == 0)
        return web_settings_save(web->options, r, err);
    if (strcmp(name, "deleteconfig") == 0)
        return web_settings_remove(r, err);
    if (strcmp(name, "configs") == 0) {
        *ret_kind = WEB_JSON;
        return answer_configs(r, body_fd, err);
    }
    if (strcmp(name, "download") == 0) {
        *ret_kind = WEB_PROFILE;
        return answer_download(web, body_fd, err);
    }
    struct view v = {.request = r,
                     .defaults = web->options,
                     .profile = web->profile,
                     .kept = &web->kept,
                     .heading = BUF_INIT(WEB_VIEW_BYTES),
                     .messages = BUF_INIT(WEB_VIEW_BYTES),
                     .totals = BUF_INIT(WEB_VIEW_BYTES)};
    return answer_with_view(web, &v, body_fd, ret_kind, err);
}
