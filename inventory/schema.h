/*
 * Reading the tree's values strictly. Every error is ERR_USAGE with file:line:column of the key or value.
 *
 * A mapping of settings is a table of keys, each with the function that reads its value; keys that begin with
 * `x-` are left alone.
 */
#ifndef INVENTORY_SCHEMA_H
#define INVENTORY_SCHEMA_H

#include "inventory/model.h"
#include "inventory/tree.h"

struct schema {
    const struct tree *tree;
    const char *dir; /* the file's directory, for relative paths */
    struct inventory *inv;
    const struct tree_node *services; /* the section of that name; NULL: there is none */
    const struct tree_node *hosts;
    struct mistakes *mistakes; /* NULL: reading ends at the first one */
};

struct schema_key {
    const char *name;
    int (*read)(const struct schema *s, const struct tree_node *value, void *into, struct err *err);
};

/* Notes the mistake in err, so that reading goes on behind it: 0. -1: reading ends, because mistakes are not
 * collected, there are too many, or it is no mistake of the file (ERR_USAGE). err stays as it is. A mistake
 * that was noted already is not noted again. */
int schema_note(const struct schema *s, struct err *err);

/* Reads each entry of a section, a mapping of `what`; mistakes are noted, and 0 is returned. Repeated keys,
 * which load.c reports, are left out. */
int schema_section(const struct schema *s, const struct tree_node *section, const char *what,
                   int (*read)(const struct schema *s, const struct tree_node *value, struct err *err),
                   struct err *err);

/* Whether an entry of a section whose keys are names is a setting instead: it has one of the settings' names,
 * and no mapping as its value. */
bool schema_is_misplaced(const struct tree_node *value, const struct schema_key *settings);

/* Reads a mapping of settings in the file's order; `keys` ends with a NULL name. Goes on behind a mistake, as
 * schema_note has it, but returns -1 with it in err. */
int schema_settings(const struct schema *s, const struct tree_node *map, const struct schema_key *keys,
                    void *into, struct err *err);

/* Fail unless the value is a mapping or a list; `what` says of what. The hint shows how to write it. */
int schema_map(const struct schema *s, const struct tree_node *value, const char *what, struct err *err);
int schema_list(const struct schema *s, const struct tree_node *value, const char *what, struct err *err);

/* A key that serves as a name (text_is_name). */
int schema_name(const struct schema *s, const struct tree_node *key, const char *what, struct err *err);

/* One line of text that is not empty; a new string takes the place of *ret. */
int schema_text(const struct schema *s, const struct tree_node *value, char **ret, struct err *err);

#define SCHEMA_CHARS_MAX 259 /* a name of DNS, and a port */
/* Text of letters, digits and what `also` holds, at most so long; `what` says what it must be. */
int schema_chars(const struct schema *s, const struct tree_node *value, const char *also, const char *what,
                 char **ret, struct err *err);

/* Text without blanks that does not begin with `-`: something that goes to ssh. */
int schema_word(const struct schema *s, const struct tree_node *value, char **ret, struct err *err);

/* A path: `~` is the home directory, a relative one begins at the file's directory. */
int schema_path(const struct schema *s, const struct tree_node *value, char **ret, struct err *err);

int schema_port(const struct schema *s, const struct tree_node *value, unsigned *ret, struct err *err);

/* The words `true` and `false`, and none of YAML's others. */
int schema_flag(const struct schema *s, const struct tree_node *value, bool *ret, struct err *err);

/* For a key under which people put a secret itself: refuses it and says where secrets belong. Such a key is
 * never offered as a hint. */
int schema_no_secret(const struct schema *s, const struct tree_node *value, void *into, struct err *err);

/* The same where the secret is a tracker's token. */
int schema_no_token(const struct schema *s, const struct tree_node *value, void *into, struct err *err);

/* The value's own name for messages: its key, or "an entry" in a list. */
const char *schema_label(const struct tree_node *value);

/* Hints with the names of a table that are near `wanted`; without one, with `otherwise` (may be NULL). */
void schema_hint_nearest(const struct names *t, const char *wanted, const char *otherwise, struct err *err);

#endif
