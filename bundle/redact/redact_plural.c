/* Decides whether the value of a plural name, such as `tokens`, is text: a number counts tokens. */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "bundle/redact/redact_names.h"
#include "base/banned.h"

/* Returns the length of the unit at the beginning, as in `3m20s`, `12MiB`, `1.5e+06` and `5/10`; 0: none. */
static size_t unit_length(struct str v)
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "kB", "KB", "MB", "GB", "TB",
                                        "Ki",  "Mi",  "Gi",  "ms",  "us", "ns", "e+", "e-", "\xc2\xb5s",
                                        "k",   "K",   "M",   "G",   "T",  "B",  "s",  "m",  "h",
                                        "d",   "e",   "x",   "%",   "/",  ":",  "_"};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (v.n >= strlen(units[i]) && memcmp(v.p, units[i], strlen(units[i])) == 0)
            return strlen(units[i]);
    return 0;
}

/* Returns whether the word is an address in memory: 0xc000123abc. */
static bool is_address(struct str v)
{
    enum { LONGEST = 18 };
    size_t n = 2;
    while (n < v.n && isxdigit((unsigned char)v.p[n]))
        n++;
    return v.n > 2 && v.n <= LONGEST && memcmp(v.p, "0x", 2) == 0 && n == v.n;
}

bool redact_is_number(struct str v)
{
    if (v.n > 1 && (v.p[0] == '-' || v.p[0] == '+'))
        v = (struct str){v.p + 1, v.n - 1};
    if (v.n == 0 || !isdigit((unsigned char)v.p[0]))
        return false;
    for (size_t at = 0, unit; at < v.n; at += unit) {
        while (at < v.n && (isdigit((unsigned char)v.p[at]) || v.p[at] == '.' || v.p[at] == ','))
            at++;
        unit = unit_length((struct str){v.p + at, v.n - at});
        if (at < v.n && unit == 0)
            return is_address(v);
    }
    return true;
}

static bool is_not_set(struct str word)
{
    static const char *const words[] = {"true", "false", "null", "nil", "none", "n/a"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (word.n == strlen(words[i]) && strncasecmp(word.p, words[i], word.n) == 0)
            return true;
    return false;
}

/* Returns the word at the beginning, behind brackets and quotes. */
static struct str get_word(struct str v)
{
    size_t n = 0;
    while (v.n > 0 && v.p[0] && strchr("([{<\"'\\` ", v.p[0]))
        v = (struct str){v.p + 1, v.n - 1};
    while (n < v.n && (!v.p[n] || !strchr(" \t,;&\"'\\`()[]{}<>", v.p[n])))
        n++;
    return (struct str){v.p, n};
}

/* Returns X of a word `NAME=X`; empty: the word has another form. The `=` at the end of base64 begins no X.
 */
static struct str get_value(struct str word)
{
    size_t n = 0;
    while (n < word.n && redact_is_name_byte(word.p[n]))
        n++;
    bool has_value = n > 0 && word.n - n > 1 && word.p[n] == '=' && word.p[n + 1] != '=';
    return has_value ? (struct str){word.p + n + 1, word.n - n - 1} : (struct str){word.p, 0};
}

/* Returns whether the word is no path, variable or type of Go, and is long, has a capital letter after its
 * first byte, or has letters and digits. */
static bool is_unusual(struct str word)
{
    enum { LONG = 12 };
    bool digit = false, letter = false, capital = false;
    for (size_t i = 0; i < word.n; i++) {
        unsigned char c = (unsigned char)word.p[i];
        digit = digit || isdigit(c);
        letter = letter || isalpha(c);
        capital = capital || (i > 0 && isupper(c));
    }
    return word.n > 0 && !strchr("/.~$*", word.p[0]) && (word.n >= LONG || capital || (digit && letter));
}

/* Returns whether a value, or a part of it up to a semicolon, is text. */
static bool is_text(struct str part)
{
    struct str word = get_word(part), value = get_value(word);
    if (value.n > 0)
        return !redact_is_number(value) && !is_not_set(value);
    return !redact_is_number(word) && !is_not_set(word) && is_unusual(word);
}

bool redact_is_text(struct str v)
{
    for (size_t at = 0; at < v.n;) {
        const char *end = memchr(v.p + at, ';', v.n - at);
        size_t n = end ? (size_t)(end - v.p) - at : v.n - at;
        if (is_text((struct str){v.p + at, n}))
            return true;
        at += n + 1;
    }
    return false;
}
