/* Commands: one file each, one table. The help, the completions and the manual page are made from the same
 * rows. */
#ifndef CLI_ARGS_COMMAND_H
#define CLI_ARGS_COMMAND_H

#include "base/base.h"
#include "cli/args/options.h"

/* What may stand behind a command's name and options, for completions. */
enum command_words {
    WORDS_NONE,
    WORDS_KINDS,
    WORDS_HOSTS,
    WORDS_COMMANDS, /* in place of the verb, if there are any */
    WORDS_FILES,
    WORDS_PROFILES, /* files, or members of a bundle: BUNDLE:MEMBER */
    WORDS_DUMPS,
    WORDS_PROFILES_AND_DUMPS,
};

/* The first word of a command that does several things. */
struct verb {
    const char *name;
    const char *synopsis; /* behind the name */
    const char *help;
};

/* A command line as a person types it, and what it does. */
struct example {
    const char *line, *does;
};

/* Options that the help shows under one title: from `first` on up to the first one of the next group. */
struct option_group {
    const char *title;
    const char *first; /* the option's name */
    const char *like;  /* the command whose help describes them; NULL: they are described here */
};

struct command {
    const char *name;
    const char *synopsis;           /* behind the name */
    const char *summary;            /* one line */
    const struct example *examples; /* the last has no line; NULL: none */
    const struct option_group
        *groups;         /* in the order of the options, the last has no title; NULL: one group */
    const char *details; /* more for its own help: prose, paragraphs between empty lines; NULL for none */
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

/* Row i of the table, NULL behind the last. The commands of one group stand together. */
const struct command *command_at(size_t i);
/* What the commands of row i's group are for, where it is the first of them; else NULL. */
const char *command_group_at(size_t i);
const struct command *command_find(const char *name);

#endif
