/* Parses the output of `ssh -G`: one `keyword value` per line, keywords in lower case. */
#ifndef GATEWAY_CONFIG_SSH_KEYWORDS_H
#define GATEWAY_CONFIG_SSH_KEYWORDS_H

#include "gateway/config/config.h"

/* The values of the lines, before expansion. */
struct ssh_keywords {
    struct ssh_config config;
    struct strlist global_known_hosts;
    bool agent_given;        /* IdentityAgent has another value than SSH_AUTH_SOCK */
    bool batch;              /* BatchMode */
    bool fd_pass;            /* ProxyUseFdpass */
    bool trusts_localhost;   /* NoHostAuthenticationForLocalhost */
    bool hash_includes_jump; /* this ssh's %C includes %j */
};

/* Reads the lines into `result`, which is zero or has the defaults for missing lines. Ignores keywords that
 * profgrab does not use. The caller releases `result`, also after a failure. */
int ssh_keywords_read(struct ssh_keywords *result, const char *p, size_t n, struct err *err);

/* Replaces *into by a copy of the value: NULL for "none". */
int ssh_keywords_set_optional(char **into, const char *value, struct err *err);

#endif
