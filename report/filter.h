/*
 * Parts of a profile that are left out: samples, frames, labels.
 *
 * Source: google/pprof profile/filter.go and prune.go, internal/driver/driver_focus.go.
 */
#ifndef REPORT_FILTER_H
#define REPORT_FILTER_H

#include "report/job.h"
#include "report/regex.h"

/* Whether a function's name or its file, or the location's mapping, matches. */
bool filter_line(struct regex *r, const struct profile *p, const struct profile_line *line);
bool filter_mapping(struct regex *r, const struct profile *p, const struct profile_location *l);

/* Keeps samples for which `keep` says so, in their order. */
typedef bool filter_keep_fn(void *ctx, struct profile *p, struct profile_sample *s);
void filter_keep(struct profile *p, filter_keep_fn *keep, void *ctx);

/* The expression of a setting, by the job's budget; *ret stays NULL without one. */
int filter_regex(struct job *j, const char *name, const char *value, struct regex **ret);

/* Which samples have a label that is wanted: what tagfocus and tagignore say. */
struct tagfilter;
/* *ret stays NULL without a value. Says when it takes a value for a range. */
int tagfilter_new(struct job *j, const char *name, const char *value, struct tagfilter **ret);
void tagfilter_free(struct tagfilter *f);
bool tagfilter_matches(struct tagfilter *f, const struct job *j, const struct profile_sample *s);
int tagfilter_check(const struct tagfilter *f, struct err *err);

/* Takes off each stack the frames below the innermost that matches. */
int prune_from(struct profile *p, struct regex *r, struct err *err);

/* report_prune by a budget of the caller's. */
int prune_own(struct profile *p, struct regex_budget *budget, struct err *err);

/* What trim_path and source_path leave of a file's name: its end, from where on. */
struct str source_trim(struct str path, const char *trim_path, const char *source_path);
/* A list of paths with colons in between, from its text: source_next takes one after the other, and is false
 * at the end. An empty text has none. */
const char *source_list(const char *text);
bool source_next(const char **list, struct str *ret);

#endif
