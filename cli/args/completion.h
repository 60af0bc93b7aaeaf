/* Completion scripts, made from the tables of commands, options and kinds: one function a shell. */
#ifndef CLI_ARGS_COMPLETION_H
#define CLI_ARGS_COMPLETION_H

#include <stdio.h>

#include "cli/args/command.h"

/* What stands behind an option. */
enum completion_value {
    VALUE_NONE, /* nothing: a flag */
    VALUE_ANY,  /* something nobody can guess */
    VALUE_FILE,
    VALUE_PROFILE, /* a file, or a bundle's member */
    VALUE_WORDS,   /* one of few */
    VALUE_HOSTS,   /* the lists: names of the inventory with commas between them */
    VALUE_GROUPS,
    VALUE_SERVICES,
    VALUE_TEAMS,
    VALUE_LABELS,
};
enum completion_value completion_value(const struct option *o);

/* Option or flag i of a command, asked for one after the other; false behind the last. And what stands in
 * front of its name. */
bool completion_option(const struct command *c, size_t i, struct option *ret);
const char *completion_dashes(const struct command *c);

/* The option of `profgrab hosts` that prints the names for one of the lists; NULL for another value. */
const char *completion_lister(enum completion_value value);

/* The options of `profgrab bundle list` that print the members of a bundle that may stand there; NULL where
 * only files may. */
const char *completion_members(enum command_words words);

/* The words that may stand behind the option, with blanks between; NULL for another value. */
const char *completion_words(const struct option *o);

void completion_bash(FILE *out);
void completion_zsh(FILE *out);
void completion_fish(FILE *out);

#endif
