/*
 * Signatures of OpenSSH's kind (PROTOCOL.sshsig): who says so. What this makes `ssh-keygen -Y verify` checks,
 * and the other way round.
 *
 * A signature is made over a message's SHA-512 under a namespace, which says what it is for: one that was
 * made for something else never counts here.
 */
#ifndef SEAL_SSHSIG_H
#define SEAL_SSHSIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"
#include "keys/keys.h"

/* What an armored signature may measure. */
#define SSHSIG_MAX 16384
#define SSHSIG_NAMESPACE 128 /* with its NUL */

/* ---- making ---- */

/* Whose key signs, and who helps. */
struct sshsig_signer {
    /* FILE.pub, FILE (a private key), or the public key itself: "ssh-ed25519 AAAA…". */
    const char *key;
    const char *agent; /* the path of the SSH agent's socket; NULL or "": none */
    int64_t agent_ms; /* how long the agent may take, but that a FIDO key may wait for ask_ms to be touched */
    ask_fn *ask;      /* for a passphrase, and to say that a key waits to be touched; NULL: nobody */
    void *ask_ctx;
    int64_t ask_ms; /* how long the person may take */
    int cancel_fd;  /* or -1 */
};

/*
 * Signs n bytes. The agent does, if it has the key, otherwise the private key in FILE (that of FILE.pub is
 * FILE), whose passphrase is asked for up to three times. *ret: the armored text as `ssh-keygen -Y sign`
 * writes it, a new string.
 *
 * ERR_USAGE: `key` is no key, or of a kind that cannot sign. ERR_NOT_FOUND: neither the agent nor a file has
 * the private half, or nobody types the passphrase. Why the agent could not help is said where no file can.
 */
int sshsig_sign(const struct sshsig_signer *by, const char *namespace, const void *p, size_t n, char **ret,
                struct err *err);

/* Whether sshsig_sign may find what it needs: the key is one that can sign, and there is its private half in
 * a file or an agent that may have it. Neither is the agent spoken to nor anybody asked for a passphrase.
 * Errors as those of sshsig_sign. */
int sshsig_look(const struct sshsig_signer *by, struct err *err);

/* ---- reading ---- */

struct sshsig {
    char namespace[SSHSIG_NAMESPACE]; /* printable */
    char type[64];                    /* of the key: "ssh-ed25519" */
    char fingerprint[SSH_FINGERPRINT];
    struct ssh_blob key;
    struct ssh_blob signature; /* with its algorithm's name */
    bool sha256;               /* the message's hash; otherwise SHA-512 */
};

/* Parses one armored signature, and nothing behind it. Nothing is checked yet. */
int sshsig_parse(const void *p, size_t n, struct sshsig *ret, struct err *err);
void sshsig_release(struct sshsig *s);

/* Whether it is genuine: made by its key over these n bytes, in its namespace, which the caller looks at. As
 * pubkey_verify has it: ERR_DENIED if not, ERR_UNSUPPORTED where that cannot be told. */
int sshsig_check(const struct sshsig *s, const void *p, size_t n, struct err *err);

/* ---- whose ---- */

/*
 * Who of a file of allowed signers (ssh-keygen(1), ALLOWED SIGNERS) may have signed this, now and in its
 * namespace. `ssh-keygen -Y find-principals` and `-Y verify` decide, so that the file means here what it
 * means to OpenSSH: patterns, authorities, namespaces, dates. `armor` is the text `s` was parsed from, p the
 * n bytes that were signed. *ret: the principal, printable, a new string.
 *
 * ERR_DENIED: nobody; the message says why. ERR_NOT_FOUND: there is no such file, or no ssh-keygen.
 */
struct sshsig_claim {
    const char *armor;
    const char *namespace;
    const void *p;
    size_t n;
};
int sshsig_find_principal(const char *allowed_signers, const struct sshsig_claim *claim,
                          const struct proc_limits *limits, char **ret, struct err *err);

#endif
