#include "fetch/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "fetch/finding.h"
#include "base/banned.h"

/* ---- file names ---------------------------------------------------------------------------------------- */

/* Makes a file name from a profile's name or a path. A dash replaces each character that is not a letter, a
 * digit, `.`, `_` or `-`. */
static void make_file_stem(char *dst, size_t cap, const char *name)
{
    size_t n = 0;
    while (*name && !((*name >= 'a' && *name <= 'z') || (*name >= 'A' && *name <= 'Z') ||
                      (*name >= '0' && *name <= '9')))
        name++;
    for (; *name && n + 1 < cap && n < 120; name++) {
        char one[2] = {*name, '\0'};
        if (!text_is_name(one) && *name != '.' && *name != '_')
            one[0] = '-';
        dst[n++] = one[0];
    }
    while (n > 0 && dst[n - 1] == '-')
        n--;
    dst[n] = '\0';
    if (n == 0)
        snprintf(dst, cap, "profile");
}

static const char *get_ending(const struct plan_item *item)
{
    switch (item->format) {
    case BODY_PPROF:
        return ".pb.gz";
    case BODY_TRACE:
        return ".out";
    case BODY_TEXT:
        return ".txt";
    case BODY_RAW:
    case BODY_ANY:
        break;
    }
    return item->ending_by_type ? "" : ".txt";
}

/* Checks whether two items may get the same file, also on file systems that ignore case. A raw path gets its
 * ending only after the fetch. */
static bool may_collide(const struct plan_item *a, const struct plan_item *b)
{
    const struct plan_item *raw = a->ending_by_type ? a : b;
    const char *other = raw == a ? b->file : a->file;
    size_t n = strlen(raw->file);
    if (!raw->ending_by_type)
        return strcasecmp(a->file, b->file) == 0;
    return strncasecmp(raw->file, other, n) == 0 && (other[n] == '\0' || other[n] == '.');
}

static bool is_name_used(const struct plan *p, const struct plan_item *item)
{
    for (size_t i = 0; i < p->n; i++)
        if (may_collide(&p->items[i], item))
            return true;
    return false;
}

static bool is_planned(const struct plan *p, const struct plan_item *item)
{
    for (size_t i = 0; i < p->n; i++)
        if (strcmp(p->items[i].request_target, item->request_target) == 0 &&
            p->items[i].format == item->format)
            return true;
    return false;
}

/* Adds an item unless the plan has the same request (`goroutines goroutines=text`). */
static int add_item(struct plan *p, struct plan_item *item, const char *stem, struct err *err)
{
    if (is_planned(p, item))
        return 0;
    for (unsigned i = 1; i == 1 || is_name_used(p, item); i++) {
        if (i == 1)
            snprintf(item->file, sizeof item->file, "%s%s", stem, get_ending(item));
        else
            snprintf(item->file, sizeof item->file, "%s-%u%s", stem, i, get_ending(item));
    }
    if (array_reserve((void **)&p->items, &p->cap, p->n + 1, sizeof *p->items, err) < 0)
        return -1;
    p->items[p->n++] = *item;
    return 0;
}

/* ---- items --------------------------------------------------------------------------------------------- */

static struct plan_item make_item(const struct request *r)
{
    unsigned max_mb = r->kind ? r->kind->max_mb : KIND_OTHER_MAX_MB;
    struct plan_item item = {
        .form = r->form, .timed_ms = r->timed_ms, .format = BODY_PPROF, .max_bytes = (uint64_t)max_mb << 20};
    snprintf(item.kind, sizeof item.kind, "%s", r->name);
    snprintf(item.argument, sizeof item.argument, "%s", r->argument);
    if (r->kind) {
        item.rank = r->kind->rank;
        item.cost = r->kind->cost;
        item.format = r->kind->format;
    }
    return item;
}

/* Writes the path of an endpoint: below the service's path, or beside it if `name` begins with a slash
 * (/debug/fgprof). */
static void join_endpoint(char *dst, size_t cap, const struct service *service, const char *name)
{
    const char *path = service->path;
    const char *slash = strrchr(path, '/');
    if (*name == '/')
        snprintf(dst, cap, "%.*s%s", slash ? (int)(slash - path) : 0, path, name);
    else
        snprintf(dst, cap, "%s/%s", path, name);
}

/* Writes a profile's name as a part of a path: percent-escapes all but unreserved characters (RFC 3986). */
static void escape_name(char *dst, size_t cap, const char *name)
{
    size_t n = 0;
    for (; *name && n + 4 < cap; name++) {
        unsigned char c = (unsigned char)*name;
        char one[2] = {*name, '\0'};
        if (text_is_name(one) || strchr("._-~", c))
            dst[n++] = *name;
        else
            n += (size_t)snprintf(dst + n, cap - n, "%%%02X", c);
    }
    dst[n] = '\0';
}

/* Returns the kind that has this path (/debug/pprof/heap, /debug/fgprof?seconds=5), unless the path requests
 * text; NULL: none. */
static const struct kind *kind_of_path(const char *path)
{
    char name[64], *slash;
    size_t n = strcspn(path, "?");
    snprintf(name, sizeof name, "%.*s", (int)n, n < sizeof name ? path : "");
    slash = strrchr(name, '/');
    if (!slash || strstr(path + n, "debug="))
        return NULL;
    *slash = '\0';
    const char *parent = strrchr(name, '/'), *last = slash + 1;
    bool is_pprof = parent && strcmp(parent, "/pprof") == 0;
    return is_pprof || strcmp(last, "fgprof") == 0 ? kind_of_endpoint(last) : NULL;
}

/* Checks whether an HTML page is the expected content of a path: a directory, a page, x/net/trace. */
static bool is_path_of_page(const char *path)
{
    static const char *const endings[] = {"/", ".html", ".htm", "/debug/requests", "/debug/events"};
    size_t n = strcspn(path, "?");
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        size_t length = strlen(endings[i]);
        if (n >= length && memcmp(path + n - length, endings[i], length) == 0)
            return true;
    }
    return false;
}

static int add_raw(struct plan *p, const struct request *r, struct err *err)
{
    struct plan_item item = make_item(r);
    const struct kind *kind = kind_of_path(r->name);
    char stem[128];
    item.format = kind ? kind->format : is_path_of_page(r->name) ? BODY_ANY : BODY_RAW;
    item.ending_by_type = !kind;
    if (kind && kind->handler_seconds == 0 && r->timed_ms > 0)
        item.form = FORM_DELTA;
    /* A path that takes time is a profile of some kind, so fetch it after the snapshots. */
    if (r->timed_ms > 0)
        item.rank = strstr(r->name, "/trace") ? RANK_TRACE : RANK_CPU;
    snprintf(item.request_target, sizeof item.request_target, "%s", r->name);
    make_file_stem(stem, sizeof stem, r->name);
    return add_item(p, &item, stem, err);
}

static int add_index_profile(struct plan *p, const struct service *service, const char *name, struct err *err)
{
    struct plan_item item = {.format = BODY_PPROF, .max_bytes = (uint64_t)KIND_OTHER_MAX_MB << 20};
    char escaped[400], stem[128];
    escape_name(escaped, sizeof escaped, name);
    snprintf(item.kind, sizeof item.kind, "%s", name);
    join_endpoint(item.request_target, sizeof item.request_target, service, escaped);
    make_file_stem(stem, sizeof stem, name);
    return add_item(p, &item, stem, err);
}

/* Returns the kind's endpoint: below the service's path if the index page lists it there. */
static const char *get_endpoint(const struct kind *kind, const struct index_page *index)
{
    const char *name = kind->endpoint + (kind->endpoint[0] == '/');
    return index && index_find(index, name) ? name : kind->endpoint;
}

/* Checks whether the index page shows that the program lacks the kind. Go's index page does not list
 * endpoints outside the service's path (fgprof), so a kind that the inventory names for the service is not
 * absent. */
static bool is_absent(const struct service *service, const struct kind *kind, const struct index_page *index)
{
    if (!index || !kind->in_index || index_find(index, get_endpoint(kind, index)))
        return false;
    bool is_outside = kind->endpoint[0] == '/';
    for (size_t i = 0; is_outside && i < service->kinds.n; i++) {
        const char *own = service->kinds.items[i];
        if (strncmp(own, kind->name, strcspn(own, "=")) == 0 && strlen(kind->name) == strcspn(own, "="))
            return false;
    }
    return true;
}

/* Marks an item as absent. An absent item costs nothing and is reported first. */
static void mark_absent(struct plan_item *item)
{
    item->absent = true;
    item->rank = RANK_SNAPSHOT;
    item->timed_ms = 0;
    item->cost = NULL;
    item->can_pair = false;
}

/* Adds an item of the table. The item's form determines its query and its file's name. */
static int add_kind(struct plan *p, const struct service *service, const struct request *r,
                    const struct index_page *index, struct err *err)
{
    struct plan_item item = make_item(r);
    const char *query = "", *suffix = "";
    char seconds[40] = "", stem[64];
    switch (r->form) {
    case FORM_BARE:
    case FORM_PROTO:
    case FORM_DELTA:
        if (r->timed_ms > 0 && r->timed_ms % 1000 == 0)
            snprintf(seconds, sizeof seconds, "?seconds=%lld", (long long)r->timed_ms / 1000);
        else if (r->timed_ms > 0)
            snprintf(seconds, sizeof seconds, "?seconds=%lld.%03d", (long long)r->timed_ms / 1000,
                     (int)(r->timed_ms % 1000));
        query = seconds;
        break;
    case FORM_GROUPED:
        query = "?debug=1";
        suffix = "-grouped";
        item.format = BODY_TEXT;
        break;
    case FORM_TEXT:
        query = r->kind->arguments & KIND_ARG_TEXT_FORMS ? "?debug=2" : "?debug=1";
        item.format = BODY_TEXT;
        break;
    case FORM_GC:
        query = "?gc=1";
        suffix = "-gc";
        item.rank = RANK_INTRUSIVE;
        break;
    }
    if (r->form == FORM_DELTA) {
        suffix = "-delta";
        item.rank = RANK_DELTA;
    }
    item.can_pair = r->kind->can_be_compared && r->form != FORM_DELTA && item.format == BODY_PPROF;
    join_endpoint(item.request_target, sizeof item.request_target, service, get_endpoint(r->kind, index));
    size_t n = strlen(item.request_target);
    snprintf(item.request_target + n, sizeof item.request_target - n, "%s", query);
    snprintf(stem, sizeof stem, "%s%s", r->kind->file_name, suffix);
    if (is_absent(service, r->kind, index))
        mark_absent(&item);
    return add_item(p, &item, stem, err);
}

/* Adds the items of bare `goroutines`: the profile, and the text unless writing it stops the process for
 * long. */
static int add_goroutines(struct plan *p, const struct service *service, const struct request *r,
                          const struct index_page *index, struct err *err)
{
    struct request proto = *r, text = *r;
    proto.form = FORM_PROTO;
    if (add_kind(p, service, &proto, index, err) < 0)
        return -1;
    const struct index_entry *entry = index ? index_find(index, "goroutine") : NULL;
    if (index && !entry)
        return 0;
    if (!entry || entry->count < 0)
        return fetch_finding_add(&p->findings, FETCH_FINDING_TEXT_UNGUARDED, NULL, NULL, err);
    bool is_too_many = entry->count > PLAN_TEXT_GOROUTINES;
    text.form = is_too_many ? FORM_GROUPED : FORM_TEXT;
    snprintf(text.argument, sizeof text.argument, "%s", is_too_many ? "grouped" : "text");
    if (is_too_many) {
        char count[24], limit[16];
        snprintf(count, sizeof count, "%lld", (long long)entry->count);
        snprintf(limit, sizeof limit, "%d", PLAN_TEXT_GOROUTINES);
        if (fetch_finding_add(&p->findings, FETCH_FINDING_TEXT_GUARDED, count, limit, err) < 0)
            return -1;
    }
    return add_kind(p, service, &text, index, err);
}

static int set_unknown_error(const struct request *r, const struct index_page *index, struct err *err)
{
    struct nearest near = NEAREST_INIT(r->name);
    struct buf offered = BUF_INIT(300);
    fetch_suggest_kinds(&near);
    for (size_t i = 0; index && i < index->n; i++) {
        const char *name = index->items[i].name;
        const struct kind *known = kind_of_endpoint(name);
        buf_addf(&offered, "%s%s", offered.len ? ", " : "", known ? known->name : name);
        if (!known)
            nearest_add(&near, name);
    }
    char names[400];
    bool is_near = *nearest_text(&near, names, sizeof names) != '\0';
    err_set(err, ERR_USAGE, "unknown kind \"%s\"; nothing was fetched from this service", r->name);
    if (index)
        err_hint(err, "%s%s%sthe target offers %s", is_near ? "did you mean " : "", names,
                 is_near ? "? " : "", buf_str(&offered));
    else
        err_hint(err, "%s%s%sthe target has no index page to find other profiles by",
                 is_near ? "did you mean " : "", names, is_near ? "? " : "");
    buf_release(&offered);
    return -1;
}

static int add_request(struct plan *p, const struct service *service, const struct request *r,
                       const struct index_page *index, struct err *err)
{
    if (r->name[0] == '/')
        return add_raw(p, r, err);
    if (r->kind && r->form == FORM_BARE && r->kind->arguments & KIND_ARG_TEXT_FORMS)
        return add_goroutines(p, service, r, index, err);
    if (r->kind)
        return add_kind(p, service, r, index, err);
    if (!index || !index_find(index, r->name))
        return set_unknown_error(r, index, err);
    return add_index_profile(p, service, r->name, err);
}

/* ---- the set `all` ------------------------------------------------------------------------------------- */

static bool is_requested(const struct request_list *l, const struct kind *k)
{
    for (size_t i = 0; i < l->n; i++)
        if (l->items[i].kind == k)
            return true;
    return false;
}

static int add_snapshot(struct plan *p, const struct service *service, const struct kind *k,
                        const struct index_page *index, struct err *err)
{
    struct request r = {.kind = k};
    snprintf(r.name, sizeof r.name, "%s", k->name);
    return add_request(p, service, &r, index, err);
}

static int add_all(struct plan *p, const struct service *service, const struct request_list *l,
                   const struct index_page *index, struct err *err)
{
    int rc = 0;
    const struct kind *k;
    for (size_t i = 0; !index && rc == 0 && (k = kind_at(i)); i++)
        rc = k->standard && !is_requested(l, k) ? add_snapshot(p, service, k, index, err) : 0;
    for (size_t i = 0; index && rc == 0 && i < index->n; i++) {
        k = kind_of_endpoint(index->items[i].name);
        if (!k)
            rc = add_index_profile(p, service, index->items[i].name, err);
        else if (!k->only_by_name && k->seconds == 0 && !is_requested(l, k))
            rc = add_snapshot(p, service, k, index, err);
    }
    return rc;
}

/* ---- plan ---------------------------------------------------------------------------------------------- */

static bool is_before(const struct plan_item *a, const struct plan_item *b)
{
    return a->absent != b->absent ? a->absent : a->rank < b->rank;
}

/* Sorts the items, absent ones first. The sort is stable, and the list is short. */
static void sort_by_rank(struct plan *p)
{
    for (size_t i = 1; i < p->n; i++) {
        struct plan_item item = p->items[i];
        size_t at = i;
        for (; at > 0 && is_before(&item, &p->items[at - 1]); at--)
            p->items[at] = p->items[at - 1];
        p->items[at] = item;
    }
}

/* Marks heap profiles in a plan that also has one with gc=1. */
static void mark_gc_profiles(struct plan *p)
{
    bool has_gc = false;
    for (size_t i = 0; i < p->n; i++)
        has_gc = has_gc || p->items[i].form == FORM_GC;
    for (size_t i = 0; i < p->n; i++)
        p->items[i].plan_has_gc_heap = has_gc && strcmp(p->items[i].kind, "heap") == 0;
}

int plan_make(const struct service *service, const struct request_list *requests,
              const struct index_page *index, struct plan *ret, struct err *err)
{
    struct plan p = {0};
    int rc = requests->all ? add_all(&p, service, requests, index, err) : 0;
    for (size_t i = 0; rc == 0 && i < requests->n; i++)
        rc = add_request(&p, service, &requests->items[i], index, err);
    if (rc < 0) {
        plan_release(&p);
        return -1;
    }
    sort_by_rank(&p);
    mark_gc_profiles(&p);
    *ret = p;
    return 0;
}

/* Renames `heap.pb.gz` to `heap.later.pb.gz`; adds a number if another profile has that name. */
static void name_later(const struct plan *p, struct plan_item *item)
{
    const char *end = get_ending(item);
    size_t stem_length = strlen(item->file) - strlen(end);
    snprintf(item->file + stem_length, sizeof item->file - stem_length, ".later%s", end);
    for (unsigned i = 2; is_name_used(p, item); i++)
        snprintf(item->file + stem_length, sizeof item->file - stem_length, ".later-%u%s", i, end);
}

int plan_pairs(struct plan *p, struct err *err)
{
    size_t n = p->n;
    if (array_reserve((void **)&p->items, &p->cap, 2 * n, sizeof *p->items, err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++) {
        if (!p->items[i].can_pair)
            continue;
        struct plan_item *first = &p->items[i], *later = &p->items[p->n];
        first->pair = 1;
        first->other_of_pair = p->n;
        *later = *first;
        later->pair = 2;
        later->other_of_pair = i;
        name_later(p, later);
        p->n++;
    }
    return 0;
}

void plan_release(struct plan *p)
{
    free(p->items);
    findings_release(&p->findings);
    *p = (struct plan){0};
}
