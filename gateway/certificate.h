/* User certificates (OpenSSH's PROTOCOL.certkeys): what one needs to know to offer one. */
#ifndef GATEWAY_CERTIFICATE_H
#define GATEWAY_CERTIFICATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"
#include "keys/keys.h"

struct certificate {
    struct ssh_blob blob; /* as it is offered */
    struct ssh_blob key;  /* the plain public key in it */
    char type[64];        /* "ssh-ed25519-cert-v01@openssh.com" */
    char id[128];         /* what its authority calls it; printable */
    char authority[SSH_FINGERPRINT];
    uint64_t valid_before; /* seconds since 1970; UINT64_MAX: for ever */
};

/* Whether a key of that type is a certificate. */
bool certificate_is_type(const char *type);

/* Reads a file as ssh-keygen -s writes it: type, base64, comment. */
int certificate_read(const char *path, struct certificate *ret, struct err *err);
/* The parser of what is in it; *ret has copies. */
int certificate_parse(const void *p, size_t n, struct certificate *ret, struct err *err);
void certificate_release(struct certificate *c);

#endif
