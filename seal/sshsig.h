/*
 * OpenSSH signatures (PROTOCOL.sshsig), compatible with `ssh-keygen -Y` in both directions.
 *
 * A signature covers a hash of the message and a namespace, which names the purpose of the signature.
 * sshsig_verify accepts any namespace, so the caller must refuse signatures for other purposes.
 */
#ifndef SEAL_SSHSIG_H
#define SEAL_SSHSIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"
#include "keys/keys.h"

/* The size limit of an armored signature, in bytes. */
#define SSHSIG_MAX 16384
#define SSHSIG_NAMESPACE 128 /* with its NUL */

/* ---- signing ---- */

/* The signing key and the sources of its private half. */
struct sshsig_signer {
    /* FILE.pub, FILE (a private key), or the public key itself: "ssh-ed25519 AAAA…". */
    const char *key;
    const char *agent; /* path of the SSH agent's socket; NULL or "": none */
    int64_t agent_ms;  /* timeout of the agent; a touch of a FIDO key has ask_ms */
    ask_fn *ask;       /* asks for a passphrase or a touch of the key; may be NULL */
    void *ask_ctx;
    int64_t ask_ms; /* timeout of the user's answer or touch */
    int cancel_fd;  /* -1: none */
};

/*
 * Signs a message. If the agent has the key, the agent signs. Otherwise the private key in FILE signs, also
 * if `key` is FILE.pub, and `ask` is called up to three times for its passphrase. Only an agent can use a
 * FIDO key. *ret receives the armored text as `ssh-keygen -Y sign` writes it, a new string.
 *
 * ERR_FAILED: `key` is not a key. ERR_USAGE: the key is of a type that cannot sign, or FILE is not the
 * private half of FILE.pub. ERR_UNSUPPORTED: the size of the RSA key is not allowed. ERR_NOT_FOUND: `key`
 * names a missing file, neither the agent nor a file has the private half, or no user enters the right
 * passphrase. If there is no file to sign with, the error is the agent's.
 */
int sshsig_sign(const struct sshsig_signer *signer, const char *namespace, struct str message, char **ret,
                struct err *err);

/* Checks in advance that sshsig_sign has a key that can sign, and either a file with its private half or an
 * agent, which may have it. Does not contact the agent or ask for a passphrase. Errors as in sshsig_sign. */
int sshsig_check_signer(const struct sshsig_signer *signer, struct err *err);

/* ---- reading ---- */

struct sshsig {
    char namespace[SSHSIG_NAMESPACE]; /* printable */
    char type[64];                    /* type of the key: "ssh-ed25519" */
    char fingerprint[SSH_FINGERPRINT];
    struct ssh_blob key;
    struct ssh_blob signature; /* with the algorithm's name */
    bool sha256;               /* the message's hash is SHA-256; otherwise SHA-512 */
};

/* Parses one armored signature without trailing bytes. Does not verify it. */
int sshsig_parse(const void *p, size_t n, struct sshsig *ret, struct err *err);
void sshsig_release(struct sshsig *s);

/* Verifies that s->key signed these n bytes in s->namespace. The caller checks the namespace. Errors as in
 * pubkey_verify: ERR_DENIED if the signature is wrong, ERR_UNSUPPORTED if it cannot be verified. */
int sshsig_verify(const struct sshsig *s, const void *p, size_t n, struct err *err);

/* ---- principals ---- */

/* A signature and what it signs. */
struct sshsig_claim {
    const char *armor; /* the armored signature */
    const char *namespace;
    const void *p; /* the n signed bytes */
    size_t n;
};
/*
 * Finds a principal in a file of allowed signers (ssh-keygen(1), ALLOWED SIGNERS) that may now sign with the
 * claim's key in its namespace. `ssh-keygen -Y find-principals` and `-Y verify` decide, so that patterns,
 * authorities, namespaces and dates mean the same as in OpenSSH. *ret: the principal, printable, a new
 * string.
 *
 * ERR_DENIED: no principal; the message gives the reason. ERR_NOT_FOUND: the file or ssh-keygen is missing.
 */
int sshsig_find_principal(const char *allowed_signers, const struct sshsig_claim *claim,
                          const struct proc_limits *limits, char **ret, struct err *err);

#endif
