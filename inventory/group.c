/* Creates all groups first and then resolves them, because a group may name a later one. Each group is
 * resolved once. A group that occurs again during its own resolution contains itself. */
#include "inventory/sections.h"

#include <stdlib.h>
#include <string.h>

#include "inventory/match.h"
#include "base/banned.h"

#define MAX_DEPTH 16

/* The state of resolving; `level` is the nesting depth. */
struct resolution {
    const struct schema *schema;
    struct name_map nodes; /* maps names of groups to their lists in the file */
    unsigned level;
};

static int resolve_group(struct resolution *r, struct group *group, struct err *err);

static int add_member_group(struct resolution *r, struct group *group, struct group *member,
                            const struct yaml_node *at, struct err *err)
{
    if (member->resolving)
        return yaml_tree_err(r->schema->tree, at, err, "group \"%s\" contains itself", member->name);
    if (r->level >= MAX_DEPTH)
        return yaml_tree_err(r->schema->tree, at, err, "groups are nested deeper than %d levels", MAX_DEPTH);
    if (!member->depth && resolve_group(r, member, err) < 0)
        return -1;
    if (member->depth >= MAX_DEPTH)
        return yaml_tree_err(r->schema->tree, at, err, "groups are nested deeper than %d levels", MAX_DEPTH);
    if (group->depth < member->depth + 1)
        group->depth = member->depth + 1;
    return match_group(member, &group->members, err);
}

/* Sets the error of an unknown entry, with the nearest hosts and groups. */
static int refuse_unknown_entry(const struct schema *s, const struct yaml_node *at, const char *name,
                                struct err *err)
{
    char text[400];
    struct nearest near = NEAREST_INIT(name);
    name_map_add_to_nearest(&s->inv->host_names, &near);
    name_map_add_to_nearest(&s->inv->group_names, &near);
    yaml_tree_err(s->tree, at, err,
                  match_is_glob(name) ? "no host matches \"%.60s\"" : "no host or group \"%.60s\"", name);
    if (near.n)
        err_hint(err, "did you mean %s?", nearest_text(&near, text, sizeof text));
    return -1;
}

static int add_entry(struct resolution *r, struct group *group, const struct yaml_node *at, struct err *err)
{
    int rc = -1;
    const struct schema *s = r->schema;
    const struct scope scope = {.inv = s->inv};
    struct strlist names = {0};
    if (at->kind != YAML_SCALAR || !*at->text)
        return yaml_tree_err(s->tree, at, err, "an entry must be a host, a glob, a range or a group");
    struct group *member = (struct group *)(uintptr_t)name_map_get(&s->inv->group_names, at->text);
    if (member)
        return add_member_group(r, group, member, at, err);
    if (match_expand(at->text, &names, err) < 0)
        return yaml_tree_err_wrap(s->tree, at, err);
    for (size_t i = 0; i < names.n; i++) {
        bool found = false;
        if (match_name(&scope, names.items[i], &group->members, &found, err) < 0)
            goto out;
        if (!found) {
            refuse_unknown_entry(s, at, names.items[i], err);
            goto out;
        }
    }
    rc = 0;
out:
    strlist_release(&names);
    return rc;
}

static int resolve_group(struct resolution *r, struct group *group, struct err *err)
{
    const struct yaml_node *list = name_map_get(&r->nodes, group->name);
    group->resolving = true;
    group->depth = 1;
    r->level++;
    for (const struct yaml_node *v = list->first; v; v = v->next)
        if (add_entry(r, group, v, err) < 0 && schema_note_mistake(r->schema, err) < 0)
            return -1;
    r->level--;
    group->resolving = false;
    return 0;
}

static int make_group(struct resolution *r, const struct yaml_node *list, struct err *err)
{
    const struct schema *s = r->schema;
    struct inventory *inv = s->inv;
    if (schema_check_name(s, list->key, "group", err) < 0 ||
        schema_require_list(s, list, "hosts and groups", err) < 0)
        return -1;
    if (name_map_get(&inv->host_names, list->key->text))
        return yaml_tree_err(s->tree, list->key, err, "\"%s\" is a host, so no group can have that name",
                             list->key->text);
    if (array_reserve((void **)&inv->groups.items, &inv->groups.cap, inv->groups.n + 1,
                      sizeof(struct group *), err) < 0)
        return -1;
    struct group *group = calloc(1, sizeof *group);
    if (!group || !(group->name = strdup(list->key->text))) {
        group_free(group);
        return err_nomem(err);
    }
    inv->groups.items[inv->groups.n++] = group;
    if (name_map_add(&inv->group_names, group->name, group, err) < 0)
        return -1;
    return name_map_add(&r->nodes, group->name, list, err);
}

int group_read_all(const struct schema *s, const struct yaml_node *section, struct err *err)
{
    int rc = -1;
    struct resolution r = {.schema = s};
    if (schema_require_map(s, section, "groups", err) < 0)
        return -1;
    for (const struct yaml_node *v = section->first; v; v = v->next)
        if (!v->key->earlier && make_group(&r, v, err) < 0 && schema_note_mistake(s, err) < 0)
            goto out;
    for (size_t i = 0; i < s->inv->groups.n; i++)
        if (!s->inv->groups.items[i]->depth && resolve_group(&r, s->inv->groups.items[i], err) < 0)
            goto out;
    rc = 0;
out:
    name_map_release(&r.nodes);
    return rc;
}
