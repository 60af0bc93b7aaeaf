/*
 * Strict reading of the tree's values. Every error is ERR_USAGE with file:line:column of the key or value.
 *
 * A mapping of settings is a table of keys, each with the function that reads its value. Keys that begin with
 * `x-` are ignored.
 */
#ifndef INVENTORY_SCHEMA_H
#define INVENTORY_SCHEMA_H

#include "inventory/model.h"

struct schema {
    const struct yaml_tree *tree;
    const char *dir; /* the file's directory, for relative paths */
    struct inventory *inv;
    const struct yaml_node *services; /* the section of that name; NULL: none */
    const struct yaml_node *hosts;
    const struct tracker_kind *const *tracker_kinds; /* ends with NULL */
    struct mistakes *mistakes;                       /* NULL: reading ends at the first mistake */
};

struct schema_key {
    const char *name;
    int (*read)(const struct schema *s, const struct yaml_node *value, void *into, struct err *err);
};

/*
 * Notes the mistake in err and returns 0, so that reading continues. Returns -1 to end reading: if mistakes
 * are not collected, if there are too many, or if the error is not ERR_USAGE. err is unchanged. A mistake is
 * noted only once.
 */
int schema_note(const struct schema *s, struct err *err);

/* Reads each entry of a section, a mapping of `what`. Notes mistakes and returns 0. Skips repeated keys,
 * which load.c reports. */
int schema_section(const struct schema *s, const struct yaml_node *section, const char *what,
                   int (*read)(const struct schema *s, const struct yaml_node *value, struct err *err),
                   struct err *err);

/* Checks whether an entry of a section whose keys are names is a setting instead: it has the name of a
 * setting, and its value is no mapping. */
bool schema_is_misplaced(const struct yaml_node *value, const struct schema_key *settings);

/* Reads a mapping of settings in the file's order; `keys` ends with a NULL name. Continues after a noted
 * mistake (schema_note), but returns -1 with it in err. */
int schema_settings(const struct schema *s, const struct yaml_node *map, const struct schema_key *keys,
                    void *into, struct err *err);

/* Fails unless the value is a mapping or a list; `what` is its object. The hint shows how to write it. */
int schema_map(const struct schema *s, const struct yaml_node *value, const char *what, struct err *err);
int schema_list(const struct schema *s, const struct yaml_node *value, const char *what, struct err *err);

/* Checks a key that is a name (text_is_name). */
int schema_name(const struct schema *s, const struct yaml_node *key, const char *what, struct err *err);

/* Reads one line of text that is not empty; replaces *ret by a new string. */
int schema_text(const struct schema *s, const struct yaml_node *value, char **ret, struct err *err);

#define SCHEMA_CHARS_MAX 259 /* a DNS name and a port */
/* Text of letters, digits and the characters of `also`; `what` describes it in messages. */
struct schema_chars {
    const char *also;
    const char *what;
};
/* Reads such text, with a maximum length. */
int schema_chars(const struct schema *s, const struct yaml_node *value, const struct schema_chars *chars,
                 char **ret, struct err *err);

/* Reads text for ssh: without blanks and without a leading `-`. */
int schema_word(const struct schema *s, const struct yaml_node *value, char **ret, struct err *err);

/* Reads a path: `~` is the home directory, a relative path begins at the file's directory. */
int schema_path(const struct schema *s, const struct yaml_node *value, char **ret, struct err *err);

int schema_port(const struct schema *s, const struct yaml_node *value, unsigned *ret, struct err *err);

/* Reads `true` or `false`, and no other boolean of YAML. */
int schema_flag(const struct schema *s, const struct yaml_node *value, bool *ret, struct err *err);

/* Refuses a key that users set to a secret itself; the message names the right place of the secret. Such a
 * key is never offered as a hint. */
int schema_no_secret(const struct schema *s, const struct yaml_node *value, void *into, struct err *err);

/* Does the same for a tracker's token. */
int schema_no_token(const struct schema *s, const struct yaml_node *value, void *into, struct err *err);

/* Returns the value's name for messages: its key, or "an entry" in a list. */
const char *schema_label(const struct yaml_node *value);

/*
 * Adds a hint with the names of a table that are near `wanted`; without one, with `otherwise` (may be NULL).
 */
void schema_hint_nearest(const struct names *t, const char *wanted, const char *otherwise, struct err *err);

#endif
