/* The units of numeric labels: from the samples, or else guessed from the label's name. */
#include <stdlib.h>

#include "pprof/report.h"
#include "pprof/label_units.h"
#include "base/banned.h"

static int compare_strings(const void *left, const void *right)
{
    const struct str *a = left, *b = right;
    return str_compare(*a, *b);
}

/* pprof's guess: the label's name is the unit, except for two labels that are sizes in bytes. */
static int guess_unit(struct profile *p, uint32_t key, uint32_t *ret, struct err *err)
{
    struct str name = profile_str(p, key);
    if (str_is(name, "alignment") || str_is(name, "request"))
        return profile_intern(p, "bytes", 5, ret, err);
    *ret = key;
    return 0;
}

/* Sends one message that the samples give a label several units, and lists the units in order. */
static int report_conflict(struct report *report, uint32_t key, struct err *err)
{
    const struct profile *p = report->profile;
    struct str *units = NULL, last = {"", 0};
    size_t n = 0, cap = 0;
    int rc = 0;
    for (size_t i = 0; i < p->n_labels && rc == 0; i++) {
        const struct profile_label *l = &p->labels[i];
        if (!l->is_number || l->key != key || !l->unit || l->unit == report->label_units[key])
            continue;
        rc = array_reserve((void **)&units, &cap, n + 1, sizeof *units, err);
        if (rc == 0)
            units[n++] = profile_str(p, l->unit);
    }
    struct buf list = BUF_INIT(4096);
    if (n)
        qsort(units, n, sizeof *units, compare_strings);
    for (size_t i = 0; i < n; i++) {
        if (i && str_equal(units[i], last))
            continue;
        buf_adds(&list, i ? ", " : "");
        buf_add(&list, units[i].p, units[i].n);
        last = units[i];
    }
    struct str name = profile_str(p, key), unit = profile_str(p, report->label_units[key]);
    if (rc == 0)
        report_message(report, "For tag %.*s used unit %.*s, also encountered unit(s) %s", (int)name.n,
                       name.p, (int)unit.n, unit.p, buf_str(&list));
    buf_release(&list);
    free(units);
    return rc;
}

/* Finds the first unit that a sample gives for each label. *ret lists the labels that also have another unit,
 * and ends with 0. The labels of removed samples do not count. */
static int find_given(struct report *report, uint32_t **ret)
{
    const struct profile *p = report->profile;
    size_t n = 0, cap = 0;
    for (size_t i = 0; i < p->n_samples; i++) {
        const struct profile_sample *s = &p->samples[i];
        for (const struct profile_label *l = &p->labels[s->label_at], *end = l + s->n_labels; l < end; l++) {
            uint32_t *unit = &report->label_units[l->key];
            if (!l->is_number || !l->unit || *unit == l->unit)
                continue;
            if (*unit == 0) {
                *unit = l->unit;
                continue;
            }
            bool known = false;
            for (size_t k = 0; k < n && !known; k++)
                known = (*ret)[k] == l->key;
            if (known || n >= LABEL_CONFLICTS)
                continue;
            if (array_reserve((void **)ret, &cap, n + 2, sizeof **ret, report->err) < 0)
                return -1;
            (*ret)[n++] = l->key;
            (*ret)[n] = 0;
        }
    }
    return 0;
}

int label_units_find(struct report *report)
{
    struct profile *p = report->profile;
    uint32_t *conflicts = NULL;
    bool any = false;
    for (size_t i = 0; i < p->n_labels && !any; i++)
        any = p->labels[i].is_number;
    if (!any)
        return 0;
    report->n_label_units = profile_n_strings(p);
    report->label_units = calloc(report->n_label_units, sizeof *report->label_units);
    if (!report->label_units)
        return err_nomem(report->err);
    int rc = find_given(report, &conflicts);
    for (size_t i = 0; rc == 0 && i < p->n_labels; i++) {
        const struct profile_label *l = &p->labels[i];
        if (l->is_number && report->label_units[l->key] == 0)
            rc = guess_unit(p, l->key, &report->label_units[l->key], report->err);
    }
    for (size_t i = 0; rc == 0 && conflicts && conflicts[i]; i++)
        rc = report_conflict(report, conflicts[i], report->err);
    free(conflicts);
    return rc;
}

struct str label_unit(const struct report *report, uint32_t key)
{
    return profile_str(report->profile, key < report->n_label_units ? report->label_units[key] : 0);
}
