/* Names and values as the rules of redact.h judge them, for the files that apply these rules. */
#ifndef BUNDLE_REDACT_NAMES_H
#define BUNDLE_REDACT_NAMES_H

#include "bundle/redact.h"

/* How sure a name is. */
enum redact_name { REDACT_HARMLESS, REDACT_MAYBE, REDACT_SECRET };

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

#endif
