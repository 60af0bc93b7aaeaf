/*
 * The inventory: which services run on which hosts, and how to reach the hosts.
 *
 * The parser of the YAML file (docs/inventory.md) is strict: an unknown or repeated key, a wrong type, an
 * anchor or an alias is an error with file:line:column and the nearest valid key. Hosts and services are
 * resolved to targets (host x service) before any connection. SSH settings here override the user's own
 * configuration (gateway/config).
 *
 * Selection and discovery add hosts and services. Afterwards everything is read-only, so threads may share
 * it.
 */
#ifndef INVENTORY_INVENTORY_H
#define INVENTORY_INVENTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"
#include "inventory/address.h"
#include "inventory/ssh_settings.h"

/* The check of a service's certificate, and our own certificate. Files are PEM, paths absolute. */
struct service_tls {
    char *ca;          /* the authorities to trust; NULL: the system's */
    char *cert;        /* our certificate; NULL: none */
    char *key;         /* its key; NULL: in the certificate's file */
    char *server_name; /* the name to request and to check; NULL: the service's host */
    bool insecure;     /* do not check the certificate */
};

/* Authentication: basic with a user's name, else a bearer token. */
struct service_auth {
    char *user;               /* NULL: bearer */
    struct secret_ref secret; /* the password or the token; SECRET_NONE: none is sent */
};

struct source;

struct label {
    char *name;
    char *value;
};

/* A service with profiles, at an address as the far host sees it. */
#define SERVICE_PATH "/debug/pprof"
struct service {
    char *name;
    char *family;                /* the common name of several discovered services on its host; NULL: none */
    const struct source *source; /* the source that listed it (discovery.h); NULL: the inventory itself */
    char *host;                  /* destination as the far host sees it; "localhost" by default */
    bool host_named;             /* the inventory sets host, it is not the default */
    unsigned port;               /* 1 to 65535; 0 with a Unix socket */
    char *unix_path;             /* a Unix socket on the far side instead of host and port; NULL: none */
    bool https;                  /* scheme: https */
    bool adhoc;                  /* made of a port or socket of the selection, not in the inventory */
    struct service_tls tls;
    struct service_auth auth;
    char *path;  /* pprof's path with a leading and without a trailing slash, "" for the root; SERVICE_PATH by
                    default */
    char *query; /* "a=1&b=2", escaped: added to every request; NULL: nothing */
    char *host_header;    /* NULL: the destination */
    char *hint;           /* the hint for a service that does not answer; NULL: none */
    struct strlist kinds; /* the kinds to fetch if the user names none; may be empty */
    struct label *labels; /* of its target, if a source listed it */
    size_t n_labels;
};

struct host {
    char *name;    /* for messages and paths */
    char *address; /* for `ssh -G`, or for a direct connection */
    bool direct;   /* connect: direct; without SSH */
    bool outside;  /* not in the inventory: the user gave its address */
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
    char *url; /* https://HOST[:PORT][/PATH], without a trailing slash; http:// only with a loopback host */
    struct secret_ref token;
    char *ca; /* the authorities to trust, PEM, absolute; NULL: the system's */
};
const char *tracker_kind_name(enum tracker_kind kind);

/* An encryption recipient: a key itself ("age1...", "ssh-ed25519 AAAA..."), or a file of keys. */
struct recipient {
    char *text; /* of a file: its path, absolute */
    bool file;
    size_t line; /* its line in the inventory */
};
struct recipient_list {
    struct recipient *items;
    size_t n;
    size_t cap;
};

/* The maximum length of a project's name, so that it fits, encoded, into the URLs of requests. */
#define TRACKER_PROJECT_MAX 180

/* The recipients of bundles. */
struct team {
    char *name;
    struct recipient_list recipients;
    const struct tracker *tracker; /* NULL: none */
    char *project; /* the tracker's name for it: "group/project", an identifier, a queue; NULL only without a
                      tracker; at most TRACKER_PROJECT_MAX bytes */
    struct strlist labels;
    struct strlist assignees;
    bool signature_required; /* nothing is handed over without a signature */
};

/* The user that collects. */
struct self {
    struct recipient_list recipients; /* added to every team's */
    char *sign_with;                  /* a key file or its FILE.pub, absolute; NULL: nothing is signed */
};

/* The maximum number of hosts in an inventory, with expanded ranges. */
#define INVENTORY_MAX_HOSTS 100000

struct inventory;

/*
 * Finds the inventory: `option` if not NULL (it must exist), else $PROFGRAB_INVENTORY (must exist), else
 * $XDG_CONFIG_HOME/profgrab/inventory.yaml (~/.config without that variable), else
 * /etc/profgrab/inventory.yaml. Never the working directory. *ret is NULL if there is none; the caller frees
 * it.
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
 * Reads an inventory; a NULL path makes an empty one. Refuses (ERR_USAGE) a file that belongs to neither the
 * user nor root, or that others can write. Every error about its content is ERR_USAGE.
 *
 * `mistakes` receives at most MISTAKES_MAX mistakes; err is then the only one, or their number. With NULL,
 * reading ends at the first mistake.
 */
int inventory_load(const char *path, struct mistakes *mistakes, struct inventory **ret, struct err *err);
/* The same for bytes; `name` is for messages. inventory_parse ends at the first mistake. */
int inventory_parse_all(const char *name, struct str text, struct mistakes *mistakes, struct inventory **ret,
                        struct err *err);
int inventory_parse(const char *name, const void *p, size_t n, struct inventory **ret, struct err *err);
void inventory_free(struct inventory *inv);

/* All hosts, in the order of the file. */
const struct host *const *inventory_hosts(const struct inventory *inv, size_t *ret_n);
/* The name of group, service or team i of the file; NULL after the last. */
const char *inventory_group_name(const struct inventory *inv, size_t i);
const char *inventory_service_name(const struct inventory *inv, size_t i);
const char *inventory_team_name(const struct inventory *inv, size_t i);
/* Adds all labels of its hosts, as NAME=VALUE, each once. */
int inventory_labels(const struct inventory *inv, struct strlist *ret, struct err *err);
/* ERR_USAGE with the nearest names for an unknown name. */
int inventory_team(const struct inventory *inv, const char *name, const struct team **ret, struct err *err);
int inventory_tracker(const struct inventory *inv, const char *name, const struct tracker **ret,
                      struct err *err);
/* Never NULL; empty if the file has no such section. */
const struct self *inventory_self(const struct inventory *inv);
/* Its file; NULL for an empty one. */
const char *inventory_path(const struct inventory *inv);

struct target {
    const struct host *host;
    const struct service *service;
};

struct targets {
    struct target *items; /* grouped by host, each pair once */
    size_t n;
    size_t cap;
    size_t sampled_of; /* the number of hosts before sampling; 0: no sample */
};

struct selection {
    struct strlist
        hosts; /* names, globs (`file-*`), ranges (`file-[04-06]`), or [user@]address outside the inventory */
    struct strlist groups;
    /* Keeps only hosts with these labels, each NAME=VALUE. A host must have every name with one of its
     * values. Without hosts and groups, filters all hosts of the inventory. */
    struct strlist labels;
    struct strlist exclude;  /* names, globs, ranges, groups to exclude */
    unsigned sample;         /* keep this many hosts, chosen at random, in order; 0: all */
    unsigned max_hosts;      /* more are refused; 0: any number */
    struct strlist services; /* empty: all of the host's */
    /* An additional service on every selected host, outside the inventory: a port makes `port-N`, a socket at
     * /run/app/debug.sock `unix-debug.sock`, with `-2`, `-3`, ... if the name is taken. */
    unsigned port;               /* 0: none */
    const char *unix_path;       /* NULL: none; not together with a port */
    const char *path;            /* pprof's path there; NULL: the default */
    bool https;                  /* over TLS, with the system's authorities */
    const struct source *source; /* use only its services (inventory_use_source); NULL: any */
};

/*
 * Resolves a selection. An unknown host, group or service is ERR_USAGE with the nearest names as a hint. A
 * host outside the inventory is an address for ssh if `port`, `unix_path` or `services` is set (its name is
 * the address without `user@`). The inventory owns the hosts and services that the call creates. Host names
 * ignore case.
 *
 * Also ERR_USAGE: a selected host without services; two hosts of one name; a port together with a socket;
 * `path` or `https` without either; an invalid `path`; a label that no host has; an exclusion that matches no
 * host of the inventory or the selection; an exclusion of all hosts; more than `max_hosts`.
 */
int inventory_select(struct inventory *inv, const struct selection *sel, struct targets *ret,
                     struct err *err);
/* Finds the hosts that match a glob, range or group name; NULL: all. ERR_USAGE for a name in a range that no
 * host has, and for a glob without a match. Free `*ret` with free(). */
int inventory_match(const struct inventory *inv, const char *pattern, const struct host ***ret, size_t *ret_n,
                    struct err *err);
/* Keeps only the hosts that pass the selection's labels and exclusions, in place and in order; errors as in
 * inventory_select. */
int inventory_filter(const struct inventory *inv, const struct selection *sel, const struct host **hosts,
                     size_t *n, struct err *err);
/* Removes, in place and in order, the hosts that an earlier selection's exclusions match. Here they may match
 * none or all. */
int inventory_exclude(const struct inventory *inv, const struct strlist *exclude, const struct host **hosts,
                      size_t *n, struct err *err);
void targets_release(struct targets *t);
size_t targets_hosts(const struct targets *t);
void selection_release(struct selection *sel);

/* Checks whether both have the same address on their host, so are one process. */
bool service_is_beside(const struct service *a, const struct service *b);

/* Hosts of different names that are probably one machine: they have the same address, port, jump hosts, known
 * hosts and ssh configuration, and services at the same address. Each such process would be fetched twice. */
struct duplicate_hosts {
    const struct host **hosts; /* two or more, in the targets' order */
    size_t n;
    size_t cap;
};
struct duplicate_hosts_list {
    struct duplicate_hosts *items;
    size_t n;
    size_t cap;
};
int targets_find_duplicates(const struct targets *t, struct duplicate_hosts_list *ret, struct err *err);
void duplicate_hosts_release(struct duplicate_hosts_list *l);

#include "inventory/discovery.h"

#endif
