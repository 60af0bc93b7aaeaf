/*
 * Standard output and stderr of commands that handle signals. stdio's own writes wait for the reader of a
 * full pipe whatever signal comes; these end when a signal came and the pipe is full. All that is printed
 * goes this way, so no command has to look for itself.
 */
#ifndef CLI_TERM_STANDARD_STREAMS_H
#define CLI_TERM_STANDARD_STREAMS_H

#include <stdio.h>

#include "base/base.h"

/* Writes out what `stdout` holds, then puts streams in the place of `stdout` and `stderr` that wait for
 * signals_cancel_fd as well. A second call does nothing. Where the system has no such streams, or no memory,
 * they stay as they are. */
void standard_streams_watch(void);

/* The descriptor that a stream writes to. fileno has none for the streams of standard_streams_watch, and
 * would make a terminal look like a pipe. */
int standard_stream_fd(FILE *out);

/* Writes all n bytes to a descriptor at whose other end the user or a program of the user reads: standard
 * output, stderr, a terminal, a FIFO. ERR_CANCELLED where it would have to wait after a signal came. */
int standard_stream_write(int fd, const void *p, size_t n, struct err *err);

/* Writes out what `stdout`, or what stands in its place, holds. Fails also where something printed before
 * could not be written; ERR_CANCELLED after a signal. */
int standard_stream_flush(FILE *out, struct err *err);

#endif
