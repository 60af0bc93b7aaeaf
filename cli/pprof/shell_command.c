/* Parses commands of the shell. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/pprof/shell.h"
#include "base/banned.h"

#define COMMAND_MAX ((size_t)1 << 20)

/* The words of a line that are not read yet. If `first` is not empty, it precedes `rest`. */
struct shell_words {
    struct str first, rest;
};

static struct str read_word(struct shell_words *w)
{
    struct str word = w->first;
    w->first = (struct str){NULL, 0};
    return word.n ? word : str_next_word(&w->rest);
}

/* ---- the name ------------------------------------------------------------------------------------------ */

static const struct pprof_flag *find_format(struct str name)
{
    const struct pprof_flag *f = pprof_flag_find(name.p, name.n);
    return f && f->group == FORMAT ? f : NULL;
}

static enum pprof_output output_of(const struct pprof_flag *format)
{
    int i = 0;
    while (pprof_flag_at((size_t)i) != format)
        i++;
    return (enum pprof_output)i;
}

/* Quotes a string as Go does. */
static void add_quoted(struct buf *to, struct str s)
{
    buf_addc(to, '"');
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if (c == '"' || c == '\\')
            buf_addf(to, "\\%c", c);
        else if (c < ' ' || c == 127)
            buf_addf(to, "\\x%02x", c);
        else
            buf_addc(to, (char)c);
    }
    buf_addc(to, '"');
}

static int refuse_command(struct str name, struct shell_words *w, struct err *err)
{
    struct buf quoted = BUF_INIT(400);
    const struct pprof_flag *f = pprof_flag_find(name.p, name.n);
    struct str value = read_word(w);
    if (f && (f->group == OPTION || f->group == SORT || f->group == GRANULARITY))
        return err_set(err, ERR_USAGE, "did you mean: %s=%.*s", f->name, value.n ? (int)value.n : 5,
                       value.n ? value.p : "<val>");
    add_quoted(&quoted, name);
    err_set(err, ERR_USAGE, "unrecognized command: %s", buf_str(&quoted));
    buf_release(&quoted);
    return -1;
}

/* Returns the format that the first word names, or NULL. Digits at the end of the word are the first
 * argument, as in top10. *ret_name: the word without them. */
static const struct pprof_flag *read_name(struct shell_words *w, struct str *ret_name)
{
    struct str name = read_word(w);
    const struct pprof_flag *f = find_format(name);
    size_t n = name.n;
    while (n > 0 && isdigit((unsigned char)name.p[n - 1]))
        n--;
    if (!f && n > 0 && n < name.n) {
        w->first = (struct str){name.p + n, name.n - n};
        name.n = n;
        f = find_format(name);
    }
    *ret_name = name;
    return f;
}

/* ---- arguments ----------------------------------------------------------------------------------------- */

/* Sets *ret if the word is a number of 32 bits. Returns false for any other word, which is an expression. */
static bool read_count(struct str s, long *ret)
{
    char text[24], *end;
    size_t sign = s.n && (*s.p == '-' || *s.p == '+');
    if (s.n >= sizeof text || s.n == sign || !isdigit((unsigned char)s.p[sign]))
        return false;
    memcpy(text, s.p, s.n);
    text[s.n] = '\0';
    errno = 0;
    long n = strtol(text, &end, 10);
    if (*end || errno || n < INT32_MIN || n > INT32_MAX)
        return false;
    *ret = n;
    return true;
}

/* Adds an alternative to an expression. */
static void add_expression(struct buf *to, struct str s)
{
    if (to->len && s.n)
        buf_addc(to, '|');
    buf_add(to, s.p, s.n);
}

static int read_output(struct str word, struct shell_words *w, struct shell_command *c, struct err *err)
{
    struct str name = {word.p + 1, word.n - 1};
    if (name.n == 0)
        name = read_word(w);
    if (name.n == 0)
        return err_set(err, ERR_USAGE, "unexpected end of line after >");
    buf_clear(&c->output);
    buf_add(&c->output, name.p, name.n);
    c->has_output = true;
    return 0;
}

static int read_arguments(struct shell_words *w, struct shell_command *c, struct err *err)
{
    for (struct str word = read_word(w); word.n; word = read_word(w)) {
        if (read_count(word, &c->nodecount)) {
            c->has_nodecount = true;
        } else if (*word.p == '>') {
            if (read_output(word, w, c, err) < 0)
                return -1;
        } else if (str_is(word, "-cum") || str_is(word, "--cum")) {
            c->cum = true;
        } else if (*word.p == '-') {
            add_expression(&c->ignore, (struct str){word.p + 1, word.n - 1});
        } else {
            add_expression(&c->focus, word);
        }
    }
    return 0;
}

/* ---- commands ------------------------------------------------------------------------------------------ */

int shell_command_parse(struct str line, struct shell_command *ret, struct err *err)
{
    struct shell_words w = {.rest = line};
    struct str name;
    *ret = (struct shell_command){.symbol = BUF_INIT(COMMAND_MAX),
                                  .focus = BUF_INIT(COMMAND_MAX),
                                  .ignore = BUF_INIT(COMMAND_MAX),
                                  .output = BUF_INIT(COMMAND_MAX)};
    const struct pprof_flag *format = read_name(&w, &name);
    if (!format)
        return refuse_command(name, &w, err);
    ret->format = output_of(format);
    ret->has_symbol = format->type == TEXT;
    if (ret->has_symbol) {
        struct str symbol = read_word(&w);
        if (symbol.n == 0)
            return err_set(err, ERR_USAGE, "command %s requires an argument", format->name);
        buf_add(&ret->symbol, symbol.p, symbol.n);
    }
    if (read_arguments(&w, ret, err) < 0)
        return -1;
    const struct buf *texts[] = {&ret->symbol, &ret->focus, &ret->ignore, &ret->output};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (buf_check(texts[i], "the command", err) < 0)
            return -1;
    return 0;
}

void shell_command_release(struct shell_command *c)
{
    buf_release(&c->symbol);
    buf_release(&c->focus);
    buf_release(&c->ignore);
    buf_release(&c->output);
}

void shell_command_apply(const struct shell_command *c, struct pprof_options *o)
{
    struct report_settings *r = &o->report;
    bool tags = c->format == PPROF_TAGS;
    o->format = c->format;
    r->symbol = c->has_symbol ? buf_str(&c->symbol) : NULL;
    if (c->has_output)
        o->output = buf_str(&c->output);
    if (c->focus.len)
        *(tags ? &r->tagfocus : &r->focus) = buf_str(&c->focus);
    if (c->ignore.len)
        *(tags ? &r->tagignore : &r->ignore) = buf_str(&c->ignore);
    if (c->cum)
        r->cum = true;
    if (c->has_nodecount)
        r->nodecount = c->nodecount;
    if (r->nodecount == -1 && (c->format == PPROF_TEXT || c->format == PPROF_TOP))
        r->nodecount = 10;
}
