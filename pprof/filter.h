/*
 * Filters of a profile: samples, frames, labels.
 *
 * Source: google/pprof profile/filter.go and prune.go, internal/driver/driver_focus.go.
 */
#ifndef PPROF_FILTER_H
#define PPROF_FILTER_H

#include "pprof/report.h"
#include "pprof/regex.h"

/* filter_matches_line returns whether the name or the file of a line's function matches;
 * filter_matches_mapping whether the file of a location's mapping matches. */
bool filter_matches_line(struct regex *r, const struct profile *p, const struct profile_line *line);
bool filter_matches_mapping(struct regex *r, const struct profile *p, const struct profile_location *l);

/* Compiles the expression of a setting with the report's budget. If `value` is NULL or empty, leaves *ret
 * unchanged and returns 0. `name` is the setting's name, for messages. */
int filter_compile(struct report *report, const char *name, const char *value, struct regex **ret);

/* A filter of samples by label: tagfocus and tagignore. */
struct tagfilter;
/* Compiles a filter as filter_compile does. Sends the user a message if it reads `value` as a range. */
int tagfilter_new(struct report *report, const char *name, const char *value, struct tagfilter **ret);
void tagfilter_free(struct tagfilter *f);
bool tagfilter_matches(struct tagfilter *f, const struct report *report, const struct profile_sample *s);
/* Returns -1 with the error if the budget or memory was used up in any match, else 0. Accepts NULL. */
int tagfilter_check(const struct tagfilter *f, struct err *err);

/* Removes from each stack the frames that the innermost matching frame called. */
int prune_from(struct profile *p, struct regex *r, struct err *err);

/* Works like report_prune, with the caller's budget of steps. */
int prune_by_own_patterns(struct profile *p, struct regex_budget *budget, struct err *err);

/* Adds frames made from labels: tagroot and tagleaf. */
int tagroots_add(struct report *report);
/* Applies focus, ignore, hide, show, show_from, prune_from and the filters of labels, in pprof's order. Sends
 * the user a message for each expression without a match. */
int filter_samples(struct report *report);

/* Clears the fields of the profile that the report's granularity does not use (aggregate.c). */
void aggregate(struct report *report);

#endif
