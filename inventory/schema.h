/*
 * Reads the values of an inventory's YAML tree strictly. Every error is ERR_USAGE with file:line:column of
 * the key or value.
 *
 * A table describes each mapping of settings: its keys, each with the function that reads the value. Keys
 * that begin with `x-` are ignored.
 */
#ifndef INVENTORY_SCHEMA_H
#define INVENTORY_SCHEMA_H

#include "inventory/model.h"

/* An inventory file while it is read. */
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
 * Adds the error in err to the mistakes and returns 0, so that reading continues. Returns -1 if reading must
 * end: mistakes are not collected, there are too many, or the error is not ERR_USAGE. err is unchanged. The
 * same mistake is added only once.
 */
int schema_note_mistake(const struct schema *s, struct err *err);

/* Reads each entry of a section, which is a mapping of `what`. Notes mistakes (schema_note_mistake); returns
 * -1 only if reading must end. Skips repeated keys, which load.c reports. */
int schema_read_section(const struct schema *s, const struct yaml_node *section, const char *what,
                        int (*read)(const struct schema *s, const struct yaml_node *value, struct err *err),
                        struct err *err);

/* Checks whether an entry of a section is a setting at the wrong level: its key is one of `settings`, and its
 * value is not a mapping, unlike the value of a host or service. */
bool schema_is_misplaced(const struct yaml_node *value, const struct schema_key *settings);

/* Reads a mapping of settings in the file's order; `keys` ends with a NULL name. Continues after a noted
 * mistake (schema_note_mistake), but at the end returns -1 with the last mistake in err. */
int schema_read_settings(const struct schema *s, const struct yaml_node *map, const struct schema_key *keys,
                         void *into, struct err *err);

/* Fail unless the value is a mapping, or a list, of `what`. The hint shows how to write one. */
int schema_require_map(const struct schema *s, const struct yaml_node *value, const char *what,
                       struct err *err);
int schema_require_list(const struct schema *s, const struct yaml_node *value, const char *what,
                        struct err *err);

/* Checks that a key is a valid name (text_is_name). */
int schema_check_name(const struct schema *s, const struct yaml_node *key, const char *what, struct err *err);

/* Reads one line of text that is not empty; frees *ret and sets it to a new string. */
int schema_read_text(const struct schema *s, const struct yaml_node *value, char **ret, struct err *err);

#define SCHEMA_CHARS_MAX 259 /* a DNS name and a port */
/* A type of text: letters, digits and the characters of `also`; messages call it `what`. */
struct schema_chars {
    const char *also;
    const char *what;
};
/* Reads text of this type, of at most SCHEMA_CHARS_MAX characters. */
int schema_read_chars(const struct schema *s, const struct yaml_node *value, const struct schema_chars *chars,
                      char **ret, struct err *err);

/* Reads an argument for ssh: text without blanks and without a leading `-`. */
int schema_read_word(const struct schema *s, const struct yaml_node *value, char **ret, struct err *err);

/* Reads a path: `~` is the home directory, a relative path begins at the file's directory. */
int schema_read_path(const struct schema *s, const struct yaml_node *value, char **ret, struct err *err);

int schema_read_port(const struct schema *s, const struct yaml_node *value, unsigned *ret, struct err *err);

/* Reads `true` or `false`, and no other boolean of YAML. */
int schema_read_flag(const struct schema *s, const struct yaml_node *value, bool *ret, struct err *err);

/* Refuses a key whose value would be a secret, such as `password`; the hint names the keys for the location
 * of a secret. The hints for an unknown key do not suggest a refused one. */
int schema_refuse_secret(const struct schema *s, const struct yaml_node *value, void *into, struct err *err);

/* Refuses the key `token` of a tracker in the same way. */
int schema_refuse_token(const struct schema *s, const struct yaml_node *value, void *into, struct err *err);

/* Returns the value's name for messages: its key, or "an entry" for an item of a list. */
const char *schema_value_name(const struct yaml_node *value);

/*
 * Adds a hint with the names of a table that are similar to `wanted`; if there are none, the hint `otherwise`
 * (may be NULL).
 */
void schema_hint_nearest(const struct name_map *t, const char *wanted, const char *otherwise,
                         struct err *err);

#endif
