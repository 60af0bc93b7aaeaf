/* Discovery for the commands: queries sources with the command's options, and prints warnings and
 * failures. */
#ifndef CLI_HOSTS_DISCOVERY_H
#define CLI_HOSTS_DISCOVERY_H

#include "cli/hosts/target.h"
#include "discovery/discovery.h"

/* The input of discovery for a command. */
struct discovery_command {
    const struct inventory *inventory;
    struct targets *targets;              /* receives the services */
    const struct target_options *options; /* the settings for opening the host of a source */
    struct prompt *prompt;                /* of the command */
    enum discovery_policy policy;
    bool verbose; /* also print the number of targets that are left out, and unsupported content */
};

/*
 * Adds the services of the inventory's sources to the targets, or only those of selection.source. Prints on
 * stderr the sources that failed, and those whose old answer is used. *ret_failed (may be NULL): the number
 * of failed sources. Returns -1 only if the run was cancelled, if memory ran out, or if selection.source
 * failed.
 */
int discovery_apply(const struct discovery_command *c, size_t *ret_failed, struct err *err);

/* Queries one source like discovery_apply and adds its services. *ret: the source's targets, also those
 * without a host; the caller releases it. If no target has a known host, prints that and returns 0. */
int discovery_list(const struct discovery_command *c, struct source_use *use, struct discovered *ret,
                   struct err *err);

/* Formats the age of an answer that arrived at `at`, UTC in milliseconds: "12s", "5m", "3h", "4d". */
char *discovery_age(char *dst, size_t cap, int64_t at);

#endif
