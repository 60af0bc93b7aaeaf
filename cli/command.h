/* Commands: one file each, one table. The help, and what else lists them, is made from the same rows. */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include "base/base.h"
#include "cli/options.h"

struct command {
    const char *name;
    const char *synopsis; /* behind the name */
    const char *summary;  /* one line */
    const char *details;  /* more for its own help; NULL for none */
    const struct option *options;
    /* argv without the command's name. Returns the exit code; on an error it sets err, which is then printed
     * by main, and returns what exit_status_of says. */
    int (*run)(int argc, char **argv, struct err *err);
};

extern const struct command command_grab, command_check, command_hosts, command_bundle, command_version,
    command_help;

/* Row i of the table, NULL behind the last. */
const struct command *command_at(size_t i);
const struct command *command_find(const char *name);

#endif
