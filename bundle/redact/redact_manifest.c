/*
 * Walks the manifest three times. The first walk applies the rules for requests to its requests, the second
 * applies the other rules to all strings; both learn the redacted words. The third walk applies these words
 * and the new file names to all strings.
 */
#include "bundle/redact/redact_manifest.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bundle/redact/redact_names.h"
#include "base/banned.h"

/* The most output bytes for one input byte: [redacted] has ten bytes, and may replace a value of one byte. */
enum { GROWTH = 12 };

/* Check `stop` after this many bytes; each string counts STRING_COST bytes more. */
enum { CHECK_BYTES = 1 << 16, STRING_COST = 64 };

/* The fixed words of the format. A reader of the copy depends on them, and they contain no secret. */
static const struct {
    const char *key, *value;
} constants[] = {{"format", "profgrab-bundle"},
                 {"name", "profgrab"},
                 {"route", "direct"},
                 {"route", "ssh"},
                 {"status", "ok"},
                 {"status", "damaged"},
                 {"status", "failed"},
                 {"status", "interrupted"},
                 {"status", "left-out"}};

static int check_cancelled(struct redact_manifest *m, size_t n, struct err *err)
{
    m->since_check += n + STRING_COST;
    if (m->since_check < CHECK_BYTES)
        return 0;
    m->since_check = 0;
    return stop_check(m->stop, err);
}

/* ---- words --------------------------------------------------------------------------------------------- */

/* Learns words from redacted values: the context of learn_value. */
struct learning {
    struct redact_manifest *m;
    bool of_request;
    bool whole_values; /* also redact values that were learned whole from requests: a rule may match only a
                          part of one */
    bool failed;
    struct err *err;
};

static void learn_value(void *ctx, struct str value)
{
    struct learning *l = ctx;
    if (!l->failed && redact_words_learn(&l->m->words, value, l->of_request, l->err) < 0)
        l->failed = true;
}

/* ---- strings ------------------------------------------------------------------------------------------- */

/* Applies the rules to one string, and with l->whole_values also the values learned whole from requests;
 * *ret_changed: the string was redacted. */
static int apply_rules(struct learning *l, struct str text, struct buf *ret, bool *ret_changed)
{
    struct redact_manifest *m = l->m;
    struct redact_tally tally = {{0}};
    struct redact_output into = {
        .out = ret, .tally = &tally, .on_match = learn_value, .ctx = l, .request = l->of_request};
    /* A rule may match only a part of a value that was learned whole from a request. */
    const struct redact_learned literals = {.words = &m->words, .weak = true, .literals_only = true};
    if (l->whole_values)
        into.learned = &literals;
    buf_init(ret, text.n * GROWTH + sizeof REDACTED);
    redact_text(text, &into);
    for (int i = 0; i < REDACT_RULES; i++)
        m->tally.n[i] += tally.n[i];
    *ret_changed = redact_sum(&tally) > 0;
    return l->failed ? -1 : ret->failed ? err_nomem(l->err) : 0;
}

/* Redacts in one string the words that were redacted elsewhere. */
static int apply_words(struct redact_manifest *m, struct str text, struct buf *ret, bool *ret_changed,
                       struct err *err)
{
    const struct redact_learned all = {.words = &m->words, .weak = true};
    uint64_t n = 0;
    buf_init(ret, text.n * GROWTH + sizeof REDACTED);
    redact_words_apply(&all, text, ret, &n);
    m->tally.n[REDACT_REPEAT] += n;
    *ret_changed = n > 0;
    return ret->failed ? err_nomem(err) : 0;
}

/* The bytes by which redaction may make the strings longer. A real manifest becomes shorter; in a hostile one
 * each of a million words may be replaced by a longer text, and the manifest is in memory. */
#define MAX_GROWTH ((size_t)16 << 20)

/* Sets a string. If the text is not UTF-8, which jansson requires, sets [redacted]. */
static int set_string(struct redact_manifest *m, json_t *string, const char *text, size_t n, struct err *err)
{
    size_t before = json_string_length(string);
    m->grown += n > before ? n - before : 0;
    if (m->grown > MAX_GROWTH)
        return err_set(err, ERR_FAILED, "redaction would make its manifest.json more than %zu bytes longer",
                       MAX_GROWTH);
    if (json_string_setn(string, text, n) == 0)
        return 0;
    return json_string_set(string, REDACTED) < 0 ? err_nomem(err) : 0;
}

static struct str get_string(const json_t *string)
{
    return (struct str){json_string_value(string), json_string_length(string)};
}

/* Sets a redacted string. A redacted name of a rule becomes `redacted`, because names of rules have
 * no brackets. */
static int set_redacted(struct redact_manifest *m, const char *key, json_t *string, const struct buf *text,
                        struct err *err)
{
    return key && strcmp(key, "rule") == 0 ? set_string(m, string, REDACTED_NAME, strlen(REDACTED_NAME), err)
                                           : set_string(m, string, buf_str(text), text->len, err);
}

/* Applies the rules to one string in place; *ret_changed (may be NULL): the string was redacted. */
static int redact_in_place(struct learning *l, const char *key, json_t *string, bool *ret_changed)
{
    struct buf out = BUF_INIT(0);
    bool changed = false;
    int rc = apply_rules(l, get_string(string), &out, &changed);
    if (rc == 0 && changed)
        rc = set_redacted(l->m, key, string, &out, l->err);
    buf_release(&out);
    if (rc == 0 && ret_changed)
        *ret_changed = changed;
    return rc;
}

/* Redacts a string whose key means a request or a part of a request: in items with and without a file, in the
 * plan, and in the words of the command line. */
static int redact_request_string(struct redact_manifest *m, const char *key, json_t *string, struct err *err)
{
    static const char *const keys[] = {"kind", "kinds", "request", "argument", "path", "url"};
    struct learning l = {.m = m, .of_request = true, .err = err};
    if (check_cancelled(m, json_string_length(string), err) < 0)
        return -1;
    for (size_t i = 0; key && i < sizeof keys / sizeof *keys; i++)
        if (strcmp(key, keys[i]) == 0)
            return redact_in_place(&l, key, string, NULL);
    return 0;
}

/* Returns whether the key alone makes the string a secret, as in `"password": "x"`. */
static bool is_secret_by_key(const char *key, struct str text)
{
    return key && redact_is_secret_string(redact_classify_name(str_of(key)), text);
}

/* Returns whether the text is a time as profgrab writes it: 2026-11-21T07:48:00.000Z. */
static bool is_time(struct str text)
{
    static const char form[] = "0000-00-00T00:00:00.000Z";
    if (text.n != sizeof form - 1)
        return false;
    for (size_t i = 0; i < text.n; i++)
        if (form[i] == '0' ? !isdigit((unsigned char)text.p[i]) : text.p[i] != form[i])
            return false;
    return true;
}

/* Returns whether the text stays as it is: a fixed word of the format, a time, or the hash of a member. */
static bool is_constant(const struct redact_manifest *m, const char *key, struct str text)
{
    for (size_t i = 0; key && i < sizeof constants / sizeof *constants; i++)
        if (strcmp(key, constants[i].key) == 0 && str_is(text, constants[i].value))
            return true;
    return is_time(text) || json_object_getn(m->hashes, text.p, text.n);
}

/* Returns whether a key is long and has letters and digits. profgrab's own keys, which stay even if they
 * equal a redacted word, are not like that. */
static bool looks_random(struct str key)
{
    enum { MIN_LENGTH = 12 };
    bool letter = false, digit = false;
    for (size_t i = 0; i < key.n; i++) {
        letter = letter || isalpha((unsigned char)key.p[i]);
        digit = digit || isdigit((unsigned char)key.p[i]);
    }
    return key.n >= MIN_LENGTH && letter && digit;
}

/* Returns whether a key has the form of profgrab's own keys. */
static bool has_form_of_own_key(struct str key)
{
    size_t n = 0;
    while (n < key.n &&
           (islower((unsigned char)key.p[n]) || isdigit((unsigned char)key.p[n]) || key.p[n] == '_'))
        n++;
    return n == key.n && !looks_random(key);
}

static int apply_rules_to_string(struct redact_manifest *m, const char *key, json_t *string, struct err *err)
{
    struct str text = get_string(string);
    struct learning l = {.m = m, .err = err};
    if (check_cancelled(m, text.n, err) < 0)
        return -1;
    if (json_object_getn(m->path_map, text.p, text.n))
        return 0;
    if (is_secret_by_key(key, text)) {
        learn_value(&l, text);
        m->tally.n[REDACT_OPTION]++;
        return l.failed ? -1 : set_string(m, string, REDACTED, strlen(REDACTED), err);
    }
    l.whole_values = key ? !is_constant(m, key, text) : !has_form_of_own_key(text);
    return redact_in_place(&l, key, string, NULL);
}

static int apply_words_to_string(struct redact_manifest *m, const char *key, json_t *string, struct err *err)
{
    struct buf out = BUF_INIT(0);
    struct str text = get_string(string);
    const json_t *path = json_object_getn(m->path_map, text.p, text.n);
    bool changed = false;
    if (check_cancelled(m, text.n, err) < 0)
        return -1;
    if (is_constant(m, key, text))
        return 0;
    if (json_is_string(path))
        return set_string(m, string, json_string_value(path), json_string_length(path), err);
    if (path) /* a member that keeps its name */
        return 0;
    int rc = apply_words(m, text, &out, &changed, err);
    if (rc == 0 && changed)
        rc = set_redacted(m, key, string, &out, err);
    buf_release(&out);
    return rc;
}

/* ---- the walk ------------------------------------------------------------------------------------------ */

typedef int string_fn(struct redact_manifest *m, const char *key, json_t *string, struct err *err);

/* Redacts a key like a string, because a manifest from elsewhere may have any key. */
static int walk_key(struct redact_manifest *m, string_fn *visit, json_t *object, const char *key,
                    struct err *err)
{
    json_t *name = json_string(key), *value = json_object_get(object, key);
    int rc = name ? visit(m, NULL, name, err) : err_nomem(err);
    if (rc == 0 && strcmp(json_string_value(name), key) != 0) {
        json_incref(value);
        json_object_del(object, key);
        if (json_object_set_new(object, json_string_value(name), value) < 0)
            rc = err_nomem(err);
    }
    json_decref(name);
    return rc;
}

static int walk_keys(struct redact_manifest *m, string_fn *visit, json_t *object, struct err *err)
{
    const char *key;
    json_t *value;
    struct strlist keys = {0};
    int rc = 0;
    if (visit == redact_request_string) /* a key is no request */
        return 0;
    json_object_foreach(object, key, value)
    {
        if (rc == 0 && (visit != apply_words_to_string || looks_random(str_of(key))))
            rc = strlist_add(&keys, key, err);
    }
    for (size_t i = 0; rc == 0 && i < keys.n; i++)
        rc = walk_key(m, visit, object, keys.items[i], err);
    strlist_release(&keys);
    return rc;
}

/* Returns whether the value is a number whose key means a secret. */
static bool is_secret_number(const char *key, const json_t *value)
{
    return json_is_number(value) && key && redact_classify_name(str_of(key)) == REDACT_SECRET;
}

static json_t *redact_number(struct redact_manifest *m)
{
    m->tally.n[REDACT_OPTION]++;
    return json_string(REDACTED);
}

static int walk_value(struct redact_manifest *m, string_fn *visit, const char *key, json_t *value,
                      struct err *err);

static int walk_list(struct redact_manifest *m, string_fn *visit, const char *key, json_t *list,
                     struct err *err)
{
    json_t *inner;
    size_t i;
    json_array_foreach(list, i, inner)
    {
        if (is_secret_number(key, inner) && json_array_set_new(list, i, redact_number(m)) < 0)
            return err_nomem(err);
        if (walk_value(m, visit, key, json_array_get(list, i), err) < 0)
            return -1;
    }
    return 0;
}

/* For an object that names its value, such as {"name": "DB_PASSWORD", "value": "x"}: returns a key whose
 * values are as secret as the name says, here `password`. NULL: no name of the object means a secret. */
static const char *get_key_of_named_value(json_t *object)
{
    static const char *const keys[] = {[REDACT_HARMLESS] = NULL,
                                       [REDACT_MAYBE] = "key",
                                       [REDACT_PLURAL] = "tokens",
                                       [REDACT_SECRET] = "password"};
    enum redact_secrecy secrecy = REDACT_HARMLESS;
    const char *key;
    json_t *inner;
    json_object_foreach(object, key, inner)
    {
        if (!json_is_string(inner) || redact_get_pair_role(str_of(key)) != REDACT_PAIR_NAME)
            continue;
        enum redact_secrecy more = redact_classify_name(get_string(inner));
        secrecy = more > secrecy ? more : secrecy;
    }
    return keys[secrecy];
}

static int walk_object(struct redact_manifest *m, string_fn *visit, json_t *object, struct err *err)
{
    const char *own, *pair = get_key_of_named_value(object);
    json_t *inner;
    json_object_foreach(object, own, inner)
    {
        const char *key = pair && redact_get_pair_role(str_of(own)) == REDACT_PAIR_VALUE ? pair : own;
        if (is_secret_number(key, inner) && json_object_set_new(object, own, redact_number(m)) < 0)
            return err_nomem(err);
        if (walk_value(m, visit, key, json_object_get(object, own), err) < 0)
            return -1;
    }
    return walk_keys(m, visit, object, err);
}

/* Recursion is safe: jansson limits the nesting. `key`: the key of the value, or of the list that contains
 * it. */
static int walk_value(struct redact_manifest *m, string_fn *visit, const char *key, json_t *value,
                      struct err *err)
{
    if (json_is_string(value))
        return visit(m, key, value, err);
    if (json_is_array(value))
        return walk_list(m, visit, key, value, err);
    return json_is_object(value) ? walk_object(m, visit, value, err) : 0;
}

/* ---- names of members ---------------------------------------------------------------------------------- */

/* Returns the ending that shows how to open the file. The ending stays; the rest of the name is redacted. */
static const char *find_ending(struct str base)
{
    static const char *const endings[] = {".pb.gz",        ".txt",          ".json",          ".html",
                                          ".out",          ".bin",          ".pb.gz.damaged", ".txt.damaged",
                                          ".json.damaged", ".html.damaged", ".out.damaged",   ".bin.damaged"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        size_t n = strlen(endings[i]);
        if (base.n > n && memcmp(base.p + base.n - n, endings[i], n) == 0)
            return endings[i];
    }
    return ".bin";
}

/* Returns whether to redact a component of a path. */
static bool is_secret_component(struct redact_manifest *m, struct str part)
{
    struct redact_tally tally = {{0}};
    const struct redact_learned all = {.words = &m->words, .weak = true};
    const struct redact_output into = {.tally = &tally, .learned = &all};
    redact_text(part, &into);
    return redact_sum(&tally) > 0;
}

/* Adds the directories of a path, without its last component. */
static void add_directories(struct redact_manifest *m, struct str path, struct buf *ret)
{
    const char *slash;
    while ((slash = memchr(path.p, '/', path.n))) {
        struct str part = {path.p, (size_t)(slash - path.p)};
        if (is_secret_component(m, part))
            buf_adds(ret, REDACTED_NAME);
        else
            buf_add(ret, part.p, part.n);
        buf_addc(ret, '/');
        path = (struct str){slash + 1, path.n - part.n - 1};
    }
}

static struct str find_base(struct str path)
{
    size_t n = path.n;
    while (n > 0 && path.p[n - 1] != '/')
        n--;
    return (struct str){path.p + n, path.n - n};
}

void redact_manifest_directory(struct redact_manifest *m, const char *path, struct buf *ret)
{
    struct str base = find_base(str_of(path));
    add_directories(m, str_of(path), ret);
    if (is_secret_component(m, base))
        buf_adds(ret, REDACTED_NAME);
    else
        buf_add(ret, base.p, base.n);
}

const char *redact_manifest_name(struct redact_manifest *m, const char *name)
{
    return is_secret_component(m, str_of(name)) ? REDACTED_NAME : name;
}

struct naming {
    struct redact_manifest *m;
    const json_t *items;           /* by their old paths: a new path must differ from them */
    json_t *new_paths;             /* the assigned paths, as keys */
    json_t *counts;                /* by path without its ending: how often it was assigned */
    struct strlist redacted_names; /* old names of the redacted members */
};

static bool is_path_taken(const struct naming *n, const char *path)
{
    return json_object_get(n->items, path) || json_object_get(n->new_paths, path);
}

/* Returns the path, with a number before the ending if the path is taken. Tries each number once. */
static int find_free_name(struct naming *n, const char *stem, const char *ending, char **ret, struct err *err)
{
    char *path = NULL;
    json_int_t number = json_integer_value(json_object_get(n->counts, stem));
    do {
        free(path);
        int len = number++ ? asprintf(&path, "%s-%lld%s", stem, (long long)number, ending)
                           : asprintf(&path, "%s%s", stem, ending);
        if (len < 0) {
            path = NULL;
            return err_nomem(err);
        }
    } while (is_path_taken(n, path));
    if (json_object_set_new(n->counts, stem, json_integer(number)) < 0 ||
        json_object_set_new(n->new_paths, path, json_true()) < 0) {
        free(path);
        return err_nomem(err);
    }
    *ret = path;
    return 0;
}

/* Renames a member. `redact_base`: also redacts the member's own name, not only those of its directories. */
static int rename_member(struct naming *n, const char *path, bool redact_base, struct err *err)
{
    struct str base = find_base(str_of(path));
    const char *ending = find_ending(base);
    struct buf stem = BUF_INIT(strlen(path) * GROWTH + 64);
    char *new_path = NULL;
    bool has_ending = text_ends_in(path, ending);
    add_directories(n->m, str_of(path), &stem);
    if (redact_base)
        buf_adds(&stem, REDACTED_NAME);
    else
        buf_add(&stem, base.p, base.n - (has_ending ? strlen(ending) : 0));
    int rc = stem.failed
                 ? err_nomem(err)
                 : find_free_name(n, buf_str(&stem), has_ending || redact_base ? ending : "", &new_path, err);
    if (rc == 0 && json_object_set_new(n->m->path_map, path, json_string(new_path)) < 0)
        rc = err_nomem(err);
    if (rc == 0 && redact_base)
        rc = strlist_add(&n->redacted_names, base.p, err);
    n->m->tally.n[REDACT_NAME]++;
    buf_release(&stem);
    free(new_path);
    return rc;
}

static int rename_if_secret(struct naming *n, const char *path, bool redact_base, struct err *err)
{
    struct buf directories = BUF_INIT(strlen(path) * GROWTH + 64);
    size_t n_directories = (size_t)(find_base(str_of(path)).p - path);
    add_directories(n->m, str_of(path), &directories);
    bool directories_change =
        directories.len != n_directories || memcmp(buf_str(&directories), path, n_directories) != 0;
    int rc = directories.failed ? err_nomem(err) : check_cancelled(n->m, strlen(path), err);
    buf_release(&directories);
    if (rc < 0)
        return -1;
    redact_base = redact_base || is_secret_component(n->m, find_base(str_of(path)));
    return directories_change || redact_base ? rename_member(n, path, redact_base, err) : 0;
}

/* Learns the redacted words of an item's request. *ret_is_secret: the request contains a secret, which the
 * name of the file may repeat. */
static int learn_request(struct redact_manifest *m, json_t *item, bool *ret_is_secret, struct err *err)
{
    static const char *const keys[] = {"kind", "request"};
    struct learning l = {.m = m, .of_request = true, .err = err};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        json_t *string = json_object_get(item, keys[i]);
        bool changed = false;
        if (json_is_string(string) && redact_in_place(&l, keys[i], string, &changed) < 0)
            return -1;
        *ret_is_secret = *ret_is_secret || changed;
    }
    return 0;
}

static int learn_requests(struct redact_manifest *m, const json_t *items, struct err *err)
{
    const char *path;
    json_t *item;
    json_object_foreach((json_t *)(uintptr_t)items, path, item)
    {
        bool is_secret = false;
        if (check_cancelled(m, strlen(path), err) < 0 || learn_request(m, item, &is_secret, err) < 0)
            return -1;
        json_t *hash = json_object_get(item, "sha256");
        if (json_is_string(hash) && json_object_setn_new(m->hashes, json_string_value(hash),
                                                         json_string_length(hash), json_true()) < 0)
            return err_nomem(err);
        /* `false` marks a path that stays: the rules do not search a member's path. */
        if (json_object_set_new(m->path_map, path, json_false()) < 0 ||
            (is_secret && json_object_set_new(m->secret_request_paths, path, json_true()) < 0))
            return err_nomem(err);
    }
    return 0;
}

bool redact_manifest_has_secret_request(const struct redact_manifest *m, const char *path)
{
    return json_object_get(m->secret_request_paths, path) != NULL;
}

/* Renames the members. The report keeps its name, because profgrab gave that name. */
static int rename_members(struct redact_manifest *m, const json_t *items, const json_t *report,
                          struct err *err)
{
    struct naming n = {.m = m, .items = items, .new_paths = json_object(), .counts = json_object()};
    const char *path;
    json_t *item;
    int rc = n.new_paths && n.counts ? 0 : err_nomem(err);
    json_object_foreach((json_t *)(uintptr_t)items, path, item)
    {
        if (rc == 0 && item != report)
            rc = rename_if_secret(&n, path, redact_manifest_has_secret_request(m, path), err);
    }
    /* Learn the redacted names, because other strings contain them too. Learn them only now, because the
     * searches in the names need prepared words. */
    for (size_t i = 0; rc == 0 && i < n.redacted_names.n; i++)
        rc = redact_words_learn(&m->words, str_of(n.redacted_names.items[i]), true, err);
    if (rc == 0)
        rc = redact_words_prepare(&m->words, err);
    strlist_release(&n.redacted_names);
    json_decref(n.new_paths);
    json_decref(n.counts);
    return rc;
}

/* ---- the whole ----------------------------------------------------------------------------------------- */

/* Redacts the bundle's name, which must fit in a path, because the top directory has the same name. */
static int rename_bundle(struct redact_manifest *m, json_t *root, const char *before, struct err *err)
{
    const char *new_name = json_string_value(json_object_get(root, "name"));
    if (!before || (new_name && strcmp(new_name, before) == 0 && redact_manifest_name(m, before) == before))
        return 0;
    return json_object_set_new(root, "name", json_string(REDACTED_NAME)) < 0 ? err_nomem(err) : 0;
}

int redact_manifest_run(json_t *root, const json_t *items, const struct stop *stop,
                        struct redact_manifest *ret, struct err *err)
{
    struct redact_manifest m = {.path_map = json_object(),
                                .secret_request_paths = json_object(),
                                .hashes = json_object(),
                                .stop = stop};
    const char *name = json_string_value(json_object_get(root, "name"));
    char *before = name ? strdup(name) : NULL;
    int rc = redact_words_init(&m.words, err);
    if (rc == 0 && (!m.path_map || !m.secret_request_paths || !m.hashes || (name && !before)))
        rc = err_nomem(err);
    if (rc == 0)
        rc = learn_requests(&m, items, err);
    if (rc == 0)
        rc = walk_value(&m, redact_request_string, NULL, root, err);
    if (rc == 0)
        rc = redact_words_prepare(&m.words, err);
    if (rc == 0)
        rc = walk_value(&m, apply_rules_to_string, NULL, root, err);
    if (rc == 0)
        rc = redact_words_prepare(&m.words, err);
    if (rc == 0)
        rc = rename_members(&m, items, json_object_get(root, "report"), err);
    if (rc == 0)
        rc = walk_value(&m, apply_words_to_string, NULL, root, err);
    if (rc == 0)
        rc = rename_bundle(&m, root, before, err);
    free(before);
    *ret = m;
    return rc;
}

int redact_manifest_object(struct redact_manifest *m, json_t *object, struct err *err)
{
    return walk_value(m, apply_rules_to_string, NULL, object, err) < 0 ||
                   redact_words_prepare(&m->words, err) < 0
               ? -1
               : walk_value(m, apply_words_to_string, NULL, object, err);
}

void redact_manifest_release(struct redact_manifest *m)
{
    redact_words_release(&m->words);
    json_decref(m->path_map);
    json_decref(m->secret_request_paths);
    json_decref(m->hashes);
    *m = (struct redact_manifest){0};
}
