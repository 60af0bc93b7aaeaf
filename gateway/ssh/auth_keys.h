/* The public keys to offer, collected once in a login, in the order of the offers. */
#ifndef GATEWAY_SSH_AUTH_KEYS_H
#define GATEWAY_SSH_AUTH_KEYS_H

#include "base/base.h"
#include "keys/keys.h"
#include "gateway/ssh/auth_state.h"
#include "gateway/ssh/certificate.h"

/* An identity file of the configuration. */
struct file_key {
    const char *path;
    struct keyfile key;
    const struct agent_key *agent_key; /* NULL: the agent does not have it */
    struct privkey *privkey;           /* NULL: not opened yet */
};

/* A key or certificate to offer. auth_keys owns the objects behind the pointers. */
struct candidate {
    const struct ssh_blob *offer; /* a public key or a certificate; NULL: unknown until `file` is opened */
    const struct ssh_blob *key;   /* the key that signs: the plain key, or the certificate if the agent knows
                                     the key only under its certificate */
    const struct certificate *certificate; /* NULL: the offer is a plain key */
    struct file_key *file;                 /* the file of the private half; NULL: the agent has it */
    bool finished;                         /* accepted, refused or unusable: do not offer it again */
    unsigned n_refusals;                   /* refused offers; an RSA key is offered once for each algorithm */
};

struct auth_keys {
    struct agent agent;
    struct file_key *files;
    size_t n_files;
    struct certificate *certificates;
    size_t n_certificates;
    struct candidate *candidates;
    size_t n_candidates, cap_candidates;
};

/* Collects the keys into a->keys. Records each unusable key and certificate with the reason. */
int auth_keys_collect(struct auth *a, struct err *err);

/* Returns the kind of a candidate, and writes its name to dst. Kind and name are "agent" and "TYPE
 * FINGERPRINT", "key" and "PATH", or "certificate" and "ID by AUTHORITY". */
const char *auth_candidate_describe(const struct candidate *c, char *dst, size_t cap);
/* Calls auth_record_refused for a candidate. */
void auth_candidate_record_refused(struct auth *a, const struct candidate *c, const char *why);

/* Opens the file with OpenSSL (file->privkey). Asks for its passphrase if it has one. ERR_NOT_FOUND: the
 * passphrase is missing or wrong. */
int auth_open_file(struct auth *a, struct file_key *file, struct err *err);

#endif
