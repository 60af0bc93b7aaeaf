/*
 * A YAML file as a tree of nodes with their lines and columns.
 *
 * The parser reads libyaml's events. It refuses anchors, aliases, tags, more than one document, keys that are
 * not scalars, and NUL characters. A file has at most 8 MB and 16 levels. The parser checks the depth when a
 * list or mapping begins, because libyaml becomes slow on deep nesting. A repeated key is marked (`earlier`);
 * yaml_tree_parse refuses it.
 *
 * A tree can be much larger than its file: the two bytes `a,` in braces become 128 bytes of nodes. While the
 * parser builds the tree, it counts the tree's memory. It refuses a file whose tree takes more than
 * YAML_MAX_MEMORY.
 *
 * Every error except "out of memory" is ERR_USAGE and begins with file:line:column. Lines and columns count
 * from 1, columns in characters.
 */
#ifndef BASE_DATA_YAML_TREE_H
#define BASE_DATA_YAML_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/data/err.h"

#define YAML_MAX_BYTES ((size_t)8 << 20)
/* The limit for nodes, texts and the table of a mapping's keys, in bytes. It is this small
 * because discovery holds two trees at the same time. */
#define YAML_MAX_MEMORY ((size_t)96 << 20)
#define YAML_MAX_DEPTH 16

enum yaml_kind { YAML_SCALAR, YAML_LIST, YAML_MAP };

struct yaml_node {
    enum yaml_kind kind;
    bool plain;                      /* a plain scalar: not quoted, and not a block (`|`, `>`) */
    uint32_t line, column;           /* position of its first character, from 1 */
    const char *text;                /* of a scalar */
    const struct yaml_node *key;     /* of a value in a mapping: its key */
    const struct yaml_node *earlier; /* of a key: the earlier equal key of its mapping; NULL: none */
    struct yaml_node *first;         /* of a list: the first element; of a mapping: the first value */
    struct yaml_node *next;          /* the next node in the same list or mapping */
};

struct yaml_tree;

/* Parses n bytes of YAML. `name` is for messages. Copies the name and the texts. */
int yaml_tree_parse(const char *name, const void *p, size_t n, struct yaml_tree **ret, struct err *err);
/* Works like yaml_tree_parse, for an inventory. A repeated key is no error: the caller checks `earlier` of
 * each key. A syntax error quotes its line; yaml_tree_parse omits the line, because it may contain
 * a secret. */
int yaml_tree_parse_with_repeats(const char *name, const void *p, size_t n, struct yaml_tree **ret,
                                 struct err *err);
void yaml_tree_free(struct yaml_tree *t);

const struct yaml_node *yaml_tree_root(const struct yaml_tree *t);
const char *yaml_tree_name(const struct yaml_tree *t);

/* Sets the error `FILE:LINE:COLUMN: message` with the node's position. The text is made printable. */
int yaml_tree_err(const struct yaml_tree *t, const struct yaml_node *at, struct err *err, const char *fmt,
                  ...) __attribute__((format(printf, 4, 5)));

/* Sets the error for a key whose `earlier` is set, with the lines of both keys. Returns -1. */
int yaml_tree_err_repeated(const struct yaml_tree *t, const struct yaml_node *key, struct err *err);

/* Returns the first repeated key in or below the node, in the order of the file; NULL: there is none. */
const struct yaml_node *yaml_tree_find_repeated(const struct yaml_node *node);

/* Puts `FILE:LINE:COLUMN: ` in front of an error that is already set. */
int yaml_tree_err_wrap(const struct yaml_tree *t, const struct yaml_node *at, struct err *err);

#endif
