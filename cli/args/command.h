/*
 * Commands. Each has its own file and a row in one table, from which the help, the completions and the manual
 * page are generated.
 *
 * This folder parses command lines (options.h) and makes all texts from the tables of commands and options:
 * `profgrab help`, completions for three shells (completion.h), the manual page (man.h), and the other pages
 * of the manual as text (manual.h, mdoc.h).
 */
#ifndef CLI_ARGS_COMMAND_H
#define CLI_ARGS_COMMAND_H

#include "base/base.h"
#include "cli/args/options.h"

/* The type of a command's arguments, for completions. */
enum command_arguments {
    ARGUMENTS_NONE,
    ARGUMENTS_KINDS,
    ARGUMENTS_HOSTS,
    ARGUMENTS_COMMANDS, /* the name of a command, or a verb */
    ARGUMENTS_FILES,
    ARGUMENTS_PROFILES, /* files, or members of a bundle: BUNDLE:MEMBER */
    ARGUMENTS_DUMPS,    /* goroutine dumps, or members */
    ARGUMENTS_PROFILES_AND_DUMPS,
};

/* The first argument of a command with several actions, such as `list` in `bundle list`. */
struct verb {
    const char *name;
    const char *synopsis; /* the arguments after the name */
    const char *help;
};

/* An example of a command line, and its effect. */
struct example {
    const char *line, *effect;
};

/* Options that the help shows under one title: from `first` to the option before the next group. */
struct option_group {
    const char *title;
    const char *first;        /* the option's name */
    const char *described_by; /* the command whose help describes the options; NULL: this command */
};

struct command {
    const char *name;
    const char *synopsis;              /* the options and arguments after the name */
    const char *summary;               /* one line */
    const struct example *examples;    /* the last has no line; NULL: none */
    const struct option_group *groups; /* in option order, the last has no title; NULL: one group */
    const char *details; /* further text for its help, with empty lines between paragraphs; NULL: none */
    const struct option *options;
    /* Sets *ret to flag i; returns false after the last. Flags have one dash and replace `options`. NULL: the
     * command has no flags. */
    bool (*flag_at)(size_t i, struct option *ret);
    const struct verb *verbs;     /* the last has no name; NULL: the command has no verbs */
    enum command_arguments words; /* the type of the arguments, after the verb if there is one */
    bool handles_help;            /* the command handles -h and --help itself */
    /* Runs the command; argv excludes its name. Returns the exit code. On an error it sets err, which main
     * prints, and returns exit_status_of(err). */
    int (*run)(int argc, char **argv, struct err *err);
};

extern const struct command command_grab, command_check, command_forward, command_hosts, command_bundle,
    command_attach, command_resume, command_pprof, command_goroutines, command_diff, command_merge,
    command_report, command_view, command_completion, command_version, command_help;

/* The program's commands in the order of the help; the last row has no command. cli/commands.c defines the
 * table, because cli/args cannot include the folders of the commands. */
struct command_row {
    const char *group; /* the title of the group that starts here; else NULL */
    const struct command *command;
};
extern const struct command_row command_table[];

/* Returns the command of row i, or NULL after the last. */
const struct command *command_at(size_t i);
/* Returns the title of a group if row i is its first command; else NULL. */
const char *command_group_at(size_t i);
/* Returns the command of that name, or NULL. */
const struct command *command_find(const char *name);

#endif
