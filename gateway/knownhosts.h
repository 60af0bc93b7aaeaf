/*
 * Known hosts, looked up by `ssh-keygen -F`.
 *
 * libssh2's own reader takes @revoked for a host name, ignores @cert-authority, wildcards and negation and
 * loses the rest of a file behind a line it does not like, so the lookup is OpenSSH's; the keys on the lines
 * it finds are compared here.
 */
#ifndef GATEWAY_KNOWNHOSTS_H
#define GATEWAY_KNOWNHOSTS_H

#include "base/base.h"
#include "gateway/sshwire.h"

enum known_marker { KNOWN_PLAIN, KNOWN_REVOKED, KNOWN_AUTHORITY };

struct known_key {
    enum known_marker marker;
    struct ssh_blob blob;
    char type[64];
    char *file;
    unsigned line;
};

struct known_hosts {
    struct known_key *items;
    size_t n;
    size_t cap;
};

/*
 * Everything the files say about the host: the name as `[host]:port` unless the port is 22 (or 0), then, when
 * that names no key, the bare host, as OpenSSH does. Files that do not exist are passed over.
 */
int known_hosts_find(const struct strlist *files, const char *host, unsigned port,
                     const struct proc_limits *limits, struct known_hosts *ret, struct err *err);
void known_hosts_release(struct known_hosts *k);

/* Reads what `ssh-keygen -F` printed for one file and adds its keys. Lines it cannot read are passed over. */
int known_hosts_parse(struct known_hosts *k, const char *file, const char *text, struct err *err);

/*
 * Whether the host may be trusted with this key. ERR_HOST_KEY with both fingerprints, file and line if not;
 * `where` is how the message names the host, `files` are for its hint.
 */
int known_hosts_check(const struct known_hosts *k, const struct ssh_blob *key, const char *where,
                      const struct strlist *files, struct err *err);

/* The line that vouches for the key, NULL if none does; one that revokes it is not looked at. */
const struct known_key *known_hosts_match(const struct known_hosts *k, const struct ssh_blob *key);

/* Writes the host key algorithms to offer: the known types first, then the others. Returns dst. */
char *known_hosts_preference(const struct known_hosts *k, char *dst, size_t cap);

#endif
