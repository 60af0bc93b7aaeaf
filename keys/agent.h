/*
 * A client of the SSH agent (draft-miller-ssh-agent): lists the keys and requests signatures.
 *
 * profgrab does not use libssh2's client of the agent, because it has no deadline: an agent that hangs would
 * block profgrab.
 */
#ifndef KEYS_AGENT_H
#define KEYS_AGENT_H

#include "base/base.h"
#include "keys/sshwire.h"

struct agent_key {
    struct ssh_blob blob; /* the public key */
    char type[64];
};

struct agent {
    int fd;        /* -1 after a failed exchange */
    int cancel_fd; /* -1: none */
    struct agent_key *keys;
    size_t n_keys;
    size_t cap_keys;
};

/* Connects to the agent's socket and lists its keys. */
int agent_open(const char *path, int64_t deadline, int cancel_fd, struct agent *ret, struct err *err);
void agent_release(struct agent *a);

/* A request for a signature. */
struct agent_request {
    const struct ssh_blob *key; /* the public half of the key that signs */
    const char *algorithm;      /* selects the hash of an RSA key, as in privkey_sign */
    struct ssh_blob data;       /* the bytes to sign */
    int64_t deadline;           /* must leave the user time to touch or confirm the key */
    /* Called once if there is no answer after a second, to remind the user to touch or confirm the key. May
     * be NULL. */
    void (*on_slow)(void *ctx);
    void *slow_ctx;
};
/* Requests a signature. *ret is the inner signature, without the name of its algorithm, in memory from
 * malloc, as libssh2 needs it. */
int agent_sign(struct agent *a, const struct agent_request *request, struct ssh_blob *ret, struct err *err);

/* Works like agent_sign, but *ret is the complete wire format: the algorithm's name, the inner signature, and
 * for a FIDO key the flags and the counter. */
int agent_sign_blob(struct agent *a, const struct agent_request *request, struct ssh_blob *ret,
                    struct err *err);

/* Parses a whole answer message with the list of keys, and adds the keys to a->keys. Ignores keys after the
 * 64th. */
int agent_parse_keys(struct agent *a, const void *p, size_t n, struct err *err);

#endif
