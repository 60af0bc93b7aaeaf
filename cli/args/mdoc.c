/*
 * Reads the page line by line. Text and inline macros are collected into a paragraph. The next block macro,
 * or the end, folds and prints it.
 */
#include "cli/args/mdoc.h"

#include <ctype.h>
#include <string.h>

#include "cli/term/columns.h"
#include "base/banned.h"

#define INDENT 4
#define MAX_LISTS 4
#define MAX_WORDS 64

struct list {
    bool tagged, numbered;
    unsigned number; /* the number of the last entry that was printed */
};

struct page {
    FILE *out;
    struct buf paragraph;
    struct list lists[MAX_LISTS];
    size_t depth;    /* the number of open lists */
    size_t printed;  /* columns of the paragraph's first line that are already printed */
    bool glue;       /* add the next word without a blank */
    bool literal;    /* between .Bd -literal and .Ed */
    bool has_output; /* false until the first line is printed */
};

/* ---- words --------------------------------------------------------------------------------------------- */

/* Replaces the roff escapes that our pages use, in place. */
static void replace_escapes(char *s)
{
    static const struct {
        const char *escape, *text;
    } escapes[] = {{"\\-", "-"}, {"\\e", "\\"}, {"\\&", ""}, {"\\(aq", "'"}, {"\\(dq", "\""}, {"\\(em", "-"}};
    char *to = s;
    while (*s) {
        size_t i = 0, n = sizeof escapes / sizeof *escapes;
        while (i < n && strncmp(s, escapes[i].escape, strlen(escapes[i].escape)) != 0)
            i++;
        if (i == n) {
            *to++ = *s++;
            continue;
        }
        s += strlen(escapes[i].escape);
        if (*escapes[i].text)
            *to++ = *escapes[i].text;
    }
    *to = '\0';
}

/* Splits a macro line in place. Words may be quoted. */
static size_t split_words(char *line, char *words[static MAX_WORDS])
{
    size_t n = 0;
    while (n < MAX_WORDS) {
        line += strspn(line, " ");
        if (!*line)
            break;
        bool quoted = *line == '"';
        words[n++] = line += quoted;
        line += strcspn(line, quoted ? "\"" : " ");
        if (*line)
            *line++ = '\0';
    }
    return n;
}

/* Adds `before` and a word to the paragraph. A blank precedes them, except before closing punctuation, after
 * an opening bracket, and if `glue` is set. */
static void add_word(struct page *p, const char *before, const char *word)
{
    bool closes = word[0] && strchr(".,;:)", word[0]) && !word[1] && !*before;
    bool opened = p->paragraph.len > 0 && strchr("([", p->paragraph.data[p->paragraph.len - 1]);
    if (p->paragraph.len > 0 && !closes && !p->glue && !opened)
        buf_addc(&p->paragraph, ' ');
    buf_adds(&p->paragraph, before);
    buf_adds(&p->paragraph, word);
    p->glue = false;
}

/* ---- macros within a line ------------------------------------------------------------------------------ */

/* Macros whose words are printed unchanged, or each with a prefix. */
static const struct {
    const char *name, *before;
} inline_macros[] = {{"Ar", ""}, {"Cm", ""}, {"Ev", ""}, {"Fl", "-"}, {"Li", ""},
                     {"Pa", ""}, {"Va", ""}, {"Nm", ""}, {"Sx", ""},  {"Sy", ""}};
#define N_INLINE (sizeof inline_macros / sizeof *inline_macros)

/* Returns the macro's index, or N_INLINE if the word is no such macro. */
static size_t find_inline_macro(const char *word)
{
    size_t i = 0;
    while (i < N_INLINE && strcmp(inline_macros[i].name, word) != 0)
        i++;
    return i;
}

static bool is_punctuation(const char *word)
{
    return word[0] && !word[1] && strchr(".,;:()", word[0]);
}

static void add_words(struct page *p, char **words, size_t n);

/* Macros that enclose the rest of the line, except punctuation at its end. */
static const struct {
    const char *name, *opening, *closing;
} enclosing_macros[] = {{"Op", "[", "]"}, {"Pq", "(", ")"}, {"Ql", "'", "'"}};
#define N_ENCLOSING (sizeof enclosing_macros / sizeof *enclosing_macros)

/* Returns the macro's index, or N_ENCLOSING if the word is no such macro. */
static size_t find_enclosing_macro(const char *word)
{
    size_t i = 0;
    while (i < N_ENCLOSING && strcmp(enclosing_macros[i].name, word) != 0)
        i++;
    return i;
}

static void add_enclosed(struct page *p, size_t macro, char **words, size_t n)
{
    size_t inside = n;
    while (inside > 0 && is_punctuation(words[inside - 1]))
        inside--;
    add_word(p, enclosing_macros[macro].opening, "");
    p->glue = true;
    add_words(p, words, inside);
    buf_adds(&p->paragraph, enclosing_macros[macro].closing);
    add_words(p, words + inside, n - inside);
}

static void add_reference(struct page *p, const char *name, const char *section)
{
    char text[100];
    snprintf(text, sizeof text, "%s(%s)", name, section);
    add_word(p, "", text);
}

static void add_words(struct page *p, char **words, size_t n)
{
    size_t macro = N_INLINE;
    for (size_t i = 0; i < n; i++) {
        size_t next = find_inline_macro(words[i]);
        if (strcmp(words[i], "Ns") == 0) {
            p->glue = true;
        } else if (find_enclosing_macro(words[i]) < N_ENCLOSING) {
            add_enclosed(p, find_enclosing_macro(words[i]), words + i + 1, n - i - 1);
            return;
        } else if (strcmp(words[i], "Xr") == 0 && i + 2 < n) {
            replace_escapes(words[i + 1]);
            add_reference(p, words[i + 1], words[i + 2]);
            i += 2;
        } else if (next < N_INLINE) {
            macro = next;
        } else {
            bool plain = macro == N_INLINE || is_punctuation(words[i]);
            replace_escapes(words[i]);
            add_word(p, plain ? "" : inline_macros[macro].before, words[i]);
        }
    }
}

/* ---- blocks -------------------------------------------------------------------------------------------- */

/* Returns the column of the innermost list's text. */
static size_t indent_of(const struct page *p)
{
    return INDENT * (1 + p->depth);
}

/* Prints and clears the paragraph. */
static void print_paragraph(struct page *p)
{
    if (p->paragraph.len > 0) {
        size_t indent = indent_of(p);
        if (p->printed < indent)
            fprintf(p->out, "%*s", (int)(indent - p->printed), "");
        columns_print_folded(p->out, buf_str(&p->paragraph), indent, indent);
        p->has_output = true;
    }
    buf_clear(&p->paragraph);
    p->printed = 0;
    p->glue = false;
}

static void print_heading(struct page *p, size_t indent, char **words, size_t n)
{
    print_paragraph(p);
    fprintf(p->out, "%s%*s", p->has_output ? "\n" : "", (int)indent, "");
    for (size_t i = 0; i < n; i++) {
        replace_escapes(words[i]);
        fprintf(p->out, "%s%s", i ? " " : "", words[i]);
    }
    fputc('\n', p->out);
    p->has_output = true;
}

static void print_empty_line(struct page *p)
{
    print_paragraph(p);
    if (p->has_output)
        fputc('\n', p->out);
}

static void begin_list(struct page *p, char **words, size_t n)
{
    print_paragraph(p);
    if (p->depth == MAX_LISTS)
        return;
    struct list list = {0};
    for (size_t i = 0; i < n; i++) {
        list.tagged |= strcmp(words[i], "-tag") == 0;
        list.numbered |= strcmp(words[i], "-enum") == 0;
    }
    p->lists[p->depth++] = list;
}

/* Begins an entry of a list: prints the entry's tag on a line of its own, or the number or dash before its
 * text. */
static void begin_item(struct page *p, char **words, size_t n)
{
    char mark[16] = "-";
    print_paragraph(p);
    if (p->depth == 0)
        return;
    struct list *list = &p->lists[p->depth - 1];
    if (list->tagged) {
        p->depth--;
        add_words(p, words, n);
        print_paragraph(p);
        p->depth++;
        return;
    }
    if (list->numbered)
        snprintf(mark, sizeof mark, "%u.", ++list->number);
    p->printed = indent_of(p);
    fprintf(p->out, "%*s%-*s", (int)(p->printed - INDENT), "", INDENT, mark);
}

static void print_literal_line(struct page *p, char *line)
{
    replace_escapes(line);
    if (*line)
        fprintf(p->out, "%*s%s", (int)indent_of(p) + 2, "", line);
    fputc('\n', p->out);
    p->has_output = true;
}

static void begin_literal(struct page *p)
{
    print_empty_line(p);
    p->literal = true;
}

/* `.Nm` alone means the program's name. `.Nm WORD` gives the page's name, before `.Nd`. */
static void add_name(struct page *p, char **words, size_t n)
{
    char program[] = "profgrab";
    char *default_words[] = {program};
    add_words(p, n ? words : default_words, n ? n : 1);
}

static void add_description(struct page *p, char **words, size_t n)
{
    add_word(p, "", "-");
    add_words(p, words, n);
}

/* ---- lines --------------------------------------------------------------------------------------------- */

static void apply_block_macro(struct page *p, const char *macro, char **words, size_t n)
{
    if (strcmp(macro, "Sh") == 0)
        print_heading(p, 0, words, n);
    else if (strcmp(macro, "Ss") == 0)
        print_heading(p, 2, words, n);
    else if (strcmp(macro, "Pp") == 0)
        print_empty_line(p);
    else if (strcmp(macro, "Bl") == 0)
        begin_list(p, words, n);
    else if (strcmp(macro, "It") == 0)
        begin_item(p, words, n);
    else if (strcmp(macro, "El") == 0 && (print_paragraph(p), p->depth > 0))
        p->depth--;
    else if (strcmp(macro, "Bd") == 0)
        begin_literal(p);
    else if (strcmp(macro, "Nm") == 0)
        add_name(p, words, n);
    else if (strcmp(macro, "Nd") == 0)
        add_description(p, words, n);
}

static bool is_block(const char *macro)
{
    static const char *const blocks[] = {"Sh", "Ss", "Pp", "Bl", "It", "El", "Bd", "Nm", "Nd"};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        if (strcmp(blocks[i], macro) == 0)
            return true;
    return false;
}

static void read_macro_line(struct page *p, char *line)
{
    char *words[MAX_WORDS];
    static const char *const ignored[] = {"\\\"", "Dd", "Dt", "Os"};
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
        if (strncmp(line, ignored[i], 2) == 0)
            return;
    if (strncmp(line, "Dl ", 3) == 0) {
        print_paragraph(p);
        print_literal_line(p, line + 3);
        return;
    }
    size_t n = split_words(line, words);
    if (n > 0 && is_block(words[0]))
        apply_block_macro(p, words[0], words + 1, n - 1);
    else
        add_words(p, words, n);
}

static void read_line(struct page *p, char *line)
{
    if (p->literal && strcmp(line, ".Ed") == 0) {
        p->literal = false;
    } else if (p->literal) {
        print_literal_line(p, line);
    } else if (*line == '.') {
        read_macro_line(p, line + 1);
    } else if (*line) {
        replace_escapes(line);
        add_word(p, "", line);
    }
}

void mdoc_print(const char *source, FILE *out)
{
    struct page p = {.out = out, .paragraph = BUF_INIT(1 << 20)};
    struct buf line = BUF_INIT(1 << 16);
    while (*source) {
        size_t n = strcspn(source, "\n");
        buf_clear(&line);
        buf_add(&line, source, n);
        if (line.data)
            read_line(&p, line.data);
        source += n + (source[n] == '\n');
    }
    print_paragraph(&p);
    buf_release(&line);
    buf_release(&p.paragraph);
}
