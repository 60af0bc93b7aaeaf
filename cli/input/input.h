/*
 * Sources of the commands that read profiles and dumps, except URLs: files, members of bundles, standard
 * input. BUNDLE:MEMBER is a member; BUNDLE alone and BUNDLE:PATTERN stand for members, and input_expand
 * finds which.
 */
#ifndef CLI_INPUT_INPUT_H
#define CLI_INPUT_INPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"
#include "bundle/bundle.h"
#include "proto/proto.h"

/* The most that one may have, inflated: the environment's PROFGRAB_PPROF_MAX, or 4 GiB. ERR_USAGE if that is
 * no size. */
int input_most(uint64_t *ret, struct err *err);

/* Whether it is a file, a bundle's member by how it looks, or standard input. */
bool input_is_here(const char *name);

/* How many bytes lie on disk for it: of a member, the whole bundle's. 0 where that is not known. */
uint64_t input_size(const char *name);

/* The name without the directories on the way to the file or bundle; points into it. */
const char *input_title(const char *name);

/* ---- encrypted bundles ------------------------------------------------------------------------------------
 */

/* Who opens encrypted bundles, and the command's name of the option that says so, for hints. The caller fills
 * in the first three. What was opened stays open until input_keys_release, so that a passphrase is asked for
 * once. Nothing that was decrypted is written to a disk. */
struct input_keys {
    const struct strlist *identities; /* files; none: the usual keys of ~/.ssh */
    const char *passphrase_file;      /* NULL: a person is asked */
    const char *option;               /* "-identity" */
    struct opener *opener;            /* NULL: no encrypted bundle was met */
    struct input_ahead *ahead;        /* NULL: input_announce announced no members */
};
void input_keys_release(struct input_keys *keys);

/* Whether a file is encrypted in the age format, by its first bytes. */
bool input_is_encrypted(const char *path);

/* Whether a file is a bundle, by its first bytes: a gzip'ed tarball, or encrypted. */
bool input_is_bundle(const char *name);

/* Of BUNDLE:MEMBER, where what stands before a colon is a file, the path of that: a new string, NULL if it is
 * not so. *ret_member points into the name. */
char *input_bundle_of(const char *name, const char **ret_member);

/* Has an encrypted bundle, or the one of BUNDLE:MEMBER, opened by the keys, so that reading it later asks
 * nobody, also in a copy of this process. Does nothing for other sources. */
int input_unlock(const char *name, struct input_keys *keys, struct err *err);

/* ---- members ----------------------------------------------------------------------------------------------
 */

/* A file of a bundle, as the manifest describes it. Strings are its own; NULL: not known. */
struct input_entry {
    char *member; /* as BUNDLE:MEMBER takes it */
    char *host, *service, *kind;
    unsigned pair;
    bool is_profile, is_dump; /* it is whole, and one; a goroutine profile is both */
    bool has_text; /* a dump of the same goroutines as text, which says more, is in the bundle too */
};
struct input_entries {
    struct input_entry *items;
    size_t n, cap;
};
/* The files of a bundle. The caller releases *ret, also after a failure. */
int input_entries(const char *bundle, struct input_keys *keys, struct input_entries *ret, struct err *err);
void input_entries_release(struct input_entries *entries);

enum input_content { INPUT_PROFILES, INPUT_DUMPS, INPUT_BOTH };
/* Whether a file of a bundle is whole, and of that content. */
bool input_entry_is(const struct input_entry *e, enum input_content content);
/* What a command reads. */
struct input_wish {
    enum input_content content;
    const char *example; /* "profgrab pprof -top": what a hint puts in front of BUNDLE:MEMBER */
    const char *rest;    /* " NEW": what it puts behind that; NULL: nothing */
    struct input_keys *keys;
};
/*
 * Adds to `ret` the sources that a word stands for: the members that match BUNDLE:PATTERN (a glob, `*` also
 * matches slashes), and of BUNDLE alone its one profile, or the dumps of its services, one of each, or with
 * INPUT_BOTH every profile and dump. Where one profile is wanted, a bundle with several is ERR_USAGE,
 * after they were listed on stderr. Any other word is added as it is.
 */
int input_expand(const struct input_wish *wish, const char *word, struct strlist *ret, struct err *err);

/* ---- bytes ------------------------------------------------------------------------------------------------
 */

/* `keys` may be NULL below: nobody opens what is encrypted. */

/* The bytes of a file, or of BUNDLE:MEMBER where no file of that name is but one of what stands before a
 * colon; `-` is standard input. Messages are worded as Go's. The caller releases *ret in any case. */
int input_read(const char *name, struct input_keys *keys, struct buf *ret, struct err *err);

/* The same with gzip taken off, where there is any. */
int input_read_inflated(const char *name, struct input_keys *keys, struct buf *ret, struct err *err);

/* The profile that it holds. Of another type of file that is known here, the hint names the type and what
 * reads it. */
int input_profile(const char *name, struct input_keys *keys, struct profile **ret, struct err *err);

/* ERR_FAILED for bytes of a type that is known here and no dump of goroutines, such as a tarball or a trace;
 * `strict`: also for what is not text. */
int input_check_dump(const char *name, const struct buf *bytes, bool strict, struct err *err);

/* Adds a hint that names the type of these bytes and what reads it, where the type is known here. The bytes
 * may be gzip'ed. Returns -1. */
int input_hint_type(const char *name, const void *p, size_t n, struct err *err);

/* The profile in these bytes of a source, which it takes over. Errors are those of input_profile. */
int input_parse(struct buf *bytes, const char *name, struct profile **ret, struct err *err);

/* Whether it is standard input. */
bool input_is_stdin(const char *name);

/*
 * Announces the sources that are read next, in this order: the members of each bundle among them are then
 * read in one pass over that bundle, or in few (bundle_members_new), instead of one pass for each. The
 * announcement stands until input_keys_release; later ones do nothing. What is read in another order, or was
 * not announced, is read all the same. The error is that of the keys, or of want of memory.
 */
int input_announce(char *const *names, size_t n, struct input_keys *keys, struct err *err);

/* To an error of a limit that several members together reached: the hint to name fewer of them. `command`
 * reads them: "profgrab pprof -top". Returns -1. */
int input_hint_fewer(const char *command, const char *name, struct err *err);

/* One of several: either its profile, which is the caller's, or NULL and why. */
struct input_item {
    const char *name;
    bool is_file; /* for input_profiles alone */
    struct profile *profile;
    struct err err;
};
/* Reads them as input_profile does, large files two at a time. Once the budget's time is spent, the rest is
 * not read: ERR_LIMIT. NULL: there is no budget. */
struct confined_budget;
void input_profiles(struct input_item *items, size_t n, struct input_keys *keys,
                    const struct confined_budget *budget);

/* ---- cli/input/input_bundle.c: members of bundles
 * -------------------------------------------------------------
 */

int input_bundle_entries(const char *bundle, struct input_keys *keys, struct input_entries *ret,
                         struct err *err);
int input_bundle_member(const char *bundle, const char *member, struct input_keys *keys, struct buf *ret,
                        struct err *err);
int input_bundle_announce(char *const *names, size_t n, struct input_keys *keys, struct err *err);
int input_bundle_unlock(const char *bundle, struct input_keys *keys, struct err *err);
void input_bundle_forget(struct input_keys *keys);

#endif
