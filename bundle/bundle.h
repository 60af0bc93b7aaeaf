/*
 * Bundles: one tarball with a manifest that contains the hashes of its files. No collected file is ever lost.
 *
 * During a capture all files are in a work directory beside the output, `NAME.partial`. At the end it is
 * packed into `NAME.tar.gz` (temporary name, fsync, rename, no overwriting, mode 0600) and removed. If
 * packing fails, the work directory stays, and its manifest describes its files.
 *
 * This folder has no access to hosts or SSH: its caller fills in the records. docs/formats.md has the
 * manifest's JSON schema.
 */
#ifndef BUNDLE_BUNDLE_H
#define BUNDLE_BUNDLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"
#include "seal/seal.h"

/* ---- work directory ------------------------------------------------------------------------------------ */

struct workdir;

/*
 * Makes `DIR/NAME.partial` (0700). DIR and NAME depend on `output`. A path that ends in .tar.gz is the
 * bundle's own. An existing directory, a path with a slash at its end (created if missing) or NULL (the
 * working directory) gets the default name `profgrab-SUBJECT-2026-11-21T07-48-00Z`. If a bundle or work
 * directory has that default name, `-2`, `-3`, ... is appended; if it has the user's name, ERR_EXISTS. Checks
 * before the capture that the place is usable.
 */
int workdir_new(const char *output, const char *subject, int64_t utc_ms, struct workdir **ret,
                struct err *err);
/*
 * The same for resuming an existing bundle: beside it, or in the directory `output`, under the first free
 * name: its own, or `-2`, `-3`, ... appended. `name` is used if the file is not called NAME.tar.gz.
 */
int workdir_beside(const char *bundle, const char *name, const char *output, struct workdir **ret,
                   struct err *err);

/*
 * Opens a work directory of an earlier run. ERR_FAILED if it is not one: its name is not NAME.partial, it
 * belongs to somebody else, others can write it, it has no manifest, or an entry at any depth is a link, a
 * FIFO, a device or another user's. ERR_LOCAL_IO if it does not exist or cannot be opened. *ret_manifest: the
 * manifest's text, in an initialised buffer.
 *
 * A handle locks its work directory: a second one is ERR_BUSY, in this process or another.
 */
int workdir_open(const char *path, struct workdir **ret, struct buf *ret_manifest, struct err *err);

/*
 * Opens a directory whose files are copied into a bundle; the caller closes ret->fd, and ret->name is `path`.
 * A directory called NAME.partial, or with a manifest of profgrab, may be from a stranger's archive: it must
 * be the user's own and not writable by others, and ERR_FAILED names an entry that workdir_open would refuse.
 * The manifest is optional, and a run may be using the directory.
 */
int workdir_open_copied(const char *path, struct beneath *ret, struct err *err);

/* Frees the handle; the files stay on disk. */
void workdir_free(struct workdir *w);

/* Removes the directory and everything below it, as far as possible. */
void workdir_remove(struct workdir *w);

/* The open directory: its files are opened, made, renamed and removed through this. Valid as long as the
 * handle. */
const struct beneath *workdir_files(const struct workdir *w);
const char *workdir_path(const struct workdir *w);   /* of NAME.partial, only for messages */
const char *workdir_name(const struct workdir *w);   /* NAME */
const char *workdir_bundle(const struct workdir *w); /* the future path of NAME.tar.gz */

/* ---- manifest ------------------------------------------------------------------------------------------ */

/* Strings may be NULL if unknown; the manifest then omits the key. All are copied; text from a remote host is
 * made printable. Times are UTC milliseconds; 0 means unknown. */

struct manifest_info {
    const char *name; /* the bundle's */
    const char *version;
    const char *user; /* the user who collects, and the workstation */
    const char *workstation;
    const char *reason;
    int64_t started;
};

struct manifest_hop {
    const char *address;
    unsigned port;
    bool host_key_new; /* the host was unknown before and is now trusted */
    const char *user;
    const char *via; /* "libssh2 1.10.0", "OpenSSH_9.2p1" */
    const char *host_key_type;
    const char *host_key;       /* SHA256:base64 */
    const char *authentication; /* the method: "agent ssh-ed25519 SHA256:...", "key ~/.ssh/id_ed25519" */
};

struct manifest_verdict {
    const char *rule; /* "cpu-share" */
    const char *text;
};

struct manifest_host {
    const char *name;
    const char *address;
    const char *route; /* "direct" or "ssh" */
    bool against;      /* a healthy host, for comparison */
    const struct manifest_hop *hops;
    size_t n_hops;
    const char *error; /* why nothing, or after a resume nothing more, could be fetched */
    const struct manifest_verdict *verdicts;
    size_t n_verdicts;
};

struct manifest_offer {
    const char *name;
    int64_t count; /* -1: not known */
};

struct manifest_planned {
    const char *kind;
    const char *argument;
    unsigned pair; /* as in an item */
};

struct manifest_service {
    const char *host; /* the name of a host added before */
    const char *name;
    const char *url;                     /* as its host sees it */
    const struct manifest_offer *offers; /* of the index page */
    size_t n_offers;
    bool has_clock_skew;
    int64_t clock_skew_ms;                  /* the target's clock minus ours */
    const struct manifest_planned *planned; /* in the order in which they are fetched */
    size_t n_planned;
    uint64_t estimate_bytes; /* estimated bytes of all items */
    int64_t profiled_ms;     /* how long the process profiles itself */
    const char *error;       /* why planning failed */
    const struct manifest_verdict *verdicts;
    size_t n_verdicts;
};

enum manifest_status {
    MANIFEST_OK,
    MANIFEST_DAMAGED,     /* received, but a check failed: kept as NAME.damaged */
    MANIFEST_FAILED,      /* nothing usable was received */
    MANIFEST_INTERRUPTED, /* cancelled before or during the fetch */
    MANIFEST_LEFT_OUT,    /* not requested because of the budget */
};

struct manifest_sample_type {
    const char *type;
    const char *unit;
    int64_t total;
};

struct manifest_item {
    const char *host;
    const char *service; /* NULL in a bundle of local files, as is host */
    const char *kind;
    const char *argument; /* of KIND=ARGUMENT */
    unsigned pair;        /* of a pair: 1 for the first, 2 for the later one; else 0 */
    bool late;            /* it began after the others of the same instant */
    bool has_sync_skew;
    int64_t sync_skew_ms; /* how much later than that instant it began, by its target's clock */
    const char *request;  /* "GET /debug/pprof/heap" */
    enum manifest_status status;
    const char *error;        /* the reason if it is not OK */
    const char *server_words; /* the server's own words */
    const char *file;         /* path inside the bundle's directory; NULL without a file */
    int http_status;
    const char *content_type;
    int64_t started;
    int64_t duration_ms;
    uint64_t bytes;
    const char *sha256;
    bool has_profile; /* the next four members are set from the profile */
    uint64_t samples;
    const struct manifest_sample_type *sample_types;
    size_t n_sample_types;
    int64_t profile_duration_ns;
    const char *go_version; /* the Go version of the program, as far as the item shows it; copied to its
                               service: "1.22", ">= 1.21" */
    const struct manifest_verdict *verdicts;
    size_t n_verdicts;
};

struct manifest;

int manifest_new(const struct manifest_info *info, struct manifest **ret, struct err *err);
void manifest_free(struct manifest *m);
int manifest_add_host(struct manifest *m, const struct manifest_host *h, struct err *err);
int manifest_add_service(struct manifest *m, const struct manifest_service *s, struct err *err);
int manifest_add_item(struct manifest *m, const struct manifest_item *i, struct err *err);
/*
 * The request, for repeating it: names, kinds, and addresses of services outside the inventory. Never paths
 * of a configuration, an inventory or a key: a bundle must not decide how profgrab reaches a host.
 */
struct manifest_target {
    const char *host, *service;
    const char *address; /* of a host outside the inventory, as ssh accepts it; NULL: see the inventory */
};
struct manifest_asked {
    struct strlist kinds; /* the separate words; empty: each service's own */
    struct manifest_target *targets;
    size_t n_targets; /* grouped by host, each pair once */
    unsigned port;    /* of a service outside the inventory; 0: none. As in struct selection */
    const char *unix_path;
    const char *path;
    bool https;
    struct strlist against;         /* names of the healthy hosts */
    int64_t pair_ms;                /* 0: no pairs */
    size_t sample_of, sample_taken; /* the number of hosts to choose from, and of those chosen; 0: no sample.
                                       For people: not read back */
};
int manifest_set_asked(struct manifest *m, const struct manifest_asked *asked, struct err *err);
/* ERR_NOT_FOUND with the reason if the manifest lacks the request; ERR_FAILED if it names a target twice, or
 * does not group targets by host. The caller releases the lists; strings outside of `kinds` and `against`
 * belong to the manifest. */
int manifest_get_asked(const struct manifest *m, struct manifest_asked *ret, struct err *err);
void manifest_asked_release(struct manifest_asked *a);

/*
 * Reads a manifest back, to add to it. Checks it strictly, because it may be from anywhere: our version, each
 * key of docs/formats.md with its type, hosts and services with unique names that fit in a path, files below
 * HOST/SERVICE (local ones below the directory), printable text. ERR_FAILED names the fault. Refuses a copy
 * made for a hand-off. Drops how the run went and ended, its summary and its report, but keeps the instant at
 * which its profiles began together.
 *
 * A record added later replaces that of the same host, service, or kind, argument and pair. A host or service
 * added with an error keeps its other facts, because its files depend on them.
 */
int manifest_load(const char *text, size_t n, struct manifest **ret, struct err *err);

/* The name of its bundle. */
const char *manifest_name(const struct manifest *m);

/* Records who resumes the run: the name, the version, the collector and the time of `now`. */
int manifest_resume(struct manifest *m, const struct manifest_info *now, struct err *err);

/*
 * Compares a loaded manifest with the files of its work directory. A changed file is renamed to NAME.damaged
 * (an existing larger one stays), and its item becomes damaged; an item without its file becomes failed.
 * Calls `changed` for each of them with the result. ERR_CANCELLED by cancel_fd (or -1). After an error do not
 * save the manifest: a file that could not be read may be good.
 */
typedef void manifest_changed_fn(void *ctx, const char *path, const char *what);
int manifest_compare(struct manifest *m, const struct workdir *w, int cancel_fd, manifest_changed_fn *changed,
                     void *ctx, struct err *err);

struct manifest_wanted {
    const char *host, *service, *kind;
    const char *argument; /* NULL or "": none */
    unsigned pair;
};
/* Whether that item is present and good. *ret_started (may be NULL) is its time in UTC milliseconds, 0 if
 * unknown. */
bool manifest_has(const struct manifest *m, const struct manifest_wanted *item, int64_t *ret_started);
/* Whether all planned items of the service are present and good, regardless of later errors of the service or
 * its host. false also if the plan is unknown. */
bool manifest_has_all(const struct manifest *m, const char *host, const char *service);
/* The planned items of the service that are neither good nor have a damaged file: a new array, which the
 * caller frees. Its strings belong to the manifest until the service is added again. */
int manifest_unrecorded(const struct manifest *m, const char *host, const char *service,
                        struct manifest_planned **ret, size_t *ret_n, struct err *err);
/* The number of files that it names. */
size_t manifest_n_files(const struct manifest *m);
/* The total bytes of those files, as recorded in the manifest. */
uint64_t manifest_n_bytes(const struct manifest *m);
/* The number of good items: complete, and with a file. */
size_t manifest_n_whole(const struct manifest *m);

/* The limits of a whole run and its results; 0 if not set. Replaces the values set before. */
struct manifest_run {
    int64_t deadline_ms;
    bool deadline_reached; /* items were given up because of it */
    uint64_t budget_bytes; /* from one process */
    int64_t budget_ms;     /* for one process */
    unsigned retries;
    int64_t sync_at; /* when the timed profiles were released; 0: not synchronised. Then an earlier run's
                        value of this and the next two members stays */
    size_t sync_targets, sync_late;
    bool has_sync_skew;
    int64_t sync_p50_ms, sync_p95_ms, sync_max_ms;
};
int manifest_set_run(struct manifest *m, const struct manifest_run *run, struct err *err);

/* The summary's sentences: each call replaces those set before. */
struct manifest_sentence {
    const char *rule; /* "gc-share" */
    const char *text;
    const char *file; /* of the item that shows it */
    const char *look; /* a function to look at */
};
int manifest_set_summary(struct manifest *m, const struct manifest_sentence *sentences, size_t n,
                         struct err *err);
/* BUNDLE_REPORT exists in the work directory and must be packed. */
#define BUNDLE_REPORT "report.html"
int manifest_set_report(struct manifest *m, uint64_t bytes, const char *sha256, struct err *err);
/* Ends it: `interrupted` by the user or a signal; `complete`: it contains all requested items. */
int manifest_finish(struct manifest *m, int64_t finished, bool interrupted, bool complete, struct err *err);
/* Writes JSON into an initialised buffer. */
int manifest_print(const struct manifest *m, struct buf *ret, struct err *err);
/* Writes manifest.json into the work directory, replacing an earlier one. */
int manifest_save(const struct manifest *m, const struct workdir *w, struct err *err);

/* ---- the bundle ---------------------------------------------------------------------------------------- */

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

/* The functions below read bundles, also encrypted ones. `by` are the identities to decrypt with (NULL: none,
 * which is ERR_NOT_FOUND for an encrypted bundle). age_identities_cancel ends reading with them, also of a
 * plain bundle. */

/* Limits on bundles from elsewhere. */
#define BUNDLE_MAX_MEMBERS 200000
#define BUNDLE_MAX_MANIFEST (64u << 20)

/* Whether one bundle has room for this many services and items in total: 0, or ERR_USAGE with the possible
 * number. An estimate before a run; writing checks the manifest itself. */
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

/* The result of verify for one file. */
enum bundle_state {
    BUNDLE_INTACT,
    BUNDLE_CHANGED, /* its bytes differ from the manifest */
    BUNDLE_MISSING, /* in the manifest, but not in the archive */
    BUNDLE_UNKNOWN, /* in the archive, but not in the manifest */
};
struct bundle_finding {
    const char *path;
    enum bundle_state state;
    uint64_t size;
};
typedef void bundle_finding_fn(void *ctx, const struct bundle_finding *finding);
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
    /* The rest is text of the manifest, printable: only the signature vouches for it. */
    char collector[256]; /* USER on WORKSTATION */
    char collected[64];  /* the time, UTC */
    bool handed_off;     /* it is a copy for a hand-off */
    char sender[256];
    char sent[64];
    struct strlist recipients; /* who can decrypt it */
    size_t redacted;           /* changed members */
};
void bundle_summary_release(struct bundle_summary *s);
/* Reads the whole archive once; -1 if it is not readable as a bundle (no manifest, cut, hostile names).
 * `allowed_signers` is a file as in sshsig_find_principal, or NULL; an unreadable one is an error. `how` may
 * be NULL: all defaults. The caller releases *ret. */
struct bundle_check {
    struct age_identities *by;
    const char *allowed_signers;
    bundle_finding_fn *finding; /* may be NULL */
    void *ctx;
    int cancel_fd; /* or -1 */
};
int bundle_verify(const char *path, const struct bundle_check *how, struct bundle_summary *ret,
                  struct err *err);

/*
 * Extracts below `dir`, which must exist: creates the bundle's top directory there, ERR_EXISTS if it exists.
 * Never writes outside of it: refuses links, devices, absolute names, `..`, a second top directory. With
 * `members` (empty: all) only those paths or globs. *ret_dir: the new directory, a new string. `max_bytes`:
 * the most to write. ERR_CANCELLED keeps the complete files, and the message names the place; any other
 * failure leaves nothing.
 */
int bundle_extract(const char *path, struct age_identities *by, const char *dir,
                   const struct strlist *members, uint64_t max_bytes, char **ret_dir, struct err *err);

/*
 * Extracts the files that its manifest names, and nothing else, into a new work directory, with their times.
 * From a damaged archive it extracts the readable part; *ret_damage is then the damage, else untouched.
 * manifest_compare checks the content later. ERR_CANCELLED by cancel_fd (or -1).
 */
int bundle_restore(const char *path, const struct manifest *m, const struct workdir *w, int cancel_fd,
                   struct err *ret_damage, struct err *err);

/* Reads one member, by its path as in bundle_list, into an initialised buffer. ERR_NOT_FOUND if there is none
 * of that name. */
int bundle_member_bytes(const char *path, struct age_identities *by, const char *member, struct buf *ret,
                        struct err *err);

/*
 * Reads many members in the archive's order, in one pass. `wants` selects them; `take` receives each, and may
 * take over the buffer's memory. -1 from `take` stops, with its err.
 */
typedef bool bundle_wants_fn(void *ctx, const struct bundle_member *member);
typedef int bundle_take_fn(void *ctx, const struct bundle_member *member, struct buf *bytes, struct err *err);
int bundle_visit(const char *path, struct age_identities *by, bundle_wants_fn *wants, bundle_take_fn *take,
                 void *ctx, struct err *err);

/*
 * Reads many members in the caller's order. In the archive's order this is one pass without a cache.
 * Otherwise up to BUNDLE_AHEAD_MAX bytes of early members wait in memory, and each pass reads at least as
 * many bytes of members, or all that are left.
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
/* As bundle_member_bytes. The caller may skip places of the order; a member outside the rest of the order is
 * read in a separate pass. */
int bundle_members_read(struct bundle_members *m, const char *name, struct buf *ret, struct err *err);
/* Closes the archive. The next read begins a new pass. */
void bundle_members_pause(struct bundle_members *m);
void bundle_members_free(struct bundle_members *m);

/* Opens a bundle to check that `by` can decrypt it; this may prompt for a passphrase. Later readers with the
 * same identities, also in a copy of this process, do not prompt. */
int bundle_unlock(const char *path, struct age_identities *by, struct err *err);

/* The text of manifest.json: the caller frees it. */
int bundle_manifest(const char *path, struct age_identities *by, char **ret, struct err *err);
/* Parses the manifest's text with jansson. Guarantees our format and version, and that `hosts` and `files`
 * are lists; nothing else. ERR_FAILED for other text, and for a manifest that would take too much memory. The
 * caller releases the reference with json_decref. */
struct json_t;
int bundle_manifest_parse(const char *text, size_t n, struct json_t **ret, struct err *err);
/* Writes README.md for a manifest's text into an initialised buffer. */
int bundle_readme(const char *manifest, struct buf *ret, struct err *err);

/* ---- the copy for a hand-off --------------------------------------------------------------------------- */

/* The namespace of a bundle's signature, which covers the bytes of manifest.json. */
#define BUNDLE_NAMESPACE "profgrab-bundle"

/*
 * The future content of a copy, for drawing its page: the manifest's text, and the members, visited as in
 * bundle_visit.
 */
struct bundle_coming {
    struct str manifest;
    uint64_t bytes; /* of the bundle, on disk */
    int cancel_fd;  /* or -1 */
    int64_t cpu_ms; /* limit for the page's processor time; 0: none */
    int fd;         /* visiting reads from it; -1: none */
    const void *from;
    int (*visit)(const struct bundle_coming *bundle, bundle_wants_fn *wants, bundle_take_fn *take, void *ctx,
                 struct err *err);
};
/* Writes the page to fd at its position. ERR_CANCELLED ends the copy; after any other failure the copy has no
 * page. */
typedef int bundle_draw_fn(const struct bundle_coming *bundle, int fd, struct err *err);

/* How to make a copy. */
struct bundle_copy {
    const char *bundle; /* the path of the local bundle, which is only read */
    /* The path of the copy, ending in .tar.gz or, encrypted, .tar.gz.age; ERR_EXISTS if it exists. NULL:
     * beside the bundle, `NAME-handoff.tar.gz` or `NAME.tar.gz.age`, with `-2`, `-3`, ... if that exists. */
    const char *output;
    const char *user, *workstation;     /* the user who hands it off; may be NULL */
    bool redact;                        /* secrets, values of labels: docs/formats.md, "Redaction" */
    bundle_draw_fn *draw;               /* makes report.html of a redacted copy; NULL: no page */
    const struct strlist *labels;       /* more labels to redact, globs; may be NULL */
    const struct sshsig_signer *signer; /* NULL: no signature */
    bool signature_optional;            /* go on without a signature if signing fails */
    const struct age_recipients *to;    /* NULL: no encryption */
    int cancel_fd;                      /* or -1 */
    int64_t cpu_ms;                     /* limit for the processor time of the copy; 0: none */
};

/* The result of a copy. */
struct bundle_copied {
    char *path;
    uint64_t bytes;
    uint64_t redactions;               /* the number of redacted values */
    size_t changed;                    /* members that differ from the collected ones */
    size_t unsearched;                 /* members that were not searched: traces, files of unknown kind */
    struct strlist unsearched_files;   /* for each of them `PATH: REASON`, printable */
    struct strlist unsearchable;       /* the same for members that should have been searched */
    char *manifest;                    /* the copy's, for texts elsewhere */
    struct err undrawn;                /* ERR_NONE, or why the copy lacks the bundle's report.html */
    char fingerprint[SSH_FINGERPRINT]; /* of the signing key; "" */
    struct err unsigned_because;       /* ERR_NONE, or why the optional signature is missing */
};

/*
 * Makes the copy. Compares each member with the manifest, so that no bundle with a wrong hash is handed off.
 * Redaction needs disk space beside the copy for the changed members and the largest one. The manifest gets a
 * `handoff`, README.md is rewritten, and with `redact` so is report.html; manifest and README.md record who
 * hands off what to whom. Signs the copy, then encrypts it. After a failure no file is left. A member that
 * redaction cannot search (too large, or of another format) is copied unchanged and listed in the manifest,
 * README.md and *ret; the user decides who gets the copy.
 *
 * ERR_LIMIT: it needs more than cpu_ms, or inflates to more than a bundle of its size can. ERR_USAGE: the
 * bundle is such a copy already. If signing fails: as in sshsig_sign.
 */
int bundle_copy(const struct bundle_copy *how, struct bundle_copied *ret, struct err *err);
void bundle_copied_release(struct bundle_copied *c);

/* Redacts a line that is sent elsewhere, such as an issue's title, by the rules of a copy: a new string. */
int bundle_redact_line(const char *line, char **ret, struct err *err);

#endif
