/* What may be offered as a public key: gathered once in a login, in the order in which it is offered. */
#ifndef GATEWAY_AUTH_KEYS_H
#define GATEWAY_AUTH_KEYS_H

#include "base/base.h"
#include "keys/keys.h"
#include "gateway/auth_method.h"
#include "gateway/certificate.h"

struct file_key {
    const char *path;
    struct keyfile key;
    const struct agent_key *in_agent; /* NULL: not there */
    struct privkey *opened;           /* NULL: not yet */
};

/* What may be offered. What it points to belongs to auth_keys. */
struct candidate {
    const struct ssh_blob *offer; /* a public key or a certificate; NULL: known once the file is opened */
    const struct ssh_blob *key;   /* the plain key that signs */
    const struct certificate *certificate;
    struct file_key *file; /* whose private half it is; NULL: the agent's */
    bool over;
    unsigned refusals; /* RSA keys have one for each algorithm */
};

struct auth_keys {
    struct agent agent;
    struct file_key *files;
    size_t n_files;
    struct certificate *certificates;
    size_t n_certificates;
    struct candidate *candidates;
    size_t n, cap;
};

/* Makes a->keys. Keys and certificates that cannot be offered are noted, with the reason. */
int auth_keys_gather(struct auth *a, struct err *err);

/* "agent", "key" or "certificate", and in dst which: "TYPE FINGERPRINT", "PATH", "ID by AUTHORITY". */
const char *auth_candidate_name(const struct candidate *c, char *dst, size_t cap);
/* auth_note of a candidate. */
void auth_candidate_note(struct auth *a, const struct candidate *c, const char *why);

/* Has OpenSSL open the file: file->opened. Asks for its passphrase where it has one; ERR_NOT_FOUND: nobody
 * knows it. */
int auth_open_file(struct auth *a, struct file_key *file, struct err *err);

#endif
