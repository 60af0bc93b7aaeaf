#include "cli/term/talk.h"

#include <stdarg.h>
#include <string.h>

#include "base/banned.h"

#define LINE_SIZE 8192

/* Sanitises everything that is printed. */
static void print_line(FILE *out, const char *before, const char *text)
{
    char line[LINE_SIZE];
    fprintf(out, "%s: %s\n", before, text_printable(line, sizeof line, text, strlen(text)));
}

__attribute__((format(printf, 2, 0))) static void vtalk(FILE *out, const char *fmt, va_list ap)
{
    char text[LINE_SIZE];
    vsnprintf(text, sizeof text, fmt, ap);
    print_line(out, "profgrab", text);
}

void talk_line(void *ctx, const char *line)
{
    (void)ctx;
    print_line(stderr, "profgrab", line);
}

void talk(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vtalk(stderr, fmt, ap);
    va_end(ap);
}

void talk_to(FILE *out, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vtalk(out, fmt, ap);
    va_end(ap);
}

/* Prints lines of a file below a hint, indented, so that none looks like a message. */
static void show_lines(FILE *out, const char *lines)
{
    char line[LINE_SIZE];
    while (*lines) {
        size_t n = strcspn(lines, "\n"), blanks = strspn(lines, " ");
        fprintf(out, "      %*s%s\n", (int)(blanks < n ? blanks : n), "",
                text_printable(line, sizeof line, lines, n));
        lines += n + (lines[n] == '\n');
    }
}

void talk_error(FILE *out, const struct err *err)
{
    char first[sizeof err->hint];
    size_t n = strcspn(err->hint, "\n");
    talk_to(out, "%s", err->msg);
    if (n == 0)
        return;
    snprintf(first, sizeof first, "%.*s", (int)n, err->hint);
    print_line(out, "hint", first);
    show_lines(out, err->hint + n + (err->hint[n] == '\n'));
}
