/* The search for secrets in one string, or in a part of a long line. The files for URLs, values, lists,
 * markup and continuations share it. */
#ifndef BUNDLE_REDACT_REDACT_SEARCH_H
#define BUNDLE_REDACT_REDACT_SEARCH_H

#include "bundle/redact/redact_names.h"

/* The beginning and the end of a CDATA section in XML. */
#define REDACT_CDATA "<![CDATA["
#define REDACT_CDATA_END "]]>"

/* The beginning of a private key's last line. */
#define REDACT_KEY_END "-----END"

/* Lengths in bytes. REDACT_RANDOM_MAX bytes of a value decide whether it looks random; REDACT_NAME_MAX
 * bytes of a name are decoded. */
enum { REDACT_RANDOM_MAX = 256, REDACT_NAME_MAX = 192 };

/* How secret the text so far makes a later value: `name: DB_PASSWORD` makes the `value:` below it a secret,
 * and a table cell with the text `password` makes the next cell a secret. */
struct redact_context {
    enum redact_secrecy pair;      /* how secret the next `value:` of a pair is */
    enum redact_secrecy next_cell; /* how secret the next table cell is */
    uint32_t pair_word;            /* the number of the word that set `pair`: `name`, `key`, ... */
    size_t column;                 /* where the text of this line begins */
    size_t pair_column;            /* where the text of the line that set `pair` begins */
    bool nested;                   /* a cell has begun, and its text is in another tag */
    unsigned lines;                /* lines since `pair` or `next_cell` was set */
};

/* The state of a search in a value with brackets and strings. All 0 at its beginning. */
struct redact_nesting {
    size_t depth;   /* open brackets */
    bool round;     /* they are round: a tuple of Python */
    bool word;      /* the brackets are closed, and a word follows them */
    char quote;     /* the quote of an open string; '\0': none */
    size_t escapes; /* backslashes before this quote */
};

/* The name before a value, its sign and its quotes (redact_prefix.c). */
struct redact_prefix {
    struct str name, inner; /* inner: the x of `name[x]`; else empty */
    char sign;        /* `=`, `:` or `,`; a blank if there is none: after an option, or after the first word
                         of a line and a tab */
    bool encoded;     /* the sign and the end of the value are percent-encoded */
    bool parameter;   /* the name is a parameter of a URL */
    bool in_path;     /* a parameter behind a semicolon or a slash, of a component of a request's path */
    bool colon;       /* `NAME:VALUE` in a request's path or parameter */
    bool begins_word; /* `"NAME:VALUE"`, `=NAME:VALUE`: the name is right behind a quote or a sign */
    bool request;     /* the string is a request */
    bool name_quoted; /* as in JSON */
    bool space_after_sign; /* a blank follows the sign */
    bool after_separator;  /* the name is at the beginning, or follows a bracket, a comma or a blank */
    bool begins_column;    /* the name begins a line, or follows a tab */
    bool first_word;       /* only blanks precede the name */
    bool in_list;          /* the name begins a string of a list */
    bool triple;           /* three quotes begin the value, as in Python */
    char quote; /* the quote before the value, or before a string that begins with the name; '\0': none */
    bool quote_opens_string; /* the quote begins the string that begins with the name */
    size_t escapes;          /* backslashes before the quote: nested JSON has one, three or seven */
    const char *long_quote;  /* instead of `quote`, a quote of several bytes: `&quot;`, `%22`, typographic;
                                NULL: none */
    bool entity;             /* the sign, or the blank after it, is an HTML entity */
    /* `NAME: VALUE`, perhaps with an encoded colon and blank: the value is the rest of the line, of the
     * parameter or of the text between tags. */
    bool header;
};

/* The end of a secret that goes on behind the part of a long line in which it began. */
enum redact_rest_kind {
    REDACT_REST_NONE,
    REDACT_REST_BYTE,     /* one of the bytes of `end`, or the end of the line */
    REDACT_REST_TEXT,     /* the text `end` */
    REDACT_REST_TOKEN,    /* a byte that no name contains, and that is not in `end` */
    REDACT_REST_BRACKETS, /* the bracket that closes `nesting` */
    /* The end of the value behind `prefix`. */
    REDACT_REST_LONG_QUOTE,
    REDACT_REST_QUOTE,
    REDACT_REST_PARAMETER,
    REDACT_REST_WORD /* the word, perhaps with brackets */
};
struct redact_rest {
    enum redact_rest_kind kind;
    const char *end;
    struct redact_prefix prefix;
    struct redact_nesting nesting;
};

/* The state of the search. It checks each position once, in rising order. */
struct redact_search {
    struct str in;
    bool request;             /* the string is a request, whose path may contain a secret */
    bool more;                /* the line goes on behind `in` */
    bool undecided;           /* a rule might match at this position if it could read on behind `in` */
    size_t wait_from;         /* the search may end at an undecided position from this one on */
    bool may_wait;            /* it may end at this position */
    size_t division;          /* where a secret that goes on behind `in` is divided */
    struct redact_rest *rest; /* of the last secret that was divided; NULL if `in` is a whole string */
    size_t password_end;      /* the end of the last NAME:PASSWORD checked */
    size_t dsn_end;           /* the end of the bytes checked for `@tcp(` */
    size_t dsn_at;            /* the last `@tcp(` in them; 0: none */
    size_t key_end;           /* the end of the next private key's body, if known */
    bool key_end_known;
    struct {
        size_t begin, end; /* a secret found ahead of the position; begin == end: none */
        enum redact_rule rule;
    } ahead;
    struct redact_context context;  /* from the text before */
    size_t pair_at;                 /* where the last name or value of a pair begins */
    char name[REDACT_NAME_MAX + 8]; /* the decoded name of a value */
};

static inline bool redact_is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static inline bool redact_is_quote(char c)
{
    return c == '"' || c == '\'' || c == '`';
}

/* Returns whether `text` ends right before `at`; ignores case. */
bool redact_is_before(struct str s, size_t at, const char *text);

/* Returns the first of `texts` that ends right before `at`; NULL: none. */
const char *redact_find_before(struct str s, size_t at, const char *const *texts, size_t n);

/* Returns the number of bytes from `at` to the first of `stops`, up to `max`. A NUL does not stop. */
size_t redact_length_until(struct str s, size_t at, const char *stops, size_t max);

/* Returns whether the quote at `at` ends a string, because the end of the text, a blank, a separator or a
 * closing bracket follows the quote. */
bool redact_ends_string(struct str s, size_t at);

/* ---- redact_url.c: addresses ---- */

/* Finds the password of the URL whose `://` begins at `at`, plain, with JSON's `\/` or percent-encoded, and
 * stores it in search->ahead. */
void redact_url_read(struct redact_search *search, size_t at);

/* Returns the length of the password in `NAME:PASSWORD@` that begins at `at`, right after the colon; 0: there
 * is none. */
size_t redact_url_password(struct redact_search *search, size_t at);

/* Returns the length of the secret at `at` in a path, after `/token/` or in a web hook; 0: none. */
size_t redact_url_path(struct redact_search *search, size_t at);

/* Returns the length of the part of a request's path, or of the parameter without a name, that begins at `at`
 * and looks random; 0: none. */
size_t redact_url_part(struct redact_search *search, size_t at);

/* ---- redact_value.c: values of names ---- */

/* Returns the length of the value that begins at `at` in `NAME=VALUE`, `NAME: VALUE`, `"NAME":"VALUE"` or
 * `--NAME VALUE`; 0: do not redact. */
size_t redact_value_length(struct redact_search *search, size_t at);

/* Returns the length of the rest of a value that was divided, and updates rest->nesting. */
size_t redact_value_rest_length(struct redact_rest *rest, struct str s, size_t at);

/* Forgets an earlier `name` of a pair if its object or tag ends before `at`. */
void redact_end_object(struct redact_search *search, size_t at);

/* Returns the length of the inside of brackets up to the bracket that closes nesting->depth of them, or up to
 * the end; at most `max` bytes. Counts round brackets only (nesting->round), or square and curly ones only.
 * Ignores brackets in strings. Updates *nesting. */
size_t redact_brackets_length(struct str s, size_t at, struct redact_nesting *nesting, size_t max);

/* Returns the length of the Go type that begins at `at`, before a bracket: 7 for `&main.T{...}`, 0 for
 * `{...}`. At most `max`. */
size_t redact_type_length(struct str s, size_t at, size_t max);

/* ---- redact_list.c: lists and objects of plural names ---- */

/* Returns whether the list or the object has a string in quotes or a word that is text (redact_is_text),
 * apart from its names. `bracket`: the offset of its bracket, behind a type of Go. */
bool redact_list_has_text(struct str v, size_t bracket);

/* ---- redact_markup.c: XML and HTML ---- */

/* Returns the length of the text that begins at `at`, right after a tag; 0: do not redact. */
size_t redact_markup_length(struct redact_search *search, size_t at);

/* Returns how secret the name of the tag around `at` makes its attribute `value`: `<token value="x"/>`. */
enum redact_secrecy redact_markup_classify_value(struct str s, size_t at);

/* ---- redact_rest.c: secrets that are longer than a part of a line ---- */

/* Returns where to divide a secret that goes on behind the part `s` of a line. */
size_t redact_rest_division(struct str s);

/* Returns `n`, the length of the secret at `at`, if it ends before the division. Else divides the secret:
 * returns its length up to there and stores `rest`. */
size_t redact_rest_divide(struct redact_search *search, size_t at, size_t n, struct redact_rest rest);

/* ---- redact_rest_length.c ---- */

/* Returns the length of what follows at `at` of the secret that was divided. If that reaches the division or
 * the end of the line, updates *search->rest; else it becomes REDACT_REST_NONE. */
size_t redact_rest_length(struct redact_search *search, size_t at);

/* ---- redact_prefix.c: the text before a value ---- */

/* Reads the text before the value that begins at `at`; false: no name has this value. *ret is valid until the
 * next call. */
bool redact_prefix_read(struct redact_search *search, size_t at, struct redact_prefix *ret);

/* Returns the length of the encoded sign, or the encoded blank, that ends before `at`; 0: none. */
size_t redact_prefix_encoded_sign(struct str s, size_t at);
size_t redact_prefix_encoded_blank(struct str s, size_t at);

/* Returns the position before the blanks that end before `at`, plain or encoded: `%20`, `+`, `&nbsp;`. */
size_t redact_prefix_skip_blanks(struct str s, size_t at);

/* Returns the quote of several bytes that ends before `at`, such as `&quot;` or `%22`; NULL: none. */
const char *redact_prefix_long_quote(struct str s, size_t at);

/* Returns the closing quote for an opening quote of several bytes. */
const char *redact_prefix_closing(const char *long_quote);

#endif
