/*
 * Progress on stderr: a line for each thing that ended, and on a terminal one live line for what is under
 * way.
 */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include "fetch/fetch.h"

struct progress {
    bool quiet;
    bool live;    /* stderr is a terminal */
    bool showing; /* the live line stands there and must be wiped before another */
    size_t columns;
};

void progress_init(struct progress *p, bool quiet);
void progress_opening(struct progress *p, const struct host *host);
void progress_host(struct progress *p, const struct host *host, const struct gateway *gw,
                   const struct err *failure);
void progress_service(struct progress *p, const struct target *target, const struct fetch_service *s);
void progress_item(struct progress *p, const struct target *target, const struct fetch_item *item);
void progress_under_way(struct progress *p, const struct target *target, const struct fetch_progress *now);
/* Wipes the live line. */
void progress_end(struct progress *p);

#endif
