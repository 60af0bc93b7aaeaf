#include "cli/term/talk.h"

#include <stdarg.h>
#include <string.h>

#include "base/banned.h"

#define LINE_SIZE 8192

/* Whatever went into it: what reaches a terminal is fit for one. */
static void say(FILE *out, const char *before, const char *text)
{
    char line[LINE_SIZE];
    fprintf(out, "%s: %s\n", before, text_printable(line, sizeof line, text, strlen(text)));
}

__attribute__((format(printf, 2, 0))) static void vtalk(FILE *out, const char *fmt, va_list ap)
{
    char text[LINE_SIZE];
    vsnprintf(text, sizeof text, fmt, ap);
    say(out, "profgrab", text);
}

void talk_line(void *ctx, const char *line)
{
    (void)ctx;
    say(stderr, "profgrab", line);
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

/* Shows lines of a file below a hint, indented: none can be taken for a message. */
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
    say(out, "hint", first);
    show_lines(out, err->hint + n + (err->hint[n] == '\n'));
}
