/* Names and values as the rules of redact.h judge them, for the files that apply these rules. */
#ifndef BUNDLE_REDACT_NAMES_H
#define BUNDLE_REDACT_NAMES_H

#include "bundle/redact.h"

/* Dashes in front of the name do not count. */
enum redact_name redact_judge_name(struct str name);

/* Whether a value goes under a name that was judged so. */
bool redact_goes(enum redact_name says, struct str value);

/* ASCII letters, digits and `_-.`: of these names and tokens consist. */
static inline bool redact_is_name_byte(char c)
{
    return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c == '_' || c == '-' ||
           c == '.';
}

/* Whether the value of a parameter of a request goes, for a name that tells nothing elsewhere: `sig`, `code`;
 * of an unknown name a value that looks random. */
bool redact_goes_as_parameter(struct str name, struct str value);

/* Eight bytes or more in which letters and digits change places as in no word: `c75de8c1b7c3ae`. */
bool redact_looks_random(struct str v);

/* One to five digits. */
bool redact_is_port(struct str v);

/* Whether an argument looks like an option rather than like a value that begins with a dash: its name begins
 * with a small letter and does not look random, or is one letter. */
bool redact_is_option(struct str argument);

/* The part that a name has in a pair such as {"name": "DB_PASSWORD", "value": "x"}. */
enum redact_pair { REDACT_NO_PAIR, REDACT_PAIR_NAME, REDACT_PAIR_VALUE };
enum redact_pair redact_pair_part(struct str name);

/* Whether the name stands for several secrets where its value holds text: `tokens`, `auths`. Elsewhere it
 * stands for a number of them. */
bool redact_is_plural(struct str name);

/* Whether an option of that name takes USER:PASSWORD: `-u`, `--user`, `--basic-auth`. */
bool redact_is_user_option(struct str name);

/* Where the password begins in the USER:PASSWORD of such an option; 0: it has none, as `1000:1000` and a URL
 * have none. */
size_t redact_user_password(struct str value);

#endif
