/* Bundles as files: packing, listing, verifying, extracting and reading. */
#ifndef BUNDLE_ARCHIVE_H
#define BUNDLE_ARCHIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"
#include "bundle/manifest.h"
#include "seal/seal.h"

/*
 * Writes README.md from the manifest and packs the work directory: manifest.json and README.md first, then
 * report.html if there is one, then each file of the manifest. Removes the work directory once the bundle is
 * safe on disk. *ret_path: the path written, a new string.
 *
 * After cancel_fd (or -1) becomes readable, packing may take BUNDLE_AFTER_SIGNAL_MS more to finish the
 * bundle. Otherwise it is ERR_CANCELLED, and the work directory stays. The time of an fsync is not included.
 */
#define BUNDLE_AFTER_SIGNAL_MS 1000
int bundle_pack(struct workdir *w, const struct manifest *m, int cancel_fd, char **ret_path, struct err *err);

/* The functions below read bundles, also encrypted ones. `by` has the identities that can decrypt them (NULL:
 * none; then an encrypted bundle is ERR_NOT_FOUND). age_identities_cancel ends every reading that was given
 * these identities, also of a plain bundle. */

/* Limits on bundles from elsewhere. */
#define BUNDLE_MAX_MEMBERS 200000
/* The most directories that the paths of the members may need. */
#define BUNDLE_MAX_DIRECTORIES 400000
#define BUNDLE_MAX_MANIFEST (64u << 20)

/* Checks whether one bundle has room for this many services and items in total: 0, or ERR_USAGE with the
 * possible number. This is an estimate for the time before a run; writing a bundle checks the manifest
 * itself. */
int bundle_check_room(size_t services, size_t items, struct err *err);

struct bundle_member {
    const char *path; /* below the bundle's directory, made printable; valid during the call */
    uint64_t size;
    int64_t mtime; /* seconds */
};

/* Calls `member` for each file, in the order of the archive. A non-zero return stops, and the function
 * returns -1 with the callback's err. */
typedef int bundle_member_fn(void *ctx, const struct bundle_member *member, struct err *err);
int bundle_list(const char *path, struct age_identities *by, bundle_member_fn *member, void *ctx,
                struct err *err);

/* The state of one file, as verify finds it. */
enum bundle_state {
    BUNDLE_INTACT,
    BUNDLE_CHANGED, /* its bytes differ from the manifest */
    BUNDLE_MISSING, /* in the manifest, but not in the archive */
    BUNDLE_UNKNOWN, /* in the archive, but not in the manifest */
};
struct bundle_file_result {
    const char *path;
    enum bundle_state state;
    uint64_t size;
};
typedef void bundle_file_result_fn(void *ctx, const struct bundle_file_result *file);
/* The result of verify for the signature. */
enum bundle_signature {
    BUNDLE_UNSIGNED,
    BUNDLE_SIGNED,           /* valid: that key signed this manifest */
    BUNDLE_SIGNED_ELSEWHERE, /* in another namespace: not a signature of a bundle */
    BUNDLE_SIGNED_BADLY,     /* not valid, or not verifiable: see `why` */
};
struct bundle_summary {
    size_t intact, changed, missing, unknown;
    bool complete; /* as in the manifest */
    bool interrupted;
    struct {
        enum bundle_signature state;
        char type[64];                     /* of the key */
        char fingerprint[SSH_FINGERPRINT]; /* SHA256:base64; "" if unreadable */
        char *principal; /* from the file of allowed signers; NULL: not listed, or no such file */
        char why[512];   /* why it is not valid, or not by a known signer */
    } signature;
    /* The remaining members are printable text of the manifest. Only a valid signature proves it. */
    char collector[256]; /* USER on WORKSTATION */
    char collected[64];  /* the time, UTC */
    bool handed_off;     /* the bundle is a copy for a hand-off */
    char sender[256];
    char sent[64];
    struct strlist recipients; /* the recipients that can decrypt it */
    size_t redacted;           /* changed members */
};
void bundle_summary_release(struct bundle_summary *s);
/* Reads the whole archive once; -1 if it is not readable as a bundle (no manifest, cut, hostile names).
 * `allowed_signers` is a file as in sshsig_find_principal, or NULL; an unreadable one is an error. `how` may
 * be NULL: all defaults. The caller releases *ret. */
struct bundle_check {
    struct age_identities *by;
    const char *allowed_signers;
    bundle_file_result_fn *finding; /* may be NULL */
    void *ctx;
    int cancel_fd; /* or -1 */
};
int bundle_verify(const char *path, const struct bundle_check *how, struct bundle_summary *ret,
                  struct err *err);

/*
 * Extracts below `dir`, which must exist: creates the bundle's top directory there, ERR_EXISTS if it exists.
 * Never writes outside of it: refuses links, devices, absolute names, `..`, a second top directory. With
 * `members` (empty or NULL: all) only those paths or globs. *ret_dir: the new directory, a new string.
 * ERR_CANCELLED keeps the complete files, and the message names their directory.
 * Any other failure leaves no file.
 */
struct bundle_extract {
    const char *path;
    struct age_identities *by;
    const char *dir;
    const struct strlist *members;
    uint64_t max_bytes; /* the most to write */
};
int bundle_extract(const struct bundle_extract *how, char **ret_dir, struct err *err);

/*
 * Extracts the files that the manifest names, and nothing else, into a new work directory, with their times.
 * From a damaged archive it extracts the readable part; *ret_damage is then the damage, else untouched.
 * manifest_compare checks the content later. ERR_CANCELLED by cancel_fd.
 */
struct bundle_restore {
    const char *path;
    const struct manifest *manifest;
    const struct workdir *work;
    int cancel_fd; /* or -1 */
};
int bundle_restore(const struct bundle_restore *how, struct err *ret_damage, struct err *err);

/* Reads one member, by its path as in bundle_list, into an initialised buffer. ERR_NOT_FOUND if there is none
 * of that name. */
int bundle_member_bytes(const char *path, struct age_identities *by, const char *member, struct buf *ret,
                        struct err *err);

/*
 * Reads many members in the archive's order, in one pass. `wants` selects them; `take` receives each, and may
 * take over the buffer's memory. -1 from `take` stops, with its err.
 */
typedef bool bundle_wants_fn(void *ctx, const struct bundle_member *member);
typedef int bundle_receive_fn(void *ctx, const struct bundle_member *member, struct buf *bytes,
                              struct err *err);
struct bundle_visitor {
    bundle_wants_fn *wants;
    bundle_receive_fn *take;
    void *ctx;
};
int bundle_visit(const char *path, struct age_identities *by, const struct bundle_visitor *visitor,
                 struct err *err);

/*
 * Reads many members in the caller's order. In the archive's order this is one pass without a cache.
 * In another order, up to BUNDLE_AHEAD_MAX bytes of members that come too early are kept in memory. Each pass
 * reads at least that many bytes of members, or all remaining ones.
 */
#define BUNDLE_AHEAD_MAX (UINT64_C(32) << 20)
struct bundle_members;
struct bundle_wanted {
    const char *path;          /* of the bundle */
    struct age_identities *by; /* or NULL; must outlive the object */
    uint64_t most;             /* limit for a member; a larger one is ERR_FAILED */
    struct strlist members;    /* in the order of reading; may repeat. Copied */
};
int bundle_members_new(const struct bundle_wanted *wanted, struct bundle_members **ret, struct err *err);
/* Works like bundle_member_bytes. The caller may skip members of the order. A member that is not in
 * the rest of the order is read in a separate pass. */
int bundle_members_read(struct bundle_members *m, const char *name, struct buf *ret, struct err *err);
/* Closes the archive. The next read begins a new pass. */
void bundle_members_pause(struct bundle_members *m);
void bundle_members_free(struct bundle_members *m);

/* Opens a bundle to check that `by` can decrypt it; this may prompt for a passphrase. Later readers with the
 * same identities, also in a copy of this process, do not prompt. */
int bundle_unlock(const char *path, struct age_identities *by, struct err *err);

/* Reads the text of manifest.json. *ret is a new string, which the caller frees. */
int bundle_manifest(const char *path, struct age_identities *by, char **ret, struct err *err);
/* Parses the manifest's text with jansson. Guarantees our format and version, and that `hosts` and `files`
 * are lists; nothing else. ERR_FAILED for other text, and for a manifest that would take too much memory. The
 * caller releases the reference with json_decref. */
struct json_t;
int bundle_manifest_parse(const char *text, size_t n, struct json_t **ret, struct err *err);
/* Writes README.md for a manifest's text into an initialised buffer. */
int bundle_readme(const char *manifest, struct buf *ret, struct err *err);

#endif
