#include "bundle/redact/redact_lines.h"

#include <string.h>

#include "bundle/redact/redact_words.h"
#include "base/banned.h"

/* Real keys have fewer than MAX_KEY_LINES lines. An overlap is a part's length divided by OVERLAPS: the
 * search reads one overlap behind a part, and keeps one before it. */
enum { MAX_KEY_LINES = 500, MAX_CONTEXT_LINES = 8, OVERLAPS = 16 };

static void write_bytes(const struct redact_output *into, const char *p, size_t n)
{
    if (into->out)
        buf_add(into->out, p, n);
}

/* ---- private keys -------------------------------------------------------------------------------------- */

static bool has_key_end(struct str s)
{
    return memmem(s.p, s.n, REDACT_KEY_END, strlen(REDACT_KEY_END));
}

/* Updates *opens, whether a private key is open at the end of `s`, after the bytes from `from` on. */
static void read_keys(bool *opens, struct str s, size_t from)
{
    static const char begins[] = "-----BEGIN ";
    enum { HEADER = 64 }; /* the longest header of a key may stand before `from` */
    size_t begin = from > HEADER ? from - HEADER : 0;
    const char *at = s.p + begin, *last = NULL;
    while ((at = memmem(at, (size_t)(s.p + s.n - at), begins, strlen(begins))))
        last = at++;
    struct str rest = {s.p + begin, s.n - begin};
    if (last)
        rest = (struct str){last, (size_t)(s.p + s.n - last)};
    if (last)
        *opens = memmem(rest.p, rest.n, "PRIVATE KEY", 11) && !has_key_end(rest);
    else if (*opens)
        *opens = !has_key_end(rest);
}

/* ---- one line ------------------------------------------------------------------------------------------ */

/* Returns whether the line, or its first part, is a line of a private key's body. */
static bool is_key_line(const struct redact_lines *l, struct str line)
{
    size_t n = strlen(REDACTED);
    bool redacted = line.n >= n && memcmp(line.p, REDACTED, n) == 0;
    return l->key_lines > 0 && line.n > 0 && !redacted && !has_key_end(line);
}

/* Begins a line. */
static void begin_context(struct redact_lines *l, struct str line)
{
    size_t column = 0;
    while (column < line.n && redact_is_blank(line.p[column]))
        column++;
    /* A list's next element, or a line with less indentation, ends the object of a pair in YAML. */
    if (++l->context.lines > MAX_CONTEXT_LINES || (column < line.n && column < l->context.pair_column))
        l->context = (struct redact_context){0};
    l->context.column = redact_text_column(line);
}

/* Moves the beginning of the part to `at`, behind bytes that the caller has written. */
static void skip_to(struct redact_part *p, size_t at)
{
    p->from = at;
    p->written = at > p->written ? at : p->written;
}

/* Redacts the part from p->from on, without a look at the bytes before. */
static void redact_separately(struct redact_lines *l, struct redact_part *p, const struct redact_output *into)
{
    size_t n = p->from;
    struct redact_part rest = {
        .s = {p->s.p + n, p->s.n - n}, .to = p->to > n ? p->to - n : 0, .more = p->more};
    redact_part(&rest, &l->rest, &l->context, into);
    p->from = n + rest.from;
    p->written = n + rest.written;
}

/* Redacts a line of a private key's body, or the first part of one. */
static void redact_key_line(struct redact_lines *l, struct redact_part *p, const struct redact_output *into)
{
    redact_write_secret(into, REDACT_TOKEN);
    l->key_lines--;
    l->line_end.ignored = l->continuation.kind != REDACT_CONTINUES_NONE;
    skip_to(p, p->more ? redact_rest_division(p->s) : p->s.n);
    if (p->more) {
        l->rest = (struct redact_rest){.kind = REDACT_REST_TEXT, .end = REDACT_KEY_END};
        l->origin = REDACT_FROM_KEY;
    }
}

/* Redacts the value of a name on the line before that begins at p->from. */
static void redact_continuation(struct redact_lines *l, struct redact_part *p,
                                const struct redact_output *into)
{
    size_t from = p->from, end = p->more ? redact_rest_division(p->s) : p->s.n;
    struct str line = {p->s.p + from, end - from};
    const struct redact_continuation before = l->continuation;
    struct str value = redact_continuation_value(&l->continuation, line);
    size_t n = (size_t)(value.p - line.p) + value.n;
    l->line_end.ignored = value.n > 0 || l->continuation.kind != REDACT_CONTINUES_NONE;
    if (value.n == 0 && p->more && l->continuation.kind == REDACT_CONTINUES_BRACKETS)
        l->n_counted = end;
    if (value.n == 0)
        return;
    write_bytes(into, line.p, n - value.n);
    redact_write_secret(into, REDACT_OPTION);
    skip_to(p, from + n);
    if (p->more && n == line.n) {
        l->rest = redact_continuation_rest(&before, &l->continuation, line, value);
        l->origin = REDACT_FROM_VALUE;
    }
}

/* Counts the brackets of a value without secrets that began on a line before. */
static void count_brackets(struct redact_lines *l, const struct redact_part *p)
{
    struct str s = {p->s.p, p->more ? redact_rest_division(p->s) : p->s.n};
    if (l->n_counted == 0)
        return;
    l->n_counted += redact_brackets_length(s, l->n_counted, &l->continuation.nesting, s.n);
    if (l->continuation.nesting.depth > 0)
        return;
    l->continuation = (struct redact_continuation){0};
    l->line_end.ignored = false;
    l->n_counted = 0;
}

/* Redacts a line, or the first part of one. */
static void redact_first_part(struct redact_lines *l, struct redact_part *p, const struct redact_output *into)
{
    begin_context(l, p->s);
    if (is_key_line(l, p->s)) {
        redact_key_line(l, p, into);
        return;
    }
    l->key_lines = l->key_lines == 0 || has_key_end(p->s) ? 0 : l->key_lines - 1;
    redact_continuation(l, p, into);
    if (p->more)
        l->line_end.yaml = redact_continuation_begin_yaml(p->s, l->context.pair);
    else if (!l->line_end.ignored)
        l->continuation = redact_continuation_begin(p->s, l->context.pair);
    if (l->origin == REDACT_FROM_LINE)
        redact_separately(l, p, into);
}

/* Skips what follows of a private key or a value that began on a line before. */
static void skip_rest(struct redact_lines *l, struct redact_part *p)
{
    struct redact_search search = {.in = p->s, .more = p->more, .rest = &l->rest};
    search.division = p->more ? redact_rest_division(p->s) : 0;
    skip_to(p, p->from + redact_rest_length(&search, p->from));
    if (l->rest.kind == REDACT_REST_BRACKETS)
        l->continuation.nesting = l->rest.nesting;
    if (l->rest.kind != REDACT_REST_NONE)
        return;
    if (l->origin == REDACT_FROM_KEY)
        l->key_lines = 0;
    else
        l->continuation = (struct redact_continuation){0};
    l->origin = REDACT_FROM_LINE;
}

/* Redacts a further part of a line. */
static void redact_further_part(struct redact_lines *l, struct redact_part *p,
                                const struct redact_output *into)
{
    count_brackets(l, p);
    if (l->origin == REDACT_FROM_LINE) {
        redact_part(p, &l->rest, &l->context, into);
        return;
    }
    bool of_key = l->origin == REDACT_FROM_KEY;
    skip_rest(l, p);
    if (of_key && l->origin == REDACT_FROM_LINE) /* a value that waited for the end of the key */
        redact_continuation(l, p, into);
    if (l->origin == REDACT_FROM_LINE)
        redact_separately(l, p, into);
}

/* Redacts a line, or the next part of one, and moves p->from to where the next part begins. */
static void redact_line_part(struct redact_lines *l, struct redact_part *p, const struct redact_output *into)
{
    size_t from = p->from;
    if (l->is_long)
        redact_further_part(l, p, into);
    else
        redact_first_part(l, p, into);
    struct str done = {p->s.p, p->from};
    if (l->origin != REDACT_FROM_KEY)
        read_keys(&l->line_end.opens_key, done, from);
    if (l->is_long || p->more)
        redact_continuation_add(&l->line_end, done, from);
}

/* ---- parts of long lines ------------------------------------------------------------------------------- */

/* Returns whether a word may end with that byte. */
static bool ends_word(char c)
{
    return !redact_is_name_byte(c) && c != '%' && c != '\\';
}

/* Returns the number of bytes before and behind a part that are searched with it: the longest learned value
 * fits into them. */
static size_t get_overlap(const struct redact_lines *l, const struct redact_output *into)
{
    size_t usual = l->line.max / OVERLAPS, most = l->line.max / 4;
    size_t longest = into->learned ? into->learned->words->literals.longest : 0;
    return longest < usual ? usual : longest < most ? longest : most;
}

/* Returns the end of the part of a long line: behind the last word that has an overlap behind it. */
static size_t find_cut(const struct redact_lines *l, size_t overlap)
{
    size_t most = l->line.max - overlap, least = l->n_searched > most / 2 ? l->n_searched : most / 2,
           n = most;
    while (n > least && !ends_word(l->line.data[n - 1]))
        n--;
    return n > least ? n : most;
}

/* Redacts a part of the line in the full buffer. Keeps its end for the next part. */
static void flush_part(struct redact_lines *l, const struct redact_output *into)
{
    size_t overlap = get_overlap(l, into);
    struct redact_part p = {.s = {l->line.data, l->line.len},
                            .from = l->n_searched,
                            .to = find_cut(l, overlap),
                            .written = l->n_written,
                            .more = true};
    redact_line_part(l, &p, into);
    size_t dropped = p.from > overlap ? p.from - overlap : 0;
    l->is_long = true;
    l->n_searched = p.from - dropped;
    l->n_written = p.written - dropped;
    l->n_counted = l->n_counted > dropped ? l->n_counted - dropped : 0;
    buf_consume(&l->line, dropped);
}

/* Redacts a line, or the rest of a long one. A carriage return at its end stays. */
static void redact_end(struct redact_lines *l, struct str line, const struct redact_output *into)
{
    size_t cr = line.n > l->n_written && line.p[line.n - 1] == '\r', n = line.n - cr;
    struct redact_part p = {.s = {line.p, n}, .from = l->n_searched, .to = n, .written = l->n_written};
    redact_line_part(l, &p, into);
    write_bytes(into, line.p + line.n - cr, cr);
    if (l->is_long && !l->line_end.ignored && l->origin != REDACT_FROM_KEY)
        l->continuation = redact_continuation_end(&l->line_end, p.s);
    if (l->line_end.opens_key)
        l->key_lines = MAX_KEY_LINES;
    l->line_end = (struct redact_line_end){0};
    l->rest.kind = REDACT_REST_NONE;
    l->origin = REDACT_FROM_LINE;
    l->is_long = false;
    l->n_searched = l->n_written = l->n_counted = 0;
}

/* ---- lines --------------------------------------------------------------------------------------------- */

static void flush_line(struct redact_lines *l, const struct redact_output *into)
{
    redact_end(l, (struct str){buf_str(&l->line), l->line.len}, into);
    buf_clear(&l->line);
}

/* Returns the length of the line, without the newline or the carriage return that ends it. */
static size_t line_length(struct str text)
{
    size_t n = 0;
    while (n < text.n && text.p[n] != '\n' && (text.p[n] != '\r' || n + 1 == text.n || text.p[n + 1] == '\n'))
        n++;
    return n;
}

void redact_lines_add(struct redact_lines *l, struct str text, const struct redact_output *into)
{
    while (text.n > 0) {
        size_t n = line_length(text), room = l->line.max - l->line.len, taken = n < room ? n : room;
        bool ends = n < text.n && taken == n;
        if (ends && l->line.len == 0) { /* the buffer is empty: search the line in place */
            redact_end(l, (struct str){text.p, n}, into);
        } else {
            buf_add(&l->line, text.p, taken);
            if (ends)
                flush_line(l, into);
            else if (l->line.len == l->line.max)
                flush_part(l, into);
        }
        if (ends)
            buf_addc(into->out, text.p[n]);
        taken += ends;
        text = (struct str){text.p + taken, text.n - taken};
    }
}

void redact_lines_end(struct redact_lines *l, const struct redact_output *into)
{
    flush_line(l, into);
}
