/* Rules on hosts that differ from the others of the fleet. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "findings/rules.h"
#include "base/banned.h"

/* The maximum number of hosts for which rule_host_share_differs adds a finding. The table of hosts on the
 * page shows all outliers. */
#define MAX_NAMED 2
/* Added to the weight, so that these findings are listed before those on a single profile. */
#define PRECEDENCE 1.0

static const char *const share_texts[] = {"of its CPU time", "of its heap in use", "of its goroutines", ""};
static const char *const value_texts[] = {"its CPU is busy with", "it holds", "it has", "it allocates"};

/* Returns the outlier with the next smaller difference. `after` is the outlier of the previous call and
 * `limit` its difference; for the first call NULL and HUGE_VAL. Returns NULL after the last. */
static const struct fleet_host *next_outlier(const struct fleet *fleet, const struct fleet_host *after,
                                             double limit)
{
    const struct fleet_host *best = NULL;
    double most = -1;
    for (size_t i = 0; i < fleet->n; i++) {
        const struct fleet_host *row = &fleet->rows[i];
        double difference = fabs(row->difference.share - row->difference.median);
        bool remains = difference < limit || (difference == limit && row > after);
        if (row->difference.outlier && remains && difference > most) {
            best = row;
            most = difference;
        }
    }
    return best;
}

/* `n_hosts`: the number of hosts that have the figure, including this one. */
static void write_host(const struct fleet_host *row, size_t n_hosts, struct finding_values *finding)
{
    sentence_name(finding->arguments[0], str_of(row->host));
    sentence_count(finding->arguments[1], n_hosts - 1, "other host", "other hosts");
}

static int add_share_difference(struct finding_case *c, const struct finding_rule *rule,
                                const struct fleet_host *row)
{
    const struct fleet_difference *d = &row->difference;
    struct finding_values finding = {.look_at = str_of(c->fleet->names.items[d->name]), .names_host = true};
    struct finding_subject subject = *c->subject;
    struct finding_case host_case = *c;
    finding.weight = PRECEDENCE + fabs(d->share - d->median);
    subject.host = row->host;
    subject.file = row->figures[d->kind].file;
    host_case.subject = &subject;
    write_host(row, c->fleet->n_with_shares[d->kind], &finding);
    sentence_name(finding.arguments[2], finding.look_at);
    sentence_percent(finding.arguments[3], d->share);
    snprintf(finding.arguments[4], sizeof finding.arguments[4], "%s", share_texts[d->kind]);
    sentence_percent(finding.arguments[5], d->median);
    return finding_case_add(&host_case, rule, &finding);
}

int rule_host_share_differs(struct finding_case *c, const struct finding_rule *rule)
{
    const struct fleet_host *row = NULL;
    double limit = HUGE_VAL;
    for (int i = 0; i < MAX_NAMED && (row = next_outlier(c->fleet, row, limit)); i++) {
        limit = fabs(row->difference.share - row->difference.median);
        if (add_share_difference(c, rule, row) < 0)
            return -1;
    }
    return 0;
}

/* Writes "3.9 cores", "110 cores". */
static void write_cores(char dst[SENTENCE_ARGUMENT_SIZE], double value)
{
    int decimals = value < 0.995 ? 2 : value < 9.95 ? 1 : 0;
    if (value < 0.005)
        snprintf(dst, SENTENCE_ARGUMENT_SIZE, "less than 0.01 cores");
    else
        snprintf(dst, SENTENCE_ARGUMENT_SIZE, "%.*f cores", decimals, value);
}

/* Writes "1.20GB of heap in use", "3.9 cores". */
static void write_value(char dst[SENTENCE_ARGUMENT_SIZE], enum fleet_figure_kind kind, double value)
{
    char text[SENTENCE_ARGUMENT_SIZE];
    int64_t whole = stats_to_integer(value);
    switch (kind) {
    case FLEET_CPU:
        write_cores(dst, value);
        break;
    case FLEET_HEAP:
        sentence_bytes(text, whole);
        snprintf(dst, SENTENCE_ARGUMENT_SIZE, "%.60s of heap in use", text);
        break;
    case FLEET_GOROUTINES:
        sentence_count(dst, (uint64_t)whole, "goroutine", "goroutines");
        break;
    case FLEET_ALLOCATED:
        sentence_bytes(text, whole);
        snprintf(dst, SENTENCE_ARGUMENT_SIZE, "%.60s a second", text);
        break;
    }
}

/* Returns the factor between the host and the median, at least 1. */
static double factor_of(const struct fleet *fleet, const struct fleet_host *row, enum fleet_figure_kind kind)
{
    double value = fmax(row->figures[kind].value, 1e-9), median = fmax(fleet->median[kind], 1e-9);
    return fmin(fmax(value / median, median / value), 1e9);
}

static int add_figure_difference(struct finding_case *c, const struct finding_rule *rule,
                                 const struct fleet_host *row, enum fleet_figure_kind kind)
{
    struct finding_values finding = {.weight = PRECEDENCE + 1 - 1 / factor_of(c->fleet, row, kind),
                                     .names_host = true,
                                     .duplicate_key = (int)kind};
    struct finding_subject subject = *c->subject;
    struct finding_case host_case = *c;
    subject.host = row->host;
    subject.file = row->figures[kind].file;
    host_case.subject = &subject;
    write_host(row, c->fleet->n_known[kind], &finding);
    snprintf(finding.arguments[2], sizeof finding.arguments[2], "%s", value_texts[kind]);
    write_value(finding.arguments[3], kind, row->figures[kind].value);
    write_value(finding.arguments[4], kind, c->fleet->median[kind]);
    return finding_case_add(&host_case, rule, &finding);
}

int rule_host_figure_differs(struct finding_case *c, const struct finding_rule *rule)
{
    const struct fleet *fleet = c->fleet;
    /* For each figure, report the host that is farthest from the median. */
    for (size_t kind = 0; kind < FLEET_FIGURES; kind++) {
        const struct fleet_host *most = NULL;
        for (size_t i = 0; i < fleet->n; i++) {
            const struct fleet_host *row = &fleet->rows[i];
            if (row->figures[kind].is_far &&
                (!most || factor_of(fleet, row, (enum fleet_figure_kind)kind) >
                              factor_of(fleet, most, (enum fleet_figure_kind)kind)))
                most = row;
        }
        if (most && add_figure_difference(c, rule, most, (enum fleet_figure_kind)kind) < 0)
            return -1;
    }
    return 0;
}
