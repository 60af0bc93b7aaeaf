/*
 * A state machine over bytes. The wanted paths form a tree of keys, and the machine follows this tree. In a
 * list or mapping without wanted values it only counts brackets and finds the ends of strings (state
 * SKIPPING).
 */
#include "discovery/json_pick.h"

#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

#define MAX_DEPTH 64
#define MAX_TEXT ((size_t)64 << 10)
#define MAX_NODES 32

enum state {
    AT_VALUE,     /* expects a value */
    AT_FIRST,     /* expects the first element of a list, or its end */
    AT_KEY,       /* expects a key */
    AT_FIRST_KEY, /* expects a key, or the end of the mapping */
    AT_COLON,     /* after a key */
    AT_NEXT,      /* after a value: expects a comma, or the end of the container */
    IN_STRING,    /* in a string */
    IN_ESCAPE,    /* in a string, after a backslash */
    IN_WORD,      /* in a number, true, false or null */
    SKIPPING,     /* in an unwanted container, between strings */
    AT_END,       /* after the root */
};

/* A node of the wanted paths: the root, a key, or the elements of a list. */
struct node {
    const char *key; /* `length` bytes; "[]" for elements */
    size_t length;
    int path_index; /* the index of the path that ends here; -1: none */
    const struct node *parent;
};

struct level {
    bool is_map;             /* a mapping, not a list */
    const struct node *node; /* NULL: no path leads here */
};

struct json_pick {
    struct node nodes[MAX_NODES]; /* the first is the root */
    size_t n_nodes;
    json_pick_fn *report;
    void *ctx;
    enum state state;
    const struct node *node; /* of the next or current value; NULL: no path leads there */
    bool is_key;             /* the current string is a key */
    bool is_wanted;          /* the current string is stored in `text` */
    struct buf text;
    struct buf wildcard_key; /* the last key that matched `*` */
    struct level levels[MAX_DEPTH];
    size_t depth;
    size_t skipped_depth; /* the depth of the skipped container; 0: none */
    uint64_t offset;      /* the number of bytes before the current piece */
    bool malformed;
};

/* ---- paths --------------------------------------------------------------------------------------------- */

/* Returns the child of a node, or NULL. */
static struct node *find_child(struct json_pick *c, const struct node *parent, const char *key, size_t n)
{
    for (size_t i = 1; i < c->n_nodes; i++) {
        struct node *node = &c->nodes[i];
        if (node->parent == parent && node->length == n && memcmp(node->key, key, n) == 0)
            return node;
    }
    return NULL;
}

/* Returns whether a path continues below the node: with a key if `is_map`, else with the elements of a list.
 */
static bool has_child(const struct json_pick *c, const struct node *node, bool is_map)
{
    for (size_t i = 1; node && i < c->n_nodes; i++)
        if (c->nodes[i].parent == node && (*c->nodes[i].key != '[') == is_map)
            return true;
    return false;
}

static int add_path(struct json_pick *c, const char *path, int path_index, struct err *err)
{
    struct node *node = &c->nodes[0];
    for (size_t n; *path; path += n) {
        path += *path == '.';
        n = *path == '[' ? 2 : strcspn(path, ".[");
        struct node *next = find_child(c, node, path, n);
        if (!next) {
            if (c->n_nodes == MAX_NODES)
                return err_set(err, ERR_FAILED, "the paths have more than %d keys", MAX_NODES - 1);
            next = &c->nodes[c->n_nodes++];
            *next = (struct node){.key = path, .length = n, .path_index = -1, .parent = node};
        }
        node = next;
    }
    node->path_index = path_index;
    return 0;
}

int json_pick_new(const char *const *paths, json_pick_fn *report, void *ctx, struct json_pick **ret,
                  struct err *err)
{
    struct json_pick *c = calloc(1, sizeof *c);
    if (!c)
        return err_nomem(err);
    c->nodes[0].path_index = -1;
    c->n_nodes = 1;
    c->node = &c->nodes[0];
    c->report = report;
    c->ctx = ctx;
    buf_init(&c->text, MAX_TEXT);
    buf_init(&c->wildcard_key, MAX_TEXT);
    for (int i = 0; paths[i]; i++)
        if (add_path(c, paths[i], i, err) < 0) {
            json_pick_free(c);
            return -1;
        }
    *ret = c;
    return 0;
}

void json_pick_free(struct json_pick *c)
{
    if (!c)
        return;
    buf_release(&c->text);
    buf_release(&c->wildcard_key);
    free(c);
}

const char *json_pick_key(const struct json_pick *c)
{
    return buf_str(&c->wildcard_key);
}

static int report_value(struct json_pick *c, enum json_pick_kind kind, const char *text, struct err *err)
{
    return c->node && c->node->path_index >= 0
               ? c->report(c->ctx, (size_t)c->node->path_index, kind, text, err)
               : 0;
}

/* ---- containers ---------------------------------------------------------------------------------------- */

static int open_level(struct json_pick *c, bool is_map, struct err *err)
{
    if (c->depth == MAX_DEPTH)
        return err_set(err, ERR_FAILED, "it is nested deeper than %d levels", MAX_DEPTH);
    c->levels[c->depth++] = (struct level){.is_map = is_map, .node = c->skipped_depth ? NULL : c->node};
    if (c->skipped_depth)
        return 0;
    if (!has_child(c, c->node, is_map)) {
        c->skipped_depth = c->depth;
        c->state = SKIPPING;
        return 0;
    }
    c->state = is_map ? AT_FIRST_KEY : AT_FIRST;
    if (!is_map)
        c->node = find_child(c, c->node, "[]", 2);
    return 0;
}

/* Closes a container. Returns 1 if the bracket does not match. */
static int close_level(struct json_pick *c, bool is_map, struct err *err)
{
    const struct level *l = &c->levels[c->depth - 1];
    if (l->is_map != is_map)
        return 1;
    c->depth--;
    if (c->skipped_depth && c->skipped_depth <= c->depth)
        return 0;
    c->skipped_depth = 0;
    c->state = c->depth ? AT_NEXT : AT_END;
    c->node = l->node;
    return report_value(c, is_map ? JSON_PICK_MAP : JSON_PICK_LIST, NULL, err);
}

/* ---- strings and words --------------------------------------------------------------------------------- */

/* Decodes the string's escapes in place. */
static int decode_escapes(struct json_pick *c, struct err *err)
{
    struct buf quoted = BUF_INIT(MAX_TEXT + 2);
    buf_addc(&quoted, '"');
    buf_add(&quoted, buf_str(&c->text), c->text.len);
    buf_addc(&quoted, '"');
    static const struct json_limits limits = {.what = "a string",
                                              .max_bytes = MAX_TEXT + 2,
                                              .max_memory = 8 * MAX_TEXT,
                                              .max_depth = 1,
                                              .accept_any_value = true};
    json_t *value = NULL;
    struct err why = ERR_INIT;
    int rc = json_parse(&limits, buf_str(&quoted), quoted.len, &value, &why);
    buf_release(&quoted);
    c->malformed = rc < 0 && why.kind == ERR_FAILED;
    if (rc < 0)
        return c->malformed ? err_set(err, ERR_FAILED, "a string in it is not JSON's") : err_nomem(err);
    buf_clear(&c->text);
    buf_adds(&c->text, json_string_value(value));
    json_decref(value);
    return buf_check(&c->text, "a string in it", err);
}

static int end_key(struct json_pick *c, struct err *err)
{
    const struct node *parent = c->levels[c->depth - 1].node;
    c->state = AT_COLON;
    const struct node *wildcard = find_child(c, parent, "*", 1);
    c->node = find_child(c, parent, buf_str(&c->text), c->text.len);
    if (!c->node)
        c->node = wildcard;
    if (!c->node || c->node != wildcard)
        return 0;
    buf_clear(&c->wildcard_key);
    buf_adds(&c->wildcard_key, buf_str(&c->text));
    return buf_check(&c->wildcard_key, "a key in it", err);
}

static int end_string(struct json_pick *c, struct err *err)
{
    if (c->skipped_depth) {
        c->state = SKIPPING;
        return 0;
    }
    if (c->is_wanted && buf_check(&c->text, "a string in it", err) < 0)
        return -1;
    if (c->is_wanted && memchr(buf_str(&c->text), '\\', c->text.len) && decode_escapes(c, err) < 0)
        return -1;
    if (c->is_key)
        return end_key(c, err);
    c->state = c->depth ? AT_NEXT : AT_END;
    return report_value(c, JSON_PICK_TEXT, buf_str(&c->text), err);
}

static bool is_word(const char *s)
{
    return strcmp(s, "true") == 0 || strcmp(s, "false") == 0 || strcmp(s, "null") == 0 || *s == '-' ||
           (*s >= '0' && *s <= '9');
}

/* Ends a number, true, false or null. Returns 1 if it is invalid. */
static int end_word(struct json_pick *c, struct err *err)
{
    c->state = c->depth ? AT_NEXT : AT_END;
    if (buf_check(&c->text, "a number in it", err) < 0)
        return -1;
    if (!is_word(buf_str(&c->text)))
        return 1;
    return report_value(c, JSON_PICK_OTHER, buf_str(&c->text), err);
}

static void begin_string(struct json_pick *c, bool is_key)
{
    c->state = IN_STRING;
    c->is_key = is_key;
    c->is_wanted = !c->skipped_depth && (is_key || (c->node && c->node->path_index >= 0));
    buf_clear(&c->text);
}

/* Returns whether one of eight bytes is a quote, a backslash or a control character. XOR turns a quote or a
 * backslash into a zero byte. The subtractions then set the top bit of a zero byte and of a byte below 0x20
 * (Mycroft 1987). */
static bool ends_or_escapes(uint64_t eight)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), tops = ones << 7;
    uint64_t quote = eight ^ ones * '"', backslash = eight ^ ones * '\\';
    return (((quote - ones) & ~quote) | ((backslash - ones) & ~backslash) |
            ((eight - ones * 0x20) & ~eight)) &
           tops;
}

/* Reads the string to its end, to an escape, or to the end of the piece. Returns the number of bytes. */
static size_t read_string(struct json_pick *c, const char *p, size_t n)
{
    size_t i = 0;
    for (uint64_t eight; n - i >= sizeof eight; i += sizeof eight) {
        memcpy(&eight, p + i, sizeof eight);
        if (ends_or_escapes(eight))
            break;
    }
    while (i < n && p[i] != '"' && p[i] != '\\' && (unsigned char)p[i] >= 0x20)
        i++;
    if (c->is_wanted)
        buf_add(&c->text, p, i);
    return i;
}

/* ---- the state machine --------------------------------------------------------------------------------- */

static bool is_blank(char b)
{
    return b == ' ' || b == '\n' || b == '\r' || b == '\t';
}

/* Returns whether numbers, true, false or null may contain the character. */
static bool is_word_char(char b)
{
    return (b >= 'a' && b <= 'z') || (b >= '0' && b <= '9') || b == '.' || b == '-' || b == '+' || b == 'E';
}

/* Starts a value. Returns 1 if b starts none. */
static int begin_value(struct json_pick *c, char b, struct err *err)
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

/* Returns 1 if the byte is invalid. */
static int handle_byte_after_value(struct json_pick *c, char b, struct err *err)
{
    const struct level *l = &c->levels[c->depth - 1];
    if (b == '}' || b == ']')
        return close_level(c, b == '}', err);
    if (b != ',')
        return 1;
    c->state = l->is_map ? AT_KEY : AT_VALUE;
    if (!l->is_map)
        c->node = find_child(c, l->node, "[]", 2);
    return 0;
}

/* Skips from p[*i] on to the end of the unwanted container. Returns 1 if p[*i] is invalid. */
static int skip_container(struct json_pick *c, const char *p, size_t n, size_t *i, struct err *err)
{
    for (; *i < n; (*i)++) {
        char b = p[*i];
        int rc = 0;
        if (b == '"') {
            begin_string(c, false);
            (*i)++;
            return 0;
        }
        if (b == '{' || b == '[')
            rc = open_level(c, b == '{', err);
        else if (b == '}' || b == ']')
            rc = close_level(c, b == '}', err);
        else if (!is_word_char(b) && b != ',' && b != ':' && !is_blank(b))
            return 1;
        if (rc != 0)
            return rc;
        if (!c->skipped_depth) {
            (*i)++;
            return 0;
        }
    }
    return 0;
}

/* Handles a byte outside strings and words. Returns 1 if it is invalid. */
static int handle_byte(struct json_pick *c, char b, struct err *err)
{
    if (is_blank(b))
        return 0;
    switch (c->state) {
    case AT_FIRST:
        if (b == ']')
            return close_level(c, false, err);
        return begin_value(c, b, err);
    case AT_VALUE:
        return begin_value(c, b, err);
    case AT_FIRST_KEY:
        if (b == '}')
            return close_level(c, true, err);
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
        return handle_byte_after_value(c, b, err);
    case IN_STRING:
    case IN_ESCAPE:
    case IN_WORD:
    case SKIPPING:
    case AT_END:
        break;
    }
    return 1;
}

static int refuse_byte(struct json_pick *c, size_t i, char b, struct err *err)
{
    c->malformed = true;
    if (c->depth == 0 && c->state == AT_VALUE && b == '<')
        return err_set(err, ERR_FAILED, "it is a page of HTML or XML, not JSON");
    return err_set(err, ERR_FAILED, "it is not JSON, at byte %llu", (unsigned long long)(c->offset + i + 1));
}

/* Handles bytes from p[*i] on, and advances *i unless a word ends. Returns 1 if p[*i] is invalid. */
static int handle_bytes(struct json_pick *c, const char *p, size_t n, size_t *i, struct err *err)
{
    char b = p[*i];
    if (c->state == SKIPPING)
        return skip_container(c, p, n, i, err);
    if (c->state == IN_WORD) {
        if (b == ',' || b == ']' || b == '}' || is_blank(b))
            return end_word(c, err);
        if (!is_word_char(b))
            return 1;
        buf_addc(&c->text, b);
    } else if (c->state == IN_ESCAPE) {
        if (c->is_wanted)
            buf_addc(&c->text, b);
        c->state = IN_STRING;
    } else if (c->state == IN_STRING) {
        *i += read_string(c, p + *i, n - *i);
        if (*i == n)
            return 0;
        if ((unsigned char)p[*i] < 0x20)
            return 1;
        if (p[(*i)++] == '"')
            return end_string(c, err);
        if (c->is_wanted)
            buf_addc(&c->text, '\\');
        c->state = IN_ESCAPE;
        return 0;
    } else {
        int rc = handle_byte(c, b, err);
        *i += rc == 0;
        return rc;
    }
    (*i)++;
    return 0;
}

int json_pick_feed(struct json_pick *c, const void *bytes, size_t n, struct err *err)
{
    const char *p = bytes;
    for (size_t i = 0; i < n;) {
        int rc = handle_bytes(c, p, n, &i, err);
        if (rc < 0)
            return -1;
        if (rc > 0)
            return refuse_byte(c, i, p[i], err);
    }
    c->offset += n;
    return 0;
}

int json_pick_end(struct json_pick *c, struct err *err)
{
    if (c->state == IN_WORD && c->depth == 0) {
        int rc = end_word(c, err);
        c->malformed = rc > 0;
        if (rc != 0)
            return rc < 0 ? -1 : err_set(err, ERR_FAILED, "it is not JSON");
    }
    if (c->state == AT_END)
        return 0;
    if (c->offset == 0)
        return err_set(err, ERR_FAILED, "it is empty");
    return err_set(err, ERR_FAILED, "it ends in the middle, after %llu bytes", (unsigned long long)c->offset);
}

bool json_pick_is_malformed(const struct json_pick *c)
{
    return c->malformed;
}
