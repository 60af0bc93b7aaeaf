/* Rules for names and values, for the files that apply the rules of redact.h. */
#ifndef BUNDLE_REDACT_REDACT_NAMES_H
#define BUNDLE_REDACT_REDACT_NAMES_H

#include "bundle/redact/redact.h"

/* Returns how secret a name is. Ignores dashes before the name. */
enum redact_secrecy redact_classify_name(struct str name);

/* Returns whether to redact a value whose name has this secrecy. redact_is_secret_string: a value in quotes.
 */
bool redact_is_secret(enum redact_secrecy secrecy, struct str value);
bool redact_is_secret_string(enum redact_secrecy secrecy, struct str value);

/* ---- redact_plural.c ---- */

/* Returns whether the word is a number, perhaps with a unit, or an address in memory. */
bool redact_is_number(struct str v);

/* Returns whether an unquoted value of a plural name is text. docs/formats.md has the rule. */
bool redact_is_text(struct str v);

/* ASCII letters, digits and `_-.`: the bytes of names and tokens. */
static inline bool redact_is_name_byte(char c)
{
    return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c == '_' || c == '-' ||
           c == '.';
}

/* Returns whether to redact the value of a URL's parameter: whether the name means a secret in parameters
 * (`sig`, `code`), or is unknown and the value looks random. in_request: the text is a request of profgrab,
 * in which every value of `key` and `auth` is a secret too. */
bool redact_is_secret_parameter(struct str name, struct str value, bool in_request);

/* Returns whether the text has eight bytes or more in which letters and digits alternate more than in words:
 * `c75de8c1b7c3ae`. */
bool redact_looks_random(struct str v);

/* Returns whether a part of a request's path, or a parameter without a name, looks random. The version of an
 * API does not. */
bool redact_is_random_part(struct str part);

/* Returns whether a part of a path after the name of a secret is an ordinary word, as in `/token/refresh`. */
bool redact_is_ordinary_part(struct str part);

/* Returns whether the text is a port: one to five digits. */
bool redact_is_port(struct str v);

/* Returns whether to redact the value of `-p`: not a port, a path, a protocol or a list of addresses. */
bool redact_is_password_of_p(struct str v);

/* Returns whether an argument looks like an option, not like a value with a leading dash: its name begins
 * with a lower-case letter and does not look random, or is one letter. */
bool redact_is_option(struct str argument);

/* The role of a name in a pair such as {"name": "DB_PASSWORD", "value": "x"}. */
enum redact_pair_role { REDACT_NO_PAIR, REDACT_PAIR_NAME, REDACT_PAIR_VALUE };
enum redact_pair_role redact_get_pair_role(struct str name);

/* Returns the number of a name for which redact_get_pair_role returns REDACT_PAIR_NAME. */
uint32_t redact_pair_number(struct str name);

/* Returns whether the option accepts USER:PASSWORD: `-u`, `--user`, `--basic-auth`. */
bool redact_is_user_option(struct str name);

/* Returns the offset of the password in USER:PASSWORD; 0: none, as in `1000:1000` and in a URL. */
size_t redact_user_password(struct str value);

#endif
