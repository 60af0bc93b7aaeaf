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
#include "keys/keys.h"

enum known_marker { KNOWN_PLAIN, KNOWN_REVOKED, KNOWN_AUTHORITY };

struct known_key {
    enum known_marker marker;
    struct ssh_blob blob;
    char type[64];
    char *file;
    unsigned line;
    bool portless; /* of the host's name alone, though another port than SSH's own was asked for */
};

struct known_hosts {
    struct known_key *items;
    size_t n;
    size_t cap;
};

/*
 * Everything the files say about the host: the name as `[host]:port` unless the port is 22 (or 0), then, when
 * that has no key, the bare host, as OpenSSH does. Files that do not exist are passed over.
 */
int known_hosts_find(const struct strlist *files, const char *host, unsigned port,
                     const struct proc_limits *limits, struct known_hosts *ret, struct err *err);
void known_hosts_release(struct known_hosts *k);

/* Reads what `ssh-keygen -F` printed for one file and adds its keys. Lines it cannot read are passed over. */
int known_hosts_parse(struct known_hosts *k, const char *file, const char *text, struct err *err);

/* The stronger the later: what several lines say together is what the strongest says. */
enum known_status {
    KNOWN_NEW,         /* no key of the host is known */
    KNOWN_OTHER_TYPES, /* only keys of other types are; for OpenSSH that is a changed key too */
    KNOWN_CHANGED,
    KNOWN_TRUSTED,
    KNOWN_REFUSED, /* the key is revoked */
};

/* What the files make of the key. *ret (may be NULL) is the line that says so, NULL for a new host. Under the
 * bare name another key may be known for another server, so that makes the host no changed one. */
enum known_status known_hosts_judge(const struct known_hosts *k, const struct ssh_blob *key,
                                    const struct known_key **ret);

/*
 * Whether the host may be trusted with this key. ERR_HOST_KEY with both fingerprints, file and line if not;
 * `where` is how the message names the host, `files` are those that were looked into.
 */
int known_hosts_check(const struct known_hosts *k, const struct ssh_blob *key, const char *where,
                      const struct strlist *files, struct err *err);

/* ERR_UNSUPPORTED when nothing but a certificate authority is known for the host, which says nothing to
 * libssh2: a certificate is what OpenSSH can judge. */
int known_hosts_usable(const struct known_hosts *k, struct err *err);

/* A host's key, to be written down. */
struct known_addition {
    const char *file;
    const char *host; /* its name or its alias */
    unsigned port;    /* 0: the name stands for any, as an alias does */
    const struct ssh_blob *key;
    bool hashed; /* HashKnownHosts: the name cannot be read in the file */
};

/*
 * Appends the line, under a lock (flock) and after another look: what somebody else wrote meanwhile is not
 * written twice, and ERR_HOST_KEY when that is another key. The file, and the directory it is in, are made if
 * they are missing. Any other failure, ERR_CANCELLED excepted, leaves the host as trusted as it was: it only
 * is not known the next time. What is no regular file (/dev/null) keeps nothing, which is a failure.
 */
int known_hosts_add(const struct known_addition *a, const struct proc_limits *limits, struct err *err);

/* Writes the host key algorithms to offer: the known types first, then the others. Returns dst. */
char *known_hosts_preference(const struct known_hosts *k, char *dst, size_t cap);

#endif
