/*
 * Nodes and texts live in chunks that are freed together. The containers that are still open form a stack
 * of at most TREE_MAX_DEPTH; a mapping takes its scalars in turn as key and as value.
 */
#include "inventory/tree.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <yaml.h>

#include "inventory/names.h"
#include "base/banned.h"

#define CHUNK_BYTES ((size_t)64 << 10)

struct chunk {
    struct chunk *next;
    size_t used, cap;
    _Alignas(max_align_t) char data[];
};

struct tree {
    char *name;
    struct chunk *chunks;
    struct tree_node *root;
};

struct level {
    struct tree_node *node;
    struct tree_node *last;
    const struct tree_node *key; /* of a mapping: read, its value not yet */
};

struct builder {
    struct tree *tree;
    struct level levels[TREE_MAX_DEPTH];
    size_t depth;
    size_t documents;
};

/* Zeroed memory that lives as long as the tree; NULL if there is none. */
static void *tree_alloc(struct tree *t, size_t n)
{
    n = (n + _Alignof(max_align_t) - 1) & ~(_Alignof(max_align_t) - 1);
    if (!t->chunks || t->chunks->cap - t->chunks->used < n) {
        size_t cap = n > CHUNK_BYTES ? n : CHUNK_BYTES;
        struct chunk *c = calloc(1, sizeof *c + cap);
        if (!c)
            return NULL;
        c->cap = cap;
        c->next = t->chunks;
        t->chunks = c;
    }
    void *p = t->chunks->data + t->chunks->used;
    t->chunks->used += n;
    return p;
}

static int err_at(const struct tree *t, size_t line, size_t column, struct err *err)
{
    return err_wrap(err, "%s:%zu:%zu", t->name, line, column);
}

int tree_err_wrap(const struct tree *t, const struct tree_node *at, struct err *err)
{
    return err_at(t, at->line, at->column, err);
}

int tree_err(const struct tree *t, const struct tree_node *at, struct err *err, const char *fmt, ...)
{
    char raw[384], shown[384];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(raw, sizeof raw, fmt, ap);
    va_end(ap);
    err_set(err, ERR_USAGE, "%s", text_printable(shown, sizeof shown, raw, strlen(raw)));
    return tree_err_wrap(t, at, err);
}

/* Whether the mapping has more than a handful of keys. */
static bool is_large(const struct tree_node *map)
{
    size_t n = 0;
    for (const struct tree_node *v = map->first; v && n <= 8; v = v->next)
        n++;
    return n > 8;
}

/* The first key that was there before, by comparing each with those in front of it; NULL if there is none. */
static const struct tree_node *repeated_in_few(const struct tree_node *map)
{
    for (const struct tree_node *v = map->first; v; v = v->next)
        for (const struct tree_node *before = map->first; before != v; before = before->next)
            if (strcmp(before->key->text, v->key->text) == 0)
                return v->key;
    return NULL;
}

/* The same with a table: the section of hosts may have a hundred thousand. */
static int repeated_in_many(const struct tree_node *map, const struct tree_node **ret, struct err *err)
{
    int rc = -1;
    struct names seen = {0};
    const struct tree_node *found = NULL;
    for (const struct tree_node *v = map->first; v && !found; v = v->next) {
        if (names_get(&seen, v->key->text))
            found = v->key;
        else if (names_add(&seen, v->key->text, v->key, err) < 0)
            goto out;
    }
    *ret = found;
    rc = 0;
out:
    names_release(&seen);
    return rc;
}

/* Ends the innermost list or mapping. */
static int close_level(struct builder *b, struct err *err)
{
    const struct tree_node *done = b->levels[--b->depth].node, *twice = NULL;
    // NOLINTNEXTLINE(clang-analyzer-core.NullDereference): a level is only opened with its node
    if (done->kind != TREE_MAP)
        return 0;
    if (!is_large(done))
        twice = repeated_in_few(done);
    else if (repeated_in_many(done, &twice, err) < 0)
        return -1;
    return twice ? tree_err(b->tree, twice, err, "\"%.60s\" is there twice", twice->text) : 0;
}

/* Puts a node where the file has it: the root, the next of a list, or a mapping's next key or value. */
static int place(struct builder *b, struct tree_node *node, struct err *err)
{
    if (b->depth == 0) {
        b->tree->root = node;
        return 0;
    }
    struct level *in = &b->levels[b->depth - 1];
    if (in->node->kind == TREE_MAP && !in->key) {
        if (node->kind != TREE_SCALAR)
            return tree_err(b->tree, node, err, "a key must be a plain word");
        in->key = node;
        return 0;
    }
    node->key = in->key;
    in->key = NULL;
    if (in->last)
        in->last->next = node;
    else
        in->node->first = node;
    in->last = node;
    return 0;
}

static int open_level(struct builder *b, struct tree_node *node, struct err *err)
{
    if (b->depth == TREE_MAX_DEPTH)
        return tree_err(b->tree, node, err, "nested deeper than %d levels", TREE_MAX_DEPTH);
    b->levels[b->depth++] = (struct level){.node = node};
    return 0;
}

static struct tree_node *new_node(struct builder *b, enum tree_kind kind, const yaml_event_t *e)
{
    struct tree_node *node = tree_alloc(b->tree, sizeof *node);
    if (!node)
        return NULL;
    node->kind = kind;
    node->line = e->start_mark.line + 1;
    node->column = e->start_mark.column + 1;
    return node;
}

/* Refuses what YAML can put in front of any node. */
static int no_extras(const struct builder *b, const struct tree_node *node, const yaml_char_t *anchor,
                     const yaml_char_t *tag, struct err *err)
{
    if (anchor)
        return tree_err(b->tree, node, err, "anchors and aliases are not allowed");
    return tag ? tree_err(b->tree, node, err, "tags are not allowed") : 0;
}

static int add_scalar(struct builder *b, const yaml_event_t *e, struct err *err)
{
    size_t n = e->data.scalar.length;
    struct tree_node *node = new_node(b, TREE_SCALAR, e);
    char *text = tree_alloc(b->tree, n + 1);
    if (!node || !text)
        return err_nomem(err);
    if (no_extras(b, node, e->data.scalar.anchor, e->data.scalar.tag, err) < 0)
        return -1;
    if (memchr(e->data.scalar.value, '\0', n))
        return tree_err(b->tree, node, err, "NUL characters are not allowed");
    memcpy(text, e->data.scalar.value, n);
    node->text = text;
    node->plain = e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    return place(b, node, err);
}

static int add_container(struct builder *b, enum tree_kind kind, const yaml_event_t *e, struct err *err)
{
    bool list = kind == TREE_LIST;
    struct tree_node *node = new_node(b, kind, e);
    if (!node)
        return err_nomem(err);
    if (no_extras(b, node, list ? e->data.sequence_start.anchor : e->data.mapping_start.anchor,
                  list ? e->data.sequence_start.tag : e->data.mapping_start.tag, err) < 0)
        return -1;
    return place(b, node, err) < 0 ? -1 : open_level(b, node, err);
}

static int take_event(struct builder *b, const yaml_event_t *e, struct err *err)
{
    struct tree_node here = {.line = e->start_mark.line + 1, .column = e->start_mark.column + 1};
    switch (e->type) {
    case YAML_DOCUMENT_START_EVENT:
        return b->documents++ ? tree_err(b->tree, &here, err, "only one document is allowed") : 0;
    case YAML_ALIAS_EVENT:
        return tree_err(b->tree, &here, err, "anchors and aliases are not allowed");
    case YAML_SCALAR_EVENT:
        return add_scalar(b, e, err);
    case YAML_SEQUENCE_START_EVENT:
        return add_container(b, TREE_LIST, e, err);
    case YAML_MAPPING_START_EVENT:
        return add_container(b, TREE_MAP, e, err);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        return close_level(b, err);
    default:
        return 0;
    }
}

/* Whether that line (from 1) is indented with a tab. */
static bool tab_indents(const char *p, size_t n, size_t line)
{
    const char *end = p + n;
    for (; line > 1 && p < end; line--) {
        const char *newline = memchr(p, '\n', (size_t)(end - p));
        p = newline ? newline + 1 : end;
    }
    while (p < end && *p == ' ')
        p++;
    return p < end && *p == '\t';
}

/* The reader's errors come with an offset in bytes only. */
static void place_of_byte(const char *p, size_t offset, size_t *ret_line, size_t *ret_column)
{
    size_t line = 1, column = 1;
    for (size_t i = 0; i < offset; i++) {
        unsigned char c = (unsigned char)p[i];
        if (c == '\n') {
            line++;
            column = 1;
        } else if ((c & 0xc0) != 0x80) {
            column++;
        }
    }
    *ret_line = line;
    *ret_column = column;
}

static int syntax_err(const struct tree *t, const yaml_parser_t *y, const char *p, size_t n, struct err *err)
{
    if (y->error == YAML_MEMORY_ERROR)
        return err_nomem(err);
    size_t line = y->problem_mark.line + 1, column = y->problem_mark.column + 1;
    if (y->error == YAML_READER_ERROR)
        place_of_byte(p, y->problem_offset < n ? y->problem_offset : n, &line, &column);
    err_set(err, ERR_USAGE, "%s%s%s", y->problem ? y->problem : "not YAML", y->context ? " " : "",
            y->context ? y->context : "");
    err_at(t, line, column, err);
    if (y->error != YAML_READER_ERROR && tab_indents(p, n, line))
        err_hint(err, "indent with spaces");
    return -1;
}

static int build(struct builder *b, yaml_parser_t *y, const void *p, size_t n, struct err *err)
{
    for (bool end = false; !end;) {
        yaml_event_t e;
        if (!yaml_parser_parse(y, &e))
            return syntax_err(b->tree, y, p, n, err);
        int rc = take_event(b, &e, err);
        end = e.type == YAML_STREAM_END_EVENT;
        yaml_event_delete(&e);
        if (rc < 0)
            return -1;
    }
    return 0;
}

int tree_parse(const char *name, const void *p, size_t n, struct tree **ret, struct err *err)
{
    int rc = -1;
    struct tree_node top = {.line = 1, .column = 1};
    struct builder b = {.tree = calloc(1, sizeof *b.tree)};
    yaml_parser_t y;
    if (!b.tree || !(b.tree->name = strdup(name)) || !yaml_parser_initialize(&y)) {
        tree_free(b.tree);
        return err_nomem(err);
    }
    /* Said outright, so that no byte order mark turns the file into UTF-16. */
    yaml_parser_set_encoding(&y, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&y, p, n);
    if (n > TREE_MAX_BYTES) {
        tree_err(b.tree, &top, err, "the file is larger than 8 MB");
        goto out;
    }
    if (build(&b, &y, p, n, err) < 0)
        goto out;
    if (!b.tree->root) {
        tree_err(b.tree, &top, err, "the file is empty");
        goto out;
    }
    *ret = b.tree;
    b.tree = NULL;
    rc = 0;
out:
    yaml_parser_delete(&y);
    tree_free(b.tree);
    return rc;
}

void tree_free(struct tree *t)
{
    if (!t)
        return;
    while (t->chunks) {
        struct chunk *next = t->chunks->next;
        free(t->chunks);
        t->chunks = next;
    }
    free(t->name);
    free(t);
}

const struct tree_node *tree_root(const struct tree *t)
{
    return t->root;
}

const char *tree_name(const struct tree *t)
{
    return t->name;
}
