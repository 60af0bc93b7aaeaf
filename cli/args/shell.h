/* Formats command lines for a shell. */
#ifndef CLI_ARGS_SHELL_H
#define CLI_ARGS_SHELL_H

#include "base/base.h"

/* Adds a word of a command line, quoted if the shell would interpret it. */
void shell_add_word(struct buf *b, const char *word);

#endif
