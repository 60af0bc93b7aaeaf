/*
 * A command line. Checks whether a whole argument is NAME=VALUE or the value of the option before it.
 * Searches other arguments as text.
 */
#include <string.h>

#include "bundle/redact/redact_names.h"
#include "base/banned.h"

/* Returns how secret the option makes the next argument. REDACT_HARMLESS: it is no option, or has a value. */
static enum redact_secrecy classify_option(struct str a)
{
    if (a.n < 2 || a.p[0] != '-' || memchr(a.p, '=', a.n))
        return REDACT_HARMLESS;
    return redact_classify_name(a);
}

/* Returns whether the argument is the value of the option before it. */
static bool is_value_of(struct str a, struct str before)
{
    enum redact_secrecy secrecy = classify_option(before);
    bool dash = a.n > 0 && a.p[0] == '-';
    if (before.n == 2 && memcmp(before.p, "-p", 2) == 0)
        return a.n > 0 && !redact_is_option(a) && !redact_is_port(a);
    return redact_is_secret(secrecy, a) && (!dash || (secrecy == REDACT_SECRET && !redact_is_option(a)));
}

/* Replaces everything after the first `kept` bytes with [redacted]. */
static void redact_value(struct str a, size_t kept, const struct redact_output *into)
{
    buf_add(into->out, a.p, kept);
    buf_adds(into->out, REDACTED);
    into->tally->n[REDACT_OPTION]++;
    if (into->on_match)
        into->on_match(into->ctx, (struct str){a.p + kept, a.n - kept});
}

static void redact_argument(struct str a, struct str before, const struct redact_output *into)
{
    struct str name = {a.p, 0};
    size_t password = redact_is_user_option(before) ? redact_user_password(a) : 0;
    while (name.n < a.n && redact_is_name_byte(name.p[name.n]))
        name.n++;
    if (is_value_of(a, before))
        redact_value(a, 0, into);
    else if (password > 0)
        redact_value(a, password, into);
    else if (name.n < a.n && a.p[name.n] == '=' &&
             redact_is_secret(redact_classify_name(name), (struct str){a.p + name.n + 1, a.n - name.n - 1}))
        redact_value(a, name.n + 1,
                     into); /* the whole value: a blank or an ampersand may belong to a password */
    else
        redact_text(a, into);
}

void redact_cmdline(const void *p, size_t n, struct buf *ret, struct redact_tally *tally)
{
    const struct redact_output into = {.out = ret, .tally = tally};
    redact_arguments(p, n, &into);
}

void redact_arguments(const void *p, size_t n, const struct redact_output *into)
{
    struct str rest = {p, n}, before = {"", 0};
    while (rest.n > 0) {
        const char *nul = memchr(rest.p, '\0', rest.n);
        struct str a = {rest.p, nul ? (size_t)(nul - rest.p) : rest.n};
        redact_argument(a, before, into);
        if (nul)
            buf_addc(into->out, '\0');
        before = a;
        size_t used = a.n + (nul != NULL);
        rest = (struct str){rest.p + used, rest.n - used};
    }
}
