#include "cli/term/message.h"

#include <stdarg.h>
#include <string.h>

#include "base/banned.h"

#define LINE_SIZE 8192

/* ---- passwords of URLs --------------------------------------------------------------------------------- */

static bool may_be_url(const char *word, size_t n)
{
    return memmem(word, n, "://", 3) || memmem(word, n, "http:", 5) || memmem(word, n, "https:", 6);
}

/* Replaces what is between the first colon of n bytes and the last @ by xxxxx, as Go does. The text after
 * them moves. Returns the new number of bytes. */
static size_t hide_password(char *part, size_t n, size_t cap)
{
    static const size_t n_hidden = 5;
    char *at = memrchr(part, '@', n), *colon = at ? memchr(part, ':', (size_t)(at - part)) : NULL;
    if (!colon)
        return n;
    size_t n_password = (size_t)(at - colon - 1), n_after = strlen(at) + 1;
    if ((size_t)(colon + 1 - part) + n_hidden + n_after > cap) {
        memset(colon + 1, 'x', n_password);
        return n;
    }
    memmove(colon + 1 + n_hidden, at, n_after);
    memset(colon + 1, 'x', n_hidden);
    return n - n_password + n_hidden;
}

void message_hide_passwords(char *line, size_t cap)
{
    char *end = line + cap;
    for (char *word = line; *word; word += strspn(word, " ")) {
        bool is_url = may_be_url(word, strcspn(word, " "));
        while (*word && *word != ' ') {
            size_t n = strcspn(word, "/?# ");
            word += is_url ? hide_password(word, n, (size_t)(end - word)) : n;
            word += strspn(word, "/?#");
        }
    }
}

/* ---- lines --------------------------------------------------------------------------------------------- */

/* Prints "PREFIX: TEXT", and replaces unprintable bytes of the text and passwords of URLs. */
static void print_line(FILE *out, const char *prefix, const char *text)
{
    char line[LINE_SIZE];
    text_printable(line, sizeof line, text, strlen(text));
    message_hide_passwords(line, sizeof line);
    fprintf(out, "%s: %s\n", prefix, line);
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
