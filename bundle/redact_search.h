/* The search for secrets in one string, shared by the files that each know one kind of place. */
#ifndef BUNDLE_REDACT_SEARCH_H
#define BUNDLE_REDACT_SEARCH_H

#include "bundle/redact_names.h"

/* Lengths in bytes. Of a long and random value REDACT_RANDOM_MOST show that it is random; of a name
 * REDACT_NAME_MOST are decoded. */
enum { REDACT_RANDOM_MOST = 256, REDACT_NAME_MOST = 192 };

/* A position is asked once, and positions are asked in rising order. */
struct redact_search {
    struct str in;
    bool request;        /* it is a request, whose path may hold a secret too */
    size_t password_end; /* of the NAME:PASSWORD that was looked at last, or of the one behind it */
    struct {
        size_t begin, end; /* a secret that was found ahead; begin == end: none */
        enum redact_rule rule;
    } ahead;
    struct redact_context said; /* by what stands before */
    size_t pair_at;             /* where the value begins that said->pair was judged by */
    char name[REDACT_NAME_MOST + 8];
};

static inline bool redact_is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static inline bool redact_is_quote(char c)
{
    return c == '"' || c == '\'';
}

/* Whether `text` ends right before `at`; the case of letters does not count. */
bool redact_stands_before(struct str s, size_t at, const char *text);

/* The one of `texts` that ends right before `at`; NULL: none. */
const char *redact_find_before(struct str s, size_t at, const char *const *texts, size_t n);

/* How many bytes from `at` on are none of `stops`, up to `most`. A NUL is no stop. */
size_t redact_reach_until(struct str s, size_t at, const char *stops, size_t most);

/* ---- redact_url.c: addresses ---- */

/* Looks for the password of the URL whose `://` begins at `at`, in plain text, with JSON's `\/` or
 * percent-encoded, and keeps it in search->ahead. */
void redact_url_read(struct redact_search *search, size_t at);

/* How long the password of `NAME:PASSWORD@` is that begins at `at`, right behind the colon; 0: none. */
size_t redact_url_password(struct redact_search *search, size_t at);

/* How long the secret is that is a part of a path: behind `/token/`, or of a web hook; 0: none. */
size_t redact_url_path(const struct redact_search *search, size_t at);

/* ---- redact_value.c: values of names ---- */

/* How long the value of `NAME=VALUE`, `NAME: VALUE`, `"NAME":"VALUE"` or `--NAME VALUE` is; 0: none that
 * goes.
 */
size_t redact_value_length(struct redact_search *search, size_t at);

/* ---- redact_markup.c: XML and HTML ---- */

/* How long the text is that begins at `at`, right behind a tag, if it goes; 0: it stays. */
size_t redact_markup_length(struct redact_search *search, size_t at);

/* ---- redact_lead.c: what stands in front of a value ---- */

struct redact_lead {
    struct str name, inner; /* inner: the x of `name[x]`; else empty */
    char sign;      /* `=`, `:`, `,`, or a blank behind an option, or a tab behind the first word of a line */
    bool encoded;   /* the sign is percent-encoded, and so is what ends the value */
    bool parameter; /* of a request */
    bool name_quoted;   /* as in JSON */
    bool apart;         /* a blank stands behind the sign */
    bool listed;        /* the name stands behind a bracket, a comma, a blank or nothing */
    bool alone;         /* the name is the first word of a line or stands behind a tab */
    bool element;       /* the name begins a string of a list */
    char quote;         /* that begins the value, or a string that begins with the name; '\0': none */
    bool whole;         /* quote is that of such a string */
    size_t escapes;     /* backslashes in front of it: of JSON in JSON there is one, and three, and seven */
    const char *entity; /* another form of the quote that begins the value (HTML's, `%22`), or NULL */
};

/* What stands in front of the value that begins at `at`; false: it is nobody's value. *ret is valid up to the
 * next call. */
bool redact_lead_read(struct redact_search *search, size_t at, struct redact_lead *ret);

/* How long the encoded sign is that ends before `at`; 0: there is none. */
size_t redact_lead_encoded_sign(struct str s, size_t at);

/* A quote in another form that ends before `at`; NULL: none. */
const char *redact_lead_entity(struct str s, size_t at);

#endif
