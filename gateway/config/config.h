/*
 * ssh's configuration of a host and the route to it.
 *
 * `ssh -G` applies Match, Include and the defaults. Our settings (inventory, command line) override its
 * output. ssh_keywords.c parses that output, tokens.c expands its tokens, and route.c adds the jump hosts.
 */
#ifndef GATEWAY_CONFIG_CONFIG_H
#define GATEWAY_CONFIG_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "base/base.h"
#include "inventory/inventory.h"

/* ssh's policy for a host that is in no known_hosts file. A changed key is always refused. */
enum host_key_policy {
    HOST_KEY_STRICT,     /* refused */
    HOST_KEY_ACCEPT_NEW, /* trusted and written into the first known_hosts file */
};

enum address_family { ADDRESS_ANY, ADDRESS_IPV4, ADDRESS_IPV6 };

/*
 * The output of `ssh -T -G` for one address, overridden by our settings. We expand what ssh does not expand:
 * `~`, ${VARIABLES} and the tokens %% %C %d %h %i %j %k %l %L %n %p %r %u in identity and certificate files,
 * %% %h %k %n %p %r in the proxy command and the jumps.
 */
struct ssh_config {
    char *address;                 /* the requested address, [user@]host */
    struct ssh_settings requested; /* a copy of the requested settings, to start our own ssh with them */
    char *hostname;
    unsigned port;
    char *user;
    struct ssh_config_connect {
        enum address_family family;
        char *bind_address;  /* BindAddress; NULL: any */
        unsigned timeout_s;  /* ConnectTimeout; 0: not set */
        char *jump;          /* ProxyJump; NULL: none */
        char *proxy_command; /* a shell command; NULL: none */
        char *control_path;  /* the socket of the user's own `ssh -M`; NULL: none, or our settings
                                differ from its configuration */
    } connect;
    struct ssh_config_host_key {
        struct strlist files; /* known_hosts: the user's files, then the global ones */
        size_t n_user_files;  /* the number of the user's files; a new host is written into the first */
        char *alias;          /* HostKeyAlias; NULL: none */
        enum host_key_policy policy;
        bool hash_names; /* HashKnownHosts */
    } host_key;
    struct ssh_config_login {
        struct strlist identity_files;    /* after ssh_config_resolve: the file or FILE.pub exists */
        struct strlist certificate_files; /* the user's certificates; only existing files */
        bool identities_only;
        char *agent;    /* the agent's socket; NULL: no agent */
        bool publickey; /* PubkeyAuthentication allows this method; the next members likewise */
        bool password;  /* this and the next: false with BatchMode */
        bool keyboard_interactive;
        bool gssapi;               /* only OpenSSH can use it */
        bool hostbased;            /* only OpenSSH can use it */
        char *preferred;           /* PreferredAuthentications, a comma list; NULL: ssh's own order */
        unsigned password_prompts; /* NumberOfPasswordPrompts; 0 with BatchMode: no questions */
    } login;
    /* Comma lists of the allowed algorithms, ssh's preference first; NULL: any. */
    struct ssh_config_algorithms {
        char *key_exchanges;
        char *host_keys;
        char *ciphers;
        char *macs;
        char *keys; /* PubkeyAcceptedAlgorithms */
    } algorithms;
    bool compression;      /* always compress */
    bool compressible;     /* the caller expects compressible data: compress if the round trip is long */
    char only_openssh[64]; /* the setting that requires OpenSSH ("PKCS11Provider"), or "" */
};
/* Runs `ssh -G` for the address and applies our settings (NULL: none). */
int ssh_config_resolve(const char *address, const struct ssh_settings *settings,
                       const struct proc_limits *limits, struct ssh_config *ret, struct err *err);
/* Parses the output of `ssh -G`; `address` is for the token %n. */
int ssh_config_parse(const char *address, const void *p, size_t n, struct ssh_config *ret, struct err *err);
void ssh_config_release(struct ssh_config *c);

/* The route to a host: a direct connection, or one or more SSH hops, the host itself last. */
struct route {
    bool direct;
    char *address;    /* of a direct route */
    enum ssh_via via; /* never SSH_VIA_UNSET */
    struct ssh_config *hops;
    size_t n_hops;
};
/* Resolves the host and its jump hosts, each by its own `ssh -G`, at most 8 jump hosts. `override` (may be
 * NULL) has the command line's settings, which override the inventory's. */
int route_resolve(const struct host *host, const struct ssh_settings *override,
                  const struct proc_limits *limits, struct route *ret, struct err *err);
void route_release(struct route *r);

#endif
