/* One item: streams its body to disk, hashes and checks it, and describes the result. */
#ifndef FETCH_ITEM_H
#define FETCH_ITEM_H

#include "base/base.h"
#include "fetch/budget.h"
#include "fetch/fetch.h"
#include "fetch/plan.h"
#include "fetch/transfer.h"

struct item_context {
    const struct dir *work;       /* the work directory */
    const char *directory;        /* HOST/SERVICE below it; exists */
    uint64_t max_bytes;           /* of a body; 0: the limit of its kind */
    struct budget *budget;        /* of the service's process */
    struct check_limit *check;    /* of the service's process; NULL: the check has no limit of time */
    int64_t waited_ms;            /* the time spent waiting for another client's profile */
    const char *concurrent_kinds; /* the kinds fetched at the same time; NULL for none */
    int cancel_fd;                /* ends the check of a file of an earlier run; -1: none */
    void *progress_ctx;
    void (*progress)(void *progress_ctx, uint64_t bytes, int64_t elapsed_ms);
    void (*ready)(void *progress_ctx); /* called right before the request */
};

/* Fetches the item. Fills in `ret` in every case; the caller releases it. */
void item_fetch(struct transfer *t, const struct plan_item *plan, const struct item_context *context,
                struct fetch_item *ret);

/*
 * Adopts the file `name` that an earlier run left in the directory, under the final name of the item's file:
 * checks the file like a body. -1 if the check fails or is cancelled (ERR_CANCELLED); the caller releases
 * `ret` in every case.
 */
int item_adopt(const struct plan_item *plan, const struct item_context *context, const char *name,
               struct fetch_item *ret, struct err *err);

/* Sets the size and hash of a damaged file in `ret`. A cancellation does not end this, because the file is
 * kept. -1 if the file is not readable. */
int item_measure_file(const struct item_context *context, struct fetch_item *ret, struct err *err);

/* Returns the i-th possible ending of the file of an item that the user requested by the path of a URL. The
 * content type of the answer selects the ending. NULL after the last. */
const char *item_file_ending(size_t i);

/* Describes an item that is not fetched because of `why`. */
void item_skip(const struct plan_item *plan, const struct err *why, struct fetch_item *ret);

/* Describes an item that the program lacks. */
void item_absent(const struct plan_item *plan, struct fetch_item *ret);

/* Describes an item that the budget leaves out. */
void item_leave_out(const struct plan_item *plan, const char *why, struct fetch_item *ret);

#endif
