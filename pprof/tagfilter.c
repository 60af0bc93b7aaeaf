/* tagfocus and tagignore: filters samples by a label's text or number. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pprof/filter.h"
#include "pprof/label_units.h"
#include "base/banned.h"

/* The most bytes of a label's key and text together. */
#define MAX_TEXT ((size_t)64 << 20)

struct tagfilter {
    struct str key; /* p is NULL: any key */
    bool is_range;
    bool has_low, has_high; /* the range has this limit */
    double low, high;
    struct str unit; /* of low and high */
    struct regex **regexes;
    size_t n_regexes, cap_regexes;
    struct buf text; /* of the label that is being matched */
};

/* ---- ranges: 32kb, :64kb, 4mb:, 12kb:64mb -------------------------------------------------------------- */

/* A number and an optional unit within a text. */
struct quantity {
    struct str all, number, unit;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Finds the first quantity in s. *rest is the text after it. */
static bool find_quantity(struct str s, struct quantity *ret, struct str *rest)
{
    size_t at = 0, end, unit;
    while (at < s.n && !is_digit(s.p[at]) &&
           !(strchr("+-", s.p[at]) && s.p[at] && at + 1 < s.n && is_digit(s.p[at + 1])))
        at++;
    if (at == s.n)
        return false;
    for (end = at + 1; end < s.n && is_digit(s.p[end]);)
        end++;
    for (unit = end; end < s.n && is_letter(s.p[end]);)
        end++;
    *ret = (struct quantity){{s.p + at, end - at}, {s.p + at, unit - at}, {s.p + unit, end - unit}};
    *rest = (struct str){s.p + end, s.n - end};
    return true;
}

static int parse_number(struct str s, int64_t *ret, struct err *err)
{
    char text[32];
    char *end;
    snprintf(text, sizeof text, "%.*s", (int)(s.n < 30 ? s.n : 30), s.p);
    errno = 0;
    *ret = strtoll(text, &end, 10);
    if (errno || s.n > 29)
        return err_set(err, ERR_USAGE, "failed to parse int %s: value out of range", text);
    return 0;
}

/* Returns 1 for a range, 0 for another filter, -1 if a number is too large. */
static int parse_range(struct tagfilter *f, struct str filter, struct err *err)
{
    struct quantity a, b;
    struct str rest, unit;
    int64_t v;
    if (!find_quantity(filter, &a, &rest))
        return 0;
    bool two = find_quantity(rest, &b, &rest);
    if (parse_number(a.number, &v, err) < 0)
        return -1;
    f->low = f->high = measure_scale(v, a.unit, a.unit, &f->unit);
    if (!two) {
        bool starts = a.all.p == filter.p, ends = a.all.p + a.all.n == filter.p + filter.n;
        bool before = filter.n == a.all.n + 1 && ends && filter.p[0] == ':';
        bool behind = filter.n == a.all.n + 1 && starts && filter.p[filter.n - 1] == ':';
        f->has_low = !before;
        f->has_high = !behind;
        return before || behind || (starts && ends);
    }
    if (a.all.p != filter.p || b.all.p != a.all.p + a.all.n + 1 || b.all.p[-1] != ':' || rest.n)
        return 0;
    if (parse_number(b.number, &v, err) < 0)
        return -1;
    f->high = measure_scale(v, b.unit, f->unit, &unit);
    f->has_low = f->has_high = true;
    return str_equal(unit, f->unit);
}

static bool in_range(const struct tagfilter *f, const struct report *report, const struct profile_sample *s)
{
    const struct profile *p = report->profile;
    for (size_t i = s->label_at; i < s->label_at + s->n_labels; i++) {
        const struct profile_label *l = &p->labels[i];
        struct str unit;
        if (!l->is_number || (f->key.p && !str_equal(profile_str(p, l->key), f->key)))
            continue;
        double v = measure_scale(l->num, label_unit(report, l->key), f->unit, &unit);
        if (str_equal(unit, f->unit) && (!f->has_low || v >= f->low) && (!f->has_high || v <= f->high))
            return true;
    }
    return false;
}

/* ---- expressions --------------------------------------------------------------------------------------- */

static int add_regexes(struct tagfilter *f, struct report *report, const char *name, struct str value)
{
    for (;;) {
        const char *comma = memchr(value.p, ',', value.n);
        size_t n = comma ? (size_t)(comma - value.p) : value.n;
        if (array_reserve((void **)&f->regexes, &f->cap_regexes, f->n_regexes + 1, sizeof(struct regex *),
                          report->err) < 0)
            return -1;
        if (regex_new((struct str){value.p, n}, report->budget, &f->regexes[f->n_regexes], report->err) < 0)
            return err_wrap(report->err, "parsing %s regexp", name);
        f->n_regexes++;
        if (!comma)
            return 0;
        value = (struct str){comma + 1, value.n - n - 1};
    }
}

/* Whether the expression matches `key:text` of any label of the sample. */
static bool matches_any_label(struct tagfilter *f, struct regex *r, const struct profile *p,
                              const struct profile_sample *s)
{
    for (size_t i = s->label_at; i < s->label_at + s->n_labels; i++) {
        const struct profile_label *l = &p->labels[i];
        struct str key = profile_str(p, l->key), text = profile_str(p, l->str);
        if (l->is_number)
            continue;
        buf_clear(&f->text);
        buf_add(&f->text, key.p, key.n);
        buf_addc(&f->text, ':');
        buf_add(&f->text, text.p, text.n);
        if (regex_matches(r, (struct str){buf_str(&f->text), f->text.len}))
            return true;
    }
    return false;
}

static bool matches_text(struct tagfilter *f, const struct profile *p, const struct profile_sample *s)
{
    if (!f->key.p) {
        for (size_t i = 0; i < f->n_regexes; i++)
            if (!matches_any_label(f, f->regexes[i], p, s))
                return false;
        return true;
    }
    for (size_t i = s->label_at; i < s->label_at + s->n_labels; i++) {
        const struct profile_label *l = &p->labels[i];
        if (l->is_number || !str_equal(profile_str(p, l->key), f->key))
            continue;
        for (size_t k = 0; k < f->n_regexes; k++)
            if (regex_matches_string(f->regexes[k], p, l->str))
                return true;
    }
    return false;
}

/* ---- filter -------------------------------------------------------------------------------------------- */

static int parse_filter(struct tagfilter *f, struct report *report, const char *name, struct str value)
{
    const char *equals = memchr(value.p, '=', value.n);
    if (equals) {
        f->key = (struct str){value.p, (size_t)(equals - value.p)};
        value = (struct str){equals + 1, value.n - f->key.n - 1};
    }
    int is_range = parse_range(f, value, report->err);
    f->is_range = is_range > 0;
    if (is_range > 0)
        report_message(report, "%s:Interpreted '%.*s' as range, not regexp", name, (int)value.n, value.p);
    return is_range < 0 ? -1 : is_range > 0 ? 0 : add_regexes(f, report, name, value);
}

int tagfilter_new(struct report *report, const char *name, const char *value, struct tagfilter **ret)
{
    if (!value || !*value)
        return 0;
    struct tagfilter *f = calloc(1, sizeof *f);
    if (!f)
        return err_nomem(report->err);
    buf_init(&f->text, MAX_TEXT);
    if (parse_filter(f, report, name, str_of(value)) < 0) {
        tagfilter_free(f);
        return -1;
    }
    *ret = f;
    return 0;
}

void tagfilter_free(struct tagfilter *f)
{
    if (!f)
        return;
    for (size_t i = 0; i < f->n_regexes; i++)
        regex_free(f->regexes[i]);
    free(f->regexes);
    buf_release(&f->text);
    free(f);
}

bool tagfilter_matches(struct tagfilter *f, const struct report *report, const struct profile_sample *s)
{
    return f->is_range ? in_range(f, report, s) : matches_text(f, report->profile, s);
}

int tagfilter_check(const struct tagfilter *f, struct err *err)
{
    for (size_t i = 0; f && i < f->n_regexes; i++)
        if (regex_check(f->regexes[i], err) < 0)
            return -1;
    return f ? buf_check(&f->text, "a label", err) : 0;
}
