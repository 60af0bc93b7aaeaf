/*
 * Prepares inputs before a confined child starts, because the child must not ask for a passphrase and must
 * not wait for standard input.
 */
#ifndef CLI_INPUT_PREPARE_H
#define CLI_INPUT_PREPARE_H

#include "cli/input/input.h"

/* Opens the encrypted bundles that the words name; may ask the user. Begins a budget for the total size of
 * the inputs. The size of a FIFO counts when it has arrived (input_read_profiles). */
int input_unlock_all(const struct strlist *words, struct input_keys *keys, struct confined_budget *ret,
                     struct err *err);

/* Adds the descriptors that the words name to those that a child keeps: `<(command)` of a shell is the word
 * /dev/fd/63. Descriptors beyond PROC_KEPT_MAX are not kept, so the child cannot read their words. */
void input_keep_descriptors(const struct strlist *words, struct proc_fork_limits *limits);

/*
 * If one of the names is standard input, copies standard input to its end into a nameless file, which then
 * replaces standard input. A child then knows the size of its input, and never waits for it. ERR_CANCELLED
 * when cancel_fd becomes readable; -1: never.
 */
int input_buffer_stdin(char *const *names, size_t n, int cancel_fd, struct err *err);

#endif
