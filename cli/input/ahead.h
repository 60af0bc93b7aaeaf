/*
 * Inputs that are read before a child with limits is started: a child must not ask for a passphrase, and must
 * not wait for standard input.
 */
#ifndef CLI_INPUT_AHEAD_H
#define CLI_INPUT_AHEAD_H

#include "cli/input/input.h"

/* Opens the encrypted bundles among these sources, which may ask the user, and begins the budget of all
 * sources. *ret_known: false if a size is unknown, such as that of a URL or a pipe; then there is no budget.
 */
int input_open_all(const struct strlist *words, struct input_keys *keys, struct confined_budget *ret,
                   bool *ret_known, struct err *err);

/*
 * If one of the sources is standard input, reads it to its end into a nameless file that becomes standard
 * input. A child can then be limited by the size of its input, and never waits. ERR_CANCELLED when cancel_fd
 * (or -1) becomes readable.
 */
int input_take_stdin(char *const *names, size_t n, int cancel_fd, struct err *err);

#endif
