/* `--json`: one object on stdout that says what came of a run. docs/formats.md has its schema. */
#ifndef CLI_RESULT_H
#define CLI_RESULT_H

#include <stdio.h>

#include "cli/handoff.h"
#include "capture/capture.h"
#include "fetch/fetch.h"

struct json_t;

/* Zero-initialised; no items and failures are kept unless it is wanted. An item that is not whole is among
 * the failures too. */
struct result {
    bool wanted;
    char *bundle;  /* its path, owned; NULL: there is none */
    bool complete; /* everything asked for is in it */
    bool interrupted;
    bool handing; /* with --for or --to: */
    struct handoff_report handed;
    struct json_t *failures, *items;
    bool starved;             /* there was no memory for all of them: result_print fails */
    struct outcomes outcomes; /* of the targets, which must live as long; kept in any case */
};

/* A host, or a service (else NULL), from which nothing could be fetched. */
void result_add_failure(struct result *r, const struct host *host, const struct service *service,
                        const struct err *failure);
void result_add_item(struct result *r, const struct target *target, const struct fetch_item *item);

/* Prints the object; `failure` is what the whole run failed of, its kind ERR_NONE for nothing. */
int result_print(const struct result *r, int exit_code, const struct err *failure, FILE *out,
                 struct err *err);
void result_release(struct result *r);

#endif
