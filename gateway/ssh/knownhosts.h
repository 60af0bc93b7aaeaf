/*
 * Known hosts, looked up by `ssh-keygen -F`.
 *
 * libssh2's own reader parses @revoked as a host name, ignores @cert-authority, wildcards and negation, and
 * stops at the first line that it cannot parse. So ssh-keygen finds the lines, and we compare their keys.
 */
#ifndef GATEWAY_SSH_KNOWNHOSTS_H
#define GATEWAY_SSH_KNOWNHOSTS_H

#include "base/base.h"
#include "keys/keys.h"

enum known_marker { KNOWN_MARKER_NONE, KNOWN_MARKER_REVOKED, KNOWN_MARKER_AUTHORITY };

struct known_key {
    enum known_marker marker;
    struct ssh_blob blob;
    char type[64];
    char *file;
    unsigned line;
    bool portless; /* the line has the bare host name, although the server's port is not 22 */
};

struct known_hosts {
    struct known_key *items;
    size_t n;
    size_t cap;
};

/* The name of a server in the files. */
struct known_name {
    const char *host;
    unsigned port; /* 0: the name alone */
};

/* Collects all keys of the host from the files. Like OpenSSH, searches for `[host]:port` first, unless the
 * port is 22 or 0; then for the bare host, unless the first search found a key. Skips missing files. */
int known_hosts_find(const struct strlist *files, struct known_name name, const struct proc_limits *limits,
                     struct known_hosts *ret, struct err *err);
void known_hosts_release(struct known_hosts *k);

/* Parses the output of `ssh-keygen -F` for one file and adds its keys. Skips lines that it cannot parse. */
int known_hosts_parse(struct known_hosts *k, const char *file, const char *text, struct err *err);

/* Ordered by strength: the strongest of several lines decides. */
enum known_status {
    KNOWN_NEW,         /* no key of the host is known */
    KNOWN_OTHER_TYPES, /* only keys of other types are known; OpenSSH treats the key as changed */
    KNOWN_CHANGED,
    KNOWN_TRUSTED,
    KNOWN_REVOKED,
};

/* Compares the key with the known keys. *ret (`ret` may be NULL) is the known key that decides, NULL for a
 * new host. A different key under the bare name may belong to another server, so it does not count as a
 * change. */
enum known_status known_hosts_compare(const struct known_hosts *k, const struct ssh_blob *key,
                                      const struct known_key **ret);

/* Checks that the host may be trusted with this key. Else ERR_HOST_KEY with both fingerprints, file and line.
 * `server` is the host's name for the message, `files` are the searched files. */
int known_hosts_check(const struct known_hosts *k, const struct ssh_blob *key, const char *server,
                      const struct strlist *files, struct err *err);

/* Fails with ERR_UNSUPPORTED if the files have only a certificate authority for the host: libssh2 cannot
 * check host certificates, OpenSSH can. */
int known_hosts_check_usable(const struct known_hosts *k, struct err *err);

/* A host's key to append to a file. */
struct known_addition {
    const char *file;
    const char *host; /* its name or its alias */
    unsigned port;    /* 0: any port, as for an alias */
    const struct ssh_blob *key;
    bool hashed; /* write only a hash of the name (HashKnownHosts) */
};

/*
 * Locks the file (flock), searches it again and appends the line. Writes nothing if the file has the key by
 * now; returns ERR_HOST_KEY if it has another key of the host. Creates the file and its directory if they are
 * missing. After any other failure except ERR_CANCELLED the caller still trusts the host, but the next login
 * does not know it. A file that is not regular (/dev/null) is a failure, because it stores nothing.
 */
int known_hosts_add(const struct known_addition *a, const struct proc_limits *limits, struct err *err);

/* Writes the host key algorithms to offer: the known types first, then the others. Returns dst. */
char *known_hosts_preference(const struct known_hosts *k, char *dst, size_t cap);

#endif
