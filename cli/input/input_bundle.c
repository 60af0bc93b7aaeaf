/* Reads members of bundles: the part of cli/input that needs libarchive and OpenSSL. */
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

/* Reads the identities at their first use. *ret_identities is NULL if the bundle is not encrypted, or if
 * `keys` is NULL. */
static int get_identities(const char *bundle, struct input_keys *keys, struct age_identities **ret_identities,
                          struct err *err)
{
    static const struct strlist none = {0};
    *ret_identities = NULL;
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
    *ret_identities = keys->opener->identities;
    return 0;
}

/* ---- announced members --------------------------------------------------------------------------------- */

/* The announced members of one bundle. */
struct announced_bundle {
    struct announced_bundle *next;
    char *bundle;
    struct strlist members; /* the members' names; empty once `reader` is set */
    struct bundle_members *reader;
};

struct input_announced {
    struct announced_bundle *first;
    struct name_map by_bundle; /* to struct announced_bundle */
    struct announced_bundle *last_read;
};

static void free_announced(struct input_announced *all)
{
    for (struct announced_bundle *a = all ? all->first : NULL, *next; a; a = next) {
        next = a->next;
        bundle_members_free(a->reader);
        strlist_release(&a->members);
        free(a->bundle);
        free(a);
    }
    if (all)
        name_map_release(&all->by_bundle);
    free(all);
}

/* Returns the reader of a bundle's announced members; NULL: none are announced. With more than two bundles,
 * closes the bundle that was read before, to save descriptors. */
static struct bundle_members *find_reader(struct input_announced *all, const char *bundle)
{
    const struct announced_bundle *found = name_map_get(&all->by_bundle, bundle);
    if (!found)
        return NULL;
    if (all->by_bundle.n > 2 && all->last_read && all->last_read->reader != found->reader)
        bundle_members_close_archive(all->last_read->reader);
    all->last_read = (struct announced_bundle *)(uintptr_t)found;
    return found->reader;
}

/* Finds the announced members of a bundle, or adds an empty list of them. Takes ownership of the path. */
static struct announced_bundle *find_or_add_bundle(struct input_announced *all, char *bundle, struct err *err)
{
    struct announced_bundle *a = (struct announced_bundle *)(uintptr_t)name_map_get(&all->by_bundle, bundle);
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
    *a = (struct announced_bundle){.next = all->first, .bundle = bundle};
    all->first = a;
    return name_map_add(&all->by_bundle, a->bundle, a, err) < 0 ? NULL : a;
}

static int group_by_bundle(struct input_announced *all, char *const *names, size_t n, struct err *err)
{
    for (size_t i = 0; i < n; i++) {
        const char *member;
        char *bundle = file_exists(names[i]) ? NULL : input_bundle_of(names[i], &member);
        struct announced_bundle *a = bundle ? find_or_add_bundle(all, bundle, err) : NULL;
        if (bundle && (!a || strlist_add(&a->members, member, err) < 0))
            return -1;
    }
    return 0;
}

static int open_announced(struct announced_bundle *a, struct input_keys *keys, struct err *err)
{
    struct bundle_members_options options = {.path = a->bundle, .members = a->members};
    if (input_max_bytes(&options.max_bytes, err) < 0 ||
        get_identities(a->bundle, keys, &options.identities, err) < 0 ||
        bundle_members_new(&options, &a->reader, err) < 0)
        return -1;
    strlist_release(&a->members);
    return 0;
}

int input_bundle_announce(char *const *names, size_t n, struct input_keys *keys, struct err *err)
{
    struct input_announced *all = calloc(1, sizeof *all);
    int rc = all ? group_by_bundle(all, names, n, err) : err_nomem(err);
    for (struct announced_bundle *a = all ? all->first : NULL; rc == 0 && a; a = a->next)
        rc = open_announced(a, keys, err);
    if (rc == 0)
        keys->announced = all;
    else
        free_announced(all);
    return rc;
}

void input_bundle_release_keys(struct input_keys *keys)
{
    free_announced(keys->announced);
    keys->announced = NULL;
    if (keys->opener)
        opener_release(keys->opener);
    free(keys->opener);
    keys->opener = NULL;
}

/* If no key opens the bundle, adds a hint that names the command's option for identities. Returns -1. */
static int hint_identity_option(const struct input_keys *keys, struct err *err)
{
    if (keys && keys->option && err->kind == ERR_NO_KEY)
        err_hint(err, "%s FILE names the age identity or SSH private key that opens it", keys->option);
    return -1;
}

int input_bundle_unlock(const char *bundle, struct input_keys *keys, struct err *err)
{
    struct age_identities *identities;
    if (get_identities(bundle, keys, &identities, err) < 0)
        return -1;
    return identities && bundle_unlock(bundle, identities, err) < 0 ? hint_identity_option(keys, err) : 0;
}

int input_bundle_member(const char *bundle, const char *member, struct input_keys *keys, struct buf *ret,
                        struct err *err)
{
    struct age_identities *identities;
    struct bundle_members *reader = keys && keys->announced ? find_reader(keys->announced, bundle) : NULL;
    if (!reader && get_identities(bundle, keys, &identities, err) < 0)
        return -1;
    int rc = reader ? bundle_members_read(reader, member, ret, err)
                    : bundle_read_member(bundle, identities, member, ret, err);
    return rc < 0 ? hint_identity_option(keys, err) : 0;
}

/* ---- entries ------------------------------------------------------------------------------------------- */

static char *copy_text(const char *s, bool *ok)
{
    char *copy = s ? strdup(s) : NULL;
    *ok = *ok && (copy || !s);
    return copy;
}

static bool is_kind(const struct manifest_item *item, const char *kind)
{
    return item->kind && strcmp(item->kind, kind) == 0;
}

/* `is_local`: `bundle create` added the file. The name of such a file of the kind `text` identifies a dump.
 */
static bool is_dump(const struct manifest_item *item, bool is_local, bool is_profile)
{
    if (item->status != MANIFEST_OK)
        return false;
    if (is_kind(item, "goroutines"))
        return is_profile || text_ends_in(item->file, ".txt");
    return is_local && is_kind(item, "text") && strstr(file_base(item->file), "goroutine");
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
    e->member = copy_text(item->file, &ok);
    e->host = copy_text(host, &ok);
    e->service = copy_text(service, &ok);
    e->kind = copy_text(item->kind, &ok);
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

static int compare_texts(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) : (a != NULL) - (b != NULL);
}

/* Compares host, service and pair, which are equal for the dumps of the same goroutines. */
static int compare_dumps(const void *a, const void *b)
{
    const struct input_entry *x = *(struct input_entry *const *)a, *y = *(struct input_entry *const *)b;
    int order = compare_texts(x->host, y->host);
    if (order == 0)
        order = compare_texts(x->service, y->service);
    return order ? order : (x->pair > y->pair) - (x->pair < y->pair);
}

/* Sets has_text_dump of the goroutine profiles. */
static int mark_text_dumps(struct input_entries *all, struct err *err)
{
    const struct input_entry **texts = malloc((all->n + 1) * sizeof *texts);
    size_t n = 0;
    if (!texts)
        return err_nomem(err);
    for (size_t i = 0; i < all->n; i++)
        if (all->items[i].is_dump && !all->items[i].is_profile)
            texts[n++] = &all->items[i];
    qsort(texts, n, sizeof *texts, compare_dumps);
    for (size_t i = 0; i < all->n; i++) {
        struct input_entry *e = &all->items[i];
        e->has_text_dump = e->is_profile && bsearch(&e, texts, n, sizeof *texts, compare_dumps);
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
    struct age_identities *identities;
    char *manifest = NULL;
    struct manifest *contents = NULL;
    if (get_identities(bundle, keys, &identities, err) < 0)
        return -1;
    if (bundle_read_manifest(bundle, identities, &manifest, err) < 0)
        return hint_identity_option(keys, err);
    int rc = manifest_read(manifest, strlen(manifest), &contents, err);
    if (rc == 0)
        rc = add_all(ret, contents, err);
    if (rc == 0)
        rc = mark_text_dumps(ret, err);
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
    /* Announced names usually come from the bundle itself, so they have no typing errors. */
    bool is_typed = !keys || !keys->announced;
    if (is_typed && input_bundle_entries(bundle, keys, &all, &unused) == 0)
        for (size_t i = 0; i < all.n; i++)
            if (strcmp(all.items[i].member, member) != 0)
                nearest_add(&near, all.items[i].member);
    nearest_text(&near, names, sizeof names);
    err_hint(err, "%s%s%s`profgrab bundle list %s` lists its contents", *names ? "did you mean " : "", names,
             *names ? "? " : "", bundle);
    input_entries_release(&all);
    return -1;
}
