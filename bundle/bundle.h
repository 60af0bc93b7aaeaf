/*
 * Bundles: one tarball with a manifest that proves it, made so that nothing collected is ever lost.
 *
 * While a capture runs, everything lies in a work directory beside the output, `NAME.partial`. At the end it
 * is packed into `NAME.tar.gz` (temporary name, fsync, rename, never over another file, mode 0600) and the
 * work directory goes. If packing fails the work directory stays, and its manifest says what is in it.
 *
 * This folder knows nothing of hosts or SSH: its caller fills in the records. docs/formats.md has the
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
 * Makes `DIR/NAME.partial` (0700), where DIR and NAME come from `output`: a path that ends in .tar.gz names
 * the bundle itself; a directory that exists, or is made because its name ends in a slash (NULL: the working
 * directory), takes the default name
 * `profgrab-SUBJECT-2026-11-21T07-48-00Z`. A default name that is taken (bundle or work directory) gets `-2`,
 * `-3`, ...; a name the user chose that is taken is ERR_EXISTS. Whatever makes the place unusable is said
 * before anything is collected.
 */
int workdir_new(const char *output, const char *subject, int64_t utc_ms, struct workdir **ret,
                struct err *err);
/*
 * The same for another try at a bundle that there is: without `output` beside it, with a directory there,
 * under the first free name: its own, or `-2`, `-3`, ... behind that. `name` counts for a file that is not
 * called NAME.tar.gz.
 */
int workdir_beside(const char *bundle, const char *name, const char *output, struct workdir **ret,
                   struct err *err);

/*
 * A work directory that an earlier run left. ERR_FAILED for what is none: it is not called NAME.partial, is
 * somebody else's, others can write it, it has no manifest, or an entry at any depth is a link, a FIFO, a
 * device or another user's. ERR_LOCAL_IO where there is nothing, or what cannot be opened. *ret_manifest:
 * that one's text, into an initialised buffer.
 *
 * While there is a handle on a work directory nobody else gets one (ERR_BUSY), in this process or another.
 */
int workdir_open(const char *path, struct workdir **ret, struct buf *ret_manifest, struct err *err);

/*
 * Opens a directory whose files are copied into a bundle; the caller closes ret->fd, and ret->name is `path`.
 * A directory that is called NAME.partial or has a manifest of profgrab may come from a stranger's archive:
 * it must not be somebody else's nor writable by others, and ERR_FAILED names an entry that workdir_open
 * would refuse. The manifest need not be there, and a run may work in the directory.
 */
int workdir_open_copied(const char *path, struct beneath *ret, struct err *err);

/* Frees the handle; what lies on disk stays. */
void workdir_free(struct workdir *w);

/* Removes it with all below it, as far as that works. */
void workdir_remove(struct workdir *w);

/* The directory, open: all that lies in it is opened, made, renamed and removed through this. It lives as
 * long as the handle. */
const struct beneath *workdir_files(const struct workdir *w);
const char *workdir_path(const struct workdir *w);   /* of NAME.partial, for messages alone */
const char *workdir_name(const struct workdir *w);   /* NAME */
const char *workdir_bundle(const struct workdir *w); /* path of NAME.tar.gz as it would be */

/* ---- manifest ------------------------------------------------------------------------------------------ */

/* Strings may be NULL where the thing is not known; the manifest then leaves the key out. All are copied and
 * made printable where they came from a remote host. Times are UTC milliseconds; 0 means not known. */

struct manifest_info {
    const char *name; /* the bundle's */
    const char *version;
    const char *user; /* who collects, on which workstation */
    const char *workstation;
    const char *reason;
    int64_t started;
};

struct manifest_hop {
    const char *address;
    unsigned port;
    bool host_key_new; /* the host was not known before, and trusted all the same */
    const char *user;
    const char *via; /* "libssh2 1.10.0", "OpenSSH_9.2p1" */
    const char *host_key_type;
    const char *host_key;       /* SHA256:base64 */
    const char *authentication; /* how: "agent ssh-ed25519 SHA256:…", "key ~/.ssh/id_ed25519" */
};

struct manifest_verdict {
    const char *rule; /* "cpu-share" */
    const char *text;
};

struct manifest_host {
    const char *name;
    const char *address;
    const char *route; /* "direct" or "ssh" */
    bool against;      /* a healthy one, to compare the others with */
    const struct manifest_hop *hops;
    size_t n_hops;
    const char *error; /* why nothing could be fetched from it; of a resumed one: nothing more */
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
    unsigned pair; /* as an item has it */
};

struct manifest_service {
    const char *host; /* a name given to manifest_add_host before */
    const char *name;
    const char *url;                     /* as the far host sees it */
    const struct manifest_offer *offers; /* of the index page */
    size_t n_offers;
    bool has_clock_skew;
    int64_t clock_skew_ms;                  /* the target's clock minus ours */
    const struct manifest_planned *planned; /* in the order in which they are fetched */
    size_t n_planned;
    uint64_t estimate_bytes; /* what all of it was expected to be */
    int64_t profiled_ms;     /* how long the process profiles itself for it */
    const char *error;       /* why nothing could be planned */
    const struct manifest_verdict *verdicts;
    size_t n_verdicts;
};

enum manifest_status {
    MANIFEST_OK,
    MANIFEST_DAMAGED,     /* it came, but did not pass its checks: kept for a look, under NAME.damaged */
    MANIFEST_FAILED,      /* nothing usable came */
    MANIFEST_INTERRUPTED, /* cancelled before or while it was fetched */
    MANIFEST_LEFT_OUT,    /* the budget did not allow it */
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
    unsigned pair;        /* 1 and 2: of two so that what happened in between is known; else 0 */
    bool late;            /* it began behind those that were to begin at the same instant */
    bool has_sync_skew;
    int64_t sync_skew_ms; /* how much later than that instant it began, by its target's clock */
    const char *request;  /* "GET /debug/pprof/heap" */
    enum manifest_status status;
    const char *error;        /* why it is not OK */
    const char *server_words; /* the server's own words */
    const char *file;         /* path inside the bundle's directory; NULL when nothing was kept */
    int http_status;
    const char *content_type;
    int64_t started;
    int64_t duration_ms;
    uint64_t bytes;
    const char *sha256;
    bool has_profile; /* a pprof profile was read: the next four hold */
    uint64_t samples;
    const struct manifest_sample_type *sample_types;
    size_t n_sample_types;
    int64_t profile_duration_ns;
    const char *go_version; /* what it shows of the program's Go; goes to its service: "1.22", ">= 1.21" */
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
 * What was asked for, so that it can be asked for again: names, kinds, and where services outside the
 * inventory listen. Never where a configuration, an inventory or a key is: what comes with a bundle must not
 * decide how a host is reached.
 */
struct manifest_target {
    const char *host, *service;
    const char *address; /* of a host outside the inventory, as ssh takes it; NULL: the inventory has it */
};
struct manifest_asked {
    struct strlist kinds; /* the words, split; empty: each service's own */
    struct manifest_target *targets;
    size_t n_targets; /* grouped by host, each pair once */
    unsigned port;    /* of the service of no inventory; 0: none. As struct selection has them */
    const char *unix_path;
    const char *path;
    bool https;
    struct strlist against;         /* names of the healthy hosts */
    int64_t pair_ms;                /* 0: no pairs */
    size_t sample_of, sample_taken; /* how many hosts there were to choose from, and how many were taken; 0:
                                       all were. Written for people: they are not read back */
};
int manifest_set_asked(struct manifest *m, const struct manifest_asked *asked, struct err *err);
/* ERR_NOT_FOUND, with the reason, if the manifest does not say; ERR_FAILED if it names a target twice, or a
 * host again behind another. The lists are the caller's to release; strings outside of `kinds` and `against`
 * belong to the manifest. */
int manifest_get_asked(const struct manifest *m, struct manifest_asked *ret, struct err *err);
void manifest_asked_release(struct manifest_asked *a);

/*
 * Reads a manifest back, to go on with what it describes: strictly, since it may come from anywhere. It is of
 * our version, each key of docs/formats.md has its type, hosts and services have names that a path can have,
 * none twice, files lie below HOST/SERVICE (local ones below the directory), text is fit to be shown; else
 * ERR_FAILED says where. A copy that was handed off is refused. How the run went (but for when its profiles
 * were released in step) and ended, its summary and its report are not taken over.
 *
 * What is added to it takes the place of what it has of the same host, service, or kind, argument and pair. A
 * host or service that comes with an error keeps all else that is known of it: its files came that way.
 */
int manifest_load(const char *text, size_t n, struct manifest **ret, struct err *err);

/* The bundle's name that it has. */
const char *manifest_name(const struct manifest *m);

/* Says who goes on with it, as what: of `now` the name, the version, the collector and the time count. */
int manifest_resume(struct manifest *m, const struct manifest_info *now, struct err *err);

/*
 * Holds a loaded manifest against the files of its work directory. A file that is not the one that was
 * collected is called NAME.damaged then (of two, the larger one stays), and its item damaged; an item whose
 * file is not there failed. `changed` is called for each, with what became of it. ERR_CANCELLED by cancel_fd
 * (or -1). After an error, such as that of a file which cannot be looked at, the manifest is not to be saved:
 * what could not be read may be good.
 */
typedef void manifest_changed_fn(void *ctx, const char *path, const char *what);
int manifest_compare(struct manifest *m, const struct workdir *w, int cancel_fd, manifest_changed_fn *changed,
                     void *ctx, struct err *err);

struct manifest_wanted {
    const char *host, *service, *kind;
    const char *argument; /* NULL or "": none */
    unsigned pair;
};
/* Whether that item is there, and good; *ret_started (NULL: nobody asks) is when it was taken, in UTC
 * milliseconds, 0 where that is not known. */
bool manifest_has(const struct manifest *m, const struct manifest_wanted *item, int64_t *ret_started);
/* Whether all that was planned for the service is there, and good, whatever became of it or its host when it
 * was tried last. false also where nobody knows what was planned. */
bool manifest_has_all(const struct manifest *m, const char *host, const char *service);
/* What was planned for the service, and is neither good nor has a file that is damaged: a new array, which
 * the caller frees, its strings the manifest's until the service is added again. */
int manifest_unrecorded(const struct manifest *m, const char *host, const char *service,
                        struct manifest_planned **ret, size_t *ret_n, struct err *err);
/* How many files it names. */
size_t manifest_n_files(const struct manifest *m);
/* How many bytes those files have together, by what the manifest says. */
uint64_t manifest_n_bytes(const struct manifest *m);
/* How many items are good: whole, and with a file. */
size_t manifest_n_whole(const struct manifest *m);

/* What was asked of a run as a whole, and what it came to; 0 where nothing was. It replaces
 * what was set before. */
struct manifest_run {
    int64_t deadline_ms;
    bool deadline_reached; /* something was given up for it */
    uint64_t budget_bytes; /* of one process */
    int64_t budget_ms;     /* for which it profiles itself */
    unsigned retries;
    int64_t sync_at; /* when the timed profiles were released; 0: they were not in step. What an earlier run
                        has of that and the next two lines then stays */
    size_t sync_targets, sync_late;
    bool has_sync_skew;
    int64_t sync_p50_ms, sync_p95_ms, sync_max_ms;
};
int manifest_set_run(struct manifest *m, const struct manifest_run *run, struct err *err);

/* The sentences that the whole begins with: each call replaces what was set before. */
struct manifest_sentence {
    const char *rule; /* "gc-share" */
    const char *text;
    const char *file; /* of the item that it is from */
    const char *look; /* a function to look at */
};
int manifest_set_summary(struct manifest *m, const struct manifest_sentence *sentences, size_t n,
                         struct err *err);
/* BUNDLE_REPORT lies in the work directory, and is to be packed. */
#define BUNDLE_REPORT "report.html"
int manifest_set_report(struct manifest *m, uint64_t bytes, const char *sha256, struct err *err);
/* Ends it: `interrupted` by the user or a signal; `complete`: everything asked for is in it. */
int manifest_finish(struct manifest *m, int64_t finished, bool interrupted, bool complete, struct err *err);
/* As JSON, into an initialised buffer. */
int manifest_print(const struct manifest *m, struct buf *ret, struct err *err);
/* Writes manifest.json into the work directory, replacing an earlier one. */
int manifest_save(const struct manifest *m, const struct workdir *w, struct err *err);

/* ---- the bundle ---------------------------------------------------------------------------------------- */

/*
 * Writes README.md from the manifest and packs the work directory: manifest.json and README.md first, then
 * report.html if there is one, then each file the manifest names. The work directory is removed only when the
 * bundle is safe on disk. *ret_path: the path written, a new string.
 *
 * Once cancel_fd (or -1) is readable, packing may take BUNDLE_AFTER_SIGNAL_MS more: it writes a bundle that
 * is nearly there, else it is ERR_CANCELLED, and the work directory stays. What the disk takes for an fsync
 * comes on top.
 */
#define BUNDLE_AFTER_SIGNAL_MS 1000
int bundle_pack(struct workdir *w, const struct manifest *m, int cancel_fd, char **ret_path, struct err *err);

/* What follows reads bundles, also encrypted ones: `by` then says by which identities (NULL: by none, which
 * is ERR_NOT_FOUND for an encrypted one). What ends reading by them (age_identities_cancel) ends it for
 * bundles in plain text as well. */

/* Limits on what a bundle from elsewhere may make us do. */
#define BUNDLE_MAX_MEMBERS 200000
#define BUNDLE_MAX_MANIFEST (64u << 20)

/* Whether one bundle can describe so many services with so many items in all: 0, or ERR_USAGE with how many
 * fit. An estimate, for a run that has not begun: a manifest itself is checked when it is written. */
int bundle_check_room(size_t services, size_t items, struct err *err);

struct bundle_member {
    const char *path; /* below the bundle's directory, made printable; valid during the call */
    uint64_t size;
    int64_t mtime; /* seconds */
};

/* Calls `member` for each file, in the order of the archive. A non-zero return stops and becomes -1 with err
 * as the callback left it. */
typedef int bundle_member_fn(void *ctx, const struct bundle_member *member, struct err *err);
int bundle_list(const char *path, struct age_identities *by, bundle_member_fn *member, void *ctx,
                struct err *err);

/* What verify found out about one file. */
enum bundle_state {
    BUNDLE_INTACT,
    BUNDLE_CHANGED, /* its bytes are not those of the manifest */
    BUNDLE_MISSING, /* the manifest names it, the archive has it not */
    BUNDLE_UNKNOWN, /* the archive has it, the manifest does not name it */
};
struct bundle_finding {
    const char *path;
    enum bundle_state state;
    uint64_t size;
};
typedef void bundle_finding_fn(void *ctx, const struct bundle_finding *finding);
/* What verify found out about the signature. */
enum bundle_signature {
    BUNDLE_UNSIGNED,
    BUNDLE_SIGNED,           /* genuine: made by that key over this manifest */
    BUNDLE_SIGNED_ELSEWHERE, /* in another namespace: for something else than a bundle */
    BUNDLE_SIGNED_BADLY,     /* not genuine, or it cannot be told: `why` says */
};
struct bundle_summary {
    size_t intact, changed, missing, unknown;
    bool complete; /* the manifest's own words */
    bool interrupted;
    struct {
        enum bundle_signature state;
        char type[64];                     /* of the key */
        char fingerprint[SSH_FINGERPRINT]; /* SHA256:base64; "" where it could not be read */
        char *principal; /* whom the file of allowed signers names; NULL: nobody, or there is no such file */
        char why[512];   /* why it is not good, or nobody's */
    } signature;
    /* The rest is the manifest's own words, printable: nobody vouches for them but whoever signed. */
    char collector[256]; /* USER on WORKSTATION */
    char collected[64];  /* when, UTC */
    bool handed_off;     /* it is a copy */
    char sender[256];
    char sent[64];
    struct strlist recipients; /* to whom it was encrypted */
    size_t redacted;           /* members that were changed */
};
void bundle_summary_release(struct bundle_summary *s);
/* Reads the whole archive once; -1 if it cannot be read as a bundle at all (no manifest, cut, hostile names).
 * `allowed_signers` is a file as sshsig_find_principal has it, or NULL; one that cannot be read is an error.
 * `how` may be NULL: nothing of it. The caller releases *ret. */
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
 * Extracts below `dir` (it must exist): the bundle's top directory is made anew there, ERR_EXISTS if it is
 * there already. Nothing is ever written outside of it: links, devices, absolute names, `..`, a second top
 * directory are refused. With `members` (may be empty: all) only those paths or globs. *ret_dir: the
 * directory made, a new string. `max_bytes`: the most it may write. ERR_CANCELLED: what was whole by then
 * stays, and the message says where; of any other failure nothing is left.
 */
int bundle_extract(const char *path, struct age_identities *by, const char *dir,
                   const struct strlist *members, uint64_t max_bytes, char **ret_dir, struct err *err);

/*
 * Puts the files that its manifest names, and nothing else, into a new work directory, with their times. Of a
 * damaged archive what can be read: *ret_damage then says what is wrong with it, else it stays untouched.
 * Whether they are what the manifest says is manifest_compare's to tell. ERR_CANCELLED by cancel_fd (or -1).
 */
int bundle_restore(const char *path, const struct manifest *m, const struct workdir *w, int cancel_fd,
                   struct err *ret_damage, struct err *err);

/* The bytes of one member, by its path as bundle_list has it, into an initialised buffer. ERR_NOT_FOUND if
 * there is none of that name. */
int bundle_member_bytes(const char *path, struct age_identities *by, const char *member, struct buf *ret,
                        struct err *err);

/*
 * The bytes of many members, in the archive's order and in one pass. `wants` says whether to read one; `take`
 * gets it, and may take over what the buffer holds. -1 from that stops, with err as it was left.
 */
typedef bool bundle_wants_fn(void *ctx, const struct bundle_member *member);
typedef int bundle_take_fn(void *ctx, const struct bundle_member *member, struct buf *bytes, struct err *err);
int bundle_visit(const char *path, struct age_identities *by, bundle_wants_fn *wants, bundle_take_fn *take,
                 void *ctx, struct err *err);

/*
 * Many members, in the order in which the caller wants them. Where that is the archive's order, they are read
 * in one pass, and none is kept. Otherwise up to BUNDLE_AHEAD_MAX bytes of members that come too early wait
 * in memory, and each pass brings at least as many bytes of members, or all that are left.
 */
#define BUNDLE_AHEAD_MAX (UINT64_C(32) << 20)
struct bundle_members;
struct bundle_wanted {
    const char *path;          /* of the bundle */
    struct age_identities *by; /* or NULL; it must outlive the object */
    uint64_t most;             /* bytes of a member; of a larger one reading is ERR_FAILED */
    struct strlist members;    /* in the order in which they are read; they may repeat. Copied */
};
int bundle_members_new(const struct bundle_wanted *wanted, struct bundle_members **ret, struct err *err);
/* As bundle_member_bytes. Places of the order may be left out; a member that is not in the rest of the order
 * is read by a pass of its own. */
int bundle_members_read(struct bundle_members *m, const char *name, struct buf *ret, struct err *err);
/* Closes the archive. Reading goes on with a new pass. */
void bundle_members_pause(struct bundle_members *m);
void bundle_members_free(struct bundle_members *m);

/* Opens a bundle to see that `by` can read it, which may ask a person for a passphrase: later readers with
 * the same identities, also in a copy of this process, ask nobody. */
int bundle_unlock(const char *path, struct age_identities *by, struct err *err);

/* manifest.json as text: the caller frees it. */
int bundle_manifest(const char *path, struct age_identities *by, char **ret, struct err *err);
/* Such a text as jansson's object: of our format and version, `hosts` and `files` are lists, nothing else is
 * promised. ERR_FAILED for what is no manifest, and for one that would take too much memory. The caller gives
 * the reference back with json_decref. */
struct json_t;
int bundle_manifest_parse(const char *text, size_t n, struct json_t **ret, struct err *err);
/* README.md of such a text, into an initialised buffer. */
int bundle_readme(const char *manifest, struct buf *ret, struct err *err);

/* ---- the copy that is handed off ----------------------------------------------------------------------- */

/* The namespace of a bundle's signature, which is over manifest.json's bytes. */
#define BUNDLE_NAMESPACE "profgrab-bundle"

/*
 * A copy that is not written yet, for those who draw its page: the manifest as text, and the members as they
 * will be, visited as bundle_visit does.
 */
struct bundle_coming {
    struct str manifest;
    uint64_t bytes; /* of the bundle, on disk */
    int cancel_fd;  /* or -1 */
    int64_t cpu_ms; /* processor time that the page may take; 0: any */
    int fd;         /* that visiting reads; -1: none */
    const void *from;
    int (*visit)(const struct bundle_coming *bundle, bundle_wants_fn *wants, bundle_take_fn *take, void *ctx,
                 struct err *err);
};
/* Writes the page to fd, where that stands. ERR_CANCELLED ends the copy; whatever else fails costs the page.
 */
typedef int bundle_draw_fn(const struct bundle_coming *bundle, int fd, struct err *err);

/* How a copy is made. */
struct bundle_copy {
    const char *bundle; /* the path of the local one, which is only read */
    /* The path of the copy, ending in .tar.gz or, encrypted, .tar.gz.age; ERR_EXISTS if it is taken. NULL:
     * beside the bundle, `NAME-handoff.tar.gz` or `NAME.tar.gz.age`, with `-2`, `-3`, ... where that is
     * taken. */
    const char *output;
    const char *user, *workstation;     /* who hands it off; may be NULL */
    bool redact;                        /* secrets, values of labels: docs/formats.md, "Redaction" */
    bundle_draw_fn *draw;               /* makes report.html of a redacted copy; NULL: such a copy has none */
    const struct strlist *labels;       /* further labels whose values go, globs; may be NULL */
    const struct sshsig_signer *signer; /* NULL: it is not signed */
    bool signature_optional;            /* goes without one if it cannot be made */
    const struct age_recipients *to;    /* NULL: it is not encrypted */
    int cancel_fd;                      /* or -1 */
    int64_t cpu_ms;                     /* processor time that all of it may take; 0: any */
};

/* What became of it. */
struct bundle_copied {
    char *path;
    uint64_t bytes;
    uint64_t redactions;               /* how many values went */
    size_t changed;                    /* members that are not as they were collected */
    size_t unsearched;                 /* members that nothing looked into: traces, files of unknown kind */
    struct strlist unsearched_files;   /* of each of them `PATH: WHY`, printable */
    struct strlist unsearchable;       /* the same of those that should have been */
    char *manifest;                    /* of the copy: for what is said of it elsewhere */
    struct err undrawn;                /* ERR_NONE, or why the bundle's report.html is not in the copy */
    char fingerprint[SSH_FINGERPRINT]; /* of the key that signed; "" */
    struct err unsigned_because;       /* ERR_NONE, or why there is no signature, which was optional */
};

/*
 * Makes the copy. Each member is compared with the manifest on its way, so that a bundle that does not verify
 * is not handed off; redaction needs room beside the copy for what it changes, and for the largest member.
 * The manifest gets a `handoff`, README.md is written anew, and with `redact` so is
 * report.html; manifest and README.md say who handed what to whom. It is signed, then encrypted. Nothing is
 * left under any name unless all of it went well. Of a member that redaction cannot look into (it is too
 * large, or not what it is said to be) the copy says so, in its manifest, in README.md and in *ret; it goes
 * as it is, since whoever hands it off decides to whom.
 *
 * ERR_LIMIT: it takes more processor time than it may, or inflates to more than a bundle of its size does.
 * ERR_USAGE: the bundle is itself such a copy. A key that cannot sign: as sshsig_sign has it.
 */
int bundle_copy(const struct bundle_copy *how, struct bundle_copied *ret, struct err *err);
void bundle_copied_release(struct bundle_copied *c);

/* A line that goes elsewhere, such as an issue's title, without the secrets that a copy would not have: a new
 * string. */
int bundle_redact_line(const char *line, char **ret, struct err *err);

#endif
