/*
 * Nodes and texts are in chunks that are freed together. A scalar's text follows its node in the chunk. The
 * open lists and mappings form a stack of at most YAML_MAX_DEPTH. A mapping's list contains the values, and
 * each value points to its key.
 */
#include "base/data/yaml_tree.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <yaml.h>

#include "base/data/name_map.h"
#include "base/data/text.h"
#include "base/banned.h"

#define CHUNK_BYTES ((size_t)64 << 10)
/* The most memory for each key in the table that finds repeated keys: the array of entries doubles, and the
 * hash table has up to five slots for each entry while it grows. */
#define KEY_BYTES (2 * sizeof(struct name_map_entry) + 5 * sizeof(struct hash_index_slot))
/* In a mapping of at most this many keys, each key is compared with the others. A larger mapping uses a
 * table. */
#define COMPARED_KEYS 8
#define MAX_DIRECTIVES 100

struct chunk {
    struct chunk *next;
    size_t used, cap;
    _Alignas(struct yaml_node) char data[];
};

struct yaml_tree {
    char *name;
    struct chunk *chunks;
    size_t memory; /* bytes of all chunks */
    struct yaml_node *root;
};

struct level {
    struct yaml_node *node;      /* an open list or mapping */
    struct yaml_node *last;      /* its last element or value; NULL: none yet */
    const struct yaml_node *key; /* of a mapping: the key whose value is not read yet */
};

struct builder {
    struct yaml_tree *tree;
    bool show_lines; /* syntax errors quote the line; false for files that may contain secrets */
    struct level levels[YAML_MAX_DEPTH];
    size_t depth;
    size_t documents;
};

static int wrap_position(const struct yaml_tree *t, size_t line, size_t column, struct err *err)
{
    if (err) {
        err->line = line;
        err->column = column;
    }
    return err_wrap(err, "%s:%zu:%zu", t->name, line, column);
}

int yaml_tree_err_wrap(const struct yaml_tree *t, const struct yaml_node *at, struct err *err)
{
    return wrap_position(t, at->line, at->column, err);
}

int yaml_tree_err(const struct yaml_tree *t, const struct yaml_node *at, struct err *err, const char *fmt,
                  ...)
{
    char raw[384], shown[384];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(raw, sizeof raw, fmt, ap);
    va_end(ap);
    err_set(err, ERR_USAGE, "%s", text_printable(shown, sizeof shown, raw, strlen(raw)));
    return yaml_tree_err_wrap(t, at, err);
}

/* Refuses `more` bytes if the tree would exceed YAML_MAX_MEMORY. */
static int check_memory(const struct yaml_tree *t, size_t more, const struct yaml_node *at, struct err *err)
{
    char size[32];
    if (more <= YAML_MAX_MEMORY - t->memory)
        return 0;
    return yaml_tree_err(t, at, err, "the file is too large: it would take more than %s of memory",
                         text_bytes(size, sizeof size, YAML_MAX_MEMORY));
}

/* Adds a copy of a node, and n zeroed bytes after it, to the tree. */
static int add_node(struct yaml_tree *t, const struct yaml_node *node, size_t n, struct yaml_node **ret,
                    struct err *err)
{
    n += sizeof *node;
    n = (n + _Alignof(struct yaml_node) - 1) & ~(_Alignof(struct yaml_node) - 1);
    if (!t->chunks || t->chunks->cap - t->chunks->used < n) {
        size_t cap = n > CHUNK_BYTES ? n : CHUNK_BYTES;
        if (check_memory(t, sizeof(struct chunk) + cap, node, err) < 0)
            return -1;
        struct chunk *c = calloc(1, sizeof *c + cap);
        if (!c)
            return err_nomem(err);
        c->cap = cap;
        c->next = t->chunks;
        t->chunks = c;
        t->memory += sizeof *c + cap;
    }
    *ret = memcpy(t->chunks->data + t->chunks->used, node, sizeof *node);
    t->chunks->used += n;
    return 0;
}

static size_t count_keys(const struct yaml_node *map)
{
    size_t n = 0;
    for (const struct yaml_node *v = map->first; v; v = v->next)
        n++;
    return n;
}

/* Marks a key as a repetition of the earlier key. */
static void mark_repeated(const struct yaml_node *key, const struct yaml_node *earlier)
{
    ((struct yaml_node *)(uintptr_t)key)->earlier = earlier;
}

/* Marks repeated keys by comparing each key with the keys before it. */
static void mark_by_comparing(const struct yaml_node *map)
{
    for (const struct yaml_node *v = map->first; v; v = v->next)
        for (const struct yaml_node *before = map->first; before != v; before = before->next)
            if (strcmp(before->key->text, v->key->text) == 0) {
                mark_repeated(v->key, before->key);
                break;
            }
}

/* Marks repeated keys with a table, because a section of hosts may have a hundred thousand keys. */
static int mark_by_table(const struct yaml_node *map, struct err *err)
{
    int rc = 0;
    struct name_map seen = {0};
    for (const struct yaml_node *v = map->first; rc == 0 && v; v = v->next) {
        const struct yaml_node *before = name_map_get(&seen, v->key->text);
        if (before)
            mark_repeated(v->key, before);
        else
            rc = name_map_add(&seen, v->key->text, v->key, err);
    }
    name_map_release(&seen);
    return rc;
}

/* Ends the innermost list or mapping. Marks the repeated keys of a mapping. */
static int close_level(struct builder *b, struct err *err)
{
    const struct yaml_node *done = b->levels[--b->depth].node;
    // NOLINTNEXTLINE(clang-analyzer-core.NullDereference): open_level always stores a node
    if (done->kind != YAML_MAP)
        return 0;
    size_t n = count_keys(done);
    if (n > COMPARED_KEYS)
        return check_memory(b->tree, n * KEY_BYTES, done, err) < 0 ? -1 : mark_by_table(done, err);
    mark_by_comparing(done);
    return 0;
}

/* Adds a node to the open container as the next element, key or value, or makes it the root. */
static int insert_node(struct builder *b, struct yaml_node *node, struct err *err)
{
    if (b->depth == 0) {
        b->tree->root = node;
        return 0;
    }
    struct level *level = &b->levels[b->depth - 1];
    if (level->node->kind == YAML_MAP && !level->key) {
        if (node->kind != YAML_SCALAR)
            return yaml_tree_err(b->tree, node, err,
                                 "a key must be a word or a quoted text, not a list or a mapping");
        level->key = node;
        return 0;
    }
    node->key = level->key;
    level->key = NULL;
    if (level->last)
        level->last->next = node;
    else
        level->node->first = node;
    level->last = node;
    return 0;
}

static int open_level(struct builder *b, struct yaml_node *node, struct err *err)
{
    if (b->depth == YAML_MAX_DEPTH)
        return yaml_tree_err(b->tree, node, err, "nested deeper than %d levels", YAML_MAX_DEPTH);
    b->levels[b->depth++] = (struct level){.node = node};
    return 0;
}

/* Makes a node with the event's position. In a file of YAML_MAX_BYTES, lines and columns fit into 32 bits. */
static struct yaml_node make_node(enum yaml_kind kind, const yaml_event_t *e)
{
    return (struct yaml_node){
        .kind = kind, .line = (uint32_t)e->start_mark.line + 1, .column = (uint32_t)e->start_mark.column + 1};
}

/* Refuses an anchor or a tag in front of a node. */
static int refuse_anchor_or_tag(const struct builder *b, const struct yaml_node *node,
                                const yaml_char_t *anchor, const yaml_char_t *tag, struct err *err)
{
    if (anchor)
        return yaml_tree_err(b->tree, node, err, "anchors and aliases are not allowed");
    return tag ? yaml_tree_err(b->tree, node, err, "tags are not allowed") : 0;
}

static int add_scalar(struct builder *b, const yaml_event_t *e, struct err *err)
{
    size_t n = e->data.scalar.length;
    struct yaml_node here = make_node(YAML_SCALAR, e), *node = NULL;
    if (refuse_anchor_or_tag(b, &here, e->data.scalar.anchor, e->data.scalar.tag, err) < 0)
        return -1;
    if (memchr(e->data.scalar.value, '\0', n))
        return yaml_tree_err(b->tree, &here, err, "NUL characters are not allowed");
    if (add_node(b->tree, &here, n + 1, &node, err) < 0)
        return -1;
    node->text = memcpy(node + 1, e->data.scalar.value, n);
    node->plain = e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    return insert_node(b, node, err);
}

static int add_container(struct builder *b, enum yaml_kind kind, const yaml_event_t *e, struct err *err)
{
    bool is_list = kind == YAML_LIST;
    struct yaml_node here = make_node(kind, e), *node = NULL;
    if (refuse_anchor_or_tag(b, &here, is_list ? e->data.sequence_start.anchor : e->data.mapping_start.anchor,
                             is_list ? e->data.sequence_start.tag : e->data.mapping_start.tag, err) < 0)
        return -1;
    if (add_node(b->tree, &here, 0, &node, err) < 0 || insert_node(b, node, err) < 0)
        return -1;
    return open_level(b, node, err);
}

static int handle_event(struct builder *b, const yaml_event_t *e, struct err *err)
{
    struct yaml_node here = make_node(YAML_SCALAR, e);
    switch (e->type) {
    case YAML_DOCUMENT_START_EVENT:
        return b->documents++ ? yaml_tree_err(b->tree, &here, err, "only one document is allowed") : 0;
    case YAML_ALIAS_EVENT:
        return yaml_tree_err(b->tree, &here, err, "anchors and aliases are not allowed");
    case YAML_SCALAR_EVENT:
        return add_scalar(b, e, err);
    case YAML_SEQUENCE_START_EVENT:
        return add_container(b, YAML_LIST, e, err);
    case YAML_MAPPING_START_EVENT:
        return add_container(b, YAML_MAP, e, err);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        return close_level(b, err);
    default:
        return 0;
    }
}

/* Returns a line of the file, counted from 1, without its end. */
static struct str find_line(const char *p, size_t n, size_t line)
{
    const char *end = p + n;
    for (; line > 1 && p < end; line--) {
        const char *newline = memchr(p, '\n', (size_t)(end - p));
        p = newline ? newline + 1 : end;
    }
    const char *newline = p < end ? memchr(p, '\n', (size_t)(end - p)) : NULL;
    return (struct str){p, (size_t)((newline ? newline : end) - p)};
}

static bool tab_indents(struct str line)
{
    size_t i = 0;
    while (i < line.n && line.p[i] == ' ')
        i++;
    return i < line.n && line.p[i] == '\t';
}

/* Converts an offset in bytes to line and column. libyaml's reader errors have only an offset. */
static void find_position(const char *p, size_t offset, size_t *ret_line, size_t *ret_column)
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

/* The usual meaning of libyaml's messages, and hints. */
static const struct {
    const char *problem; /* the start of libyaml's message */
    const char *meaning, *hint;
} meanings[] = {
    {"did not find expected key", "this line does not line up with those above it",
     "begin all keys of one mapping in the same column, and all items of one list in the same column"},
    {"did not find expected '-' indicator", "this line does not line up with the list above it",
     "begin all items of one list in the same column; a key that follows the list begins further left"},
    {"mapping values are not allowed", "a second \": \" in one value, or the line above lacks its colon",
     "a key ends with \":\"; quote a value that has \": \" in it"},
    {"could not find expected ':'", "a key without \":\" after it",
     "a key ends with \":\" and a blank or the end of the line"},
    {"block sequence entries are not allowed", "a list cannot begin here",
     "put each \"- \" on a line of its own below the key, or write the list in brackets: [a, b]"},
    {"did not find expected ',' or ']'", "a list in brackets lacks a comma or its \"]\"",
     "write it as [a, b]"},
    {"did not find expected ',' or '}'", "a mapping in braces lacks a comma or its \"}\"",
     "write it as { key: value, key: value }"},
    {"did not find expected node content", "a value is missing here",
     "write a list in brackets without \"- \": [a, b]; quote a value that begins with a bracket or a brace"},
    {"found unexpected end of stream", "a quote is opened and never closed", "close it with the same quote"},
    {"found character that cannot start any token", "a value cannot begin with this character",
     "put quotes around the value"},
};

static int set_reader_error(const struct yaml_tree *t, const yaml_parser_t *y, const char *p, size_t n,
                            struct err *err)
{
    size_t line, column;
    find_position(p, y->problem_offset < n ? y->problem_offset : n, &line, &column);
    err_set(err, ERR_USAGE, "%s", y->problem ? y->problem : "not YAML");
    return wrap_position(t, line, column, err);
}

/* Returns the position of a syntax error: the start of an unclosed quote or of a key without a colon, else
 * the position at which libyaml failed. */
static yaml_mark_t find_error_position(const yaml_parser_t *y)
{
    bool is_unfinished = y->context && (strcmp(y->context, "while scanning a quoted scalar") == 0 ||
                                        strcmp(y->context, "while scanning a simple key") == 0);
    return is_unfinished ? y->context_mark : y->problem_mark;
}

static int set_syntax_error(const struct builder *b, const yaml_parser_t *y, const char *p, size_t n,
                            struct err *err)
{
    char shown[100];
    const struct yaml_tree *t = b->tree;
    if (y->error == YAML_MEMORY_ERROR)
        return err_nomem(err);
    if (y->error == YAML_READER_ERROR)
        return set_reader_error(t, y, p, n, err);
    const char *problem = y->problem ? y->problem : "not YAML", *hint = NULL;
    yaml_mark_t at = find_error_position(y);
    struct str line = find_line(p, n, at.line + 1);
    size_t i = 0, n_meanings = sizeof meanings / sizeof *meanings;
    while (i < n_meanings && strncmp(problem, meanings[i].problem, strlen(meanings[i].problem)) != 0)
        i++;
    if (tab_indents(line)) {
        err_set(err, ERR_USAGE, "a tab indents this line");
        hint = "indent with spaces";
    } else if (i < n_meanings) {
        err_set(err, ERR_USAGE, "%s", meanings[i].meaning);
        hint = meanings[i].hint;
    } else {
        err_set(err, ERR_USAGE, "%s%s%s", problem, y->context ? " " : "", y->context ? y->context : "");
    }
    if (err && b->show_lines && line.n > 0 && !tab_indents(line)) {
        struct err without_line = *err;
        err_set(err, ERR_USAGE, "%s: \"%s\"", without_line.msg,
                text_printable(shown, sizeof shown, line.p, line.n));
    }
    wrap_position(t, at.line + 1, at.column + 1, err);
    return hint ? err_hint(err, "%s", hint) : -1;
}

static int build_tree(struct builder *b, yaml_parser_t *y, const void *p, size_t n, struct err *err)
{
    for (bool end = false; !end;) {
        yaml_event_t e;
        if (!yaml_parser_parse(y, &e))
            return set_syntax_error(b, y, p, n, err);
        int rc = handle_event(b, &e, err);
        end = e.type == YAML_STREAM_END_EVENT;
        yaml_event_delete(&e);
        if (rc < 0)
            return -1;
    }
    return 0;
}

/* Refuses a text with many %TAG directives: libyaml compares each with all earlier ones before it reports the
 * first event. No file needs one, because tags are refused. */
static int check_directives(const struct yaml_tree *t, struct str text, struct err *err)
{
    static const char directive[] = "%TAG";
    const struct yaml_node top = {.line = 1, .column = 1};
    const char *p = text.p, *end = text.p + text.n;
    for (int n = 0; (p = memmem(p, (size_t)(end - p), directive, strlen(directive))); p++)
        if (++n > MAX_DIRECTIVES)
            return yaml_tree_err(t, &top, err, "the file has more than %d %%TAG directives", MAX_DIRECTIVES);
    return 0;
}

static int parse_text(const char *name, struct str text, bool show_lines, struct yaml_tree **ret,
                      struct err *err)
{
    int rc = -1;
    struct yaml_node top = {.line = 1, .column = 1};
    struct builder b = {.tree = calloc(1, sizeof *b.tree), .show_lines = show_lines};
    yaml_parser_t y;
    if (!b.tree || !(b.tree->name = strdup(name)) || !yaml_parser_initialize(&y)) {
        yaml_tree_free(b.tree);
        return err_nomem(err);
    }
    /* Set the encoding, so that libyaml does not read the file as UTF-16 because of a byte order mark. */
    yaml_parser_set_encoding(&y, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&y, (const unsigned char *)text.p, text.n);
    if (text.n > YAML_MAX_BYTES) {
        yaml_tree_err(b.tree, &top, err, "the file is larger than 8 MB");
        goto out;
    }
    if (check_directives(b.tree, text, err) < 0 || build_tree(&b, &y, text.p, text.n, err) < 0)
        goto out;
    if (!b.tree->root) {
        yaml_tree_err(b.tree, &top, err, "the file is empty");
        goto out;
    }
    *ret = b.tree;
    b.tree = NULL;
    rc = 0;
out:
    yaml_parser_delete(&y);
    yaml_tree_free(b.tree);
    return rc;
}

const struct yaml_node *yaml_tree_find_repeated(const struct yaml_node *node)
{
    const struct yaml_node *found = NULL;
    for (const struct yaml_node *v = node->first; v && !found; v = v->next)
        found = v->key && v->key->earlier ? v->key : yaml_tree_find_repeated(v);
    return found;
}

int yaml_tree_err_repeated(const struct yaml_tree *t, const struct yaml_node *key, struct err *err)
{
    return yaml_tree_err(t, key, err, "\"%.60s\" is listed twice, first in line %u", key->text,
                         key->earlier->line);
}

int yaml_tree_parse_with_repeats(const char *name, const void *p, size_t n, struct yaml_tree **ret,
                                 struct err *err)
{
    return parse_text(name, (struct str){p, n}, true, ret, err);
}

int yaml_tree_parse(const char *name, const void *p, size_t n, struct yaml_tree **ret, struct err *err)
{
    struct yaml_tree *t = NULL;
    if (parse_text(name, (struct str){p, n}, false, &t, err) < 0)
        return -1;
    const struct yaml_node *repeated = yaml_tree_find_repeated(t->root);
    if (repeated) {
        yaml_tree_err_repeated(t, repeated, err);
        yaml_tree_free(t);
        return -1;
    }
    *ret = t;
    return 0;
}

void yaml_tree_free(struct yaml_tree *t)
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

const struct yaml_node *yaml_tree_root(const struct yaml_tree *t)
{
    return t->root;
}

const char *yaml_tree_name(const struct yaml_tree *t)
{
    return t->name;
}
