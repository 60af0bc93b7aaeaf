/* Rules on hosts that differ from the others of their group. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "findings/rules.h"
#include "base/banned.h"

/* The most hosts that are named; the page shows all. */
#define NAMED 2
/* Added to a weight, so that these findings precede the suspects of one host. */
#define FIRST 1.0

static const char *const shares[] = {"of its CPU time", "of its heap in use", "of its goroutines", ""};
static const char *const values[] = {"its CPU is busy with", "it holds", "it has", "it allocates"};

/* The next outlier after `after` by descending difference, which is at most `below`; NULL after the last. */
static const struct fleet_host *next_outlier(const struct fleet *h, const struct fleet_host *after,
                                             double below)
{
    const struct fleet_host *best = NULL;
    double most = -1;
    for (size_t i = 0; i < h->n; i++) {
        const struct fleet_host *row = &h->rows[i];
        double by = fabs(row->differs.share - row->differs.median);
        bool left = by < below || (by == below && row > after);
        if (row->differs.outlier && left && by > most) {
            best = row;
            most = by;
        }
    }
    return best;
}

/* `of`: the number of hosts that have the figure, this one included. */
static void write_host(const struct fleet_host *row, size_t of, struct finding_values *finding)
{
    sentence_name(finding->of[0], str_of(row->host));
    sentence_count(finding->of[1], of - 1, "other host", "other hosts");
}

/* {0} host, {1} others, {2} function, {3} its share of {4}, {5} the others' share. */
static int add_difference_finding(struct finding_case *c, const struct finding_rule *rule,
                                  const struct fleet_host *row)
{
    const struct fleet_difference *d = &row->differs;
    struct finding_values finding = {.look = str_of(c->fleet->names.items[d->name]), .names_host = true};
    struct finding_subject subject = *c->subject;
    struct finding_case of_host = *c;
    finding.weight = FIRST + fabs(d->share - d->median);
    subject.host = row->host;
    subject.file = row->of[d->of].file;
    of_host.subject = &subject;
    write_host(row, c->fleet->with_shares[d->of], &finding);
    sentence_name(finding.of[2], finding.look);
    sentence_percent(finding.of[3], d->share);
    snprintf(finding.of[4], sizeof finding.of[4], "%s", shares[d->of]);
    sentence_percent(finding.of[5], d->median);
    return finding_case_add(&of_host, rule, &finding);
}

int rule_host_differs(struct finding_case *c, const struct finding_rule *rule)
{
    const struct fleet_host *row = NULL;
    double below = HUGE_VAL;
    for (int i = 0; i < NAMED && (row = next_outlier(c->fleet, row, below)); i++) {
        below = fabs(row->differs.share - row->differs.median);
        if (add_difference_finding(c, rule, row) < 0)
            return -1;
    }
    return 0;
}

/* "3.9 cores", "110 cores" */
static void write_cores(char dst[SENTENCE_ARGUMENT], double value)
{
    int decimals = value < 0.995 ? 2 : value < 9.95 ? 1 : 0;
    if (value < 0.005)
        snprintf(dst, SENTENCE_ARGUMENT, "less than 0.01 cores");
    else
        snprintf(dst, SENTENCE_ARGUMENT, "%.*f cores", decimals, value);
}

/* "1.20GB", "3.9 cores" */
static void write_value(char dst[SENTENCE_ARGUMENT], enum fleet_of of, double value)
{
    char text[SENTENCE_ARGUMENT];
    int64_t whole = stats_whole(value);
    switch (of) {
    case FLEET_CPU:
        write_cores(dst, value);
        break;
    case FLEET_HEAP:
        sentence_bytes(text, whole);
        snprintf(dst, SENTENCE_ARGUMENT, "%.60s of heap in use", text);
        break;
    case FLEET_GOROUTINES:
        sentence_count(dst, (uint64_t)whole, "goroutine", "goroutines");
        break;
    case FLEET_ALLOCATED:
        sentence_bytes(text, whole);
        snprintf(dst, SENTENCE_ARGUMENT, "%.60s a second", text);
        break;
    }
}

/* The factor between the host and the median, at least 1. */
static double factor_of(const struct fleet *h, const struct fleet_host *row, enum fleet_of of)
{
    double value = fmax(row->of[of].value, 1e-9), median = fmax(h->median[of], 1e-9);
    return fmin(fmax(value / median, median / value), 1e9);
}

/* {0} host, {1} others, {2} verb, {3} its value, {4} the others' value. */
static int add_excess_finding(struct finding_case *c, const struct finding_rule *rule,
                              const struct fleet_host *row, enum fleet_of of)
{
    struct finding_values finding = {
        .weight = FIRST + 1 - 1 / factor_of(c->fleet, row, of), .names_host = true, .part = (int)of};
    struct finding_subject subject = *c->subject;
    struct finding_case of_host = *c;
    subject.host = row->host;
    subject.file = row->of[of].file;
    of_host.subject = &subject;
    write_host(row, c->fleet->known[of], &finding);
    snprintf(finding.of[2], sizeof finding.of[2], "%s", values[of]);
    write_value(finding.of[3], of, row->of[of].value);
    write_value(finding.of[4], of, c->fleet->median[of]);
    return finding_case_add(&of_host, rule, &finding);
}

int rule_host_exceeds(struct finding_case *c, const struct finding_rule *rule)
{
    const struct fleet *h = c->fleet;
    /* Report the farthest host of each kind. */
    for (size_t of = 0; of < FLEET_OF; of++) {
        const struct fleet_host *most = NULL;
        for (size_t i = 0; i < h->n; i++) {
            const struct fleet_host *row = &h->rows[i];
            if (row->of[of].exceeds &&
                (!most || factor_of(h, row, (enum fleet_of)of) > factor_of(h, most, (enum fleet_of)of)))
                most = row;
        }
        if (most && add_excess_finding(c, rule, most, (enum fleet_of)of) < 0)
            return -1;
    }
    return 0;
}
