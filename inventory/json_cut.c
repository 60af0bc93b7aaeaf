/*
 * A machine that takes one byte after the other. The path of the value that is read stands in one string,
 * which grows at each container and shrinks behind it. Below a container in which nothing is wanted
 * (`passed_over`) there is no path: there it only counts brackets and looks for the ends of strings.
 */
#include "inventory/json_cut.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

#define MAX_DEPTH 64
#define MAX_TEXT ((size_t)64 << 10)
#define MAX_PATHS 16

enum state {
    AT_VALUE,     /* a value must come */
    AT_FIRST,     /* the first of a list, or its end */
    AT_KEY,       /* a key must come */
    AT_FIRST_KEY, /* a key, or the end of the mapping */
    AT_COLON,     /* behind a key */
    AT_NEXT,      /* behind a value: a comma, or the end of the container */
    IN_STRING,    /* behind its quote */
    IN_ESCAPE,    /* behind a backslash */
    IN_WORD,      /* a number, true, false, null */
    AT_END,       /* behind the root */
};

struct level {
    bool map;
    size_t path; /* how long the path is in it */
};

struct json_cut {
    const char *const *paths;
    size_t lengths[MAX_PATHS];
    size_t n_paths;
    json_cut_fn *tell;
    void *ctx;
    enum state state;
    bool key;   /* the string is a key */
    bool taken; /* the string or word is wanted: it stands in `text` */
    int which;  /* of a value: which path is its own; -1: none */
    struct buf text;
    struct buf path;
    struct level levels[MAX_DEPTH];
    size_t depth;
    size_t passed_over; /* the depth at which nothing was wanted any more; 0: it still is */
    uint64_t at;        /* bytes before the piece */
};

int json_cut_new(const char *const *paths, json_cut_fn *tell, void *ctx, struct json_cut **ret,
                 struct err *err)
{
    struct json_cut *c = calloc(1, sizeof *c);
    if (!c)
        return err_nomem(err);
    c->paths = paths;
    for (; c->n_paths < MAX_PATHS && paths[c->n_paths]; c->n_paths++)
        c->lengths[c->n_paths] = strlen(paths[c->n_paths]);
    c->tell = tell;
    c->ctx = ctx;
    buf_init(&c->text, MAX_TEXT);
    buf_init(&c->path, MAX_TEXT);
    *ret = c;
    return 0;
}

void json_cut_free(struct json_cut *c)
{
    if (!c)
        return;
    buf_release(&c->text);
    buf_release(&c->path);
    free(c);
}

/* ---- paths --------------------------------------------------------------------------------------------- */

/* Which path is the one where we are; -1: none. */
static int wanted(const struct json_cut *c)
{
    if (c->passed_over)
        return -1;
    for (size_t i = 0; i < c->n_paths; i++)
        if (c->lengths[i] == c->path.len && memcmp(c->paths[i], buf_str(&c->path), c->path.len) == 0)
            return (int)i;
    return -1;
}

/* Whether anything is wanted inside of what is here. */
static bool leads_on(const struct json_cut *c)
{
    for (size_t i = 0; i < c->n_paths; i++)
        if (c->lengths[i] > c->path.len && memcmp(c->paths[i], buf_str(&c->path), c->path.len) == 0)
            return true;
    return false;
}

static void shorten(struct json_cut *c, size_t n)
{
    c->path.len = n;
    if (c->path.data)
        c->path.data[n] = '\0';
}

static int open_level(struct json_cut *c, bool map, struct err *err)
{
    if (c->depth == MAX_DEPTH)
        return err_set(err, ERR_FAILED, "it is nested deeper than %d levels", MAX_DEPTH);
    c->levels[c->depth++] = (struct level){.map = map, .path = c->path.len};
    c->state = map ? AT_FIRST_KEY : AT_FIRST;
    if (c->passed_over)
        return 0;
    if (!leads_on(c))
        c->passed_over = c->depth;
    else if (!map)
        buf_adds(&c->path, "[]");
    return buf_check(&c->path, "a key", err);
}

static int close_level(struct json_cut *c, struct err *err)
{
    const struct level *l = &c->levels[--c->depth];
    if (c->passed_over > c->depth)
        c->passed_over = 0;
    c->state = c->depth ? AT_NEXT : AT_END;
    if (c->passed_over)
        return 0;
    shorten(c, l->path);
    int which = wanted(c);
    return which < 0 ? 0 : c->tell(c->ctx, (size_t)which, l->map ? JSON_CUT_MAP : JSON_CUT_LIST, NULL, err);
}

/* ---- strings and words --------------------------------------------------------------------------------- */

/* What the string means, in place of how it is written. */
static int unescape(struct json_cut *c, struct err *err)
{
    struct buf quoted = BUF_INIT(MAX_TEXT + 2);
    buf_addc(&quoted, '"');
    buf_add(&quoted, buf_str(&c->text), c->text.len);
    buf_addc(&quoted, '"');
    json_t *value = json_loadb(buf_str(&quoted), quoted.len, JSON_DECODE_ANY, NULL);
    buf_release(&quoted);
    if (!value)
        return err_set(err, ERR_FAILED, "a string in it is not JSON's");
    buf_clear(&c->text);
    buf_adds(&c->text, json_string_value(value));
    json_decref(value);
    return buf_check(&c->text, "a string in it", err);
}

/* The path leads through the key from here on. */
static int take_key(struct json_cut *c, struct err *err)
{
    c->state = AT_COLON;
    if (!c->taken)
        return 0;
    shorten(c, c->levels[c->depth - 1].path);
    buf_adds(&c->path, c->path.len ? "." : "");
    buf_adds(&c->path, buf_str(&c->text));
    return buf_check(&c->path, "a key", err);
}

static int end_string(struct json_cut *c, struct err *err)
{
    if (c->taken && buf_check(&c->text, "a string in it", err) < 0)
        return -1;
    if (c->taken && memchr(buf_str(&c->text), '\\', c->text.len) && unescape(c, err) < 0)
        return -1;
    if (c->key)
        return take_key(c, err);
    c->state = c->depth ? AT_NEXT : AT_END;
    return c->which < 0 ? 0 : c->tell(c->ctx, (size_t)c->which, JSON_CUT_TEXT, buf_str(&c->text), err);
}

static bool is_word(const char *s)
{
    return strcmp(s, "true") == 0 || strcmp(s, "false") == 0 || strcmp(s, "null") == 0 || *s == '-' ||
           (*s >= '0' && *s <= '9');
}

static int end_word(struct json_cut *c, struct err *err)
{
    c->state = c->depth ? AT_NEXT : AT_END;
    if (buf_check(&c->text, "a number in it", err) < 0)
        return -1;
    if (!is_word(buf_str(&c->text)))
        return 1;
    int which = wanted(c);
    return which < 0 ? 0 : c->tell(c->ctx, (size_t)which, JSON_CUT_OTHER, buf_str(&c->text), err);
}

static void begin_string(struct json_cut *c, bool key)
{
    c->state = IN_STRING;
    c->key = key;
    c->which = key ? -1 : wanted(c);
    c->taken = key ? !c->passed_over : c->which >= 0;
    buf_clear(&c->text);
}

/* As much of the string as the piece has; how many bytes that was. */
static size_t in_string(struct json_cut *c, const char *p, size_t n)
{
    size_t i = 0;
    while (i < n && p[i] != '"' && p[i] != '\\' && (unsigned char)p[i] >= 0x20)
        i++;
    if (c->taken)
        buf_add(&c->text, p, i);
    return i;
}

/* ---- one byte after the other -------------------------------------------------------------------------- */

static bool is_blank(char b)
{
    return b == ' ' || b == '\n' || b == '\r' || b == '\t';
}

/* 1: no value begins so. */
static int begin_value(struct json_cut *c, char b, struct err *err)
{
    if (b == '{' || b == '[')
        return open_level(c, b == '{', err);
    if (b == '"') {
        begin_string(c, false);
        return 0;
    }
    if (!((b >= 'a' && b <= 'z') || (b >= '0' && b <= '9') || b == '-'))
        return 1;
    c->state = IN_WORD;
    buf_clear(&c->text);
    buf_addc(&c->text, b);
    return 0;
}

static int behind_value(struct json_cut *c, char b, struct err *err)
{
    bool map = c->levels[c->depth - 1].map;
    if (b == (map ? '}' : ']'))
        return close_level(c, err);
    if (b != ',')
        return 1;
    c->state = map ? AT_KEY : AT_VALUE;
    return 0;
}

/* A byte that is neither in a string nor in a word. 1: it cannot stand there. */
static int step(struct json_cut *c, char b, struct err *err)
{
    if (is_blank(b))
        return 0;
    switch (c->state) {
    case AT_FIRST:
        if (b == ']')
            return close_level(c, err);
        return begin_value(c, b, err);
    case AT_VALUE:
        return begin_value(c, b, err);
    case AT_FIRST_KEY:
        if (b == '}')
            return close_level(c, err);
        /* fallthrough */
    case AT_KEY:
        if (b != '"')
            return 1;
        begin_string(c, true);
        return 0;
    case AT_COLON:
        c->state = AT_VALUE;
        return b != ':';
    case AT_NEXT:
        return behind_value(c, b, err);
    case IN_STRING:
    case IN_ESCAPE:
    case IN_WORD:
    case AT_END:
        break;
    }
    return 1;
}

static int no_json(const struct json_cut *c, size_t i, char b, struct err *err)
{
    if (c->depth == 0 && c->state == AT_VALUE && b == '<')
        return err_set(err, ERR_FAILED, "it is a page of HTML or XML, not JSON");
    return err_set(err, ERR_FAILED, "it is not JSON, at byte %llu", (unsigned long long)(c->at + i + 1));
}

/* Takes bytes from p[*i] on, at least one unless only a state ends there. 1: p[*i] cannot stand there. */
static int take(struct json_cut *c, const char *p, size_t n, size_t *i, struct err *err)
{
    char b = p[*i];
    if (c->state == IN_WORD) {
        if (b == ',' || b == ']' || b == '}' || is_blank(b))
            return end_word(c, err);
        if (!((b >= 'a' && b <= 'z') || (b >= '0' && b <= '9') || b == '.' || b == '-' || b == '+' ||
              b == 'E'))
            return 1;
        buf_addc(&c->text, b);
    } else if (c->state == IN_ESCAPE) {
        if (c->taken)
            buf_addc(&c->text, b);
        c->state = IN_STRING;
    } else if (c->state == IN_STRING) {
        *i += in_string(c, p + *i, n - *i);
        if (*i == n)
            return 0;
        if ((unsigned char)p[*i] < 0x20)
            return 1;
        if (p[(*i)++] == '"')
            return end_string(c, err);
        if (c->taken)
            buf_addc(&c->text, '\\');
        c->state = IN_ESCAPE;
        return 0;
    } else {
        int rc = step(c, b, err);
        *i += rc == 0;
        return rc;
    }
    (*i)++;
    return 0;
}

int json_cut_feed(struct json_cut *c, const void *bytes, size_t n, struct err *err)
{
    const char *p = bytes;
    for (size_t i = 0; i < n;) {
        int rc = take(c, p, n, &i, err);
        if (rc < 0)
            return -1;
        if (rc > 0)
            return no_json(c, i, p[i], err);
    }
    c->at += n;
    return 0;
}

int json_cut_end(const struct json_cut *c, struct err *err)
{
    if (c->state == AT_END || (c->state == IN_WORD && c->depth == 0))
        return 0;
    if (c->at == 0)
        return err_set(err, ERR_FAILED, "it is empty");
    return err_set(err, ERR_FAILED, "it ends in the middle, after %llu bytes", (unsigned long long)c->at);
}
