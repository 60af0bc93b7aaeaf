/*
 * Standard output for commands that handle signals. stdio's own writes wait for the reader of a full pipe
 * whatever signal comes; these end when one comes and the pipe is full. All that is printed goes this way, so
 * no command has to look for itself.
 */
#ifndef CLI_STANDARD_OUTPUT_H
#define CLI_STANDARD_OUTPUT_H

#include <stdio.h>

/* Puts a stream in the place of `stdout` that waits for cancel_fd as well. Where the system has no such
 * streams, or no memory, it stays as it is. Once, before anything is printed. */
void standard_output_watch(int cancel_fd);

/* The descriptor that a stream writes to. fileno has none for the `stdout` of standard_output_watch, and
 * would make a terminal look like a pipe. */
int standard_output_fd(FILE *out);

#endif
