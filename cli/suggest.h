/* What to run next: where a step on the way to a service has failed, and with a bundle. */
#ifndef CLI_SUGGEST_H
#define CLI_SUGGEST_H

#include "fetch/fetch.h"

struct next_subject {
    const struct host *host;
    const struct service *service; /* NULL: the step was the host's */
    const char *ssh_config;        /* as --ssh-config has it; NULL: the user's own */
};

/* Adds a command line that shows more of what failed; nothing where none is worth it. */
void next_command(const struct next_subject *s, enum fetch_step_kind kind, struct buf *ret);

/* Says on stderr, if that is a terminal, how to look into the bundle. */
void next_say_bundle(const char *path);

#endif
