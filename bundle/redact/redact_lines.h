/*
 * A text in pieces of any size, searched line by line. A line of any length needs bounded memory: a line that
 * is longer than a part is searched in parts.
 *
 * The search of a part begins where that of the part before ended, with its state. It can read a
 * sixteenth of a part before that position and behind the part's end, or the length of the longest learned
 * value, so it finds a secret wherever the secret begins. A secret that goes on behind the part is removed up
 * to a division. The search of the next part begins there: it removes what follows, up to where the rule that
 * found the secret sees its end (struct redact_rest).
 */
#ifndef BUNDLE_REDACT_REDACT_LINES_H
#define BUNDLE_REDACT_REDACT_LINES_H

#include "bundle/redact/redact_search.h"

/* A value that continues on the next line, or begins there. */
enum redact_continuation_kind {
    REDACT_CONTINUES_NONE,
    REDACT_CONTINUES_ARGUMENT,
    REDACT_CONTINUES_BLOCK,    /* a block of YAML */
    REDACT_CONTINUES_LIST,     /* a list or a scalar of YAML */
    REDACT_CONTINUES_BRACKETS, /* a list or an object in brackets */
    REDACT_CONTINUES_TEXT,     /* up to three quotes, or the end of CDATA */
    REDACT_CONTINUES_ELEMENT   /* an element of XML */
};
/* The role of an argument that follows an option: a secret, the password of `-p`, or USER:PASSWORD. */
enum redact_option { REDACT_OPTION_NONE, REDACT_OPTION_SECRET, REDACT_OPTION_P, REDACT_OPTION_USER };
struct redact_continuation {
    enum redact_continuation_kind kind;
    enum redact_option option; /* of an argument */
    bool word;                 /* the argument is the first word of the line */
    bool strings_only;         /* numbers and objects are no secrets */
    size_t indent;             /* the indentation of the name of a block or a list */
    struct redact_nesting nesting;
    const char *end; /* the end of a text */
    unsigned lines;  /* of the value so far */
};

/* The forms of text of REDACT_CONTINUES_TEXT. */
enum { REDACT_TEXT_FORMS = 3 };

/* The facts about a value on the next line that the parts of a long line have shown so far. */
struct redact_line_end {
    bool ignored;                       /* the line belongs to the value of the line before */
    struct redact_continuation yaml;    /* of the line's beginning */
    bool opens_text[REDACT_TEXT_FORMS]; /* a text of this form begins in the line and does not end there */
    bool opens_key;                     /* so does a private key */
};

/* Where a secret began that was divided: in this line, in a line before as a value, or as the body of a
 * private key. */
enum redact_rest_origin { REDACT_FROM_LINE, REDACT_FROM_VALUE, REDACT_FROM_KEY };

/* The size of the parts of a long line is the limit of `line`. */
#define REDACT_LINE_MAX (256u << 10)
struct redact_lines {
    struct buf line;   /* the incomplete line; of a long one, its last bytes */
    size_t n_searched; /* the bytes of `line` that the parts before contained */
    size_t n_written;  /* the bytes of `line` that are written */
    /* The bytes of `line` whose brackets are counted, if the line is in a value without secrets; else 0. */
    size_t n_counted;
    bool is_long;            /* a part of the line was searched */
    unsigned key_lines;      /* how many more lines may belong to the body of a private key */
    struct redact_rest rest; /* what follows of a secret that the part before did not contain wholly */
    enum redact_rest_origin origin;
    struct redact_context context;
    struct redact_continuation continuation;
    struct redact_line_end line_end;
};
#define REDACT_LINES_INIT                                                                                    \
    {                                                                                                        \
        .line = BUF_INIT(REDACT_LINE_MAX)                                                                    \
    }
void redact_lines_add(struct redact_lines *l, struct str text, const struct redact_output *into);
void redact_lines_end(struct redact_lines *l, const struct redact_output *into);

/* ---- redact_text.c ---- */

/* A part of a line: the bytes of `s` from `from` to `to`. The search reads what stands before and behind it
 * too. */
struct redact_part {
    struct str s;
    size_t from, to;
    size_t written; /* the bytes of `s` before this offset are written */
    bool more;      /* the line goes on behind `s` */
};

/* Redacts the part, after what follows at its beginning of the secret *rest (NULL for a whole string).
 * Updates *rest, *context and p->written, and moves p->from to where the next part begins. That is not before
 * p->to, unless a rule has to read on behind `s`: then it is not before the middle of the part. */
void redact_part(struct redact_part *p, struct redact_rest *rest, struct redact_context *context,
                 const struct redact_output *into);

/* Writes [redacted] for a value that the caller found, and counts it. */
void redact_write_secret(const struct redact_output *into, enum redact_rule rule);

/* ---- redact_continuation.c: values on the line after their name ---- */

/* Returns the number of bytes before the name or the value of a line: blanks and the dashes of YAML lists. */
size_t redact_text_column(struct str line);

/* Checks whether a value begins on the line after this one; `pair`: how secret the lines before make a
 * `value`. */
struct redact_continuation redact_continuation_begin(struct str line, enum redact_secrecy pair);

/* The same for a line in parts. Call redact_continuation_add for each part, with the bytes before it, and
 * redact_continuation_end with the last bytes of the line. */
void redact_continuation_add(struct redact_line_end *end, struct str s, size_t from);
struct redact_continuation redact_continuation_end(const struct redact_line_end *end, struct str line);

/* Checks whether the line before, or its first part, makes a value of YAML begin on the next line. */
struct redact_continuation redact_continuation_begin_yaml(struct str line, enum redact_secrecy pair);

/* Returns the part of the next line that is the value; empty: none. Updates *continuation for the line after
 * that. */
struct str redact_continuation_value(struct redact_continuation *continuation, struct str line);

/* Returns what ends the value that redact_continuation_value found in a part of a line: `before` and `after`
 * are the continuation before and after that call. */
struct redact_rest redact_continuation_rest(const struct redact_continuation *before,
                                            const struct redact_continuation *after, struct str line,
                                            struct str value);

#endif
