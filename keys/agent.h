/*
 * A client of the SSH agent (draft-miller-ssh-agent): list the keys, have one sign.
 *
 * libssh2's own client waits for the agent without a deadline; an agent that hangs must not hang us.
 */
#ifndef KEYS_AGENT_H
#define KEYS_AGENT_H

#include "base/base.h"
#include "keys/sshwire.h"

struct agent_key {
    struct ssh_blob blob;
    char type[64];
};

struct agent {
    int fd;
    int cancel_fd;
    struct agent_key *keys;
    size_t n_keys;
    size_t cap_keys;
};

/* Connects to the agent's socket and lists its keys. */
int agent_open(const char *path, int64_t deadline, int cancel_fd, struct agent *ret, struct err *err);
void agent_release(struct agent *a);

/* Has the key with that public half sign; *ret is the inner signature, without its algorithm's name (what
 * libssh2 wants), from malloc. The name says which hash an RSA key takes, as privkey_sign has it. A key may
 * ask its owner for a touch or a confirmation, so leave some time. */
struct agent_request {
    const struct ssh_blob *key;
    const char *algorithm;
    struct ssh_blob data;
    int64_t deadline;
    /* Called once when there is no answer after a second: its owner may have to be told to touch or confirm.
     * NULL: nobody is told. */
    void (*slow)(void *ctx);
    void *slow_ctx;
};
int agent_sign(struct agent *a, const struct agent_request *request, struct ssh_blob *ret, struct err *err);

/* The same, and *ret is the signature as it goes over the wire: its algorithm's name, the inner signature,
 * and of a FIDO key the flags and the counter. */
int agent_sign_whole(struct agent *a, const struct agent_request *request, struct ssh_blob *ret,
                     struct err *err);

/* The parser of the list, over a whole answer message. Adds to a->keys. */
int agent_parse_keys(struct agent *a, const void *p, size_t n, struct err *err);

#endif
