/* User certificates (OpenSSH's PROTOCOL.certkeys): the fields that an offer needs. */
#ifndef GATEWAY_SSH_CERTIFICATE_H
#define GATEWAY_SSH_CERTIFICATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"
#include "keys/keys.h"

struct certificate {
    struct ssh_blob blob;            /* the whole certificate, as offered */
    struct ssh_blob key;             /* its plain public key */
    char type[64];                   /* "ssh-ed25519-cert-v01@openssh.com" */
    char id[128];                    /* the name that the authority gave it; printable */
    char authority[SSH_FINGERPRINT]; /* the fingerprint of the authority's key */
    uint64_t valid_before;           /* seconds since 1970; UINT64_MAX: no end */
};

/* Checks whether a key of that type is a certificate. */
bool certificate_is_type(const char *type);

/* Reads a file as ssh-keygen -s writes it: type, base64, comment. */
int certificate_read(const char *path, struct certificate *ret, struct err *err);
/* Parses the binary form. *ret has copies. */
int certificate_parse(const void *p, size_t n, struct certificate *ret, struct err *err);
void certificate_release(struct certificate *c);

#endif
