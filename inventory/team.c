#include "inventory/sections.h"

#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

/* A team while it is read. */
struct entry {
    struct team *team;
    const struct yaml_node *tracker;
    const struct yaml_node *project;
    const struct yaml_node *labels;
    const struct yaml_node *assignees;
};

/* ---- recipients ---------------------------------------------------------------------------------------- */

static void recipients_release(struct recipient_list *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->items[i].text);
    free(l->items);
    *l = (struct recipient_list){0};
}

/* Checks whether the text is a key itself. The encryption later reports an invalid key. */
static bool is_key(const char *text)
{
    static const char *const prefixes[] = {"age1", "ssh-", "ecdsa-", "sk-", "AGE-"};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (strncmp(text, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    return false;
}

static int add_recipients(const struct schema *s, const struct yaml_node *value, struct recipient_list *l,
                          struct err *err)
{
    if (schema_require_list(s, value, "keys and files of keys", err) < 0)
        return -1;
    for (const struct yaml_node *v = value->first; v; v = v->next) {
        struct recipient r = {.line = v->line};
        if (schema_read_text(s, v, &r.text, err) < 0)
            return -1;
        r.is_file = !is_key(r.text);
        if (strncmp(r.text, "AGE-", 4) == 0) {
            free(r.text);
            yaml_tree_err(s->tree, v, err, "this is a secret key");
            return err_hint(err,
                            "recipients are public keys (\"age1...\"); make a new identity with age-keygen, "
                            "because everyone who could read this file knows this secret key");
        }
        if ((r.is_file && schema_read_path(s, v, &r.text, err) < 0) ||
            array_reserve((void **)&l->items, &l->cap, l->n + 1, sizeof *l->items, err) < 0) {
            free(r.text);
            return -1;
        }
        l->items[l->n++] = r;
    }
    if (l->n == 0)
        return yaml_tree_err(s->tree, value, err, "recipients is empty");
    return 0;
}

/* ---- teams --------------------------------------------------------------------------------------------- */

static int read_recipients(const struct schema *s, const struct yaml_node *value, void *into, struct err *err)
{
    return add_recipients(s, value, &((struct entry *)into)->team->recipients, err);
}

static int read_tracker(const struct schema *s, const struct yaml_node *value, void *into, struct err *err)
{
    struct entry *e = into;
    char *name = NULL;
    e->tracker = value;
    if (schema_read_text(s, value, &name, err) < 0)
        return -1;
    int rc = inventory_tracker(s->inv, name, &e->team->tracker, err);
    free(name);
    return rc < 0 ? yaml_tree_err_wrap(s->tree, value, err) : 0;
}

static int read_project(const struct schema *s, const struct yaml_node *value, void *into, struct err *err)
{
    struct entry *e = into;
    e->project = value;
    if (schema_read_text(s, value, &e->team->project, err) < 0)
        return -1;
    if (strlen(e->team->project) > TRACKER_PROJECT_MAX)
        return yaml_tree_err(s->tree, value, err, "project must have at most %d characters",
                             TRACKER_PROJECT_MAX);
    return 0;
}

static int read_word_list(const struct schema *s, const struct yaml_node *value, const char *what,
                          struct strlist *into, struct err *err)
{
    if (schema_require_list(s, value, what, err) < 0)
        return -1;
    for (const struct yaml_node *v = value->first; v; v = v->next) {
        char *word = NULL;
        if (schema_read_text(s, v, &word, err) < 0)
            return -1;
        /* Some trackers take labels as one comma-separated list. */
        int rc = strchr(word, ',') ? yaml_tree_err(s->tree, v, err, "%s must not contain \",\"", what)
                                   : strlist_add(into, word, err);
        free(word);
        if (rc < 0)
            return -1;
    }
    return 0;
}

static int read_labels(const struct schema *s, const struct yaml_node *value, void *into, struct err *err)
{
    struct entry *e = into;
    e->labels = value;
    return read_word_list(s, value, "labels", &e->team->labels, err);
}

static int read_assignees(const struct schema *s, const struct yaml_node *value, void *into, struct err *err)
{
    struct entry *e = into;
    e->assignees = value;
    return read_word_list(s, value, "assignees", &e->team->assignees, err);
}

static int read_signature(const struct schema *s, const struct yaml_node *value, void *into, struct err *err)
{
    bool required = value->kind == YAML_SCALAR && strcmp(value->text, "required") == 0;
    if (!required && (value->kind != YAML_SCALAR || strcmp(value->text, "optional") != 0))
        return yaml_tree_err(s->tree, value, err, "signature must be \"required\" or \"optional\"");
    ((struct entry *)into)->team->signature_required = required;
    return 0;
}

static const struct schema_key team_keys[] = {
    {"recipients", read_recipients},
    {"tracker", read_tracker},
    {"project", read_project},
    {"labels", read_labels},
    {"assignees", read_assignees},
    {"signature", read_signature},
    {NULL, NULL},
};

static int check_keys(const struct schema *s, const struct entry *e, const struct yaml_node *key,
                      struct err *err)
{
    const struct tracker_kind *kind = e->tracker ? e->team->tracker->kind : NULL;
    if (e->team->recipients.n == 0) {
        yaml_tree_err(s->tree, key, err, "team \"%s\" has no recipients", key->text);
        return err_hint(err, "add recipients: a list of public keys and files of them");
    }
    if (e->tracker && !e->project) {
        yaml_tree_err(s->tree, e->tracker->key, err, "\"tracker\" needs a \"project\"");
        return err_hint(err, "%s: %s", kind->title, kind->project);
    }
    if (e->tracker && !kind->has_labels && e->labels)
        return yaml_tree_err(s->tree, e->labels->key, err,
                             "\"labels\" has no meaning with %s, which has none", kind->name);
    const struct yaml_node *misplaced = e->tracker   ? NULL
                                        : e->project ? e->project
                                        : e->labels  ? e->labels
                                                     : e->assignees;
    if (misplaced)
        return yaml_tree_err(s->tree, misplaced->key, err, "\"%s\" has no meaning without \"tracker\"",
                             misplaced->key->text);
    return 0;
}

static int read_one(const struct schema *s, const struct yaml_node *value, struct err *err)
{
    struct inventory *inv = s->inv;
    if (schema_check_name(s, value->key, "team", err) < 0 ||
        schema_require_map(s, value, "settings", err) < 0)
        return -1;
    if (array_reserve((void **)&inv->teams.items, &inv->teams.cap, inv->teams.n + 1, sizeof(struct team *),
                      err) < 0)
        return -1;
    struct entry e = {.team = calloc(1, sizeof *e.team)};
    if (!e.team || !(e.team->name = strdup(value->key->text))) {
        team_free(e.team);
        return err_nomem(err);
    }
    inv->teams.items[inv->teams.n++] = e.team;
    if (schema_read_settings(s, value, team_keys, &e, err) < 0 || check_keys(s, &e, value->key, err) < 0)
        return -1;
    return name_map_add(&inv->team_names, e.team->name, e.team, err);
}

int team_read_all(const struct schema *s, const struct yaml_node *section, struct err *err)
{
    return schema_read_section(s, section, "teams", read_one, err);
}

void team_free(struct team *t)
{
    if (!t)
        return;
    free(t->name);
    free(t->project);
    recipients_release(&t->recipients);
    strlist_release(&t->labels);
    strlist_release(&t->assignees);
    free(t);
}

int inventory_team(const struct inventory *inv, const char *name, const struct team **ret, struct err *err)
{
    if ((*ret = name_map_get(&inv->team_names, name)))
        return 0;
    err_set(err, ERR_USAGE, "no team \"%.60s\" in the inventory", name);
    if (!inv->path)
        return err_hint(err, "there is no inventory: write one (docs/inventory.md), or name it with -i");
    schema_hint_nearest(&inv->team_names, name, "teams are defined in the inventory's section \"teams\"",
                        err);
    return -1;
}

const char *inventory_team_name(const struct inventory *inv, size_t i)
{
    return i < inv->teams.n ? inv->teams.items[i]->name : NULL;
}

/* ---- self ---------------------------------------------------------------------------------------------- */

static int read_own_recipients(const struct schema *s, const struct yaml_node *value, void *into,
                               struct err *err)
{
    return add_recipients(s, value, &((struct self *)into)->recipients, err);
}

static int read_sign_with(const struct schema *s, const struct yaml_node *value, void *into, struct err *err)
{
    return schema_read_path(s, value, &((struct self *)into)->sign_with, err);
}

static const struct schema_key self_keys[] = {
    {"recipients", read_own_recipients},
    {"sign_with", read_sign_with},
    {NULL, NULL},
};

int self_read(const struct schema *s, const struct yaml_node *section, struct err *err)
{
    if (schema_require_map(s, section, "settings", err) < 0)
        return -1;
    return schema_read_settings(s, section, self_keys, &s->inv->self, err);
}

void self_release(struct self *self)
{
    recipients_release(&self->recipients);
    free(self->sign_with);
}

const struct self *inventory_self(const struct inventory *inv)
{
    return &inv->self;
}
