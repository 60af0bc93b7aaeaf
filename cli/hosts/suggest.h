/* Suggests the next command, after a failed step to a service, or for a new bundle. */
#ifndef CLI_HOSTS_SUGGEST_H
#define CLI_HOSTS_SUGGEST_H

#include "fetch/fetch.h"

struct next_subject {
    const struct host *host;
    const struct service *service; /* NULL: a step to the host failed */
    const char *ssh_config;        /* the value of --ssh-config; NULL: not given */
};

/* Adds a command line that shows more about the failure; nothing if no command helps. */
void next_command(const struct next_subject *s, enum fetch_step_kind kind, struct buf *ret);

/* If stderr is a terminal, prints there the commands that show the bundle. */
void next_say_bundle(const char *path);

#endif
