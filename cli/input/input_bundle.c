/* Members of bundles as inputs: the part that needs libarchive and OpenSSL. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bundle/bundle.h"
#include "cli/input/opener.h"
#include "cli/term/signals.h"
#include "cli/input/input.h"
#include "base/banned.h"

/* ---- keys ---------------------------------------------------------------------------------------------- */

bool input_is_encrypted(const char *path)
{
    unsigned char first[256];
    int fd = file_open(path, NULL);
    ssize_t n = fd < 0 ? -1 : read(fd, first, sizeof first);
    fd_close(&fd);
    return n > 0 && age_is_encrypted(first, (size_t)n);
}

/* *ret_by is NULL for a bundle in plain text, and without keys. */
static int identities_for(const char *bundle, struct input_keys *keys, struct age_identities **ret_by,
                          struct err *err)
{
    static const struct strlist none = {0};
    *ret_by = NULL;
    if (!keys || !input_is_encrypted(bundle))
        return 0;
    if (!keys->opener) {
        struct opener *opener = calloc(1, sizeof *opener);
        if (!opener)
            return err_nomem(err);
        if (signals_install(err) < 0 || opener_init(opener, keys->identities ? keys->identities : &none,
                                                    keys->passphrase_file, err) < 0) {
            free(opener);
            return -1;
        }
        keys->opener = opener;
    }
    *ret_by = keys->opener->by;
    return 0;
}

/* ---- members that were announced ----------------------------------------------------------------------- */

struct ahead {
    struct ahead *next;
    char *bundle;
    struct strlist names; /* of its members, until `members` is set */
    struct bundle_members *members;
};

struct input_ahead {
    struct ahead *first;
    struct names by_bundle; /* to struct ahead */
    struct ahead *last_read;
};

static void forget_ahead(struct input_ahead *all)
{
    for (struct ahead *a = all ? all->first : NULL, *next; a; a = next) {
        next = a->next;
        bundle_members_free(a->members);
        strlist_release(&a->names);
        free(a->bundle);
        free(a);
    }
    if (all)
        names_release(&all->by_bundle);
    free(all);
}

/* With more than two bundles, only the current one is open, to save descriptors. */
static struct bundle_members *find_ahead(struct input_ahead *all, const char *bundle)
{
    const struct ahead *found = names_get(&all->by_bundle, bundle);
    if (!found)
        return NULL;
    if (all->by_bundle.n > 2 && all->last_read && all->last_read->members != found->members)
        bundle_members_close_archive(all->last_read->members);
    all->last_read = (struct ahead *)(uintptr_t)found;
    return found->members;
}

/* Finds or makes the list of a bundle's members. Takes ownership of the path. */
static struct ahead *ahead_of(struct input_ahead *all, char *bundle, struct err *err)
{
    struct ahead *a = (struct ahead *)(uintptr_t)names_get(&all->by_bundle, bundle);
    if (a) {
        free(bundle);
        return a;
    }
    a = calloc(1, sizeof *a);
    if (!a) {
        free(bundle);
        err_nomem(err);
        return NULL;
    }
    *a = (struct ahead){.next = all->first, .bundle = bundle};
    all->first = a;
    return names_add(&all->by_bundle, a->bundle, a, err) < 0 ? NULL : a;
}

static int list_members(struct input_ahead *all, char *const *names, size_t n, struct err *err)
{
    for (size_t i = 0; i < n; i++) {
        const char *member;
        char *bundle = file_exists(names[i]) ? NULL : input_bundle_of(names[i], &member);
        struct ahead *a = bundle ? ahead_of(all, bundle, err) : NULL;
        if (bundle && (!a || strlist_add(&a->names, member, err) < 0))
            return -1;
    }
    return 0;
}

static int open_ahead(struct ahead *a, struct input_keys *keys, struct err *err)
{
    struct bundle_members_options wanted = {.path = a->bundle, .members = a->names};
    if (input_most(&wanted.max_bytes, err) < 0 ||
        identities_for(a->bundle, keys, &wanted.identities, err) < 0 ||
        bundle_members_new(&wanted, &a->members, err) < 0)
        return -1;
    strlist_release(&a->names);
    return 0;
}

int input_bundle_announce(char *const *names, size_t n, struct input_keys *keys, struct err *err)
{
    struct input_ahead *all = calloc(1, sizeof *all);
    int rc = all ? list_members(all, names, n, err) : err_nomem(err);
    for (struct ahead *a = all ? all->first : NULL; rc == 0 && a; a = a->next)
        rc = open_ahead(a, keys, err);
    if (rc == 0)
        keys->ahead = all;
    else
        forget_ahead(all);
    return rc;
}

void input_bundle_forget(struct input_keys *keys)
{
    forget_ahead(keys->ahead);
    keys->ahead = NULL;
    if (keys->opener)
        opener_release(keys->opener);
    free(keys->opener);
    keys->opener = NULL;
}

/* The hint for a bundle that no key opens names the command's option. */
static int explain_failure(const char *bundle, const struct input_keys *keys, struct err *err)
{
    if (keys && keys->option && err->kind == ERR_NOT_FOUND && input_is_encrypted(bundle) &&
        strstr(err->msg, "encrypted to"))
        err_hint(err, "%s FILE names the age identity or SSH private key that opens it", keys->option);
    return -1;
}

int input_bundle_unlock(const char *bundle, struct input_keys *keys, struct err *err)
{
    struct age_identities *by;
    if (identities_for(bundle, keys, &by, err) < 0)
        return -1;
    return by && bundle_unlock(bundle, by, err) < 0 ? explain_failure(bundle, keys, err) : 0;
}

int input_bundle_member(const char *bundle, const char *member, struct input_keys *keys, struct buf *ret,
                        struct err *err)
{
    struct age_identities *by;
    struct bundle_members *ahead = keys && keys->ahead ? find_ahead(keys->ahead, bundle) : NULL;
    if (!ahead && identities_for(bundle, keys, &by, err) < 0)
        return -1;
    int rc = ahead ? bundle_members_read(ahead, member, ret, err)
                   : bundle_read_member(bundle, by, member, ret, err);
    return rc < 0 ? explain_failure(bundle, keys, err) : 0;
}

/* ---- entries ------------------------------------------------------------------------------------------- */

static char *copy_of(const char *s, bool *ok)
{
    char *copy = s ? strdup(s) : NULL;
    *ok = *ok && (copy || !s);
    return copy;
}

static bool is_kind(const struct manifest_item *item, const char *kind)
{
    return item->kind && strcmp(item->kind, kind) == 0;
}

/* A local file that is text is a dump if its name says so. */
static bool is_dump(const struct manifest_item *item, bool local, bool is_profile)
{
    if (item->status != MANIFEST_OK)
        return false;
    if (is_kind(item, "goroutines"))
        return is_profile || text_ends_in(item->file, ".txt");
    return local && is_kind(item, "text") && strstr(file_base(item->file), "goroutine");
}

static int add_entry(struct input_entries *all, const struct manifest_item *item, const char *host,
                     const char *service, struct err *err)
{
    bool ok = true;
    if (!item->file)
        return 0;
    if (array_reserve((void **)&all->items, &all->cap, all->n + 1, sizeof *all->items, err) < 0)
        return -1;
    struct input_entry *e = &all->items[all->n++];
    *e = (struct input_entry){.pair = item->pair,
                              .is_profile = item->status == MANIFEST_OK && item->has_profile};
    e->is_dump = is_dump(item, !host, e->is_profile);
    e->member = copy_of(item->file, &ok);
    e->host = copy_of(host, &ok);
    e->service = copy_of(service, &ok);
    e->kind = copy_of(item->kind, &ok);
    return ok ? 0 : err_nomem(err);
}

static int add_all(struct input_entries *all, const struct manifest *m, struct err *err)
{
    for (size_t i = 0; i < m->n_hosts; i++)
        for (size_t k = 0; k < m->hosts[i].n_services; k++) {
            const struct manifest_service *service = &m->hosts[i].services[k];
            for (size_t j = 0; j < service->n_items; j++)
                if (add_entry(all, &service->items[j], m->hosts[i].name, service->name, err) < 0)
                    return -1;
        }
    for (size_t i = 0; i < m->n_files; i++)
        if (add_entry(all, &m->files[i], NULL, NULL, err) < 0)
            return -1;
    return 0;
}

static int order_texts(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) : (a != NULL) - (b != NULL);
}

/* Compares what the dumps of the same goroutines have in common. */
static int order_dumps(const void *a, const void *b)
{
    const struct input_entry *x = *(struct input_entry *const *)a, *y = *(struct input_entry *const *)b;
    int by = order_texts(x->host, y->host);
    if (by == 0)
        by = order_texts(x->service, y->service);
    return by ? by : (x->pair > y->pair) - (x->pair < y->pair);
}

static int mark_texts(struct input_entries *all, struct err *err)
{
    const struct input_entry **texts = malloc((all->n + 1) * sizeof *texts);
    size_t n = 0;
    if (!texts)
        return err_nomem(err);
    for (size_t i = 0; i < all->n; i++)
        if (all->items[i].is_dump && !all->items[i].is_profile)
            texts[n++] = &all->items[i];
    qsort(texts, n, sizeof *texts, order_dumps);
    for (size_t i = 0; i < all->n; i++) {
        struct input_entry *e = &all->items[i];
        e->has_text = e->is_profile && bsearch(&e, texts, n, sizeof *texts, order_dumps);
    }
    free(texts);
    return 0;
}

void input_entries_release(struct input_entries *entries)
{
    for (size_t i = 0; i < entries->n; i++) {
        struct input_entry *e = &entries->items[i];
        free(e->member);
        free(e->host);
        free(e->service);
        free(e->kind);
    }
    free(entries->items);
    *entries = (struct input_entries){0};
}

int input_bundle_entries(const char *bundle, struct input_keys *keys, struct input_entries *ret,
                         struct err *err)
{
    struct age_identities *by;
    char *manifest = NULL;
    struct manifest *contents = NULL;
    if (identities_for(bundle, keys, &by, err) < 0)
        return -1;
    if (bundle_read_manifest(bundle, by, &manifest, err) < 0)
        return explain_failure(bundle, keys, err);
    int rc = manifest_read(manifest, strlen(manifest), &contents, err);
    if (rc == 0)
        rc = add_all(ret, contents, err);
    if (rc == 0)
        rc = mark_texts(ret, err);
    manifest_free(contents);
    free(manifest);
    return rc;
}

int input_bundle_hint_member(const char *bundle, const char *member, struct input_keys *keys, struct err *err)
{
    struct input_entries all = {0};
    struct nearest near = NEAREST_INIT(member);
    char names[600];
    struct err unused = ERR_INIT;
    int rc = input_bundle_entries(bundle, keys, &all, &unused);
    for (size_t i = 0; rc == 0 && i < all.n; i++)
        nearest_add(&near, all.items[i].member);
    nearest_text(&near, names, sizeof names);
    err_hint(err, "%s%s%s`profgrab bundle list %s` lists its contents", *names ? "did you mean " : "", names,
             *names ? "? " : "", bundle);
    input_entries_release(&all);
    return -1;
}
