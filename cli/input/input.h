/*
 * The inputs of the commands that read profiles and dumps, except URLs: files, members of bundles, standard
 * input. BUNDLE:MEMBER names a member. BUNDLE and BUNDLE:PATTERN name several, which input_expand finds.
 */
#ifndef CLI_INPUT_INPUT_H
#define CLI_INPUT_INPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"
#include "bundle/bundle.h"
#include "proto/proto.h"

/*
 * Reads the limit of the bytes of an inflated input: $PROFGRAB_PPROF_MAX, or 4 GiB. ERR_USAGE if the variable
 * is no size.
 */
int input_most(uint64_t *ret, struct err *err);

/* Returns whether a name means an existing file, BUNDLE:MEMBER of an existing bundle, or standard input. */
bool input_is_here(const char *name);

/* Returns the size of the file on disk; for a member, the size of its bundle. 0: unknown. */
uint64_t input_size(const char *name);

/* Returns the name without the directories of the file or bundle; points into `name`. */
const char *input_title(const char *name);

/* ---- encrypted bundles --------------------------------------------------------------------------------- */

/* The keys that open encrypted bundles. The caller sets the first three members. Bundles stay open until
 * input_keys_release, so that the user types a passphrase once. Decrypted bytes are never written to disk. */
struct input_keys {
    const struct strlist *identities; /* files; none: the usual keys of ~/.ssh */
    const char *passphrase_file;      /* NULL: ask the user */
    const char *option;               /* the command's option for identities, for hints: "-identity" */
    struct opener *opener;            /* NULL: no encrypted bundle so far */
    struct input_ahead *ahead;        /* NULL: input_announce announced no members */
};
void input_keys_release(struct input_keys *keys);

/* Returns whether a file is encrypted in the age format, by its first bytes. */
bool input_is_encrypted(const char *path);

/* Returns whether a file is a bundle, by its first bytes: a gzip'ed tarball, or encrypted. */
bool input_is_bundle(const char *name);

/* Returns the path of the bundle in BUNDLE:MEMBER, as a new string, or NULL if no part before a colon is a
 * file. *ret_member points into the name. */
char *input_bundle_of(const char *name, const char **ret_member);

/* Opens an encrypted bundle, or the one of BUNDLE:MEMBER, with the keys. Reading it later does not ask the
 * user again, even in a copy of this process. Does nothing for other inputs. */
int input_unlock(const char *name, struct input_keys *keys, struct err *err);

/* ---- members ------------------------------------------------------------------------------------------- */

/* A file of a bundle, as the manifest describes it. It owns its strings; NULL: unknown. */
struct input_entry {
    char *member; /* the MEMBER of BUNDLE:MEMBER */
    char *host, *service, *kind;
    unsigned pair;
    bool is_profile, is_dump; /* complete; a goroutine profile is both */
    bool has_text;            /* the bundle also has the more detailed text dump of the same goroutines */
};
struct input_entries {
    struct input_entry *items;
    size_t n, cap;
};
/* Lists the files of a bundle. The caller releases *ret, also after a failure. */
int input_entries(const char *bundle, struct input_keys *keys, struct input_entries *ret, struct err *err);
void input_entries_release(struct input_entries *entries);

enum input_content { INPUT_PROFILES, INPUT_DUMPS, INPUT_BOTH };
/* Returns whether a file of a bundle is complete and has that content. */
bool input_entry_is(const struct input_entry *e, enum input_content content);
/* The inputs that a command accepts. */
struct input_wish {
    enum input_content content;
    const char *example; /* for hints: the words before BUNDLE:MEMBER, "profgrab pprof -top" */
    const char *rest;    /* for hints: the words after it, " NEW"; NULL: none */
    struct input_keys *keys;
};
/*
 * Adds to `ret` the inputs that a word names. BUNDLE:PATTERN names the members that match the glob, in which
 * `*` also matches slashes. BUNDLE names its only profile; with INPUT_DUMPS one dump of each service; with
 * INPUT_BOTH every profile and dump. If a bundle has several profiles, lists them on stderr and fails with
 * ERR_USAGE. Adds other words unchanged.
 */
int input_expand(const struct input_wish *wish, const char *word, struct strlist *ret, struct err *err);

/* ---- bytes --------------------------------------------------------------------------------------------- */

/* Below, `keys` may be NULL: encrypted bundles cannot be opened. */

/* Reads a file, standard input (`-`), or BUNDLE:MEMBER if no file has that whole name. Messages have Go's
 * words. The caller always releases *ret. */
int input_read(const char *name, struct input_keys *keys, struct buf *ret, struct err *err);

/* Does the same, and inflates gzip. */
int input_read_inflated(const char *name, struct input_keys *keys, struct buf *ret, struct err *err);

/* Reads a profile. For another known type of file, the hint names the type and the command that reads it. */
int input_profile(const char *name, struct input_keys *keys, struct profile **ret, struct err *err);

/* ERR_FAILED for bytes of a known type other than a dump of goroutines, such as a tarball or a trace.
 * `strict`: also for other bytes than text. */
int input_check_dump(const char *name, const struct buf *bytes, bool strict, struct err *err);

/* Adds a hint that names the type of these bytes, if known, and the command that reads it. The bytes may be
 * gzip'ed. Returns -1. */
int input_hint_type(const char *name, const void *p, size_t n, struct err *err);

/* Parses the bytes of an input, and takes ownership of them. The errors are those of input_profile. */
int input_parse(struct buf *bytes, const char *name, struct profile **ret, struct err *err);

/* Returns whether the name means standard input. */
bool input_is_stdin(const char *name);

/*
 * Announces the inputs in the order in which they will be read, so that the members of a bundle are read in
 * one pass over it, or in few (bundle_members_new). Valid until input_keys_release; later announcements do
 * nothing. Other inputs, or another order, are slower but work. Fails if the keys cannot be read or without
 * memory.
 */
int input_announce(char *const *names, size_t n, struct input_keys *keys, struct err *err);

/*
 * Returns whether an error of a function above concerns that input alone, so that a command goes on with the
 * others.
 */
bool input_fault_is_own(const struct err *err);

/* Adds a hint to name fewer members, for a limit that several members reached together. `command` is the
 * command that reads them, "profgrab pprof -top". Returns -1. */
int input_hint_fewer(const char *command, const char *name, struct err *err);

/* One of several inputs. Afterwards either `profile` is set, which the caller frees, or `err`. */
struct input_item {
    const char *name;
    bool is_file; /* internal to input_profiles */
    struct profile *profile;
    struct err err;
};
/* Reads profiles like input_profile, large files two at a time. Once the budget's time is spent, the
 * remaining ones get ERR_LIMIT. NULL: no budget. */
struct confined_budget;
void input_profiles(struct input_item *items, size_t n, struct input_keys *keys,
                    const struct confined_budget *budget);

/* ---- cli/input/input_bundle.c: members of bundles ------------------------------------------------------ */

int input_bundle_entries(const char *bundle, struct input_keys *keys, struct input_entries *ret,
                         struct err *err);
/* Adds a hint to the error for a member that a bundle lacks: the nearest members. Returns -1. */
int input_bundle_hint_member(const char *bundle, const char *member, struct input_keys *keys,
                             struct err *err);
int input_bundle_member(const char *bundle, const char *member, struct input_keys *keys, struct buf *ret,
                        struct err *err);
int input_bundle_announce(char *const *names, size_t n, struct input_keys *keys, struct err *err);
int input_bundle_unlock(const char *bundle, struct input_keys *keys, struct err *err);
void input_bundle_forget(struct input_keys *keys);

#endif
