/* Decides whether a name means a secret, and whether a value looks like a secret. */
#include "bundle/redact/redact_names.h"

#include <ctype.h>
#include <string.h>

#include "base/banned.h"

/* Lengths in bytes. The first RANDOM_MAX bytes of a value decide whether it looks random. */
enum { NAME_MAX_LENGTH = 100, RANDOM_MIN = 16, RANDOM_MAX = 256 };

/* ---- names --------------------------------------------------------------------------------------------- */

/* The last words of a name, or the end of a word: "dbpassword". `plural`: how secret the word and an `s` are;
 * numbers are often counts of tokens, cookies and the like. */
static const struct {
    struct str word;
    enum redact_secrecy secrecy, plural;
} words[] = {
    {STR_INIT("password"), REDACT_SECRET, REDACT_SECRET},
    {STR_INIT("passwd"), REDACT_SECRET, REDACT_SECRET},
    {STR_INIT("passphrase"), REDACT_SECRET, REDACT_SECRET},
    {STR_INIT("passcode"), REDACT_SECRET, REDACT_SECRET},
    {STR_INIT("pwd"), REDACT_SECRET, REDACT_SECRET},
    {STR_INIT("pass"), REDACT_SECRET, REDACT_HARMLESS},
    {STR_INIT("secret"), REDACT_SECRET, REDACT_SECRET},
    {STR_INIT("token"), REDACT_SECRET, REDACT_PLURAL},
    {STR_INIT("apikey"), REDACT_SECRET, REDACT_SECRET},
    {STR_INIT("accesskey"), REDACT_SECRET, REDACT_SECRET},
    {STR_INIT("privatekey"), REDACT_SECRET, REDACT_SECRET},
    {STR_INIT("secretkey"), REDACT_SECRET, REDACT_SECRET},
    {STR_INIT("signingkey"), REDACT_SECRET, REDACT_SECRET},
    {STR_INIT("encryptionkey"), REDACT_SECRET, REDACT_SECRET},
    {STR_INIT("authkey"), REDACT_SECRET, REDACT_SECRET},
    {STR_INIT("credential"), REDACT_SECRET, REDACT_SECRET},
    {STR_INIT("authorization"), REDACT_SECRET, REDACT_PLURAL},
    {STR_INIT("cookie"), REDACT_SECRET, REDACT_PLURAL},
    {STR_INIT("bearer"), REDACT_SECRET, REDACT_PLURAL},
    {STR_INIT("requirepass"), REDACT_SECRET, REDACT_HARMLESS},
    {STR_INIT("masterauth"), REDACT_SECRET, REDACT_SECRET},
    {STR_INIT("pw"), REDACT_SECRET, REDACT_SECRET},
    {STR_INIT("bindpw"), REDACT_SECRET, REDACT_SECRET},
    {STR_INIT("rootpw"), REDACT_SECRET, REDACT_SECRET},
    {STR_INIT("userpw"), REDACT_SECRET, REDACT_SECRET},
    {STR_INIT("pswd"), REDACT_SECRET, REDACT_SECRET},
    {STR_INIT("psk"), REDACT_SECRET, REDACT_SECRET},
    {STR_INIT("cred"), REDACT_SECRET, REDACT_SECRET},
    {STR_INIT("otp"), REDACT_SECRET, REDACT_SECRET},
    {STR_INIT("totp"), REDACT_SECRET, REDACT_SECRET},
    {STR_INIT("hmac"), REDACT_MAYBE, REDACT_MAYBE},
    {STR_INIT("jwt"), REDACT_MAYBE, REDACT_MAYBE},
    {STR_INIT("nkey"), REDACT_MAYBE, REDACT_MAYBE},
    {STR_INIT("snmp-community"), REDACT_SECRET, REDACT_SECRET},
    {STR_INIT("writekey"), REDACT_SECRET, REDACT_SECRET},
    {STR_INIT("appkey"), REDACT_SECRET, REDACT_SECRET},
    {STR_INIT("dbpw"), REDACT_SECRET, REDACT_SECRET},
    {STR_INIT("token-id"), REDACT_MAYBE, REDACT_MAYBE},
    {STR_INIT("phpsessid"), REDACT_SECRET, REDACT_SECRET},
    {STR_INIT("jsessionid"), REDACT_SECRET, REDACT_SECRET},
    {STR_INIT("connect-sid"), REDACT_SECRET, REDACT_SECRET},
    {STR_INIT("csrftoken"), REDACT_SECRET, REDACT_SECRET},
    {STR_INIT("xsrftoken"), REDACT_SECRET, REDACT_SECRET},
    {STR_INIT("key"), REDACT_MAYBE, REDACT_MAYBE},
    {STR_INIT("auth"), REDACT_MAYBE, REDACT_PLURAL},
    {STR_INIT("session"), REDACT_MAYBE, REDACT_MAYBE},
    {STR_INIT("salt"), REDACT_MAYBE, REDACT_MAYBE},
    {STR_INIT("signature"), REDACT_MAYBE, REDACT_MAYBE},
    {STR_INIT("license"), REDACT_MAYBE, REDACT_MAYBE},
    {STR_INIT("dsn"), REDACT_MAYBE, REDACT_MAYBE},
    {STR_INIT("authconfigs"), REDACT_PLURAL, REDACT_HARMLESS},
    {STR_INIT("tokenmap"), REDACT_PLURAL, REDACT_PLURAL},
};

/* Last words of names that mean the place of a secret. */
static const struct str places[] = {STR_INIT("file"), STR_INIT("path"), STR_INIT("dir"),
                                    STR_INIT("directory")};

/* Last words that only qualify the word before them: SECRET_KEY_BASE, password_old. */
static const struct str qualifiers[] = {
    STR_INIT("base"),       STR_INIT("value"),     STR_INIT("plain"),    STR_INIT("raw"),
    STR_INIT("base64"),     STR_INIT("b64"),       STR_INIT("hex"),      STR_INIT("old"),
    STR_INIT("new"),        STR_INIT("string"),    STR_INIT("text"),     STR_INIT("encrypted"),
    STR_INIT("default"),    STR_INIT("current"),   STR_INIT("previous"), STR_INIT("primary"),
    STR_INIT("live"),       STR_INIT("secondary"), STR_INIT("prod"),     STR_INIT("staging"),
    STR_INIT("production"), STR_INIT("dev"),       STR_INIT("replica")};

/* Ordinary words that end in "pass". Other words of six letters or more, such as `dbpass`, count as
 * "pass". */
static const struct str not_pass[] = {STR_INIT("bypass"),     STR_INIT("compass"),   STR_INIT("encompass"),
                                      STR_INIT("overpass"),   STR_INIT("surpass"),   STR_INIT("trespass"),
                                      STR_INIT("underpass"),  STR_INIT("multipass"), STR_INIT("onepass"),
                                      STR_INIT("singlepass"), STR_INIT("twopass"),   STR_INIT("perpass"),
                                      STR_INIT("eachpass"),   STR_INIT("firstpass")};

/* Parameters with secret values, those with secret values only in profgrab's own requests, and common
 * parameters of profiles and pages. */
static const struct str secret_parameters[] = {
    STR_INIT("sig"),    STR_INIT("signature"), STR_INIT("code"),      STR_INIT("jwt"),       STR_INIT("otp"),
    STR_INIT("totp"),   STR_INIT("pin"),       STR_INIT("session"),   STR_INIT("sid"),       STR_INIT("hmac"),
    STR_INIT("ticket"), STR_INIT("csrf"),      STR_INIT("assertion"), STR_INIT("sessionid"), STR_INIT("xsrf"),
    STR_INIT("cred"),   STR_INIT("creds")};
static const char *const keys_in_requests[] = {"key", "auth"};
static const char *const known_parameters[] = {"seconds", "debug", "gc",     "rate",  "depth", "limit",
                                               "page",    "n",     "format", "level", "start", "end",
                                               "from",    "until", "to",     "time",  "step",  "since"};

static bool ends_in(struct str s, struct str end)
{
    return s.n >= end.n && memcmp(s.p + s.n - end.n, end.p, end.n) == 0;
}

/* Returns whether the last n bytes of the name are a word. A short word must be a whole part of the name,
 * because other words often end with it: "bypass". */
static bool is_word(struct str name, size_t n)
{
    enum { LONG = 6 };
    return n == name.n || name.p[name.n - n - 1] == '-' || n >= LONG;
}

/* Returns whether the name is the word or ends with it. */
static bool has_word(struct str name, struct str word)
{
    return ends_in(name, word) && is_word(name, word.n);
}

/* Returns whether the name is the word's plural or ends with it. */
static bool has_plural(struct str name, struct str word)
{
    return name.n > 0 && name.p[name.n - 1] == 's' && ends_in((struct str){name.p, name.n - 1}, word) &&
           is_word(name, word.n + 1);
}

/* Converts `userPassword`, `user_password` and `USER.PASSWORD` to `user-password`. Uses only the end of a
 * long name, which has the meaning. */
static size_t normalize_name(struct str name, char dst[NAME_MAX_LENGTH * 2])
{
    size_t n = 0;
    for (size_t i = name.n > NAME_MAX_LENGTH ? name.n - NAME_MAX_LENGTH : 0; i < name.n; i++) {
        unsigned char c = (unsigned char)name.p[i];
        bool case_change = i > 0 && isupper(c) && islower((unsigned char)name.p[i - 1]);
        if (case_change)
            dst[n++] = '-';
        dst[n++] = isalnum(c) ? (char)tolower(c) : '-';
    }
    return n;
}

/* Joins the last two words: "api-key" becomes "apikey". */
static size_t join_last_words(const char *name, size_t n, char dst[NAME_MAX_LENGTH * 2])
{
    size_t dash = n;
    while (dash > 0 && name[dash - 1] != '-')
        dash--;
    if (dash == 0)
        return 0;
    memcpy(dst, name, dash - 1);
    memcpy(dst + dash - 1, name + dash, n - dash);
    return n - 1;
}

/* Returns whether the name's last word is like `dbpass` or `sshpass`. */
static bool ends_in_pass(struct str name)
{
    enum { MIN_LENGTH = 6 };
    size_t n = 0;
    while (n < name.n && name.p[name.n - n - 1] != '-')
        n++;
    for (size_t i = 0; i < sizeof not_pass / sizeof *not_pass; i++)
        if (ends_in(name, not_pass[i]))
            return false;
    return n >= MIN_LENGTH && ends_in(name, STR("pass"));
}

static enum redact_secrecy classify_words(struct str name)
{
    enum redact_secrecy secrecy = ends_in_pass(name) ? REDACT_SECRET : REDACT_HARMLESS;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        enum redact_secrecy more = has_word(name, words[i].word)     ? words[i].secrecy
                                   : has_plural(name, words[i].word) ? words[i].plural
                                                                     : REDACT_HARMLESS;
        secrecy = more > secrecy ? more : secrecy;
    }
    return secrecy;
}

/* Returns the length without a last word that only qualifies the word before it. If there is none, returns
 * the length without digits at the end. */
static size_t strip_qualifier(const char *name, size_t n)
{
    for (size_t i = 0; i < sizeof qualifiers / sizeof *qualifiers; i++) {
        size_t k = qualifiers[i].n;
        if (n > k + 1 && ends_in((struct str){name, n}, qualifiers[i]) && name[n - k - 1] == '-')
            return n - k - 1;
    }
    size_t end = n;
    while (end > 0 && isdigit((unsigned char)name[end - 1]))
        end--;
    if (end > 2 && end < n && name[end - 1] == 'v' && name[end - 2] == '-') /* password_v2 */
        end -= 2;
    while (end > 0 && end < n && name[end - 1] == '-')
        end--;
    return end > 0 ? end : n;
}

enum redact_secrecy redact_classify_name(struct str name)
{
    char normal[NAME_MAX_LENGTH * 2], joined[NAME_MAX_LENGTH * 2];
    size_t n_option = str_begins(name, "-D") && name.n > 2 ? 2 : 0; /* of Java and C compilers: -DTOKEN=x */
    while (n_option < name.n && name.p[n_option] == '-')
        n_option++;
    if (n_option > 0)
        name = (struct str){name.p + n_option, name.n - n_option};
    size_t n = normalize_name(name, normal);
    n = strip_qualifier(normal, n);
    size_t n_joined = join_last_words(normal, n, joined);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (has_word((struct str){normal, n}, places[i]))
            return REDACT_HARMLESS;
    enum redact_secrecy secrecy = classify_words((struct str){normal, n}),
                        more = classify_words((struct str){joined, n_joined});
    return more > secrecy ? more : secrecy;
}

/* ---- values -------------------------------------------------------------------------------------------- */

/* The bytes of random values beside letters and digits. */
#define RANDOM_BYTES "+/=_-"
#define RANDOM_BYTES_IN_REQUESTS RANDOM_BYTES ".~"

/* Returns the number of letters, digits and bytes of `others` at the beginning. */
static size_t random_length(struct str v, const char *others)
{
    size_t n = 0;
    while (n < v.n && (isalnum((unsigned char)v.p[n]) || (v.p[n] && strchr(others, v.p[n]))))
        n++;
    return n;
}

/* Returns whether a value is long, without blanks, and mixes letters and digits more than words do. */
static bool is_random(struct str v)
{
    size_t digits = 0, letters = 0;
    if (random_length(v, RANDOM_BYTES) < v.n)
        return false;
    for (size_t i = 0; i < v.n; i++) {
        unsigned char c = (unsigned char)v.p[i];
        digits += isdigit(c) != 0;
        letters += isalpha(c) != 0;
    }
    return v.n >= RANDOM_MIN && digits * 8 >= v.n && letters > 0;
}

/* Returns whether a value is random up to a byte that no random value has: `X.` at the end of a sentence,
 * `X)`, `X</b>`, `(X)`. */
static bool begins_random(struct str v)
{
    while (v.n > 0 && v.p[0] && strchr("([{<'\"", v.p[0])) {
        v.p++;
        v.n--;
    }
    return is_random((struct str){v.p, random_length(v, RANDOM_BYTES)});
}

bool redact_looks_random(struct str v)
{
    enum { MIN_LENGTH = 8, CHANGES = 3 };
    size_t changes = 0, letters = 0, n = v.n < RANDOM_MAX ? v.n : RANDOM_MAX;
    if (random_length((struct str){v.p, n}, RANDOM_BYTES_IN_REQUESTS) < n)
        return false;
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)v.p[i], before = i > 0 ? (unsigned char)v.p[i - 1] : 0;
        letters += isalpha(c) != 0;
        changes += (isalpha(c) && isdigit(before)) || (isdigit(c) && isalpha(before));
    }
    return n >= MIN_LENGTH && changes >= CHANGES && letters * 8 >= n;
}

bool redact_is_port(struct str v)
{
    size_t digits = 0;
    while (digits < v.n && isdigit((unsigned char)v.p[digits]))
        digits++;
    return digits == v.n && v.n > 0 && v.n <= 5;
}

static bool is_redacted(struct str v)
{
    return v.n == strlen(REDACTED) && memcmp(v.p, REDACTED, v.n) == 0;
}

bool redact_is_option(struct str a)
{
    size_t dashes = 0, n = 0;
    while (dashes < a.n && dashes < 2 && a.p[dashes] == '-')
        dashes++;
    while (dashes + n < a.n && redact_is_name_byte(a.p[dashes + n]))
        n++;
    struct str name = {a.p + dashes, n};
    if (dashes == 0)
        return false;
    if (dashes + n < a.n && a.p[dashes + n] != '=')
        return false;
    if (n <= 1)
        return n == 0 || isalpha((unsigned char)name.p[0]);
    return islower((unsigned char)name.p[0]) && !redact_looks_random(name) && !is_random(name);
}

/* ---- parts of a pair, options -------------------------------------------------------------------------- */

/* Returns the index of the name, in lower case and without leading dashes, in the list; n_list: it is not
 * there. */
static size_t find_in(struct str name, const char *const *list, size_t n_list)
{
    char normal[NAME_MAX_LENGTH * 2];
    while (name.n > 0 && name.p[0] == '-') {
        name.p++;
        name.n--;
    }
    if (name.n == 0 || name.n > NAME_MAX_LENGTH)
        return n_list;
    struct str n = {normal, normalize_name(name, normal)};
    size_t i = 0;
    while (i < n_list && !str_is(n, list[i]))
        i++;
    return i;
}

static bool is_one_of(struct str name, const char *const *list, size_t n_list)
{
    return find_in(name, list, n_list) < n_list;
}

static const char *const pair_names[] = {"name",  "key",       "k",     "id",     "env",    "var", "variable",
                                         "param", "parameter", "field", "header", "option", "type"};
enum { PAIR_NAMES = sizeof pair_names / sizeof *pair_names };

uint32_t redact_pair_number(struct str name)
{
    return (uint32_t)find_in(name, pair_names, PAIR_NAMES);
}

enum redact_pair_role redact_get_pair_role(struct str name)
{
    static const char *const values[] = {"value", "val", "v", "data", "content", "string-value"};
    if (is_one_of(name, pair_names, PAIR_NAMES))
        return REDACT_PAIR_NAME;
    return is_one_of(name, values, sizeof values / sizeof *values) ? REDACT_PAIR_VALUE : REDACT_NO_PAIR;
}

bool redact_is_user_option(struct str name)
{
    static const char *const options[] = {"u",         "user",      "basic-auth", "basicauth", "proxy-user",
                                          "http-auth", "http-user", "userpwd",    "user-pass", "login",
                                          "auth",      "creds",     "auth-basic", "etcd-user", "admin"};
    static const char *const variables[] = {"basic-auth", "basicauth", "userpwd", "user-pass", "http-auth"};
    if (name.n > 1 && name.p[0] == '-')
        return is_one_of(name, options, sizeof options / sizeof *options);
    return is_one_of(name, variables, sizeof variables / sizeof *variables);
}

size_t redact_user_password(struct str v)
{
    size_t colon = 0, digits = 0;
    while (colon < v.n && v.p[colon] != ':' && v.p[colon] != '/')
        digits += isdigit((unsigned char)v.p[colon++]) != 0;
    struct str pass = {v.p + colon + 1, v.n > colon ? v.n - colon - 1 : 0};
    bool number = digits == colon && redact_is_port(pass);
    if (colon == 0 || colon >= v.n || v.p[colon] != ':' || pass.n == 0 || pass.p[0] == '/' || number)
        return 0;
    return is_redacted(pass) ? 0 : colon + 1;
}

bool redact_is_secret(enum redact_secrecy secrecy, struct str value)
{
    return value.n > 0 && !is_redacted(value) &&
           (secrecy == REDACT_SECRET || (secrecy == REDACT_MAYBE && begins_random(value)) ||
            (secrecy == REDACT_PLURAL && redact_is_text(value)));
}

bool redact_is_secret_string(enum redact_secrecy secrecy, struct str value)
{
    bool secret = secrecy == REDACT_PLURAL && !redact_is_number(value);
    return redact_is_secret(secret ? REDACT_SECRET : secrecy, value);
}

bool redact_is_password_of_p(struct str v)
{
    static const char *const protocols[] = {"tcp", "udp", "icmp", "all"};
    for (size_t i = 0; i < sizeof protocols / sizeof *protocols; i++)
        if (str_is(v, protocols[i]))
            return false;
    size_t n = 0;
    while (n < v.n && (isdigit((unsigned char)v.p[n]) || (v.p[n] && strchr(":.,-/", v.p[n]))))
        n++;
    if (n > 0 && v.p[n - 1] == '/' && v.n - n == 3 &&
        (memcmp(v.p + n, "tcp", 3) == 0 || memcmp(v.p + n, "udp", 3) == 0))
        return false; /* 127.0.0.1:80:80/tcp */
    return n < v.n && !strchr("/.$~", v.p[0]) && redact_is_secret(REDACT_SECRET, v);
}

/* Returns whether a part of a value looks random: `u:X`, `a,X`, `X!`. */
static bool has_random_part(struct str v)
{
    for (size_t at = 0, n; at < v.n; at += n + 1) {
        struct str rest = {v.p + at, v.n - at};
        n = random_length(rest, RANDOM_BYTES_IN_REQUESTS);
        if (redact_looks_random((struct str){rest.p, n}) || is_random((struct str){rest.p, n}))
            return true;
    }
    return false;
}

/* Percent-decodes into dst of RANDOM_MAX bytes. */
static struct str decode_percent(struct str v, char dst[RANDOM_MAX])
{
    static const char digits[] = "0123456789abcdef";
    size_t n = 0;
    for (size_t i = 0; i < v.n && n < RANDOM_MAX; i++) {
        const char *high = NULL, *low = NULL;
        if (v.p[i] == '%' && v.n - i > 2 && v.p[i + 1] && v.p[i + 2]) {
            high = strchr(digits, tolower((unsigned char)v.p[i + 1]));
            low = strchr(digits, tolower((unsigned char)v.p[i + 2]));
        }
        dst[n++] = v.p[i];
        if (high && low) {
            dst[n - 1] = (char)((high - digits) * 16 + (low - digits));
            i += 2;
        }
    }
    return (struct str){dst, n};
}

bool redact_is_secret_parameter(struct str name, struct str value, bool in_request)
{
    char normal[NAME_MAX_LENGTH * 2];
    struct str n = {normal, normalize_name(name, normal)};
    if (value.n == 0 || is_redacted(value))
        return false;
    for (size_t i = 0; i < sizeof secret_parameters / sizeof *secret_parameters; i++)
        if (has_word(n, secret_parameters[i]))
            return true;
    if (in_request && is_one_of(name, keys_in_requests, sizeof keys_in_requests / sizeof *keys_in_requests))
        return true;
    for (size_t i = 0; i < sizeof known_parameters / sizeof *known_parameters; i++)
        if (str_is(n, known_parameters[i]))
            return false;
    char plain[RANDOM_MAX];
    value = decode_percent(value, plain);
    return has_random_part(value);
}

/* Returns whether a part of a path is a version of an API: `v1`, `v2beta10`. */
static bool is_version(struct str v)
{
    enum { LONGEST = 10 };
    return v.n > 1 && v.n <= LONGEST && v.p[0] == 'v' && isdigit((unsigned char)v.p[1]);
}

bool redact_is_random_part(struct str part)
{
    char plain[RANDOM_MAX];
    part = is_version(part) ? (struct str){part.p, 0} : decode_percent(part, plain);
    return redact_looks_random((struct str){part.p, random_length(part, RANDOM_BYTES_IN_REQUESTS)});
}

bool redact_is_ordinary_part(struct str part)
{
    static const char *const ordinary[] = {"refresh", "reset",  "new",    "list",   "info",
                                           "status",  "stats",  "verify", "revoke", "create",
                                           "renew",   "rotate", "login",  "debug"};
    for (size_t i = 0; i < sizeof ordinary / sizeof *ordinary; i++)
        if (str_is(part, ordinary[i]))
            return true;
    return false;
}
