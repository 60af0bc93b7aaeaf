/*
 * Messages for the user: they start with `profgrab: `, in lower case, without a full stop.
 *
 * This folder is all contact with the terminal: messages, exit codes (exit.h), questions (prompt.h,
 * confirm.h), live progress (progress.h, screen.h), tables (rows.h, columns.h), JSON (document.h), signals
 * (signals.h), and writes that a signal ends (standard_streams.h).
 */
#ifndef CLI_TERM_MESSAGE_H
#define CLI_TERM_MESSAGE_H

#include <stdio.h>

#include "base/base.h"

/* Prints a message on stderr, or on `out`. Replaces unprintable bytes and passwords of URLs. */
void message_print(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void message_print_to(FILE *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Prints a message on stderr. For use as a callback; ignores ctx. */
void message_print_line(void *ctx, const char *line);

/* Replaces each password of a URL in the line, in a buffer of `cap` bytes. */
void message_hide_passwords(char *line, size_t cap);

/* Prints the error and, on the next lines, its hint. */
void message_print_error(FILE *out, const struct err *err);

#endif
