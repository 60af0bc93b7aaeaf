/* Excludes hosts in place, in this order: labels, exclusions, sample. A filter without effect, such as a
 * label that no host has, is refused as a typo, because the user relies on it. */
#include "inventory/exclude.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inventory/match.h"
#include "inventory/schema.h"
#include "base/banned.h"

/* ---- labels -------------------------------------------------------------------------------------------- */

/* One of selection.labels: NAME is before the first `=`. */
struct wanted_label {
    const char *text;
    size_t n_name;
    const char *value;
};

static struct wanted_label parse_label(const char *text)
{
    size_t n = strcspn(text, "=");
    return (struct wanted_label){text, n, text[n] ? text + n + 1 : ""};
}

static bool is_named(const struct label *label, const struct wanted_label *w)
{
    return strlen(label->name) == w->n_name && memcmp(label->name, w->text, w->n_name) == 0;
}

/* Checks whether the selection has the value under the name of `w`. */
static bool is_wanted(const struct strlist *asked, const struct wanted_label *w, const char *value)
{
    for (size_t i = 0; i < asked->n; i++) {
        const struct wanted_label a = parse_label(asked->items[i]);
        if (a.n_name == w->n_name && memcmp(a.text, w->text, w->n_name) == 0 && strcmp(a.value, value) == 0)
            return true;
    }
    return false;
}

/* Checks whether one of the labels has the name of `w` and a wanted value. */
static bool has_label(const struct label *labels, size_t n, const struct wanted_label *w,
                      const struct strlist *asked)
{
    for (size_t i = 0; i < n; i++)
        if (is_named(&labels[i], w) && is_wanted(asked, w, labels[i].value))
            return true;
    return false;
}

bool labels_match(const struct host *host, const struct service *service, const struct strlist *asked)
{
    for (size_t i = 0; i < asked->n; i++) {
        const struct wanted_label w = parse_label(asked->items[i]);
        if (!has_label(host->labels, host->n_labels, &w, asked) &&
            !(service && has_label(service->labels, service->n_labels, &w, asked)))
            return false;
    }
    return true;
}

/* Checks the labels of the host, or of one of its services. */
static bool is_labelled(const struct host *host, const struct strlist *asked)
{
    bool is = labels_match(host, NULL, asked);
    for (size_t i = 0; !is && i < host->n_services; i++)
        is = host->services[i]->n_labels > 0 && labels_match(host, host->services[i], asked);
    return is;
}

/* ---- all labels ---------------------------------------------------------------------------------------- */

/* Calls `tell` for every label of every host and of its discovered services, until it returns nonzero. */
static int each_label(const struct inventory *inv,
                      int (*tell)(void *ctx, const struct label *label, struct err *err), void *ctx,
                      struct err *err)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < inv->hosts.n; i++) {
        const struct host *host = inv->hosts.items[i];
        for (size_t j = 0; rc == 0 && j < host->n_labels; j++)
            rc = tell(ctx, &host->labels[j], err);
        for (size_t k = 0; rc == 0 && k < host->n_services; k++)
            for (size_t j = 0; rc == 0 && j < host->services[k]->n_labels; j++)
                rc = tell(ctx, &host->services[k]->labels[j], err);
    }
    return rc;
}

/* Collects the names of all labels, or the values of one name, each once. */
struct gathering {
    const struct wanted_label *values_of; /* NULL: collect names */
    struct names *into;
};

static int collect_label(void *ctx, const struct label *label, struct err *err)
{
    const struct gathering *g = ctx;
    const char *text = g->values_of ? label->value : label->name;
    if ((g->values_of && !is_named(label, g->values_of)) || names_get(g->into, text))
        return 0;
    return names_add(g->into, text, label, err);
}

static int collect_labels(const struct inventory *inv, const struct wanted_label *values_of,
                          struct names *into, struct err *err)
{
    return each_label(inv, collect_label, &(struct gathering){values_of, into}, err);
}

struct listing {
    struct strlist *list;
    struct names seen;
};

static int add_once(void *ctx, const struct label *label, struct err *err)
{
    struct listing *l = ctx;
    struct buf text = BUF_INIT(1u << 16);
    int rc = 0;
    buf_addf(&text, "%s=%s", label->name, label->value);
    if (!names_get(&l->seen, buf_str(&text)) && (rc = strlist_add(l->list, buf_str(&text), err)) == 0)
        rc = names_add(&l->seen, l->list->items[l->list->n - 1], label, err);
    buf_release(&text);
    return rc;
}

int inventory_labels(const struct inventory *inv, struct strlist *ret, struct err *err)
{
    struct listing l = {.list = ret};
    int rc = each_label(inv, add_once, &l, err);
    names_release(&l.seen);
    return rc;
}

/* Sets the error of a label that no host has: an unknown name, or an unknown value with the known ones. */
static int refuse_label(const struct inventory *inv, const struct wanted_label *w, struct err *err)
{
    char shown[120];
    struct names values = {0}, names = {0};
    if (collect_labels(inv, w, &values, err) < 0 || collect_labels(inv, NULL, &names, err) < 0)
        goto out;
    const char *part = values.n ? w->value : w->text;
    text_printable(shown, sizeof shown, part, values.n ? strlen(part) : w->n_name);
    if (values.n)
        err_set(err, ERR_USAGE, "no host has the label %.*s with the value \"%s\"", (int)w->n_name, w->text,
                shown);
    else
        err_set(err, ERR_USAGE, "no host has a label \"%s\"", shown);
    schema_hint_nearest(values.n ? &values : &names, shown, "`profgrab hosts` shows the labels", err);
out:
    names_release(&values);
    names_release(&names);
    return -1;
}

/* Returns 1 for the wanted label. */
static int is_label(void *ctx, const struct label *label, struct err *err)
{
    const struct wanted_label *w = ctx;
    (void)err;
    return is_named(label, w) && strcmp(label->value, w->value) == 0;
}

static int check_form(const char *text, struct err *err)
{
    const struct wanted_label w = parse_label(text);
    char shown[120];
    return w.n_name && *w.value ? 0
                                : err_set(err, ERR_USAGE, "a label to select by is NAME=VALUE, not \"%s\"",
                                          text_printable(shown, sizeof shown, text, strlen(text)));
}

static int check_label(const struct inventory *inv, const char *text, struct err *err)
{
    struct wanted_label w = parse_label(text);
    if (check_form(text, err) < 0)
        return -1;
    return each_label(inv, is_label, &w, err) == 1 ? 0 : refuse_label(inv, &w, err);
}

static int keep_labelled(const struct inventory *inv, const struct strlist *labels, const struct host **hosts,
                         size_t *n, struct err *err)
{
    size_t kept = 0;
    for (size_t i = 0; i < labels->n; i++)
        if (check_label(inv, labels->items[i], err) < 0)
            return -1;
    for (size_t i = 0; i < *n; i++)
        if (is_labelled(hosts[i], labels))
            hosts[kept++] = hosts[i];
    if (*n > 0 && kept == 0) {
        err_set(err, ERR_USAGE, "none of the %zu hosts has the labels asked for", *n);
        return err_hint(err, "several names must all be there, several values of one name are alternatives");
    }
    *n = kept;
    return 0;
}

/* ---- labels of a source's targets ---------------------------------------------------------------------- */

/* Checks whether a target has the name with a wanted value: as its job, its own label or its host's. */
static bool target_has(const struct discovered *f, const struct discovered_target *t,
                       const struct wanted_label *w, const struct strlist *asked)
{
    const struct strlist *set = t->labels ? &f->labels[t->labels - 1] : &(const struct strlist){0};
    if (w->n_name == strlen("job") && memcmp(w->text, "job", w->n_name) == 0 &&
        is_wanted(asked, w, f->jobs[t->job].name))
        return true;
    for (size_t i = 0; i < set->n; i++) {
        const struct wanted_label own = parse_label(set->items[i]);
        if (own.n_name == w->n_name && memcmp(own.text, w->text, w->n_name) == 0 &&
            is_wanted(asked, w, own.value))
            return true;
    }
    return t->host && has_label(t->host->labels, t->host->n_labels, w, asked);
}

static bool target_has_all(const struct discovered *f, const struct discovered_target *t,
                           const struct strlist *asked)
{
    for (size_t i = 0; i < asked->n; i++) {
        const struct wanted_label w = parse_label(asked->items[i]);
        if (!target_has(f, t, &w, asked))
            return false;
    }
    return true;
}

int discovered_filter(struct discovered *f, const struct strlist *labels, struct err *err)
{
    size_t n = 0, kept = 0;
    for (size_t i = 0; i < labels->n; i++)
        if (check_form(labels->items[i], err) < 0)
            return -1;
    for (size_t i = 0; i < f->n; i++) {
        struct discovered_target *t = &f->targets[i];
        n += t->meant;
        t->meant = t->meant && target_has_all(f, t, labels);
        kept += t->meant;
    }
    return n == 0 || kept > 0
               ? 0
               : err_set(err, ERR_USAGE, "none of its %zu targets has the labels asked for", n);
}

/* ---- exclusions ---------------------------------------------------------------------------------------- */

struct exclusion {
    const struct inventory *inv;
    const struct host **hosts; /* the selection */
    size_t n;
    bool known;         /* an earlier selection has checked that each pattern matches */
    struct names names; /* of the excluded hosts */
};

static int exclude_host(struct exclusion *x, const struct host *host, struct err *err)
{
    return names_get(&x->names, host->name) ? 0 : names_add(&x->names, host->name, host, err);
}

/* Hosts outside the inventory also match by their address. */
static bool matches_host(const struct host *host, const char *name)
{
    if (match_is_glob(name))
        return fnmatch(name, host->name, FNM_NOESCAPE | FNM_CASEFOLD) == 0;
    return names_fold_equal(host->name, name) || strcmp(host->address, name) == 0;
}

static int unknown_exclusion(const struct exclusion *x, const char *name, struct err *err)
{
    char text[400], shown[120];
    struct nearest near = NEAREST_INIT(name);
    names_offer(&x->inv->host_names, &near);
    names_offer(&x->inv->group_names, &near);
    for (size_t i = 0; i < x->n; i++)
        if (!names_get(&x->inv->host_names, x->hosts[i]->name))
            nearest_offer(&near, x->hosts[i]->name);
    err_set(err, ERR_USAGE, "nothing to exclude: no host %s \"%s\"",
            match_is_glob(name) ? "matches" : "or group is named",
            text_printable(shown, sizeof shown, name, strlen(name)));
    return near.n ? err_hint(err, "did you mean %s?", nearest_text(&near, text, sizeof text)) : -1;
}

static int exclude_name(struct exclusion *x, const char *name, struct err *err)
{
    struct hostset found = {0};
    bool any = false;
    int rc = match_name(x->inv, name, &found, &any, err);
    for (size_t i = 0; rc == 0 && i < found.n; i++)
        rc = exclude_host(x, found.items[i], err);
    for (size_t i = 0; rc == 0 && i < x->n && (!any || match_is_glob(name)); i++)
        if (matches_host(x->hosts[i], name)) {
            any = true;
            rc = exclude_host(x, x->hosts[i], err);
        }
    hostset_release(&found);
    return rc == 0 && !any && !x->known ? unknown_exclusion(x, name, err) : rc;
}

static int exclude_pattern(struct exclusion *x, const char *pattern, struct err *err)
{
    const struct group *group = names_get(&x->inv->group_names, pattern);
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

static int exclude_hosts(const struct inventory *inv, const struct strlist *patterns, bool known,
                         const struct host **hosts, size_t *n, struct err *err)
{
    struct exclusion x = {.inv = inv, .hosts = hosts, .n = *n, .known = known, .names = {.fold = true}};
    size_t kept = 0;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < patterns->n; i++)
        rc = exclude_pattern(&x, patterns->items[i], err);
    for (size_t i = 0; rc == 0 && i < *n; i++)
        if (!names_get(&x.names, hosts[i]->name))
            hosts[kept++] = hosts[i];
    names_release(&x.names);
    if (rc == 0)
        *n = kept;
    return rc;
}

/* ---- sample and limit ---------------------------------------------------------------------------------- */

/*
 * Selection sampling: keeps each host with the probability that gives every sample in order the same chance
 * (Knuth, The Art of Computer Programming 2, 3.4.2, algorithm S). With 64 random bits the bias of the
 * remainder is negligible.
 */
static void take_sample(const struct host **hosts, size_t *n, size_t wanted)
{
    size_t taken = 0;
    for (size_t i = 0; taken < wanted; i++)
        if (finder_random() % (*n - i) < wanted - taken)
            hosts[taken++] = hosts[i];
    *n = taken;
}

static int refuse_number(size_t n, unsigned most, struct err *err)
{
    err_set(err, ERR_USAGE, "%zu hosts are selected, more than --max-hosts %u", n, most);
    return err_hint(err, "--sample %u takes some at random, --exclude and --label leave some out", most);
}

/* ---- all filters --------------------------------------------------------------------------------------- */

int inventory_filter(const struct inventory *inv, const struct selection *sel, const struct host **hosts,
                     size_t *n, struct err *err)
{
    if (sel->labels.n && keep_labelled(inv, &sel->labels, hosts, n, err) < 0)
        return -1;
    size_t before = *n;
    if (sel->exclude.n && exclude_hosts(inv, &sel->exclude, false, hosts, n, err) < 0)
        return -1;
    if (before > 0 && *n == 0)
        return err_set(err, ERR_USAGE, "no host is left: what is excluded is all that is selected");
    return 0;
}

int inventory_exclude(const struct inventory *inv, const struct strlist *exclude, const struct host **hosts,
                      size_t *n, struct err *err)
{
    return exclude_hosts(inv, exclude, true, hosts, n, err);
}

int filter_hosts(const struct inventory *inv, const struct selection *sel, struct hostset *hosts,
                 size_t *ret_sampled_of, struct err *err)
{
    size_t n = hosts->n, of = 0;
    if (inventory_filter(inv, sel, hosts->items, &n, err) < 0)
        return -1;
    if (sel->sample && sel->sample < n) {
        of = n;
        take_sample(hosts->items, &n, sel->sample);
    }
    if (sel->max_hosts && n > sel->max_hosts)
        return refuse_number(n, sel->max_hosts, err);
    hosts->n = n;
    *ret_sampled_of = of;
    return 0;
}
