/*
 * Names from the server that sent a profile: Go's /debug/pprof/symbol, and /symbolz of other servers.
 *
 * Source: google/pprof internal/symbolz/symbolz.go; for sources, internal/driver/fetch.go.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pprof/symbolize/symbols.h"
#include "base/banned.h"

/* The limit of an answer: ANSWER_BASE bytes, and ANSWER_PER_ADDRESS more for each requested address, but at
 * most ANSWER_MAX. */
#define ANSWER_BASE ((size_t)1 << 20)
#define ANSWER_PER_ADDRESS 4096
#define ANSWER_MAX ((size_t)128 << 20)
#define QUERY_MAX ((size_t)256 << 20)

/* ---- sources ------------------------------------------------------------------------------------------- */

void symbolize_sources_release(struct symbolize_servers *s)
{
    for (size_t i = 0; i < s->n; i++) {
        free(s->items[i].key);
        free(s->items[i].url);
    }
    free(s->items);
    *s = (struct symbolize_servers){0};
}

int symbolize_sources_move(struct symbolize_servers *to, struct symbolize_servers *from, struct err *err)
{
    if (array_reserve((void **)&to->items, &to->cap, to->n + from->n, sizeof *to->items, err) < 0)
        return -1;
    for (size_t i = 0; i < from->n; i++)
        to->items[to->n++] = from->items[i];
    from->n = 0;
    symbolize_sources_release(from);
    return 0;
}

static int add_source(struct symbolize_servers *to, struct str key, const char *url, uint64_t start,
                      struct err *err)
{
    if (array_reserve((void **)&to->items, &to->cap, to->n + 1, sizeof *to->items, err) < 0)
        return -1;
    struct symbolize_server s = {strndup(key.p, key.n), strdup(url), start};
    if (!s.key || !s.url) {
        free(s.key);
        free(s.url);
        return err_nomem(err);
    }
    to->items[to->n++] = s;
    return 0;
}

int symbolize_collect(struct profile *p, const char *url, struct symbolize_servers *to, struct err *err)
{
    for (size_t i = 0; i < p->n_mappings && i < SYMBOLIZE_MAPPINGS; i++) {
        struct profile_mapping *m = &p->mappings[i];
        if (!m->build_id && !m->file && profile_intern(p, url, strlen(url), &m->file, err) < 0)
            return -1;
        struct str key = profile_str(p, m->build_id ? m->build_id : m->file);
        if (add_source(to, key, url, m->start, err) < 0)
            return -1;
    }
    return 0;
}

/* Whether Go accepts s as an absolute URL: s has a scheme, and only valid characters. */
static bool is_url(struct str s)
{
    size_t n = 0;
    while (n < s.n && (isalnum((unsigned char)s.p[n]) || (s.p[n] && strchr("+-.", s.p[n]))))
        n++;
    if (n == 0 || n == s.n || s.p[n] != ':' || !isalpha((unsigned char)s.p[0]))
        return false;
    for (size_t i = n; i < s.n; i++)
        if ((unsigned char)s.p[i] < ' ' || s.p[i] == 0x7f)
            return false;
    return true;
}

void symbolize_remove_urls(struct profile *p)
{
    for (size_t i = 0; i < p->n_mappings; i++)
        if (!p->mappings[i].build_id && is_url(profile_str(p, p->mappings[i].file)))
            p->mappings[i].file = 0;
}

/* The first source of a mapping, by its file or else by its build ID. */
static const struct symbolize_server *source_of(const struct profile *p, const struct profile_mapping *m,
                                                const struct symbolize_servers *sources)
{
    const uint32_t keys[] = {m->file, m->build_id};
    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; (k == 0 || keys[k]) && i < sources->n; i++)
            if (str_is(profile_str(p, keys[k]), sources->items[i].key))
                return &sources->items[i];
    return NULL;
}

/* ---- answer -------------------------------------------------------------------------------------------- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\f' || c == '\r';
}

/* The end of the address at `at`, which white space must follow; or 0. */
static size_t address_end(struct str line, size_t at)
{
    size_t i = at + 2;
    if (line.n - at < 4 || line.p[at] != '0' || line.p[at + 1] != 'x')
        return 0;
    while (i < line.n && isxdigit((unsigned char)line.p[i]))
        i++;
    return i > at + 2 && i < line.n && is_blank(line.p[i]) ? i : 0;
}

/* Reads an address. Returns false if it exceeds 64 bits. */
static bool read_address(struct str s, uint64_t *ret)
{
    uint64_t value = 0;
    for (size_t i = 2; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if (value >> 60)
            return false;
        value = value << 4 | (unsigned)(isdigit(c) ? c - '0' : tolower(c) - 'a' + 10);
    }
    *ret = value;
    return true;
}

static int set_too_large(struct str address, struct err *err)
{
    char shown[80];
    text_printable(shown, sizeof shown, address.p, address.n);
    return err_set(err, ERR_FAILED,
                   "unexpected parse failure %s: strconv.ParseUint: parsing \"%s\": value out of range",
                   shown, shown);
}

int symbolz_next(struct str *rest, struct symbolz *ret, struct err *err)
{
    const char *end;
    while (rest->n && (end = memchr(rest->p, '\n', rest->n))) {
        struct str line = {rest->p, (size_t)(end + 1 - rest->p)};
        *rest = (struct str){end + 1, rest->n - line.n};
        for (size_t at = 0; at + 3 < line.n; at++) {
            size_t behind = address_end(line, at);
            if (!behind)
                continue;
            struct str address = {line.p + at, behind - at};
            if (!read_address(address, &ret->address))
                return set_too_large(address, err);
            while (behind < line.n && is_blank(line.p[behind]))
                behind++;
            ret->name = (struct str){line.p + behind, line.n - behind};
            while (ret->name.n &&
                   (ret->name.p[ret->name.n - 1] == '\n' || ret->name.p[ret->name.n - 1] == '\r'))
                ret->name.n--;
            return 1;
        }
    }
    return 0;
}

/* ---- a mapping ----------------------------------------------------------------------------------------- */

/* An address of a mapping, with the last name that the answer has for it. The answer may also name other
 * addresses. */
struct address_name {
    uint64_t address;
    size_t order; /* the number of its name in the answer, from 1; 0: no name */
    struct str name;
    uint32_t function;
};
/* The addresses of a mapping, sorted, and their names. */
struct address_names {
    struct address_name *items;
    size_t n;
};

/* Adds the distance between the server's mapping and the profile's, which a merge may have moved. Returns
 * false on overflow. */
static bool shift_address(uint64_t address, uint64_t offset, uint64_t *ret)
{
    *ret = address + offset;
    return offset >> 63 ? *ret < address : *ret >= address;
}

/* The indices of one mapping's locations. */
struct location_list {
    const uint32_t *items;
    size_t n;
};

static int write_query(const struct profile *p, struct location_list locations, uint64_t offset,
                       struct buf *to, struct err *err)
{
    for (size_t i = 0; i < locations.n; i++) {
        const struct profile_location *l = &p->locations[locations.items[i]];
        uint64_t address;
        if (!l->address || l->n_lines)
            continue;
        if (!shift_address(l->address, offset, &address))
            return err_set(err, ERR_FAILED,
                           "cannot adjust address %" PRIu64 " by %" PRId64 ", it would overflow", l->address,
                           (int64_t)offset);
        buf_addf(to, "%s0x%" PRIx64, to->len ? "+" : "", address);
    }
    return buf_check(to, "the list of addresses", err);
}

static int compare_addresses(const void *a, const void *b)
{
    const struct address_name *x = a, *y = b;
    return (x->address > y->address) - (x->address < y->address);
}

static int compare_orders(const void *a, const void *b)
{
    const struct address_name *x = a, *y = b;
    return (x->order > y->order) - (x->order < y->order);
}

static int list_addresses(const struct profile *p, struct location_list locations, struct address_names *n,
                          struct err *err)
{
    n->items = calloc(locations.n + 1, sizeof *n->items);
    if (!n->items)
        return err_nomem(err);
    for (size_t i = 0; i < locations.n; i++)
        n->items[i].address = p->locations[locations.items[i]].address;
    qsort(n->items, locations.n, sizeof *n->items, compare_addresses);
    for (size_t i = 0; i < locations.n; i++)
        if (n->n == 0 || n->items[n->n - 1].address != n->items[i].address)
            n->items[n->n++] = n->items[i];
    return 0;
}

static struct address_name *find_address(const struct address_names *n, uint64_t address)
{
    struct address_name key = {.address = address};
    return bsearch(&key, n->items, n->n, sizeof *n->items, compare_addresses);
}

/* Makes functions from the names, in the order of the answer. */
static int make_functions(struct profile *p, struct address_names *n, struct err *err)
{
    int rc = 0;
    struct function_table functions;
    function_table_init(&functions, p);
    qsort(n->items, n->n, sizeof *n->items, compare_orders);
    for (size_t i = 0; rc == 0 && i < n->n; i++) {
        struct address_name *item = &n->items[i];
        struct profile_function f = {0};
        if (!item->order)
            continue;
        rc = profile_intern(p, item->name.p, item->name.n, &f.name, err);
        f.system_name = f.name;
        if (rc == 0)
            rc = function_table_find_or_add(&functions, &f, &item->function, err);
    }
    function_table_release(&functions);
    qsort(n->items, n->n, sizeof *n->items, compare_addresses);
    return rc;
}

/* Reads the names of the addresses from the answer. The names point into the answer. */
static int read_answer(struct profile *p, struct str answer, uint64_t offset, struct address_names *n,
                       struct err *err)
{
    struct symbolz s;
    size_t order = 0;
    int more;
    while ((more = symbolz_next(&answer, &s, err)) > 0) {
        uint64_t address;
        if (!shift_address(s.address, -offset, &address))
            return err_set(err, ERR_FAILED,
                           "cannot adjust symbolz address %" PRIu64 " by %" PRId64 ", it would overflow",
                           s.address, (int64_t)-offset);
        struct address_name *named = find_address(n, address);
        if (!named)
            continue;
        named->order = ++order;
        named->name = s.name;
    }
    return more < 0 ? -1 : make_functions(p, n, err);
}

static int name_locations(struct profile *p, struct location_list locations, const struct address_names *n,
                          struct err *err)
{
    for (size_t i = 0; i < locations.n; i++) {
        const struct address_name *named = find_address(n, p->locations[locations.items[i]].address);
        bool has_name = named && named->order;
        struct profile_line line = {.function = has_name ? named->function : 0};
        if (has_name && profile_set_lines(p, locations.items[i], &line, 1, err) < 0)
            return -1;
    }
    return 0;
}

static int request_names(const struct symbolize_inputs *s, uint32_t mapping,
                         const struct symbolize_server *source, struct err *err)
{
    struct profile *p = s->profile;
    const struct mapped_locations *m = s->locations;
    struct location_list locations = {m->items + m->first[mapping],
                                      m->first[mapping + 1] - m->first[mapping]};
    struct address_names names = {0};
    if (list_addresses(p, locations, &names, err) < 0)
        return -1;
    size_t most = ANSWER_BASE + names.n * (size_t)ANSWER_PER_ADDRESS;
    struct buf query = BUF_INIT(QUERY_MAX), answer = BUF_INIT(most < ANSWER_MAX ? most : ANSWER_MAX);
    uint64_t offset = source->start - p->mappings[mapping].start;
    int rc = write_query(p, locations, offset, &query, err);
    if (rc == 0 && query.len) {
        rc = s->tools->post(s->tools->ctx, source->url, (struct str){query.data, query.len}, &answer, err);
        if (rc == 0)
            rc = read_answer(p, (struct str){buf_str(&answer), answer.len}, offset, &names, err);
        if (rc == 0)
            rc = name_locations(p, locations, &names, err);
    }
    free(names.items);
    buf_release(&query);
    buf_release(&answer);
    return rc;
}

int symbolize_remote(const struct symbolize_inputs *s, const struct symbolize_servers *sources,
                     struct err *err)
{
    struct profile *p = s->profile;
    for (uint32_t i = 0; i < s->locations->n_mappings; i++) {
        if (!s->mode->force && p->mappings[i].has_functions)
            continue;
        const struct symbolize_server *source = source_of(p, &p->mappings[i], sources);
        if (!source)
            continue;
        if (request_names(s, i, source, err) < 0)
            return -1;
        p->mappings[i].has_functions = true;
    }
    return 0;
}
