#include "cli/term/message.h"

#include <stdarg.h>
#include <string.h>

#include "base/banned.h"

#define LINE_SIZE 8192

/* Prints "PREFIX: TEXT", and replaces unprintable bytes of the text. */
static void print_line(FILE *out, const char *prefix, const char *text)
{
    char line[LINE_SIZE];
    fprintf(out, "%s: %s\n", prefix, text_printable(line, sizeof line, text, strlen(text)));
}

__attribute__((format(printf, 2, 0))) static void print_formatted(FILE *out, const char *fmt, va_list ap)
{
    char text[LINE_SIZE];
    vsnprintf(text, sizeof text, fmt, ap);
    print_line(out, "profgrab", text);
}

void message_print_line(void *ctx, const char *line)
{
    (void)ctx;
    print_line(stderr, "profgrab", line);
}

void message_print(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    print_formatted(stderr, fmt, ap);
    va_end(ap);
}

void message_print_to(FILE *out, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    print_formatted(out, fmt, ap);
    va_end(ap);
}

/* Prints the lines of a file that a hint quotes. Indents them, so that none looks like a message. */
static void print_indented_lines(FILE *out, const char *lines)
{
    char line[LINE_SIZE];
    while (*lines) {
        size_t n = strcspn(lines, "\n"), blanks = strspn(lines, " ");
        fprintf(out, "      %*s%s\n", (int)(blanks < n ? blanks : n), "",
                text_printable(line, sizeof line, lines, n));
        lines += n + (lines[n] == '\n');
    }
}

void message_print_error(FILE *out, const struct err *err)
{
    char first[sizeof err->hint];
    size_t n = strcspn(err->hint, "\n");
    message_print_to(out, "%s", err->msg);
    if (n == 0)
        return;
    snprintf(first, sizeof first, "%.*s", (int)n, err->hint);
    print_line(out, "hint", first);
    print_indented_lines(out, err->hint + n + (err->hint[n] == '\n'));
}
