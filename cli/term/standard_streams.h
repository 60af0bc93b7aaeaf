/*
 * Standard output and stderr, with writes that fail after a signal. stdio's own writes to a full pipe wait
 * for the reader of the pipe even after a signal that the program handles (cli/term/signals.h). Commands
 * print to stdout and stderr as usual.
 */
#ifndef CLI_TERM_STANDARD_STREAMS_H
#define CLI_TERM_STANDARD_STREAMS_H

#include <stdio.h>
#include <sys/ioctl.h>

#include "base/base.h"

/* main calls this once, before a command starts. Flushes `stdout`, then replaces `stdout` and `stderr` by
 * streams that also watch signals_cancel_fd. A second call does nothing. Keeps the streams if the C library
 * has no custom streams, or memory runs out. */
void standard_streams_replace(void);

/* Returns the descriptor of a stream. Use it instead of fileno, which fails for the streams of
 * standard_streams_replace. */
int standard_stream_fd(FILE *out);

/* Returns the size of a stream's terminal; 24 rows of 80 columns if the size is unknown or there is no
 * terminal. */
struct winsize standard_stream_size(FILE *out);

/* Writes all n bytes to a descriptor that the user or another program reads: standard output, stderr, a
 * terminal, a FIFO. ERR_CANCELLED if the write would block after a signal. */
int standard_stream_write(int fd, const void *p, size_t n, struct err *err);

/* Returns whether standard output is a pipe or a socket without a reader. */
bool standard_output_has_lost_reader(void);

/* Flushes a stream. Fails also if an earlier write failed. The error of a failure after a signal is
 * ERR_CANCELLED; otherwise ERR_PIPE means that the reader has closed the pipe. */
int standard_stream_flush(FILE *out, struct err *err);

#endif
