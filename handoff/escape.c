#include "handoff/escape.h"

#include <ctype.h>
#include <string.h>

#include "base/banned.h"

#define LINE_MAX_BYTES 1000

typedef void line_fn(struct buf *out, const char *line);

/* Makes each line printable, and passes it to `add`. */
static void add_lines(struct buf *out, const char *text, line_fn *add)
{
    char shown[LINE_MAX_BYTES];
    size_t n_lines = 0;
    while (*text) {
        size_t n = strcspn(text, "\n");
        if (n_lines++ == ESCAPE_MAX_LINES) {
            add(out, "(more lines are omitted)");
            return;
        }
        text_printable(shown, sizeof shown, text, n);
        add(out, shown);
        text += n + (text[n] == '\n');
    }
}

static void add_plain_line(struct buf *out, const char *line)
{
    buf_addf(out, "  %s\n", line);
}

/* Returns the length of the longest run of backticks. */
static size_t longest_backtick_run(const char *text)
{
    size_t longest = 0;
    for (const char *p = text; *p;) {
        size_t n = strspn(p, "`");
        longest = n > longest ? n : longest;
        p += n ? n : 1;
    }
    return longest;
}

static void add_fence(struct buf *out, size_t n, const char *language)
{
    for (size_t i = 0; i < n; i++)
        buf_addc(out, '`');
    buf_addf(out, "%s\n", language);
}

void escape_markdown(struct buf *out, const char *text)
{
    size_t fence = longest_backtick_run(text) + 1;
    fence = fence < 3 ? 3 : fence;
    buf_addc(out, '\n');
    add_fence(out, fence, "text");
    add_lines(out, text, add_plain_line);
    add_fence(out, fence, "");
}

/* Adds a line for Redmine. An @ after a letter or digit is part of an address, not a mention. */
static void add_redmine_line(struct buf *out, const char *line)
{
    buf_adds(out, "  ");
    for (const char *p = line; *p; p++) {
        if (*p == '<')
            buf_adds(out, "< ");
        else if (*p == '@' && (p == line || !isalnum((unsigned char)p[-1])))
            buf_adds(out, "(at)");
        else
            buf_addc(out, *p);
    }
    buf_addc(out, '\n');
}

void escape_redmine(struct buf *out, const char *text)
{
    buf_adds(out, "\n<pre>\n");
    add_lines(out, text, add_redmine_line);
    buf_adds(out, "</pre>\n");
}

void escape_plain(struct buf *out, const char *text)
{
    buf_addc(out, '\n');
    add_lines(out, text, add_plain_line);
}
