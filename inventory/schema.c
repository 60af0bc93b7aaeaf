#include "inventory/schema.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

const char *schema_value_name(const struct yaml_node *value)
{
    return value->key ? value->key->text : "an entry";
}

static int refuse_value(const struct schema *s, const struct yaml_node *value, const char *what,
                        struct err *err)
{
    return yaml_tree_err(s->tree, value, err, "%.60s must be %s", schema_value_name(value), what);
}

static bool is_one_of(const char *text, const char *const words[])
{
    for (; *words; words++)
        if (strcmp(text, *words) == 0)
            return true;
    return false;
}

/* Checks whether YAML would read the scalar as null or a boolean where we need text. */
static bool is_null_or_flag(const struct yaml_node *value)
{
    static const char *const words[] = {"",    "~",     "null", "Null",  "NULL",  "true", "True", "TRUE",
                                        "yes", "Yes",   "YES",  "on",    "On",    "ON",   "no",   "No",
                                        "NO",  "false", "off",  "False", "FALSE", "Off",  "OFF",  NULL};
    return value->plain ? is_one_of(value->text, words) : !*value->text;
}

static int refuse_unknown_key(const struct schema *s, const struct yaml_node *key,
                              const struct schema_key *keys, struct err *err)
{
    char near_text[256];
    struct nearest near = NEAREST_INIT(key->text);
    struct buf all = BUF_INIT(400);
    for (const struct schema_key *k = keys; k->name; k++) {
        if (k->read == schema_refuse_secret || k->read == schema_refuse_token)
            continue;
        nearest_add(&near, k->name);
        buf_addf(&all, "%s%s", k == keys ? "" : ", ", k->name);
    }
    yaml_tree_err(s->tree, key, err, "unknown key \"%.60s\"", key->text);
    if (near.n)
        err_hint(err, "did you mean %s?", nearest_text(&near, near_text, sizeof near_text));
    else
        err_hint(err, "the valid keys are %s", buf_str(&all));
    buf_release(&all);
    return -1;
}

int schema_note_mistake(const struct schema *s, struct err *err)
{
    struct mistakes *m = s->mistakes;
    if (!m || !err || err->kind != ERR_USAGE)
        return -1;
    for (size_t i = 0; i < m->n; i++)
        if (strcmp(m->items[i].msg, err->msg) == 0)
            return 0;
    if (m->n == MISTAKES_MAX)
        return -1;
    m->items[m->n++] = *err;
    return 0;
}

/* Reads one setting. */
static int read_setting(const struct schema *s, const struct yaml_node *value, const struct schema_key *keys,
                        void *into, struct err *err)
{
    const struct schema_key *k = keys;
    if (value->key->earlier || strncmp(value->key->text, "x-", 2) == 0)
        return 0;
    while (k->name && strcmp(k->name, value->key->text) != 0)
        k++;
    return k->name ? k->read(s, value, into, err) : refuse_unknown_key(s, value->key, keys, err);
}

int schema_read_settings(const struct schema *s, const struct yaml_node *map, const struct schema_key *keys,
                         void *into, struct err *err)
{
    int rc = 0;
    for (const struct yaml_node *v = map->first; v; v = v->next) {
        if (read_setting(s, v, keys, into, err) == 0)
            continue;
        if (schema_note_mistake(s, err) < 0)
            return -1;
        rc = -1;
    }
    return rc;
}

int schema_read_section(const struct schema *s, const struct yaml_node *section, const char *what,
                        int (*read)(const struct schema *s, const struct yaml_node *value, struct err *err),
                        struct err *err)
{
    if (schema_require_map(s, section, what, err) < 0)
        return schema_note_mistake(s, err);
    for (const struct yaml_node *v = section->first; v; v = v->next)
        if (!v->key->earlier && read(s, v, err) < 0 && schema_note_mistake(s, err) < 0)
            return -1;
    return 0;
}

bool schema_is_misplaced(const struct yaml_node *value, const struct schema_key *settings)
{
    for (const struct schema_key *k = settings; value->kind != YAML_MAP && k->name; k++)
        if (strcmp(k->name, value->key->text) == 0)
            return true;
    return false;
}

/* ---- mappings and lists -------------------------------------------------------------------------------- */

/* Guesses the name that a list item should define, from `- gitaly`, `- gitaly: {}` and `- name: gitaly`. */
static const char *guess_item_name(const struct yaml_node *item)
{
    if (!item || item->kind == YAML_LIST)
        return NULL;
    if (item->kind == YAML_SCALAR)
        return *item->text ? item->text : NULL;
    for (const struct yaml_node *v = item->first; v; v = v->next)
        if (strcmp(v->key->text, "name") == 0 && v->kind == YAML_SCALAR)
            return v->text;
    return item->first ? item->first->key->text : NULL;
}

/* Returns an example of a setting for a name in the section `what`; NULL: the names have no settings. */
static const char *example_setting(const char *what)
{
    static const struct {
        const char *what, *line;
    } examples[] = {{"services", "port: 6060"},
                    {"hosts", "services: [NAME]"},
                    {"trackers", "url: https://HOST"},
                    {"teams", "recipients: [FILE]"}};
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++)
        if (strcmp(examples[i].what, what) == 0)
            return examples[i].line;
    return NULL;
}

#define WORD_SIZE 64
/* Quotes a word of the file for a hint. */
static const char *quote_word(char dst[static WORD_SIZE], const char *text)
{
    return text_printable(dst, WORD_SIZE, text, strlen(text));
}

/* Adds a hint with the lines that should replace the list, with the first name of the user's list. */
static int hint_mapping(const struct yaml_node *list, const char *what, struct err *err)
{
    char label[WORD_SIZE], first[WORD_SIZE], second[WORD_SIZE];
    const struct yaml_node *item = list->first;
    const char *name = guess_item_name(item), *below = example_setting(what);
    bool has_value = item && item->kind == YAML_MAP && item->first && item->first->kind == YAML_SCALAR;
    quote_word(label, schema_value_name(list));
    if (below || strcmp(what, "groups") == 0) {
        quote_word(first, name ? name : "NAME");
        return err_hint(err, "write names without \"- \":\n%s:\n  %s:%s%s", label, first,
                        below ? "\n    " : " [HOST, HOST]", below ? below : "");
    }
    quote_word(first, has_value ? item->first->key->text : "KEY");
    quote_word(second, has_value ? item->first->text : "VALUE");
    return err_hint(err, "write keys without \"- \":\n%s:\n  %s: %s", label, first, second);
}

int schema_require_map(const struct schema *s, const struct yaml_node *value, const char *what,
                       struct err *err)
{
    if (value->kind == YAML_MAP)
        return 0;
    yaml_tree_err(s->tree, value, err, "%.60s must be a mapping of %s%s", schema_value_name(value), what,
                  value->kind == YAML_LIST ? ", not a list" : "");
    return value->kind == YAML_LIST ? hint_mapping(value, what, err) : -1;
}

int schema_require_list(const struct schema *s, const struct yaml_node *value, const char *what,
                        struct err *err)
{
    if (value->kind == YAML_LIST)
        return 0;
    yaml_tree_err(s->tree, value, err, "%.60s must be a list of %s", schema_value_name(value), what);
    if (value->kind != YAML_SCALAR || is_null_or_flag(value))
        return -1;
    char label[WORD_SIZE], text[WORD_SIZE];
    return err_hint(err, "write %s: [%s]", quote_word(label, schema_value_name(value)),
                    quote_word(text, value->text));
}

int schema_check_name(const struct schema *s, const struct yaml_node *key, const char *what, struct err *err)
{
    if (text_is_name(key->text))
        return 0;
    yaml_tree_err(s->tree, key, err, "\"%.60s\" is no name for a %s", key->text, what);
    return err_hint(err, "a name has letters, digits, \".\", \"_\" and \"-\", begins with a letter or digit "
                         "and has at most 253 characters");
}

int schema_read_text(const struct schema *s, const struct yaml_node *value, char **ret, struct err *err)
{
    if (value->kind != YAML_SCALAR || is_null_or_flag(value))
        return refuse_value(s, value, "text", err);
    if (!text_is_visible(value->text))
        return refuse_value(s, value, "one line of visible characters", err);
    char *copy = strdup(value->text);
    if (!copy)
        return err_nomem(err);
    free(*ret);
    *ret = copy;
    return 0;
}

static bool has_only_chars(const char *text, const char *also)
{
    while (isalnum((unsigned char)*text) || (*text && strchr(also, *text)))
        text++;
    return !*text;
}

int schema_read_chars(const struct schema *s, const struct yaml_node *value, const struct schema_chars *chars,
                      char **ret, struct err *err)
{
    if (value->kind == YAML_SCALAR && !is_null_or_flag(value) &&
        (!has_only_chars(value->text, chars->also) || strlen(value->text) > SCHEMA_CHARS_MAX))
        return refuse_value(s, value, chars->what, err);
    return schema_read_text(s, value, ret, err);
}

int schema_read_word(const struct schema *s, const struct yaml_node *value, char **ret, struct err *err)
{
    if (value->kind == YAML_SCALAR && (strchr(value->text, ' ') || value->text[0] == '-'))
        return refuse_value(s, value, "one word that does not begin with \"-\"", err);
    return schema_read_text(s, value, ret, err);
}

int schema_read_path(const struct schema *s, const struct yaml_node *value, char **ret, struct err *err)
{
    char *text = NULL;
    if (schema_read_text(s, value, &text, err) < 0)
        return -1;
    char *expanded = file_expand_home(text);
    char *full = expanded ? file_join(s->dir, expanded) : NULL;
    free(text);
    free(expanded);
    if (!full)
        return err_nomem(err);
    free(*ret);
    *ret = full;
    return 0;
}

int schema_read_port(const struct schema *s, const struct yaml_node *value, unsigned *ret, struct err *err)
{
    uint64_t v = 0;
    /* Other YAML parsers read a number with a leading zero as octal. */
    if (value->kind != YAML_SCALAR || !value->plain || value->text[0] == '0' ||
        text_to_uint(value->text, 65535, &v) < 0)
        return refuse_value(s, value, "a number from 1 to 65535", err);
    *ret = (unsigned)v;
    return 0;
}

int schema_read_flag(const struct schema *s, const struct yaml_node *value, bool *ret, struct err *err)
{
    bool yes = value->kind == YAML_SCALAR && value->plain && strcmp(value->text, "true") == 0;
    if (!yes && (value->kind != YAML_SCALAR || !value->plain || strcmp(value->text, "false") != 0))
        return refuse_value(s, value, "true or false", err);
    *ret = yes;
    return 0;
}

static int refuse_secret_value(const struct schema *s, const struct yaml_node *value, struct err *err)
{
    return yaml_tree_err(s->tree, value->key, err, "\"%.60s\" would contain the secret itself",
                         value->key->text);
}

int schema_refuse_secret(const struct schema *s, const struct yaml_node *value, void *into, struct err *err)
{
    (void)into;
    bool password = strcmp(value->key->text, "password") == 0;
    refuse_secret_value(s, value, err);
    return err_hint(err,
                    "secrets are not allowed in the inventory; write where the secret is: auth: { %s_file: "
                    "FILE }, or %s_env "
                    "with a variable, or %s_command",
                    password ? "user: NAME, password" : "bearer", password ? "password" : "bearer",
                    password ? "password" : "bearer");
}

int schema_refuse_token(const struct schema *s, const struct yaml_node *value, void *into, struct err *err)
{
    (void)into;
    refuse_secret_value(s, value, err);
    return err_hint(
        err, "secrets are not allowed in the inventory; write where the token is: token_file: FILE, or "
             "token_env with a variable, or token_command");
}

void schema_hint_nearest(const struct name_map *t, const char *wanted, const char *otherwise, struct err *err)
{
    char text[400];
    struct nearest near = NEAREST_INIT(wanted);
    name_map_add_to_nearest(t, &near);
    if (near.n)
        err_hint(err, "did you mean %s?", nearest_text(&near, text, sizeof text));
    else if (otherwise)
        err_hint(err, "%s", otherwise);
}
