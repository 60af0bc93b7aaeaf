/* SSH settings of the inventory or the command line. They override ssh's own configuration. */
#ifndef INVENTORY_SSH_SETTINGS_H
#define INVENTORY_SSH_SETTINGS_H

#include <stdbool.h>

#include "base/base.h"

/* The SSH implementation that connects to a host. */
enum ssh_via {
    SSH_VIA_UNSET,
    SSH_VIA_AUTO,    /* libssh2, and OpenSSH if libssh2 lacks a feature; the default */
    SSH_VIA_LIBSSH2, /* libssh2 only */
    SSH_VIA_OPENSSH, /* the local `ssh` only */
};

/* Compression of the data from the host. */
enum ssh_compress {
    SSH_COMPRESS_AUTO, /* if the configuration enables it, or for compressible data if the round trip is long
                        */
    SSH_COMPRESS_YES,
    SSH_COMPRESS_NO,
};

/* SSH settings of the inventory or the command line; NULL and 0 mean the user's configuration. */
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
    bool accept_new;            /* trust unknown hosts and write their keys to known_hosts */
};

/* Parses "auto", "libssh2" and "openssh"; ERR_USAGE for another word. `what` is the name of the setting in
 * the message. */
int ssh_via_parse(const char *what, const char *word, enum ssh_via *ret, struct err *err);

/* Copies the settings with their strings. */
int ssh_settings_copy(const struct ssh_settings *s, struct ssh_settings *ret, struct err *err);
/* Releases a copy, or settings that were read from an inventory. */
void ssh_settings_release(struct ssh_settings *s);

/* Returns the values of `overrides` (may be NULL) where set, else those of `base`. The result owns
 * nothing. */
struct ssh_settings ssh_settings_merge(const struct ssh_settings *base, const struct ssh_settings *overrides);

#endif
