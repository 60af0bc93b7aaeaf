#include "inventory/match.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "inventory/range.h"
#include "inventory/schema.h"
#include "base/banned.h"

/* Each glob is compared with every host, so a range must not expand to a hundred thousand globs. */
#define MAX_GLOBS 1000

bool match_is_glob(const char *name)
{
    return strpbrk(name, "*?");
}

int match_expand(const char *pattern, struct strlist *ret, struct err *err)
{
    return range_expand(pattern, match_is_glob(pattern) ? MAX_GLOBS : INVENTORY_MAX_HOSTS, ret, err);
}

struct glob {
    const char *pattern;
    int flags; /* of fnmatch: FNM_CASEFOLD or 0 */
};

static int match_glob(const struct scope *s, const struct glob *glob, struct hostset *into, bool *ret_found,
                      struct err *err)
{
    const struct host *host;
    for (size_t i = 0; (host = scope_host_at(s, i)); i++) {
        if (fnmatch(glob->pattern, host->name, FNM_NOESCAPE | glob->flags) != 0)
            continue;
        *ret_found = true;
        if (hostset_add(into, host, err) < 0)
            return -1;
    }
    return 0;
}

int match_name(const struct scope *s, const char *name, struct hostset *into, bool *ret_found,
               struct err *err)
{
    bool found = false;
    const struct host *host = scope_find_host(s, name);
    if (host) {
        *ret_found = true;
        return hostset_add(into, host, err);
    }
    for (int ignore_case = 0; match_is_glob(name) && !found && ignore_case < 2; ignore_case++)
        if (match_glob(s, &(struct glob){name, ignore_case ? FNM_CASEFOLD : 0}, into, &found, err) < 0)
            return -1;
    *ret_found = found;
    return 0;
}

int match_group(const struct group *group, struct hostset *into, struct err *err)
{
    for (size_t i = 0; i < group->members.n; i++)
        if (hostset_add(into, group->members.items[i], err) < 0)
            return -1;
    return 0;
}

int match_refuse_unknown(const struct scope *s, const char *name, struct err *err)
{
    char shown[120];
    text_printable(shown, sizeof shown, name, strlen(name));
    if (match_is_glob(name))
        return err_set(err, ERR_USAGE, "no host matches \"%s\"", shown);
    err_set(err, ERR_USAGE, "unknown host \"%s\"", shown);
    schema_hint_nearest(&s->inv->host_names, name, NULL, err);
    return -1;
}

/* Finds the hosts of a pattern that names no group. */
static int match_pattern(const struct scope *s, const char *pattern, struct hostset *into, struct err *err)
{
    int rc = -1;
    struct strlist names = {0};
    if (match_expand(pattern, &names, err) < 0)
        return -1;
    for (size_t i = 0; i < names.n; i++) {
        bool found = false;
        if (match_name(s, names.items[i], into, &found, err) < 0)
            goto out;
        if (!found) {
            match_refuse_unknown(s, names.items[i], err);
            goto out;
        }
    }
    rc = 0;
out:
    strlist_release(&names);
    return rc;
}

int inventory_match(const struct inventory *inv, const char *pattern, const struct host ***ret, size_t *ret_n,
                    struct err *err)
{
    int rc;
    struct hostset set = {0};
    bool found = false;
    const struct scope s = {.inv = inv};
    const struct group *group = pattern ? name_map_get(&inv->group_names, pattern) : NULL;
    if (!pattern)
        rc = match_name(&s, "*", &set, &found, err);
    else if (group)
        rc = match_group(group, &set, err);
    else
        rc = match_pattern(&s, pattern, &set, err);
    if (rc == 0) {
        *ret = set.items;
        *ret_n = set.n;
        set.items = NULL;
    }
    hostset_release(&set);
    return rc;
}
