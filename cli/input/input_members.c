/* Finds the members of bundles that a word of the command line names. */
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/input/input.h"
#include "base/banned.h"

/* The maximum number of members that a message lists. The message names `bundle list` for the rest. */
#define LISTED_MAX 40
/* The maximum size, in bytes, of all names that one word stands for: BUNDLE may stand for every member. */
#define NAMES_MAX ((size_t)64 << 20)
/* The maximum length of a member's printable name in a message. */
#define MEMBER_MAX 600

void input_keys_release(struct input_keys *keys)
{
    if (keys->opener || keys->announced)
        input_bundle_release_keys(keys);
    keys->opener = NULL;
    keys->announced = NULL;
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

int input_list_entries(const char *bundle, struct input_keys *keys, struct input_entries *ret,
                       struct err *err)
{
    *ret = (struct input_entries){0};
    return input_bundle_entries(bundle, keys, ret, err);
}

bool input_entry_is(const struct input_entry *e, enum input_content content)
{
    return (content != INPUT_DUMPS && e->is_profile) || (content != INPUT_PROFILES && e->is_dump);
}

static bool is_accepted(const struct input_expand_options *options, const struct input_entry *e)
{
    return input_entry_is(e, options->content) && (options->content != INPUT_DUMPS || !e->has_text_dump);
}

/* Returns what a bundle lacks, for the message "BUNDLE has no ...". */
static const char *name_content(const struct input_expand_options *options)
{
    static const char *const names[] = {[INPUT_PROFILES] = "profile",
                                        [INPUT_DUMPS] = "dump of goroutines",
                                        [INPUT_BOTH] = "profile and no dump of goroutines"};
    return names[options->content];
}

/* ---- a bundle with several profiles -------------------------------------------------------------------- */

/* Lists the accepted profiles of a bundle on stderr, and fails. */
static int refuse_several_profiles(const struct input_expand_options *options, const char *bundle,
                                   const struct input_entries *all, size_t n_accepted, struct err *err)
{
    char member[MEMBER_MAX];
    const char *last = "heap.pb.gz";
    char name[MEMBER_MAX];
    size_t shown = 0;
    fprintf(stderr, "the profiles of %s:\n", bundle);
    for (size_t i = 0; i < all->n && shown < LISTED_MAX; i++) {
        if (!is_accepted(options, &all->items[i]))
            continue;
        last = all->items[i].member;
        fprintf(stderr, "  %s:%s\n", bundle,
                text_printable(member, sizeof member, all->items[i].member, strlen(all->items[i].member)));
        shown++;
    }
    if (shown < n_accepted)
        fprintf(stderr, "  and %zu more: `profgrab bundle list %s`\n", n_accepted - shown, bundle);
    err_set(err, ERR_USAGE, "%s has %zu profiles: name one of them", bundle, n_accepted);
    text_printable(member, sizeof member, last, strlen(last));
    text_printable(name, sizeof name, file_base(last), strlen(file_base(last)));
    return err_hint(err, "`%s %s:%s%s` reads one, and '%s:*/%s' adds up those that match",
                    options->hint_prefix, bundle, member, options->hint_suffix ? options->hint_suffix : "",
                    bundle, name);
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

static int expand_bundle(const struct input_expand_options *options, const char *bundle, struct strlist *ret,
                         struct err *err)
{
    struct input_entries all;
    size_t n = 0;
    int rc = input_list_entries(bundle, options->keys, &all, err);
    for (size_t i = 0; rc == 0 && i < all.n; i++)
        n += is_accepted(options, &all.items[i]);
    if (rc == 0 && n == 0) {
        err_set(err, ERR_NOT_FOUND, "%s has no %s", bundle, name_content(options));
        rc = err_hint(err, "`profgrab bundle list %s` lists its contents", bundle);
    } else if (rc == 0 && n > 1 && options->content == INPUT_PROFILES) {
        rc = refuse_several_profiles(options, bundle, &all, n, err);
    }
    for (size_t i = 0; rc == 0 && i < all.n; i++)
        if (is_accepted(options, &all.items[i]))
            rc = add_member(bundle, all.items[i].member, ret, err);
    input_entries_release(&all);
    return rc;
}

/* Adds the matching members that the command accepts. If there are none, adds the first other match, so that
 * reading it reports its type. */
static int expand_pattern(const struct input_expand_options *options, const char *bundle, const char *pattern,
                          struct strlist *ret, struct err *err)
{
    struct input_entries all;
    const char *other = NULL;
    size_t before = ret->n;
    int rc = input_list_entries(bundle, options->keys, &all, err);
    for (size_t i = 0; rc == 0 && i < all.n; i++) {
        if (fnmatch(pattern, all.items[i].member, 0) != 0)
            continue;
        if (input_entry_is(&all.items[i], options->content))
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

int input_expand(const struct input_expand_options *options, const char *word, struct strlist *ret,
                 struct err *err)
{
    const char *member = NULL;
    if (input_is_stdin(word))
        return strlist_add(ret, word, err);
    if (file_exists(word))
        return input_is_bundle(word) ? expand_bundle(options, word, ret, err) : strlist_add(ret, word, err);
    char *bundle = input_bundle_of(word, &member);
    int rc;
    if (bundle && !*member)
        rc = expand_bundle(options, bundle, ret, err);
    else if (bundle && strpbrk(member, "*?["))
        rc = expand_pattern(options, bundle, member, ret, err);
    else
        rc = strlist_add(ret, word, err);
    free(bundle);
    return rc;
}

struct expansion {
    const struct input_expand_options *options;
    const char *word;
};

/* Appends the names to `ret`, each with a NUL. */
static int expand_in_child(void *ctx, struct buf *ret, struct err *err)
{
    const struct expansion *expansion = ctx;
    struct strlist names = {0};
    int rc = input_expand(expansion->options, expansion->word, &names, err);
    for (size_t i = 0; i < names.n; i++)
        buf_add(ret, names.items[i], strlen(names.items[i]) + 1);
    strlist_release(&names);
    return rc;
}

/* Reads the names that the child returned. Each must be the word or a member of its bundle, because the child
 * has read untrusted bytes. */
static int read_names(const struct buf *names, const char *word, struct strlist *ret, struct err *err)
{
    const char *member;
    char *bundle = file_exists(word) ? strdup(word) : input_bundle_of(word, &member);
    size_t n = bundle ? strlen(bundle) : 0;
    int rc = 0;
    for (size_t at = 0; rc == 0 && at < names->len; at += strlen(names->data + at) + 1) {
        const char *name = names->data + at;
        bool is_member = bundle && strncmp(name, bundle, n) == 0 && name[n] == ':';
        rc = is_member || strcmp(name, word) == 0
                 ? strlist_add(ret, name, err)
                 : err_set(err, ERR_FAILED, "the process that read %s returned an invalid result", word);
    }
    free(bundle);
    return rc;
}

int input_expand_confined(const struct input_expand_options *options, const char *word,
                          const struct proc_fork_limits *limits, struct strlist *ret, struct err *err)
{
    struct expansion expansion = {options, word};
    struct proc_fork_limits bounded = *limits;
    struct buf names = BUF_INIT(0);
    bounded.max_result = NAMES_MAX;
    int rc = confined_run(&(struct confined_work){word, expand_in_child, &expansion}, &bounded, &names, err);
    if (rc == 0)
        rc = read_names(&names, word, ret, err);
    buf_release(&names);
    return rc;
}

/* ---- several members ----------------------------------------------------------------------------------- */

int input_announce(char *const *names, size_t n, struct input_keys *keys, struct err *err)
{
    size_t members = 0;
    if (keys->announced)
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

int input_hint_fewer_members(const char *command, const char *name, struct err *err)
{
    const char *member = NULL;
    char *bundle = input_bundle_of(name, &member);
    if (bundle)
        err_hint(err,
                 "a real bundle of this size needs less memory and time; `%s '%s:HOST/*/%s'` reads the "
                 "members of one host only",
                 command, bundle, file_base(member));
    free(bundle);
    return -1;
}
