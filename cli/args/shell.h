/* Command lines that people copy into their shell. */
#ifndef CLI_ARGS_SHELL_H
#define CLI_ARGS_SHELL_H

#include "base/base.h"

/* Adds one word of a command line, quoted where a shell would take it apart. */
void shell_add_word(struct buf *b, const char *word);

#endif
