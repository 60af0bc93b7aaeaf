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
 * bundle. After that time it fails with ERR_CANCELLED, and the work directory stays. An fsync may take
 * longer.
 */
#define BUNDLE_AFTER_SIGNAL_MS 1000
int bundle_pack(struct workdir *w, const struct manifest *m, int cancel_fd, char **ret_path, struct err *err);

/* The functions below that take `identities` use them to decrypt an encrypted bundle; without identities
 * (NULL) an encrypted bundle is ERR_NO_KEY. When the descriptor of age_identities_set_cancel_fd becomes
 * readable, every read with these identities ends, also if the bundle is not encrypted. */

/* Limits on the bundles that profgrab reads. */
#define BUNDLE_MAX_MEMBERS 50000
/* The most directories in the paths of all members. The largest captures have about 8,500 services (see
 * bundle_check_room), and so 17,000 directories. */
#define BUNDLE_MAX_DIRECTORIES 50000
/* The most bytes in the paths of all members together, without the top directory. */
#define BUNDLE_MAX_PATHS (4 << 20)
#define BUNDLE_MAX_MANIFEST (64u << 20) /* bytes of manifest.json */

/* Checks whether one bundle has room for this many services and items in total. If not, sets ERR_USAGE; its
 * message states how many fit. This is an estimate before a run; bundle_pack checks the manifest itself. */
int bundle_check_room(size_t services, size_t items, struct err *err);

struct bundle_member {
    const char *path; /* below the bundle's directory, printable; valid during the call */
    uint64_t size;
    int64_t mtime; /* seconds */
};

/* Calls `visit` for each file, in the order of the archive. If `visit` does not return 0, bundle_list stops
 * and returns -1 with the error of `visit`. */
typedef int bundle_member_fn(void *ctx, const struct bundle_member *member, struct err *err);
int bundle_list(const char *path, struct age_identities *identities, bundle_member_fn *visit, void *ctx,
                struct err *err);

/* The result of verify for one file. */
enum bundle_file_state {
    BUNDLE_INTACT,
    BUNDLE_CHANGED, /* its bytes differ from the manifest */
    BUNDLE_MISSING, /* in the manifest, but not in the archive */
    BUNDLE_UNKNOWN, /* in the archive, but not in the manifest */
};
struct bundle_file_result {
    const char *path;
    enum bundle_file_state state;
    uint64_t size;
};
typedef void bundle_file_result_fn(void *ctx, const struct bundle_file_result *file);
/* The result of verify for the signature. */
enum bundle_signature_state {
    BUNDLE_UNSIGNED,
    BUNDLE_SIGNED,                 /* valid: the key signed this manifest */
    BUNDLE_SIGNED_OTHER_NAMESPACE, /* valid, but the namespace is not that of bundles */
    BUNDLE_SIGNATURE_INVALID,      /* not valid, or of an unknown form: see `why` */
};
struct bundle_summary {
    size_t intact, changed, missing, unknown;
    bool complete; /* as in the manifest */
    bool interrupted;
    struct {
        enum bundle_signature_state state;
        char type[64];                     /* of the key */
        char fingerprint[SSH_FINGERPRINT]; /* SHA256:base64; "" if unreadable */
        char *principal; /* of the key, from the file of allowed signers; NULL: none found */
        char why[512];   /* why the signature is not valid, or why the signer is not known */
    } signature;
    /* The remaining members are from the manifest, made printable. Do not trust them unless a trusted signer
     * signed the bundle. */
    char collector[256];       /* USER on WORKSTATION */
    char collected[64];        /* the time, UTC */
    bool handed_off;           /* the bundle is a copy for a hand-off */
    char sender[256];          /* USER on WORKSTATION */
    char sent[64];             /* the time of the hand-off, UTC */
    struct strlist recipients; /* the recipients that can decrypt the copy */
    size_t redacted;           /* the number of members that redaction changed */
};
void bundle_summary_release(struct bundle_summary *s);

struct bundle_verify_options {
    struct age_identities *identities;
    const char *allowed_signers;    /* path of a file as in sshsig_find_principal, or NULL */
    bundle_file_result_fn *on_file; /* may be NULL */
    void *ctx;
    int cancel_fd; /* or -1 */
};
/* Reads the whole archive once. Fails if the archive is no readable bundle (it has no manifest, is cut, or
 * has unsafe paths), and if the file of allowed signers is unreadable. If `options` is NULL, all its pointers
 * count as NULL and cancel_fd as -1. The caller releases *ret. */
int bundle_verify(const char *path, const struct bundle_verify_options *options, struct bundle_summary *ret,
                  struct err *err);

struct bundle_extract_options {
    const char *path; /* of the bundle */
    struct age_identities *identities;
    const char *dir;               /* must exist */
    const struct strlist *members; /* paths or globs of the files to extract; NULL or empty: all files */
    uint64_t max_bytes;            /* limit for all files together */
};
/* Creates the bundle's top directory in `dir`, and extracts the files into the new directory. ERR_EXISTS if
 * `dir` has that directory already. Never writes outside of the new directory: refuses links, devices,
 * absolute names, `..` and a second top directory. *ret_dir: the new directory, a new string. After
 * ERR_CANCELLED the complete files stay, and the message names their directory. After any other failure no
 * file stays. */
int bundle_extract(const struct bundle_extract_options *options, char **ret_dir, struct err *err);

struct bundle_restore_options {
    const char *path; /* of the bundle */
    const struct manifest *manifest;
    const struct workdir *work; /* new */
    int cancel_fd;              /* or -1 */
};
/* Extracts only the files that the manifest names, with their times, into the work directory. If the archive
 * is damaged, extracts its readable part and sets *ret_damage; otherwise *ret_damage stays unchanged. The
 * caller checks the content with manifest_compare. ERR_CANCELLED by cancel_fd. */
int bundle_restore(const struct bundle_restore_options *options, struct err *ret_damage, struct err *err);

/* Reads one member, by its path as in bundle_list, into an initialised buffer. ERR_NOT_FOUND if the bundle
 * has no such member. */
int bundle_read_member(const char *path, struct age_identities *identities, const char *member,
                       struct buf *ret, struct err *err);

typedef bool bundle_filter_fn(void *ctx, const struct bundle_member *member);
typedef int bundle_receive_fn(void *ctx, const struct bundle_member *member, struct buf *bytes,
                              struct err *err);
struct bundle_visitor {
    bundle_filter_fn *filter;
    bundle_receive_fn *receive;
    void *ctx;
};
/* Reads many members in the archive's order, in one pass. `filter` selects them; `receive` gets the bytes of
 * each one, and may take the memory of the buffer. If `receive` returns -1, bundle_visit stops and returns
 * the error of `receive`. */
int bundle_visit(const char *path, struct age_identities *identities, const struct bundle_visitor *visitor,
                 struct err *err);

/*
 * Reads many members in the caller's order. The archive's order takes one pass without a cache. For any other
 * order, members that the caller needs later are cached, up to BUNDLE_CACHE_MAX bytes. Members for which
 * the cache has no room need another pass.
 */
#define BUNDLE_CACHE_MAX (UINT64_C(32) << 20)
struct bundle_members;
struct bundle_members_options {
    const char *path;                  /* of the bundle */
    struct age_identities *identities; /* or NULL; must outlive the object */
    uint64_t max_bytes;                /* limit for one member; a larger one is ERR_FAILED */
    struct strlist members;            /* in the order of reading; may contain a name twice. Copied */
};
int bundle_members_new(const struct bundle_members_options *options, struct bundle_members **ret,
                       struct err *err);
/* Works like bundle_read_member. The caller may skip names of `members`. A name takes a separate pass if
 * `members` does not have it after the name that was read last. */
int bundle_members_read(struct bundle_members *m, const char *name, struct buf *ret, struct err *err);
/* Closes the archive. The next read begins a new pass. */
void bundle_members_close_archive(struct bundle_members *m);
void bundle_members_free(struct bundle_members *m);

/* Checks that `identities` can decrypt a bundle; this may ask for a passphrase. Later reads with the same
 * identities, also in a fork of this process, do not ask. */
int bundle_unlock(const char *path, struct age_identities *identities, struct err *err);

/* Reads the text of manifest.json. *ret is a new string, which the caller frees. */
int bundle_read_manifest(const char *path, struct age_identities *identities, char **ret, struct err *err);

/* Writes README.md for a manifest's text into an initialised buffer. */
int bundle_readme(const char *manifest, struct buf *ret, struct err *err);

#endif
