/* Filters hosts in place: first by labels, then by exclusions, then by a sample. A filter that matches no
 * host is an error, because it is probably a typo. */
#include "inventory/filter.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "inventory/labels.h"
#include "inventory/match.h"
#include "base/banned.h"

/* ---- exclusions ---------------------------------------------------------------------------------------- */

struct exclusion {
    const struct scope *scope;
    const struct host **hosts; /* the selected hosts */
    size_t n;
    bool checked_before;   /* an earlier selection has checked that each pattern matches */
    struct name_map names; /* of the excluded hosts */
};

static int exclude_host(struct exclusion *x, const struct host *host, struct err *err)
{
    return name_map_get(&x->names, host->name) ? 0 : name_map_add(&x->names, host->name, host, err);
}

/* Checks whether `name` is the host's name or address, or a glob that matches the host's name. */
static bool matches_host(const struct host *host, const char *name)
{
    if (match_is_glob(name))
        return fnmatch(name, host->name, FNM_NOESCAPE | FNM_CASEFOLD) == 0;
    return name_map_equal_ignoring_case(host->name, name) || strcmp(host->address, name) == 0;
}

static int refuse_unknown_exclusion(const struct exclusion *x, const char *name, struct err *err)
{
    char text[400], shown[120];
    struct nearest near = NEAREST_INIT(name);
    name_map_add_to_nearest(&x->scope->inv->host_names, &near);
    name_map_add_to_nearest(&x->scope->inv->group_names, &near);
    for (size_t i = 0; i < x->n; i++)
        if (!name_map_get(&x->scope->inv->host_names, x->hosts[i]->name))
            nearest_add(&near, x->hosts[i]->name);
    err_set(err, ERR_USAGE, "nothing to exclude: no host %s \"%s\"",
            match_is_glob(name) ? "matches" : "or group is named",
            text_printable(shown, sizeof shown, name, strlen(name)));
    return near.n ? err_hint(err, "did you mean %s?", nearest_text(&near, text, sizeof text)) : -1;
}

static int exclude_name(struct exclusion *x, const char *name, struct err *err)
{
    struct hostset found = {0};
    bool any = false;
    int rc = match_name(x->scope, name, &found, &any, err);
    for (size_t i = 0; rc == 0 && i < found.n; i++)
        rc = exclude_host(x, found.items[i], err);
    for (size_t i = 0; rc == 0 && i < x->n && (!any || match_is_glob(name)); i++)
        if (matches_host(x->hosts[i], name)) {
            any = true;
            rc = exclude_host(x, x->hosts[i], err);
        }
    hostset_release(&found);
    return rc == 0 && !any && !x->checked_before ? refuse_unknown_exclusion(x, name, err) : rc;
}

static int exclude_pattern(struct exclusion *x, const char *pattern, struct err *err)
{
    const struct group *group = name_map_get(&x->scope->inv->group_names, pattern);
    struct strlist names = {0};
    if (group && !group->members.n)
        return err_set(err, ERR_USAGE, "nothing to exclude: group \"%s\" has no hosts", pattern);
    int rc = group ? 0 : match_expand(pattern, &names, err);
    for (size_t i = 0; rc == 0 && group && i < group->members.n; i++)
        rc = exclude_host(x, group->members.items[i], err);
    for (size_t i = 0; rc == 0 && i < names.n; i++)
        rc = exclude_name(x, names.items[i], err);
    strlist_release(&names);
    return rc;
}

static int exclude_hosts(const struct scope *s, const struct strlist *patterns, bool checked_before,
                         struct host_list *hosts, struct err *err)
{
    struct exclusion x = {.scope = s,
                          .hosts = hosts->items,
                          .n = hosts->n,
                          .checked_before = checked_before,
                          .names = {.ignore_case = true}};
    size_t kept = 0;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < patterns->n; i++)
        rc = exclude_pattern(&x, patterns->items[i], err);
    for (size_t i = 0; rc == 0 && i < hosts->n; i++)
        if (!name_map_get(&x.names, hosts->items[i]->name))
            hosts->items[kept++] = hosts->items[i];
    name_map_release(&x.names);
    if (rc == 0)
        hosts->n = kept;
    return rc;
}

/* ---- sample and limit ---------------------------------------------------------------------------------- */

/*
 * Selection sampling: every sample of this size is equally probable, and the hosts keep their order (Knuth,
 * The Art of Computer Programming 2, 3.4.2, algorithm S). With 64 random bits the bias of the remainder is
 * negligible.
 */
static void sample_hosts(struct host_list *hosts, size_t wanted)
{
    size_t taken = 0;
    for (size_t i = 0; taken < wanted; i++)
        if (hash_index_random() % (hosts->n - i) < wanted - taken)
            hosts->items[taken++] = hosts->items[i];
    hosts->n = taken;
}

static int refuse_too_many(size_t n, unsigned max, struct err *err)
{
    err_set(err, ERR_USAGE, "%zu hosts are selected, more than --max-hosts %u", n, max);
    return err_hint(err, "--sample %u takes some at random, --exclude and --label select fewer", max);
}

/* ---- all filters --------------------------------------------------------------------------------------- */

static int filter_list(const struct scope *s, const struct selection *sel, struct host_list *hosts,
                       struct err *err)
{
    if (sel->labels.n && labels_filter(s, &sel->labels, hosts, err) < 0)
        return -1;
    size_t before = hosts->n;
    if (sel->exclude.n && exclude_hosts(s, &sel->exclude, false, hosts, err) < 0)
        return -1;
    if (before > 0 && hosts->n == 0)
        return err_set(err, ERR_USAGE, "all selected hosts are excluded");
    return 0;
}

int inventory_filter(const struct inventory *inv, const struct targets *t, const struct selection *sel,
                     struct host_list *hosts, struct err *err)
{
    const struct scope s = scope_of(inv, t);
    return filter_list(&s, sel, hosts, err);
}

int filter_apply(const struct scope *s, const struct selection *sel, struct hostset *hosts,
                 size_t *ret_n_before_sample, struct err *err)
{
    struct host_list kept = {hosts->items, hosts->n};
    size_t n_before = 0;
    if (filter_list(s, sel, &kept, err) < 0)
        return -1;
    if (sel->sample && sel->sample < kept.n) {
        n_before = kept.n;
        sample_hosts(&kept, sel->sample);
    }
    if (sel->max_hosts && kept.n > sel->max_hosts)
        return refuse_too_many(kept.n, sel->max_hosts, err);
    hosts->n = kept.n;
    *ret_n_before_sample = n_before;
    return 0;
}

int targets_exclude(const struct inventory *inv, struct targets *t, size_t from,
                    const struct strlist *exclude, struct err *err)
{
    const struct scope s = scope_of(inv, t);
    struct host_list hosts = {.items = calloc(t->n - from + 1, sizeof *hosts.items)};
    size_t kept = from;
    if (!hosts.items)
        return err_nomem(err);
    for (size_t i = from; i < t->n; i++)
        if (hosts.n == 0 || hosts.items[hosts.n - 1] != t->items[i].host)
            hosts.items[hosts.n++] = t->items[i].host;
    int rc = exclude_hosts(&s, exclude, true, &hosts, err);
    /* The targets and the remaining hosts are in the same order. */
    for (size_t i = from, at = 0; rc == 0 && i < t->n;) {
        const struct host *host = t->items[i].host;
        bool stays = at < hosts.n && hosts.items[at] == host;
        at += stays;
        for (; i < t->n && t->items[i].host == host; i++)
            if (stays)
                t->items[kept++] = t->items[i];
    }
    if (rc == 0)
        t->n = kept;
    free(hosts.items);
    return rc;
}
