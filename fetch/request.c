#include "fetch/request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

static const struct {
    const char *name;
    const char *words;
    const char *help;
} sets[] = {
    {"default", "cpu,heap,goroutines", "cpu heap goroutines"},
    {"incident", "cpu=30s,trace=5s,heap,goroutines", "cpu=30s trace=5s heap goroutines"},
    {"all", "cpu", "every snapshot of the index, then cpu"},
};

const struct strlist *fetch_service_kinds(const struct strlist *words, const struct service *service)
{
    return words && words->n > 0 ? words : &service->kinds;
}

int fetch_kind_help(size_t i, struct fetch_kind_help *ret)
{
    size_t n = 0;
    for (const struct kind *k; (k = kind_at(n)); n++) {
        if (i != n)
            continue;
        ret->name = k->name;
        ret->argument = k->arguments & KIND_ARG_SECONDS      ? k->seconds == 5 ? "[=5s]" : "[=30s]"
                        : k->arguments & KIND_ARG_GC         ? "[=gc]"
                        : k->arguments & KIND_ARG_TEXT_FORMS ? "[=text|grouped|proto]"
                        : k->arguments & KIND_ARG_DELTA      ? "[=text|30s]"
                                                             : "";
        ret->help = k->help;
        return 0;
    }
    if (i - n >= sizeof sets / sizeof *sets)
        return -1;
    *ret = (struct fetch_kind_help){.name = sets[i - n].name, .argument = "", .help = sets[i - n].help};
    return 0;
}

static int set_argument_error(const struct request *r, struct err *err)
{
    unsigned arguments = r->kind ? r->kind->arguments : 0;
    err_set(err, ERR_USAGE, "kind \"%s\" does not take \"%s\"", r->name, r->argument);
    if (!arguments)
        return err_hint(err, "write just %s", r->name);
    return err_hint(err, "it takes%s%s%s%s",
                    arguments & (KIND_ARG_SECONDS | KIND_ARG_DELTA) ? " a duration such as 30s" : "",
                    arguments & KIND_ARG_DELTA ? " or" : "",
                    arguments & KIND_ARG_TEXT ? " text"
                    : arguments & KIND_ARG_GC ? " gc"
                                              : "",
                    arguments & KIND_ARG_TEXT_FORMS ? " text, grouped or proto" : "");
}

static int parse_seconds(struct request *r, struct err *err)
{
    int64_t ms = 0;
    if (text_to_duration(r->argument, &ms, err) < 0) {
        err_wrap(err, "%s", r->name);
        return -1;
    }
    /* Refuse 0 and fractions, because Go would take its default of 30 s. */
    if (ms == 0)
        return err_set(err, ERR_USAGE, "%s: the duration is zero: \"%s\"", r->name, r->argument);
    if (ms % 1000 && !(r->kind->arguments & KIND_ARG_FRACTION))
        return err_set(err, ERR_USAGE, "%s: whole seconds only, \"%s\" has a fraction", r->name, r->argument);
    r->timed_ms = ms;
    return 0;
}

static int parse_argument(struct request *r, struct err *err)
{
    static const struct {
        const char *word;
        unsigned argument;
        enum request_form form;
    } forms[] = {{"text", KIND_ARG_TEXT | KIND_ARG_TEXT_FORMS, FORM_TEXT},
                 {"grouped", KIND_ARG_TEXT_FORMS, FORM_GROUPED},
                 {"proto", KIND_ARG_TEXT_FORMS, FORM_PROTO},
                 {"gc", KIND_ARG_GC, FORM_GC}};
    unsigned allowed = r->kind ? r->kind->arguments : 0;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if (strcmp(r->argument, forms[i].word) != 0 || !(allowed & forms[i].argument))
            continue;
        r->form = forms[i].form;
        return 0;
    }
    if (!(allowed & (KIND_ARG_SECONDS | KIND_ARG_DELTA)) || r->argument[0] < '0' || r->argument[0] > '9')
        return set_argument_error(r, err);
    if (allowed & KIND_ARG_DELTA)
        r->form = FORM_DELTA;
    return parse_seconds(r, err);
}

static bool is_same(const struct request *a, const struct request *b)
{
    return strcmp(a->name, b->name) == 0 && a->form == b->form && a->timed_ms == b->timed_ms;
}

static int add_request(struct request_list *l, const struct request *r, struct err *err)
{
    for (size_t i = 0; i < l->n; i++)
        if (is_same(&l->items[i], r))
            return 0;
    if (l->n == REQUESTS_MAX) {
        err_set(err, ERR_USAGE, "a service cannot be asked for more than %d kinds and paths", REQUESTS_MAX);
        return err_hint(err, "ask for them in several runs");
    }
    if (array_reserve((void **)&l->items, &l->cap, l->n + 1, sizeof *l->items, err) < 0)
        return -1;
    l->items[l->n++] = *r;
    return 0;
}

/* A raw path becomes part of a request line: visible ASCII only, no fragment. */
static bool has_only_path_characters(const char *s)
{
    for (; *s; s++)
        if (*s <= ' ' || *s > '~' || *s == '#')
            return false;
    return true;
}

static int check_name(const struct request *r, struct err *err)
{
    bool is_raw = r->name[0] == '/';
    bool is_good = is_raw ? has_only_path_characters(r->name)
                          : r->name[0] != '\0' && r->name[0] != '-' && has_only_path_characters(r->name);
    if (is_good)
        return 0;
    char shown[64];
    text_printable(shown, sizeof shown, r->name, strlen(r->name));
    return err_set(err, ERR_USAGE, "\"%s\" cannot be a kind or a path", shown);
}

/* Returns how long the handler at the end of this path takes if the request has no `seconds`. */
static int64_t get_handler_time(const char *path, size_t n)
{
    const char *slash = memrchr(path, '/', n);
    char endpoint[256];
    snprintf(endpoint, sizeof endpoint, "%.*s", slash ? (int)(path + n - slash - 1) : 0,
             slash ? slash + 1 : "");
    const struct kind *kind = kind_of_endpoint(endpoint);
    return kind ? kind->handler_seconds * INT64_C(1000) : 0;
}

/* Sets how long the server takes for a raw path: its `seconds`, else the handler's default. For an invalid
 * number the server takes the default or refuses the request, so this function keeps the default. */
static void set_raw_path_time(struct request *r)
{
    size_t n = strcspn(r->name, "?");
    r->timed_ms = get_handler_time(r->name, n);
    for (const char *p = r->name + n; *p; p += strcspn(p, "&")) {
        char value[24];
        int64_t ms = 0;
        p++;
        if (strncmp(p, "seconds=", 8) != 0 || strcspn(p + 8, "&") >= sizeof value)
            continue;
        snprintf(value, sizeof value, "%.*s", (int)strcspn(p + 8, "&"), p + 8);
        if (text_to_duration(value, &ms, NULL) == 0 && ms > 0)
            r->timed_ms = ms;
    }
}

static int parse_word(struct request_list *l, const char *word, struct err *err)
{
    struct request r = {0};
    /* A raw path may contain an equals sign: ?gc=1. */
    size_t n = word[0] == '/' ? strlen(word) : strcspn(word, "=");
    if (n >= sizeof r.name || (word[n] && strlen(word + n + 1) >= sizeof r.argument))
        return err_set(err, ERR_USAGE, "kind \"%.40s...\" is too long", word);
    snprintf(r.name, sizeof r.name, "%.*s", (int)n, word);
    if (check_name(&r, err) < 0)
        return -1;
    if (word[0] == '/')
        set_raw_path_time(&r);
    r.kind = kind_find(r.name);
    if (r.kind) {
        snprintf(r.name, sizeof r.name, "%s", r.kind->name);
        r.timed_ms = r.kind->seconds * INT64_C(1000);
    }
    if (word[n]) {
        snprintf(r.argument, sizeof r.argument, "%s", word + n + 1);
        if (parse_argument(&r, err) < 0)
            return -1;
    }
    return add_request(l, &r, err);
}

static bool has_kind(const struct request_list *l, const struct kind *kind)
{
    for (size_t i = 0; i < l->n; i++)
        if (kind && l->items[i].kind == kind)
            return true;
    return false;
}

/* Adds the kinds of a set, except those that the user also named, in any form: `all cpu=5s` takes one CPU
 * profile. */
static int parse_set(struct request_list *l, size_t set, struct err *err)
{
    struct strlist words = {0};
    struct request_list members = {0};
    int rc = strlist_split(&words, sets[set].words, err);
    for (size_t i = 0; rc == 0 && i < words.n; i++)
        rc = parse_word(&members, words.items[i], err);
    for (size_t i = 0; rc == 0 && i < members.n; i++)
        rc = has_kind(l, members.items[i].kind) ? 0 : add_request(l, &members.items[i], err);
    strlist_release(&words);
    request_release(&members);
    l->all = l->all || strcmp(sets[set].name, "all") == 0;
    return rc;
}

/* Returns the index of the set with that name, or -1. */
static int find_set(const char *word)
{
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
        if (strcmp(word, sets[i].name) == 0)
            return (int)i;
    return -1;
}

bool fetch_is_known_word(const char *word)
{
    char name[64];
    size_t n = strcspn(word, "=");
    if (word[0] == '/' || find_set(word) >= 0)
        return true;
    if (n >= sizeof name)
        return false;
    snprintf(name, sizeof name, "%.*s", (int)n, word);
    return kind_find(name) != NULL;
}

void fetch_suggest_kinds(struct nearest *near)
{
    const struct kind *k;
    for (size_t i = 0; (k = kind_at(i)); i++) {
        nearest_add(near, k->name);
        /* An alias that is the beginning of the name adds nothing. */
        if (k->alias && strncmp(k->name, k->alias, strlen(k->alias)) != 0)
            nearest_add(near, k->alias);
    }
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
        nearest_add(near, sets[i].name);
}

int request_parse(const struct strlist *words, struct request_list *ret, struct err *err)
{
    struct request_list l = {0};
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < words->n; i++)
        rc = find_set(words->items[i]) < 0 ? parse_word(&l, words->items[i], err) : 0;
    for (size_t i = 0; rc == 0 && i < words->n; i++)
        rc = find_set(words->items[i]) >= 0 ? parse_set(&l, (size_t)find_set(words->items[i]), err) : 0;
    if (rc == 0 && words->n == 0)
        rc = parse_set(&l, (size_t)find_set("default"), err);
    if (rc < 0)
        request_release(&l);
    else
        *ret = l;
    return rc;
}

void request_release(struct request_list *l)
{
    free(l->items);
    *l = (struct request_list){0};
}

bool request_is_compressible(const struct request_list *l)
{
    for (size_t i = 0; i < l->n; i++) {
        const struct request *r = &l->items[i];
        /* Bare `goroutines` includes text. */
        bool is_text = r->form == FORM_TEXT || r->form == FORM_GROUPED ||
                       (r->form == FORM_BARE && r->kind && r->kind->arguments & KIND_ARG_TEXT_FORMS);
        if (is_text || (r->kind && r->kind->format == BODY_TRACE))
            return true;
    }
    return false;
}

bool request_can_pair(const struct request *r)
{
    return r->kind && r->kind->can_be_compared && r->form != FORM_TEXT && r->form != FORM_GROUPED &&
           r->form != FORM_DELTA;
}

int fetch_check_pair(const struct strlist *words, struct err *err)
{
    struct request_list l = {0};
    struct buf names = BUF_INIT(200);
    if (request_parse(words, &l, err) < 0)
        return -1;
    bool can_pair = l.all;
    for (size_t i = 0; i < l.n && !can_pair; i++)
        can_pair = request_can_pair(&l.items[i]);
    request_release(&l);
    if (can_pair)
        return 0;
    err_set(err, ERR_USAGE, "none of the kinds can be taken twice");
    const struct kind *k;
    for (size_t i = 0; (k = kind_at(i)); i++)
        if (k->can_be_compared)
            buf_addf(&names, "%s%s", names.len ? ", " : "", k->name);
    err_hint(err, "--pair takes two snapshots of each of these kinds: %s; ask for at least one of them",
             buf_str(&names));
    buf_release(&names);
    return -1;
}

int fetch_check_kinds(const struct strlist *words, int64_t *ret_longest_ms, struct err *err)
{
    struct request_list l = {0};
    if (request_parse(words, &l, err) < 0)
        return -1;
    int64_t longest = 0;
    for (size_t i = 0; i < l.n; i++)
        longest = l.items[i].timed_ms > longest ? l.items[i].timed_ms : longest;
    request_release(&l);
    *ret_longest_ms = longest;
    return 0;
}

static size_t count_snapshots(void)
{
    size_t n = 0;
    for (size_t i = 0; kind_at(i); i++)
        n += !kind_at(i)->only_by_name && kind_at(i)->rank <= RANK_INTRUSIVE;
    return n;
}

int fetch_count_items(const struct strlist *words, size_t *ret, struct err *err)
{
    struct request_list l = {0};
    if (request_parse(words, &l, err) < 0)
        return -1;
    *ret = l.n + (l.all ? count_snapshots() : 0);
    request_release(&l);
    return 0;
}

static bool is_costly(const struct request *r)
{
    bool stops_process = r->form == FORM_TEXT && r->kind && r->kind->arguments & KIND_ARG_TEXT_FORMS;
    return r->timed_ms > 0 || stops_process;
}

int fetch_add_costly_kinds(const struct strlist *words, struct strlist *into, struct err *err)
{
    struct request_list l = {0};
    int rc = request_parse(words, &l, err);
    for (size_t i = 0; rc == 0 && i < l.n; i++) {
        const struct request *r = &l.items[i];
        char text[320], argument[32];
        if (!is_costly(r))
            continue;
        text_duration(argument, sizeof argument, r->timed_ms);
        snprintf(text, sizeof text, "%s%s%s", r->name, r->name[0] == '/' ? "" : "=",
                 r->name[0] == '/' ? ""
                 : *r->argument    ? r->argument
                                   : argument);
        if (!strlist_has(into, text))
            rc = strlist_add(into, text, err);
    }
    request_release(&l);
    return rc;
}
