/*
 * The inventory: which services run on which hosts, and how to reach those.
 *
 * A YAML file (docs/inventory.md has its form) is read strictly: an unknown or repeated key, a wrong type, an
 * anchor or an alias is an error with file:line:column and the nearest valid key. Hosts and services are
 * resolved to targets (host x service) before anything is opened. SSH settings come from the user's own
 * configuration through `ssh -G`; the inventory's win over it.
 *
 * Everything here is read-only once made, so threads may share it.
 */
#ifndef INVENTORY_INVENTORY_H
#define INVENTORY_INVENTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"

/* How a service's certificate is judged, and ours shown. Files are PEM, paths absolute. */
struct service_tls {
    char *ca;          /* the authorities to trust instead of the system's; NULL: those */
    char *cert;        /* our certificate; NULL: none */
    char *key;         /* its key; NULL: it is in the certificate's file */
    char *server_name; /* the name to ask for and to check; NULL: the service's host */
    bool insecure;     /* the certificate is not checked */
};

/* Who asks: basic authentication with a user's name, else a bearer token. */
struct service_auth {
    char *user;               /* NULL: bearer */
    struct secret_ref secret; /* the password or the token; SECRET_NONE: nothing is sent */
};

struct source;

struct label {
    char *name;
    char *value;
};

/* A service that offers profiles: where it listens, as the far host sees it. */
#define SERVICE_PATH "/debug/pprof"
struct service {
    char *name;
    char *family; /* the name it has in common with others that were found on its host; NULL: its own */
    const struct source *source; /* who says that it is there (discovery.h); NULL: the inventory itself */
    char *host;                  /* destination as the far host sees it; "localhost" by default */
    bool host_named;             /* the inventory says so, it is not the default */
    unsigned port;               /* 1 to 65535; 0 with a Unix socket */
    char *unix_path;             /* a Unix socket on the far side instead of host and port; NULL: none */
    bool https;                  /* scheme: https */
    bool oneoff;                 /* made of a port or socket that was named: it is not the inventory's */
    struct service_tls tls;
    struct service_auth auth;
    char *path;           /* where pprof lives, begins with a slash, ends without, so "" for the root;
                             SERVICE_PATH by default */
    char *query;          /* "a=1&b=2", escaped: what every request has beside its own; NULL: nothing */
    char *host_header;    /* NULL: the destination */
    char *hint;           /* NULL, or what to tell the user when it does not answer */
    struct strlist kinds; /* what to fetch when no kind is named; may be empty */
    struct label *labels; /* of its target, where a source says that it is there */
    size_t n_labels;
};

/* What carries SSH to a host. */
enum ssh_via {
    SSH_VIA_UNSET,
    SSH_VIA_AUTO,    /* libssh2, and OpenSSH where that cannot do what it takes; the default */
    SSH_VIA_LIBSSH2, /* nothing else */
    SSH_VIA_OPENSSH, /* the workstation's own `ssh` */
};

/* Whether what comes is compressed on the way. */
enum ssh_compress {
    SSH_COMPRESS_AUTO, /* where the configuration says so, or the line is long and what comes shrinks */
    SSH_COMPRESS_YES,
    SSH_COMPRESS_NO,
};

/* SSH settings of the inventory or the command line; NULL and 0 mean "as the user's configuration says". */
struct ssh_settings {
    char *user;
    unsigned port;
    char *identity;    /* the only key file to offer */
    char *known_hosts; /* the only file of known hosts */
    char *jump;        /* ProxyJump's form: [user@]host[:port],...; "none" for none */
    char *agent;       /* path of the agent's socket; "none" for no agent */
    char *config;      /* for `ssh -F` */
    enum ssh_via via;
    enum ssh_compress compress; /* of the host itself, not of its jump hosts */
    bool accept_new;            /* a host that is not known yet is trusted, and written down as known */
};

/* What "auto", "libssh2" and "openssh" mean; ERR_USAGE for another word. `what` is how the message names it.
 */
int ssh_via_parse(const char *what, const char *word, enum ssh_via *ret, struct err *err);

struct host {
    char *name;    /* shown, and used in paths */
    char *address; /* given to `ssh -G`, or connected to by a direct route */
    bool direct;   /* connect: direct; no SSH at all */
    bool outside;  /* it is not the inventory's: its address was named instead */
    struct ssh_settings ssh;
    const struct service **services;
    size_t n_services;
    struct label *labels;
    size_t n_labels;
};

/* Where issues are filed. */
enum tracker_kind { TRACKER_GITLAB, TRACKER_REDMINE, TRACKER_RT };
struct tracker {
    char *name;
    enum tracker_kind kind;
    char *url; /* https://HOST[:PORT][/PATH], no slash at the end; http:// only with a loopback host */
    struct secret_ref token;
    char *ca; /* the authorities to trust instead of the system's, PEM, absolute; NULL: those */
};
const char *tracker_kind_name(enum tracker_kind kind);

/* Somebody to encrypt to: a key itself ("age1...", "ssh-ed25519 AAAA..."), or a file of such. */
struct recipient {
    char *text; /* of a file: its path, absolute */
    bool file;
    size_t line; /* where it stands in the inventory */
};
struct recipient_list {
    struct recipient *items;
    size_t n;
    size_t cap;
};

/* How long a project's name may be, so that it fits, encoded, into the addresses of requests. */
#define TRACKER_PROJECT_MAX 180

/* Those who receive bundles. */
struct team {
    char *name;
    struct recipient_list recipients;
    const struct tracker *tracker; /* NULL: none */
    char *project;                 /* as the tracker calls it: "group/project", an identifier, a queue; NULL
                                      only without a tracker; at most TRACKER_PROJECT_MAX bytes */
    struct strlist labels;
    struct strlist assignees;
    bool signature_required; /* nothing is handed over without a signature */
};

/* Whoever collects. */
struct self {
    struct recipient_list recipients; /* added to every team's */
    char *sign_with;                  /* a key file or its FILE.pub, absolute; NULL: nothing is signed */
};

/* The most hosts an inventory may name, ranges expanded. */
#define INVENTORY_MAX_HOSTS 100000

struct inventory;

/*
 * Finds the inventory: `option` if not NULL (it must exist), else $PROFGRAB_INVENTORY (must exist), else
 * $XDG_CONFIG_HOME/profgrab/inventory.yaml (~/.config without that variable), else
 * /etc/profgrab/inventory.yaml. Never the working directory. *ret is a new string, NULL when there is none.
 */
int inventory_find(const char *option, char **ret, struct err *err);

/* The mistakes of an inventory file: ERR_USAGE each, beginning with file:line:column, in the order of the
 * file. */
#define MISTAKES_MAX 20
struct mistakes {
    struct err items[MISTAKES_MAX];
    size_t n;
};

/*
 * Reads an inventory; a NULL path makes an empty one. Refuses (ERR_USAGE) files that others than their owner,
 * who must be the user or root, can write. Every error about its content is ERR_USAGE.
 *
 * `mistakes` (may be NULL: reading ends at the first one) gets all that were found, at most MISTAKES_MAX; err
 * then is the only one, or says how many there are.
 */
int inventory_load(const char *path, struct mistakes *mistakes, struct inventory **ret, struct err *err);
/* The same over bytes; `name` stands in the messages. inventory_parse ends at the first mistake. */
int inventory_parse_all(const char *name, struct str text, struct mistakes *mistakes, struct inventory **ret,
                        struct err *err);
int inventory_parse(const char *name, const void *p, size_t n, struct inventory **ret, struct err *err);
void inventory_free(struct inventory *inv);

/* All hosts, in the order of the file. */
const struct host *const *inventory_hosts(const struct inventory *inv, size_t *ret_n);
/* The name of group, service or team number i of the file; NULL behind the last. */
const char *inventory_group_name(const struct inventory *inv, size_t i);
const char *inventory_service_name(const struct inventory *inv, size_t i);
const char *inventory_team_name(const struct inventory *inv, size_t i);
/* Adds all labels of its hosts, as NAME=VALUE, each once. */
int inventory_labels(const struct inventory *inv, struct strlist *ret, struct err *err);
/* ERR_USAGE with the nearest names when there is none of that name. */
int inventory_team(const struct inventory *inv, const char *name, const struct team **ret, struct err *err);
int inventory_tracker(const struct inventory *inv, const char *name, const struct tracker **ret,
                      struct err *err);
/* Never NULL; empty if the file says nothing. */
const struct self *inventory_self(const struct inventory *inv);
/* The file it came from; NULL for an empty one. */
const char *inventory_path(const struct inventory *inv);

/* Whether the name or IP address means the machine itself. */
bool address_is_loopback(const char *address);

struct target {
    const struct host *host;
    const struct service *service;
};

struct targets {
    struct target *items; /* grouped by host, each pair once */
    size_t n;
    size_t cap;
    size_t sampled_of; /* how many hosts there were before a sample was taken of them; 0: none was */
};

struct selection {
    struct strlist
        hosts; /* names, globs (`file-*`), ranges (`file-[04-06]`), or [user@]address outside the inventory */
    struct strlist groups;
    /* Which of those; without any, of all hosts of the inventory. Each is NAME=VALUE: a host must have all
     * the names, each with one of its values. */
    struct strlist labels;
    struct strlist exclude;  /* names, globs, ranges, groups: not those */
    unsigned sample;         /* so many of them, at random, in their order; 0: all */
    unsigned max_hosts;      /* more are refused; 0: any number */
    struct strlist services; /* empty: all of the host's */
    /* A service of its own on every selected host, not of the inventory: a port makes `port-N`, a socket at
     * /run/app/debug.sock `unix-debug.sock`, with `-2`, `-3`, ... behind where such a name is taken. */
    unsigned port;               /* 0: none */
    const char *unix_path;       /* NULL: none; not together with a port */
    const char *path;            /* where pprof lives there; NULL: the default */
    bool https;                  /* over TLS, judged by the system's authorities */
    const struct source *source; /* only services that it says (inventory_use_source); NULL: any */
};

/*
 * Resolves a selection. An unknown host, group or service is ERR_USAGE with the nearest names as a hint;
 * a host that is not in the inventory is taken as an address for ssh when `port`, `unix_path` or `services`
 * says what to fetch there (its name is then the address without `user@`). Hosts and services made on the way
 * belong to the inventory. With no service at all on a selected host, or two hosts of one name: ERR_USAGE. So
 * are a port together with a socket, `path` or `https` without either, and what cannot be such a path; a
 * label that no host has, an exclusion that matches no host of the inventory or the selection, one that
 * leaves nothing, and more than `max_hosts`. Host names are found without regard to case.
 */
int inventory_select(struct inventory *inv, const struct selection *sel, struct targets *ret,
                     struct err *err);
/* Hosts whose name matches the glob, range or group name; NULL pattern: all. A name that a range spells out
 * but no host has, and a glob that matches nothing, are ERR_USAGE. `*ret` is freed with free(). */
int inventory_match(const struct inventory *inv, const char *pattern, const struct host ***ret, size_t *ret_n,
                    struct err *err);
/* Of those hosts only what the selection's labels and exclusions leave, in place and in order; errors as
 * inventory_select has them. */
int inventory_narrow(const struct inventory *inv, const struct selection *sel, const struct host **hosts,
                     size_t *n, struct err *err);
/* Leaves out, in place and in order, those that a selection's exclusions mean which was made before: here
 * they may mean none of them, or all. */
int inventory_leave_out(const struct inventory *inv, const struct strlist *exclude, const struct host **hosts,
                        size_t *n, struct err *err);
void targets_release(struct targets *t);
size_t targets_hosts(const struct targets *t);
void selection_release(struct selection *sel);

/* Whether both listen at one place of their host, so are one process. */
bool service_is_beside(const struct service *a, const struct service *b);

/* Hosts of several names that are one machine, as far as the inventory tells: address, port, jump hosts,
 * known hosts and ssh's configuration are the same, and so is where a service of theirs listens. So one
 * process is asked twice. */
struct twins {
    const struct host **hosts; /* two or more, in the targets' order */
    size_t n;
    size_t cap;
};
struct twins_list {
    struct twins *items;
    size_t n;
    size_t cap;
};
int targets_twins(const struct targets *t, struct twins_list *ret, struct err *err);
void twins_release(struct twins_list *l);

/* What ssh does with a host that no file of known hosts names. One whose key changed is always refused. */
enum host_key_policy {
    HOST_KEY_STRICT,     /* refused */
    HOST_KEY_ACCEPT_NEW, /* trusted and written into the first file of known hosts */
};

enum address_family { ADDRESS_ANY, ADDRESS_IPV4, ADDRESS_IPV6 };

/*
 * What `ssh -T -G` says of one address, with the settings on top, and with what ssh leaves to its caller
 * expanded: `~`, ${VARIABLES} and the tokens %% %C %d %h %i %j %k %l %L %n %p %r %u in identity and
 * certificate files, %% %h %k %n %p %r in the proxy command and the jumps.
 */
struct ssh_config {
    char *address;             /* as it was asked for, [user@]host */
    struct ssh_settings asked; /* what it was asked with, strings of its own: for whoever runs ssh itself */
    char *hostname;
    char *user;
    unsigned port;
    enum address_family family;
    char *bind_address;         /* BindAddress; NULL: any */
    unsigned connect_timeout_s; /* 0: not set */

    struct strlist
        identity_files; /* after ssh_config_resolve only those of which the file or FILE.pub exists */
    struct strlist certificate_files; /* the user's certificates; only those that exist */
    bool identities_only;
    char *agent;    /* NULL: no agent */
    bool publickey; /* PubkeyAuthentication, and so on: may it be used? */
    bool password;  /* this and the next: not with BatchMode either */
    bool keyboard_interactive;
    bool gssapi;               /* only OpenSSH can */
    bool hostbased;            /* only OpenSSH can */
    char *preferred;           /* PreferredAuthentications, a comma list; NULL: ssh's own order */
    unsigned password_prompts; /* NumberOfPasswordPrompts; 0 with BatchMode: nothing is asked */

    struct strlist known_hosts; /* user's files, then the global ones */
    size_t n_user_known_hosts;  /* how many are the user's; a new host is written into the first of them */
    char *host_key_alias;       /* NULL: none */
    enum host_key_policy host_key_policy;
    bool hash_known_hosts; /* how a new one is written */

    /* Comma lists of what may be used, ssh's preference first; NULL: anything. */
    char *key_exchanges;
    char *host_key_types;
    char *ciphers;
    char *macs;
    char *key_types; /* PubkeyAcceptedAlgorithms */

    bool compression;    /* wanted in any case */
    bool shrinks;        /* set by who knows that text or traces will come: compressed on a long line */
    char *proxy_jump;    /* NULL: none */
    char *proxy_command; /* what a shell runs; NULL: none */
    char *control_path;  /* where the user's own `ssh -M` may listen; NULL: nowhere, or it was made otherwise
                            than the settings say */
    char only_openssh[64]; /* the setting for whose sake only OpenSSH can do it ("PKCS11Provider"), or "" */
};
int ssh_config_resolve(const char *address, const struct ssh_settings *settings,
                       const struct proc_limits *limits, struct ssh_config *ret, struct err *err);
/* The parser behind it, over what `ssh -G` printed; `address` for the token %n. */
int ssh_config_parse(const char *address, const void *p, size_t n, struct ssh_config *ret, struct err *err);
void ssh_config_release(struct ssh_config *c);

/* The whole way to a host: a direct connection, or one or more SSH hops, the host itself last. */
struct route {
    bool direct;
    char *address;    /* of a direct route */
    enum ssh_via via; /* never SSH_VIA_UNSET */
    struct ssh_config *hops;
    size_t n_hops;
};
/* Resolves jump hosts too, each by its own `ssh -G`, at most 8 deep. `override` (may be NULL) is the command
 * line's and wins over the inventory's. */
int route_resolve(const struct host *host, const struct ssh_settings *override,
                  const struct proc_limits *limits, struct route *ret, struct err *err);
void route_release(struct route *r);

#include "inventory/discovery.h"

#endif
