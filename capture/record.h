/* Records the results of a run in the bundle's manifest. */
#ifndef CAPTURE_RECORD_H
#define CAPTURE_RECORD_H

#include "bundle/bundle.h"
#include "capture/request.h"
#include "fetch/fetch.h"

/* The name of the user who runs the capture, and of the workstation; "" if unknown. */
struct record_collector {
    char user[256];
    char workstation[256];
};
void record_read_collector(struct record_collector *ret);

/* Creates a manifest with its collector. */
int record_new(const char *name, const char *reason, int64_t started, struct manifest **ret, struct err *err);
/* Records that a new run continues the manifest. `name`: the name of the new run's bundle. */
int record_resume(struct manifest *m, const char *name, struct err *err);
/* Records the request, so that resume can repeat it. */
int record_request(struct manifest *m, const struct capture_request *request, struct err *err);
/* A host that is open (`gw` is set) or failed (`failure` is set). */
struct record_host {
    const struct host *host;
    const struct gateway *gw;
    const struct err *failure;
    bool is_baseline; /* a host of --against */
    const struct findings *findings;
};
int record_host(struct manifest *m, const struct record_host *record, struct err *err);
int record_service(struct manifest *m, const struct target *target, const struct fetch_service_report *s,
                   struct err *err);
/* Records the settings and the outcome of the run as a whole. */
void record_run(struct manifest *m, const struct fetch_options *options, const struct fetch_outcome *o);
/* Records an item. `target` is NULL for a local file. */
int record_item(struct manifest *m, const struct target *target, const struct fetch_item *item,
                struct err *err);

#endif
