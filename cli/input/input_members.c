/* Words that name members of bundles. */
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/input/input.h"
#include "base/banned.h"

/* The most members that are listed; a hint names `bundle list` for the rest. */
#define LISTED 40
#define SHOWN 600

void input_keys_release(struct input_keys *keys)
{
    if (keys->opener || keys->ahead)
        input_bundle_forget(keys);
    keys->opener = NULL;
    keys->ahead = NULL;
}

int input_unlock(const char *name, struct input_keys *keys, struct err *err)
{
    const char *member;
    char *bundle = file_exists(name) ? NULL : input_bundle_of(name, &member);
    const char *path = bundle ? bundle : name;
    int rc = 0;
    if (input_is_bundle(path))
        rc = input_bundle_unlock(path, keys, err);
    free(bundle);
    return rc;
}

/* ---- entries of a bundle ------------------------------------------------------------------------------- */

int input_entries(const char *bundle, struct input_keys *keys, struct input_entries *ret, struct err *err)
{
    *ret = (struct input_entries){0};
    return input_bundle_entries(bundle, keys, ret, err);
}

bool input_entry_is(const struct input_entry *e, enum input_content content)
{
    return (content != INPUT_DUMPS && e->is_profile) || (content != INPUT_PROFILES && e->is_dump);
}

static bool is_wished(const struct input_wish *wish, const struct input_entry *e)
{
    return input_entry_is(e, wish->content) && (wish->content != INPUT_DUMPS || !e->has_text);
}

static const char *name_of(const struct input_wish *wish)
{
    static const char *const names[] = {[INPUT_PROFILES] = "profile",
                                        [INPUT_DUMPS] = "dump of goroutines",
                                        [INPUT_BOTH] = "profile and no dump of goroutines"};
    return names[wish->content];
}

/* ---- several to choose from ---------------------------------------------------------------------------- */

static int list_them(const struct input_wish *wish, const char *bundle, const struct input_entries *all,
                     size_t n, struct err *err)
{
    char room[SHOWN];
    const char *last = "heap.pb.gz";
    char name[SHOWN];
    size_t shown = 0;
    fprintf(stderr, "%s has %zu profiles:\n", bundle, n);
    for (size_t i = 0; i < all->n && shown < LISTED; i++) {
        if (!is_wished(wish, &all->items[i]))
            continue;
        last = all->items[i].member;
        fprintf(stderr, "  %s:%s\n", bundle,
                text_printable(room, sizeof room, all->items[i].member, strlen(all->items[i].member)));
        shown++;
    }
    if (shown < n)
        fprintf(stderr, "  and %zu more: `profgrab bundle list %s`\n", n - shown, bundle);
    err_set(err, ERR_USAGE, "%s has %zu profiles: name one of them", bundle, n);
    text_printable(room, sizeof room, last, strlen(last));
    text_printable(name, sizeof name, file_base(last), strlen(file_base(last)));
    return err_hint(err, "`%s %s:%s%s` reads one, and '%s:*/%s' adds up those that match", wish->example,
                    bundle, room, wish->rest ? wish->rest : "", bundle, name);
}

static int add_member(const char *bundle, const char *member, struct strlist *ret, struct err *err)
{
    char *name = NULL;
    if (asprintf(&name, "%s:%s", bundle, member) < 0)
        return err_nomem(err);
    int rc = strlist_add(ret, name, err);
    free(name);
    return rc;
}

/* ---- words --------------------------------------------------------------------------------------------- */

static int expand_bundle(const struct input_wish *wish, const char *bundle, struct strlist *ret,
                         struct err *err)
{
    struct input_entries all;
    size_t n = 0;
    int rc = input_entries(bundle, wish->keys, &all, err);
    for (size_t i = 0; rc == 0 && i < all.n; i++)
        n += is_wished(wish, &all.items[i]);
    if (rc == 0 && n == 0) {
        err_set(err, ERR_NOT_FOUND, "%s has no %s", bundle, name_of(wish));
        rc = err_hint(err, "`profgrab bundle list %s` lists its contents", bundle);
    } else if (rc == 0 && n > 1 && wish->content == INPUT_PROFILES) {
        rc = list_them(wish, bundle, &all, n, err);
    }
    for (size_t i = 0; rc == 0 && i < all.n; i++)
        if (is_wished(wish, &all.items[i]))
            rc = add_member(bundle, all.items[i].member, ret, err);
    input_entries_release(&all);
    return rc;
}

/* Adds the matching members that the command accepts. If there are none, adds the first other match, so that
 * reading it reports its type. */
static int expand_pattern(const struct input_wish *wish, const char *bundle, const char *pattern,
                          struct strlist *ret, struct err *err)
{
    struct input_entries all;
    const char *other = NULL;
    size_t before = ret->n;
    int rc = input_entries(bundle, wish->keys, &all, err);
    for (size_t i = 0; rc == 0 && i < all.n; i++) {
        if (fnmatch(pattern, all.items[i].member, 0) != 0)
            continue;
        if (input_entry_is(&all.items[i], wish->content))
            rc = add_member(bundle, all.items[i].member, ret, err);
        else if (!other)
            other = all.items[i].member;
    }
    if (rc == 0 && ret->n == before && other)
        rc = add_member(bundle, other, ret, err);
    if (rc == 0 && ret->n == before) {
        err_set(err, ERR_NOT_FOUND, "no file of %s matches %s", bundle, pattern);
        rc = err_hint(err, "`profgrab bundle list %s` lists its contents", bundle);
    }
    input_entries_release(&all);
    return rc;
}

int input_expand(const struct input_wish *wish, const char *word, struct strlist *ret, struct err *err)
{
    const char *member = NULL;
    if (input_is_stdin(word))
        return strlist_add(ret, word, err);
    if (file_exists(word))
        return input_is_bundle(word) ? expand_bundle(wish, word, ret, err) : strlist_add(ret, word, err);
    char *bundle = input_bundle_of(word, &member);
    int rc;
    if (bundle && !*member)
        rc = expand_bundle(wish, bundle, ret, err);
    else if (bundle && strpbrk(member, "*?["))
        rc = expand_pattern(wish, bundle, member, ret, err);
    else
        rc = strlist_add(ret, word, err);
    free(bundle);
    return rc;
}

/* ---- several members ----------------------------------------------------------------------------------- */

int input_announce(char *const *names, size_t n, struct input_keys *keys, struct err *err)
{
    size_t members = 0;
    if (keys->ahead)
        return 0;
    for (size_t i = 0; i < n && members < 2; i++) {
        const char *member;
        char *bundle = file_exists(names[i]) ? NULL : input_bundle_of(names[i], &member);
        members += bundle != NULL;
        free(bundle);
    }
    /* A single member needs no announcement. */
    return members < 2 ? 0 : input_bundle_announce(names, n, keys, err);
}

int input_hint_fewer(const char *command, const char *name, struct err *err)
{
    const char *member = NULL;
    char *bundle = input_bundle_of(name, &member);
    if (bundle)
        err_hint(
            err,
            "a real bundle of its size takes less; `%s '%s:HOST/*/%s'` reads the members of one host only",
            command, bundle, file_base(member));
    free(bundle);
    return -1;
}
