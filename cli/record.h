/* Writes what happened during a grab into the bundle's manifest. */
#ifndef CLI_RECORD_H
#define CLI_RECORD_H

#include "bundle/bundle.h"
#include "fetch/fetch.h"

/* Who works where; empty where that is not known. */
struct record_collector {
    char user[256];
    char workstation[256];
};
void record_collector(struct record_collector *ret);

/* A manifest with who collects where filled in. */
int record_new(const char *name, const char *reason, int64_t started, struct manifest **ret, struct err *err);
/* Another run goes on with it, under that name. */
int record_resumed(struct manifest *m, const char *name, struct err *err);
/* What was asked for: the selection's own services, and of the run of fetch its targets (those of healthy
 * hosts, which may be NULL, among them), kinds and pairs. */
int record_asked(struct manifest *m, const struct selection *selection, const struct fetch_grab *grab,
                 const struct targets *against, struct err *err);
/* A host that was opened (`gw`) or not (`failure`). */
struct record_host {
    const struct host *host;
    const struct gateway *gw;
    const struct err *failure;
    bool against; /* a healthy one, to compare the others with */
    const struct verdicts *verdicts;
};
int record_host(struct manifest *m, const struct record_host *what, struct err *err);
int record_service(struct manifest *m, const struct target *target, const struct fetch_service *s,
                   struct err *err);
/* What was asked of the run as a whole, and what it came to. */
int record_run(struct manifest *m, const struct fetch_grab *grab, const struct fetch_outcome *o,
               struct err *err);
/* `target` is NULL for a local file. */
int record_item(struct manifest *m, const struct target *target, const struct fetch_item *item,
                struct err *err);

#endif
