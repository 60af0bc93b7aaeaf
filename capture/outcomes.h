/* The results of each target of a run, counted from the events of the run. */
#ifndef CAPTURE_OUTCOMES_H
#define CAPTURE_OUTCOMES_H

#include "fetch/fetch.h"

struct outcome {
    const struct target *target;
    bool planned;       /* the plan is known: n_to_fetch is set */
    size_t n_to_fetch;  /* requested items that no earlier run has collected */
    size_t n_collected; /* complete items among them */
    size_t failures;
    uint64_t bytes;        /* of the complete items */
    int64_t began, ended;  /* clock_now(): before its host was opened, after its last event; 0: not yet */
    bool host_failed;      /* the host could not be opened */
    bool is_wrong_request; /* the request itself is wrong, such as an unknown kind */
    char why[720];         /* the first failure; empty: none */
};

struct outcomes {
    const struct targets *targets;
    struct outcome *items; /* one for each target */
};

/* Creates an outcome for each target. The targets must outlive the outcomes. */
int outcomes_new(struct outcomes *o, const struct targets *targets, struct err *err);
void outcomes_release(struct outcomes *o);

/* Record the events of the same names in fetch_observer. */
void outcomes_record_opening(struct outcomes *o, const struct host *host);
void outcomes_record_host(struct outcomes *o, const struct host *host, const struct err *failure);
void outcomes_record_service(struct outcomes *o, const struct target *target,
                             const struct fetch_service_report *s);
void outcomes_record_item(struct outcomes *o, const struct target *target, const struct fetch_item *item);

/* Returns whether everything requested of the target is complete. */
bool outcome_is_complete(const struct outcome *o);
/* Returns the duration of the capture of the target, in milliseconds. */
int64_t outcome_duration(const struct outcome *o);

#endif
