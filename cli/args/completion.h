/* Writes completion scripts from the tables of commands, options and kinds. */
#ifndef CLI_ARGS_COMPLETION_H
#define CLI_ARGS_COMPLETION_H

#include <stdio.h>

#include "cli/args/command.h"

/* The type of an option's value. */
enum completion_value {
    VALUE_NONE, /* a flag without a value */
    VALUE_ANY,  /* cannot be completed */
    VALUE_FILE,
    VALUE_PROFILE, /* a file, or a bundle's member */
    VALUE_WORDS,   /* one of completion_words */
    /* All types below are names of the inventory, separated by commas. */
    VALUE_HOSTS,
    VALUE_GROUPS,
    VALUE_SERVICES,
    VALUE_TEAMS,
    VALUE_LABELS,
};
enum completion_value completion_value(const struct option *o);

/* Sets *ret to option or flag i of a command. Returns false after the last. */
bool completion_option(const struct command *c, size_t i, struct option *ret);
/* Returns the prefix of the command's options: one dash or two. */
const char *completion_dashes(const struct command *c);

/* Returns the option of `profgrab hosts` that prints all names of this type. NULL: the type is not one of the
 * inventory's names. */
const char *completion_hosts_option(enum completion_value value);

/* Returns the options of `profgrab bundle list` that print the members a command accepts. NULL: the command
 * accepts no members. */
const char *completion_bundle_list_options(enum command_arguments words);

/* Returns the values that the option accepts, separated by blanks. NULL: the option has no fixed values. */
const char *completion_words(const struct option *o);

/* Print the completion script of the shell. */
void completion_bash(FILE *out);
void completion_zsh(FILE *out);
void completion_fish(FILE *out);

#endif
