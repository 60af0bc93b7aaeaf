/* One item: its body to disk, hashed and checked on the way, and what came of it. */
#ifndef FETCH_ITEM_H
#define FETCH_ITEM_H

#include "base/base.h"
#include "fetch/budget.h"
#include "fetch/fetch.h"
#include "fetch/plan.h"
#include "fetch/transfer.h"

struct item_context {
    const struct beneath *work; /* the work directory */
    const char *directory;      /* HOST/SERVICE below it; it exists */
    uint64_t max_bytes;         /* of a body; 0: as its kind says */
    struct budget *budget;      /* of the process */
    int64_t waited_ms;          /* for somebody else's profile to end */
    const char *beside;         /* the kinds taken at the same time; NULL for none */
    void *progress_ctx;
    void (*progress)(void *progress_ctx, uint64_t bytes, int64_t elapsed_ms);
    void (*ready)(void *progress_ctx); /* called when there is nothing left to do but ask for it */
};

/* Fetches it. `ret` says in every case what came of it and is released by the caller. */
void item_fetch(struct transfer *t, const struct plan_item *plan, const struct item_context *context,
                struct fetch_item *ret);

/*
 * Takes for it a file that an earlier run left under the item's own name, `name` below the directory, which
 * it got when it was whole: looked at as a body is. -1 if it does not pass; `ret` is released in either case.
 */
int item_adopt(const struct plan_item *plan, const struct item_context *context, const char *name,
               struct fetch_item *ret);

/* What a file is that was damaged and stays so: its size and hash go to `ret`. -1 if it cannot be read. */
int item_look_again(const struct item_context *context, struct fetch_item *ret, struct err *err);

/* The endings that a raw path's file may have, by what the server says it is; NULL behind the last. */
const char *item_ending(size_t i);

/* An item that is not fetched at all, because of `why`. */
void item_skip(const struct plan_item *plan, const struct err *why, struct fetch_item *ret);

/* The same where the program has no such profile. */
void item_absent(const struct plan_item *plan, struct fetch_item *ret);

/* The same where the budget is why. */
void item_leave_out(const struct plan_item *plan, const char *why, struct fetch_item *ret);

#endif
