/* Quotes words of a command line that the user may copy into a shell. */
#ifndef CLI_ARGS_QUOTE_H
#define CLI_ARGS_QUOTE_H

#include "base/base.h"

/* Adds a word, in single quotes if the shell would interpret it. */
void quote_add_word(struct buf *b, const char *word);

#endif
