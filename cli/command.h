/* Commands: one file each, one table. The help, the completions and the manual page are made from the same
 * rows. */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include "base/base.h"
#include "cli/options.h"

/* What may stand behind a command's name and options, for completions. */
enum command_words {
    WORDS_NONE,
    WORDS_KINDS,
    WORDS_HOSTS,
    WORDS_COMMANDS, /* in place of the verb, if there are any */
    WORDS_FILES,
};

/* The first word of a command that does several things. */
struct verb {
    const char *name;
    const char *synopsis; /* behind the name */
    const char *help;
};

struct command {
    const char *name;
    const char *synopsis; /* behind the name */
    const char *summary;  /* one line */
    const char *details;  /* more for its own help: prose, paragraphs between empty lines; NULL for none */
    const struct option *options;
    /* Flags of its own kind, with one dash, in place of options: row i of them, false behind the last. NULL:
     * there are none. */
    bool (*flag)(size_t i, struct option *ret);
    const struct verb *verbs; /* the last has no name; NULL: the command does one thing */
    enum command_words words; /* behind the verb, if there are any */
    bool own_help;            /* -h and --help are its own flags */
    /* argv without the command's name. Returns the exit code; on an error it sets err, which is then printed
     * by main, and returns what exit_status_of says. */
    int (*run)(int argc, char **argv, struct err *err);
};

extern const struct command command_grab, command_check, command_forward, command_hosts, command_bundle,
    command_attach, command_resume, command_pprof, command_goroutines, command_diff, command_merge,
    command_report, command_view, command_completion, command_version, command_help;

/* Row i of the table, NULL behind the last. */
const struct command *command_at(size_t i);
const struct command *command_find(const char *name);

#endif
