/* The options of the shell and their values. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/pprof/shell.h"
#include "base/banned.h"

#define LINE_SIZE_MAX ((size_t)1 << 20)

/* Options whose value is the name of a flag of a group. */
static const struct {
    const char *name;
    enum flag_group choices;
    size_t offset;
} choice_options[] = {{"granularity", GRANULARITY, offsetof(struct pprof_options, granularity)},
                      {"sort", SORT, offsetof(struct pprof_options, sort)}};
#define CHOICE_OPTIONS (sizeof choice_options / sizeof *choice_options)

static void *find_member(struct pprof_options *o, size_t offset)
{
    return (char *)o + offset;
}

/* ---- texts --------------------------------------------------------------------------------------------- */

static bool is_text(const struct pprof_flag *f)
{
    return f->group == OPTION && f->type == TEXT;
}

int shell_options_init(struct pprof_options *o, const struct pprof_options *from, struct err *err)
{
    bool out_of_memory = false;
    *o = *from;
    for (size_t i = 0; pprof_flag_at(i); i++) {
        const struct pprof_flag *f = pprof_flag_at(i);
        if (!is_text(f))
            continue;
        char **text = find_member(o, f->offset);
        *text = *text ? strdup(*text) : strdup("");
        out_of_memory = out_of_memory || !*text;
    }
    if (!out_of_memory)
        return 0;
    shell_options_release(o);
    return err_nomem(err);
}

void shell_options_release(struct pprof_options *o)
{
    for (size_t i = 0; pprof_flag_at(i); i++)
        if (is_text(pprof_flag_at(i))) {
            char **text = find_member(o, pprof_flag_at(i)->offset);
            free(*text);
            *text = NULL;
        }
}

/* ---- names --------------------------------------------------------------------------------------------- */

const char *shell_option_at(size_t i, enum flag_group *ret_choices)
{
    *ret_choices = OPTION;
    if (i < CHOICE_OPTIONS) {
        *ret_choices = choice_options[i].choices;
        return choice_options[i].name;
    }
    size_t n = i - CHOICE_OPTIONS;
    for (size_t k = 0; pprof_flag_at(k); k++)
        if (pprof_flag_at(k)->group == OPTION && n-- == 0)
            return pprof_flag_at(k)->name;
    return NULL;
}

static const struct pprof_flag *find_flag(struct str name)
{
    const struct pprof_flag *f = pprof_flag_find(name.p, name.n);
    return f && (f->group == OPTION || f->group == GRANULARITY || f->group == SORT) ? f : NULL;
}

/* Returns the index in choice_options, or CHOICE_OPTIONS if the name is not one of them. */
static size_t find_choice_option(struct str name)
{
    size_t i = 0;
    while (i < CHOICE_OPTIONS && !str_is(name, choice_options[i].name))
        i++;
    return i;
}

bool shell_has_option(struct str name)
{
    return find_flag(name) || find_choice_option(name) < CHOICE_OPTIONS;
}

/* ---- setting ------------------------------------------------------------------------------------------- */

/* Parses a boolean. Accepts more words than pprof_read_bool. */
static int read_bool_word(const char *value, bool *ret, struct err *err)
{
    static const char *const yes[] = {"true", "t", "yes", "y", "1", ""};
    /* Has "0" twice, because the loop needs as many words as `yes` has. */
    static const char *const no[] = {"false", "f", "no", "n", "0", "0"};
    for (size_t i = 0; i < sizeof yes / sizeof *yes; i++)
        if (strcasecmp(value, yes[i]) == 0 || strcasecmp(value, no[i]) == 0) {
            *ret = strcasecmp(value, yes[i]) == 0;
            return 0;
        }
    return err_set(err, ERR_USAGE, "illegal value \"%s\" for bool variable", value);
}

static int read_integer(const char *value, long *ret, struct err *err)
{
    char *end;
    const char *digits = value + (*value == '-' || *value == '+');
    errno = 0;
    long n = strtol(value, &end, 10);
    if (!isdigit((unsigned char)*digits) || *end)
        return err_set(err, ERR_USAGE, "strconv.Atoi: parsing \"%s\": invalid syntax", value);
    if (errno)
        return err_set(err, ERR_USAGE, "strconv.Atoi: parsing \"%s\": value out of range", value);
    *ret = n;
    return 0;
}

static int set_text(char **to, const char *value, struct err *err)
{
    char *copy = strdup(value);
    if (!copy)
        return err_nomem(err);
    free(*to);
    *to = copy;
    return 0;
}

static int set_option(struct pprof_options *o, const struct pprof_flag *f, const char *value, struct err *err)
{
    const char *wrong = NULL;
    switch (f->type) {
    case BOOL:
        return read_bool_word(value, find_member(o, f->offset), err);
    case INT:
        return read_integer(value, find_member(o, f->offset), err);
    case FLOAT:
        wrong = pprof_read_float(value, find_member(o, f->offset));
        break;
    case TEXT:
        return set_text(find_member(o, f->offset), value, err);
    case TEXTS: /* no option of the shell */
        break;
    }
    return wrong ? err_set(err, ERR_USAGE, "strconv.ParseFloat: parsing \"%s\": %s", value,
                           strcmp(wrong, "parse error") == 0 ? "invalid syntax" : wrong)
                 : 0;
}

/* Executes an assignment such as sort=cum. */
static int set_choice(struct pprof_options *o, size_t index, const char *value, struct err *err)
{
    const struct pprof_flag *f = find_flag(str_of(value));
    if (!f || f->group != choice_options[index].choices)
        return err_set(err, ERR_USAGE, "invalid \"%s\" value \"%s\"", choice_options[index].name, value);
    *(const char **)find_member(o, choice_options[index].offset) = f->name;
    pprof_apply_choices(o);
    return 0;
}

/* Executes an assignment such as cum=true. As in upstream, `cum` alone and cum=false are errors. */
static int choose_flag(struct pprof_options *o, const struct pprof_flag *f, const char *value,
                       struct err *err)
{
    bool on = false;
    if (pprof_read_bool(value, &on) < 0 || !on)
        return err_set(err, ERR_USAGE, "unknown config field \"%s\"", f->name);
    for (size_t i = 0; i < CHOICE_OPTIONS; i++)
        if (choice_options[i].choices == f->group)
            return set_choice(o, i, f->name, err);
    return 0;
}

/* Stores the name of the sample type that `value` selects. `value` is a name, a number or an old name. */
static int set_sample_index(struct pprof_options *o, const struct profile *p, const char *value,
                            struct err *err)
{
    size_t index;
    if (report_sample_index(p, value, &index, err) < 0)
        return -1;
    struct str type = profile_str(p, p->sample_types[index].type);
    char *copy = strndup(type.p, type.n);
    if (!copy)
        return err_nomem(err);
    int rc = set_text((char **)(uintptr_t)&o->report.sample_index, copy, err);
    free(copy);
    return rc;
}

static int assign_option(struct pprof_options *o, const struct profile *p, struct str name, const char *value,
                         struct err *err)
{
    const struct pprof_flag *f = find_flag(name);
    if (str_is(name, "sample_index"))
        return set_sample_index(o, p, value, err);
    if (!f)
        return set_choice(o, find_choice_option(name), value, err);
    return f->group == OPTION ? set_option(o, f, value, err) : choose_flag(o, f, value, err);
}

int shell_set_option(struct pprof_options *o, const char *name, const char *value, struct err *err)
{
    size_t choice = find_choice_option(str_of(name));
    return choice < CHOICE_OPTIONS ? set_choice(o, choice, value, err)
                                   : set_option(o, find_flag(str_of(name)), value, err);
}

static struct str without_comment(struct str s)
{
    for (size_t i = s.n; i-- > 0;)
        if (str_begins((struct str){s.p + i, s.n - i}, "//:"))
            return (struct str){s.p, i};
    return s;
}

int shell_assign(struct pprof_options *o, const struct profile *p, struct str line, bool *ret_is_assignment,
                 struct err *err)
{
    const char *equals = memchr(line.p, '=', line.n);
    struct str name = str_trim((struct str){line.p, equals ? (size_t)(equals - line.p) : line.n});
    struct str value = {"", 0};
    const struct pprof_flag *f = find_flag(name);
    *ret_is_assignment = shell_has_option(name);
    if (!*ret_is_assignment)
        return 0;
    if (!equals && !(f && f->type == BOOL))
        return err_set(err, ERR_USAGE, "please specify a value, e.g. %.*s=<val>", (int)name.n, name.p);
    if (equals)
        value = str_trim(without_comment((struct str){equals + 1, (size_t)(line.p + line.n - equals - 1)}));
    char *copy = strndup(value.p, value.n);
    if (!copy)
        return err_nomem(err);
    int rc = assign_option(o, p, name, copy, err);
    free(copy);
    return rc;
}

/* ---- listing ------------------------------------------------------------------------------------------- */

void shell_add_types(const struct profile *p, const char *between, struct buf *to)
{
    for (size_t i = 0; i < p->n_sample_types; i++) {
        struct str type = profile_str(p, p->sample_types[i].type);
        buf_adds(to, i ? between : "");
        buf_add(to, type.p, type.n);
    }
}

void shell_add_float(double v, struct buf *to)
{
    char text[40] = "";
    int precision = 0;
    if (!isfinite(v)) {
        buf_adds(to, isnan(v) ? "NaN" : v > 0 ? "+Inf" : "-Inf");
        return;
    }
    do
        snprintf(text, sizeof text, "%.*e", precision, v);
    while (strtod(text, NULL) != v && ++precision < 17);
    long exponent = strtol(strchr(text, 'e') + 1, NULL, 10);
    if (exponent >= -4 && exponent < 6) {
        long digits = precision - exponent;
        snprintf(text, sizeof text, "%.*f", (int)(digits > 0 ? digits : 0), v);
    }
    buf_adds(to, text);
}

static void add_value(const struct pprof_options *o, const struct pprof_flag *f, const struct profile *p,
                      struct buf *to)
{
    const void *value = (const char *)o + f->offset;
    switch (f->type) {
    case BOOL:
        buf_adds(to, *(const bool *)value ? "true" : "false");
        break;
    case INT:
        buf_addf(to, "%ld", *(const long *)value);
        break;
    case FLOAT:
        shell_add_float(*(const double *)value, to);
        break;
    case TEXT:
        buf_adds(to, *(const char *const *)value);
        break;
    case TEXTS: /* no option of the shell */
        break;
    }
    if (to->len == 0 && strcmp(f->name, "sample_index") != 0) {
        buf_adds(to, "\"\"");
    } else if (to->len == 0 && p->n_sample_types) {
        struct str last = profile_str(p, p->sample_types[p->n_sample_types - 1].type);
        buf_add(to, last.p, last.n);
    }
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Adds the flags of a group as a comment: "//: [cum | flat]". */
static void add_choices(enum flag_group group, struct buf *to)
{
    const char *names[8] = {NULL};
    size_t n = 0;
    for (size_t i = 0; pprof_flag_at(i); i++)
        if (pprof_flag_at(i)->group == group && n < sizeof names / sizeof *names)
            names[n++] = pprof_flag_at(i)->name;
    qsort(names, n, sizeof *names, compare_names);
    for (size_t i = 0; i < n; i++)
        buf_addf(to, "%s%s", i ? " | " : "//: [", names[i]);
    buf_addc(to, ']');
}

/* Adds the text, and blanks up to `width` columns. */
static void add_padded(struct buf *to, const char *text, size_t width)
{
    size_t n = 0;
    for (const char *c = text; *c; c++)
        n += ((unsigned char)*c & 0xc0) != 0x80;
    buf_adds(to, text);
    for (; n < width; n++)
        buf_addc(to, ' ');
}

static void add_line(const char *name, const char *value, const char *comment, struct buf *to)
{
    buf_adds(to, "  ");
    add_padded(to, name, 25);
    buf_adds(to, " = ");
    add_padded(to, value, 20);
    buf_addf(to, " %s\n", comment);
}

static void list_option(const struct pprof_options *o, const struct profile *p, const char *name,
                        enum flag_group choices, struct buf *to)
{
    struct buf value = BUF_INIT(LINE_SIZE_MAX), comment = BUF_INIT(LINE_SIZE_MAX);
    if (choices != OPTION) {
        size_t index = find_choice_option(str_of(name));
        const char *chosen = *(const char *const *)((const char *)o + choice_options[index].offset);
        buf_adds(&value, chosen ? chosen : choices == SORT ? "flat" : "(default)");
        add_choices(choices, &comment);
    } else {
        add_value(o, find_flag(str_of(name)), p, &value);
    }
    if (strcmp(name, "sample_index") == 0) {
        buf_adds(&comment, "//: [");
        shell_add_types(p, " | ", &comment);
        buf_addc(&comment, ']');
    } else if (strcmp(name, "nodecount") == 0 && o->report.nodecount == -1) {
        buf_adds(&comment, "//: default");
    }
    add_line(name, buf_str(&value), buf_str(&comment), to);
    buf_release(&value);
    buf_release(&comment);
}

void shell_list_options(const struct pprof_options *o, const struct profile *p, struct buf *to)
{
    const char *names[64] = {NULL};
    enum flag_group choices;
    size_t n = 0;
    while (n < sizeof names / sizeof *names && (names[n] = shell_option_at(n, &choices)))
        n++;
    qsort(names, n, sizeof *names, compare_names);
    for (size_t i = 0; i < n; i++) {
        size_t index = find_choice_option(str_of(names[i]));
        /* Upstream does not list source_path. */
        if (strcmp(names[i], "source_path") != 0)
            list_option(o, p, names[i], index < CHOICE_OPTIONS ? choice_options[index].choices : OPTION, to);
    }
}
