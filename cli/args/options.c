#include "cli/args/options.h"

#include <stdio.h>
#include <string.h>

#include "base/banned.h"

struct parser {
    const struct option *table;
    struct arguments arguments;
    int next;     /* the index of the next argument */
    char *values; /* the command's struct */
};

static int set_number(const struct option *o, const char *value, void *member, struct err *err)
{
    uint64_t number = 0;
    unsigned min = o->type == OPTION_NUMBER;
    if (text_to_uint(value, o->max, &number) < 0 || number < min)
        return err_set(err, ERR_USAGE, "--%s needs a number from %u to %u, not \"%s\"", o->name, min, o->max,
                       value);
    *(unsigned *)member = (unsigned)number;
    return 0;
}

static int set_duration(const struct option *o, const char *value, void *member, struct err *err)
{
    int64_t ms = 0;
    if (text_to_duration(value, &ms, err) < 0)
        return err_wrap(err, "--%s", o->name);
    if (ms == 0)
        return err_set(err, ERR_USAGE, "--%s must be more than 0", o->name);
    *(int64_t *)member = ms;
    return 0;
}

static int set_bytes(const struct option *o, const char *value, void *member, struct err *err)
{
    uint64_t bytes = 0;
    if (text_to_bytes(value, &bytes) < 0 || bytes == 0)
        return err_set(err, ERR_USAGE, "--%s needs a size such as 500MB or 2GB, not \"%s\"", o->name, value);
    *(uint64_t *)member = bytes;
    return 0;
}

static int set_value(const struct parser *p, const struct option *o, const char *value, struct err *err)
{
    void *member = p->values + o->offset;
    switch (o->type) {
    case OPTION_FLAG:
        *(bool *)member = true;
        return 0;
    case OPTION_TEXT_ONCE:
        if (*(const char **)member)
            return err_set(err, ERR_USAGE, "--%s is given twice, but accepts only one %s", o->name,
                           o->argument);
        *(const char **)member = value;
        return 0;
    case OPTION_TEXT:
    case OPTION_TEXT_OPTIONAL:
        *(const char **)member = value;
        return 0;
    case OPTION_LIST:
        return strlist_split(member, value, err) < 0 ? err_wrap(err, "--%s", o->name) : 0;
    case OPTION_NUMBER:
    case OPTION_COUNT:
        return set_number(o, value, member, err);
    case OPTION_DURATION:
        return set_duration(o, value, member, err);
    case OPTION_BYTES:
        return set_bytes(o, value, member, err);
    }
    return -1;
}

/* Sets an option. `value` is the text after `=` or after the option's letter. NULL: the next argument is the
 * value, unless the option is a flag. */
static int read_value(struct parser *p, const struct option *o, const char *value, struct err *err)
{
    if (o->type == OPTION_FLAG && value)
        return err_set(err, ERR_USAGE, "--%s takes no value", o->name);
    if (o->type == OPTION_TEXT_OPTIONAL && !value)
        value = "";
    if (o->type != OPTION_FLAG && !value) {
        if (p->next >= p->arguments.n)
            return err_set(err, ERR_USAGE, "--%s needs a value: %s", o->name, o->argument);
        value = p->arguments.words[p->next++];
    }
    return set_value(p, o, value, err);
}

/* Lists the options whose names end in `name`: `--issue-label or --redact-label` for label. Returns dst. */
static char *list_longer_names(const struct option *table, const char *name, char *dst, size_t cap)
{
    size_t n = strlen(name), used = 0;
    dst[0] = '\0';
    for (const struct option *o = table; n > 0 && o->name && used < cap; o++) {
        size_t longer = strlen(o->name);
        if (longer > n + 1 && o->name[longer - n - 1] == '-' && strcmp(o->name + longer - n, name) == 0)
            used += (size_t)snprintf(dst + used, cap - used, "%s--%s", used ? " or " : "", o->name);
    }
    return dst;
}

static int refuse_unknown(const struct parser *p, const char *word, struct err *err)
{
    char name[80];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(word + 2, "="), word + 2);
    struct nearest near = NEAREST_INIT(name);
    for (const struct option *o = p->table; o->name; o++)
        nearest_add(&near, o->name);
    err_set(err, ERR_USAGE, "unknown option \"%.80s\"", word);
    char longer[200];
    if (near.n > 0)
        return err_hint(err, "did you mean --%s? the options are listed by --help", near.best[0].name);
    if (*list_longer_names(p->table, name, longer, sizeof longer))
        return err_hint(err, "did you mean %s? the options are listed by --help", longer);
    return err_hint(err, "the options are listed by --help");
}

static int parse_long(struct parser *p, const char *word, struct err *err)
{
    size_t n = strcspn(word + 2, "=");
    const char *value = word[2 + n] ? word + 3 + n : NULL;
    for (const struct option *o = p->table; o->name; o++)
        if (strlen(o->name) == n && strncmp(o->name, word + 2, n) == 0)
            return read_value(p, o, value, err);
    return refuse_unknown(p, word, err);
}

static int parse_letters(struct parser *p, const char *word, struct err *err)
{
    for (const char *c = word + 1; *c; c++) {
        const struct option *o = p->table;
        while (o->name && o->letter != *c)
            o++;
        if (!o->name) {
            err_set(err, ERR_USAGE, "unknown option \"-%c\"", *c);
            return err_hint(err, "the options are listed by --help");
        }
        if (o->type != OPTION_FLAG)
            return read_value(p, o, c[1] ? c + 1 : NULL, err);
        if (read_value(p, o, NULL, err) < 0)
            return -1;
    }
    return 0;
}

int options_parse(const struct option *table, const struct arguments *arguments, void *values,
                  struct strlist *rest, struct err *err)
{
    struct parser p = {.table = table, .arguments = *arguments, .values = values};
    bool accept_options = true;
    while (p.next < arguments->n) {
        const char *word = arguments->words[p.next++];
        int rc = 0;
        if (!accept_options || word[0] != '-' || !word[1])
            rc = strlist_add(rest, word, err);
        else if (strcmp(word, "--") == 0)
            accept_options = false;
        else
            rc = word[1] == '-' ? parse_long(&p, word, err) : parse_letters(&p, word, err);
        if (rc < 0)
            return -1;
    }
    return 0;
}
