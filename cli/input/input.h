/*
 * The inputs of the commands that read profiles and dumps, except URLs: files, members of bundles, standard
 * input. BUNDLE:MEMBER names a member. BUNDLE and BUNDLE:PATTERN may name several members, which input_expand
 * finds.
 */
#ifndef CLI_INPUT_INPUT_H
#define CLI_INPUT_INPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"
#include "bundle/bundle.h"
#include "proto/proto.h"

/* Gets the maximum size of an inflated input in bytes: $PROFGRAB_PPROF_MAX, or 4 GiB. ERR_USAGE if the
 * variable is not a size. */
int input_max_bytes(uint64_t *ret, struct err *err);

/* The default maximum, in bytes, of an input whose size is unknown until it ends, such as an HTTP answer or a
 * pipe. It is lower than that of input_max_bytes, because no limit of memory can depend on an unknown size.
 */
#define INPUT_UNKNOWN_SIZE_MAX (UINT64_C(256) << 20)

/* Gets the maximum size of an input of unknown size: $PROFGRAB_PPROF_MAX, or INPUT_UNKNOWN_SIZE_MAX.
 * ERR_USAGE if the variable is not a size. */
int input_max_of_unknown_size(uint64_t *ret, struct err *err);

/* Adds a hint to the error of an input that is larger than input_max_of_unknown_size. Returns -1. */
int input_hint_unknown_size(struct err *err);

/* Returns whether a name means an existing file, BUNDLE:MEMBER of an existing bundle, or standard input. */
bool input_exists(const char *name);

/* Returns the size of the file on disk; for a member, the size of its bundle. 0: unknown. */
uint64_t input_size(const char *name);

/* Returns the name without the directories of the file or bundle; points into `name`. */
const char *input_title(const char *name);

/* ---- encrypted bundles --------------------------------------------------------------------------------- */

/* The keys that open encrypted bundles. The caller sets the first three members. Bundles stay open until
 * input_keys_release, so that the user types a passphrase once. Decrypted bytes are never written to disk. */
struct input_keys {
    const struct strlist *identities;  /* names of files; none: the usual keys of ~/.ssh */
    const char *passphrase_file;       /* NULL: ask the user */
    const char *option;                /* the command's option for identities, for hints: "-identity" */
    struct opener *opener;             /* NULL: no encrypted bundle so far */
    struct input_announced *announced; /* NULL: no announced members */
};
void input_keys_release(struct input_keys *keys);

/* Returns whether a file is encrypted in the age format, by its first bytes. */
bool input_is_encrypted(const char *path);

/* Returns whether a file is a bundle, by its first bytes: a gzip'ed tarball, or encrypted. */
bool input_is_bundle(const char *name);

/* Returns the path of the bundle in BUNDLE:MEMBER, as a new string, or NULL if no part before a colon is a
 * file. *ret_member points into the name. */
char *input_bundle_of(const char *name, const char **ret_member);

/* If the name is BUNDLE or BUNDLE:MEMBER of an encrypted bundle, opens the bundle with the keys. Later reads
 * of the bundle do not ask the user again, not even in a child process. Does nothing for other inputs. */
int input_unlock(const char *name, struct input_keys *keys, struct err *err);

/* ---- members ------------------------------------------------------------------------------------------- */

/* A file of a bundle, as the manifest describes it. Owns its strings; NULL: unknown. */
struct input_entry {
    char *member; /* the MEMBER of BUNDLE:MEMBER */
    char *host, *service, *kind;
    unsigned pair;            /* as in struct manifest_item */
    bool is_profile, is_dump; /* false for an incomplete file; a goroutine profile is both */
    bool has_text_dump;       /* the bundle also has the more detailed text dump of the same goroutines */
};
struct input_entries {
    struct input_entry *items;
    size_t n, cap;
};
/* Lists the files of a bundle. The caller releases *ret, also after a failure. */
int input_list_entries(const char *bundle, struct input_keys *keys, struct input_entries *ret,
                       struct err *err);
void input_entries_release(struct input_entries *entries);

enum input_content { INPUT_PROFILES, INPUT_DUMPS, INPUT_BOTH };
/* Returns whether a file of a bundle is complete and has that content. */
bool input_entry_is(const struct input_entry *e, enum input_content content);

struct input_expand_options {
    enum input_content content; /* the content that the command accepts */
    const char *hint_prefix;    /* for hints: the words before BUNDLE:MEMBER, "profgrab pprof -top" */
    const char *hint_suffix;    /* for hints: the words after BUNDLE:MEMBER, " NEW"; NULL: none */
    struct input_keys *keys;
};
/*
 * Adds to `ret` the inputs that a word names. BUNDLE:PATTERN names the members that match the glob, in which
 * `*` also matches slashes. BUNDLE names its only profile; with INPUT_DUMPS its dumps, without profiles that
 * have a text dump too (has_text_dump); with INPUT_BOTH every profile and dump. With INPUT_PROFILES, several
 * profiles are an ERR_USAGE, and stderr lists them. Adds other words unchanged.
 */
int input_expand(const struct input_expand_options *options, const char *word, struct strlist *ret,
                 struct err *err);
/* Works like input_expand in a child process with these limits, because it parses the manifests of bundles.
 * Call input_unlock before it, because the child must not ask for a passphrase. */
int input_expand_confined(const struct input_expand_options *options, const char *word,
                          const struct proc_fork_limits *limits, struct strlist *ret, struct err *err);

/* ---- bytes --------------------------------------------------------------------------------------------- */

/* If `keys` is NULL, the functions below cannot open encrypted bundles. input_announce needs keys. */

/* Reads a file, standard input (`-`), or BUNDLE:MEMBER if no file has that whole name. The messages have
 * Go's wording. The caller always releases *ret. */
int input_read(const char *name, struct input_keys *keys, struct buf *ret, struct err *err);

/* Reads an input like input_read, and inflates gzip. */
int input_read_inflated(const char *name, struct input_keys *keys, struct buf *ret, struct err *err);

/* Reads a profile. For another known type of file, the hint names the type and the command that reads it. */
int input_read_profile(const char *name, struct input_keys *keys, struct profile **ret, struct err *err);

/* Checks that bytes may be a dump of goroutines. ERR_FAILED for a known other type, such as a tarball or a
 * trace; if `strict`, also for bytes that are not text. */
int input_check_dump(const char *name, const struct buf *bytes, bool strict, struct err *err);

/* Adds a hint that names the type of these bytes, if known, and the command that reads it. The bytes may be
 * gzip'ed. Returns -1. */
int input_hint_type(const char *name, const void *p, size_t n, struct err *err);

/* Parses the bytes of an input, and releases them early to save memory. The caller still calls buf_release.
 * The errors are those of input_read_profile. */
int input_parse(struct buf *bytes, const char *name, struct profile **ret, struct err *err);

/* Returns whether the name means standard input. */
bool input_is_stdin(const char *name);

/*
 * Announces the inputs in the order in which the caller will read them, so that the members of a bundle are
 * read in one pass over the bundle, or in few (bundle_members_new). Valid until input_keys_release; a second
 * announcement does nothing. Reading other inputs, or in another order, is slower but works. Fails if the
 * keys cannot be read or memory runs out.
 */
int input_announce(char *const *names, size_t n, struct input_keys *keys, struct err *err);

/* Returns whether an error of a function above concerns only one input, so that a command can skip it and
 * continue with the others. */
bool input_error_is_skippable(const struct err *err);

/* Adds the name of the input in front of an error of a function above, unless its message has the name.
 * Returns -1. */
int input_name_in_error(const char *name, struct err *err);

/* Adds a hint to name fewer members, for several members that together exceed a limit. `command` is the
 * command that reads them, "profgrab pprof -top". Returns -1. */
int input_hint_fewer_members(const char *command, const char *name, struct err *err);

/* The name of an input and the result of reading it: either `profile`, which the caller frees, or `err`. */
struct input_result {
    const char *name;
    bool is_file; /* internal to input_read_profiles */
    struct profile *profile;
    struct err err;
};
struct confined_budget;
/* Reads profiles like input_read_profile, large files two at a time. When the time of the budget is used up,
 * the remaining inputs get ERR_LIMIT. Raises the budget for the bytes that arrive from a FIFO. */
void input_read_profiles(struct input_result *inputs, size_t n, struct input_keys *keys,
                         struct confined_budget *budget);

/* ---- for cli/input only: parts that need libarchive (input_bundle.c) ----------------------------------- */

int input_bundle_entries(const char *bundle, struct input_keys *keys, struct input_entries *ret,
                         struct err *err);
/* Adds a hint to the error for a member that a bundle lacks: the nearest members. Returns -1. */
int input_bundle_hint_member(const char *bundle, const char *member, struct input_keys *keys,
                             struct err *err);
int input_bundle_member(const char *bundle, const char *member, struct input_keys *keys, struct buf *ret,
                        struct err *err);
int input_bundle_announce(char *const *names, size_t n, struct input_keys *keys, struct err *err);
int input_bundle_unlock(const char *bundle, struct input_keys *keys, struct err *err);
void input_bundle_release_keys(struct input_keys *keys);

#endif
