/* `--json`: prints the result of a run as one object on stdout. docs/formats.md has its schema. */
#ifndef CLI_CAPTURE_RESULT_H
#define CLI_CAPTURE_RESULT_H

#include <stdio.h>

#include "cli/bundle/handoff.h"
#include "capture/capture.h"
#include "fetch/fetch.h"

struct json_t;

/* The result of a run. Zero-initialise it. It stores items and failures only if `json` is set. An incomplete
 * item is also listed as a failure. */
struct result {
    bool json;     /* --json is given */
    char *bundle;  /* the bundle's path, owned; NULL: there is no bundle */
    bool complete; /* the bundle has every requested item */
    bool interrupted;
    bool handoff_requested; /* --for or --to is given; then `handoff` is valid */
    struct handoff_report handoff;
    struct json_t *failures, *items;
    bool out_of_memory;       /* memory ran out, so result_print fails */
    struct outcomes outcomes; /* also without `json`; the targets must outlive the result */
};

/* Adds the failure of a service. `service` NULL: the failure of the host. */
void result_add_failure(struct result *r, const struct host *host, const struct service *service,
                        const struct err *failure);
void result_add_item(struct result *r, const struct target *target, const struct fetch_item *item);

/* Prints the object. `failure` is the error of the whole run; ERR_NONE: none. */
int result_print(const struct result *r, int exit_code, const struct err *failure, FILE *out,
                 struct err *err);
void result_release(struct result *r);

#endif
