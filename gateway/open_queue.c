/*
 * libssh2 opens one channel at a time and cannot cancel an opening. If a destination does not answer, the
 * other waiting links fail with ERR_LOST, and their callers retry over another session. Until that opening
 * ends, the session is not usable.
 */
#include "gateway/ssh/destination.h"
#include "gateway/hub_internal.h"
#include "gateway/ssh/failure.h"
#include "gateway/ssh/session.h"
#include "base/banned.h"

/* A session becomes stuck if an opening gets no answer while other links wait. It does so at the earliest of
 * three times: after STUCK_MS without any data, STUCK_BUSY_MS after the start of the opening, and
 * STUCK_SPARE_MS before the deadline of a waiting link. */
#define STUCK_MS 1500
#define STUCK_BUSY_MS 5000
#define STUCK_SPARE_MS 250

/* Returns the time until which the opening channel may block others. Its answer may be queued behind data of
 * other channels, so data extends the time. */
static int64_t stuck_deadline(const struct hub *h)
{
    int64_t last_received = session_last_receive_time(h->session);
    int64_t quiet_since = last_received > h->opening_since ? last_received : h->opening_since;
    return clock_min(quiet_since + STUCK_MS, h->opening_since + STUCK_BUSY_MS);
}

int64_t open_queue_deadline(const struct hub *h, const struct link **ret_opening)
{
    int64_t end = CLOCK_NEVER;
    for (const struct link *l = h->links; h->session && h->opening_owner && l; l = l->next) {
        if (l->stream == h->opening_owner)
            *ret_opening = l;
        else if (l->state == LINK_OPENING)
            end = clock_min(end, l->deadline - STUCK_SPARE_MS);
    }
    return end == CLOCK_NEVER ? end : clock_min(end, stuck_deadline(h));
}

/* Fails all waiting links but the one that is opening. */
static void fail_waiting(struct hub *h, const struct link *opening)
{
    struct err why = ERR_INIT;
    char name[DESTINATION_NAME] = "a destination";
    if (opening)
        destination_name(&opening->to, name);
    failure_set(FAILURE_SESSION_STUCK, FAILURE_DETAILS(name), &why);
    h->stuck = true;
    hub_set_state(h, HUB_STUCK, &why);
    for (struct link *l = h->links; l; l = l->next)
        if (l->state == LINK_OPENING && l != opening)
            link_fail(l, &why);
}

void open_queue_update(struct hub *h)
{
    const struct link *opening = NULL;
    if (!h->session || h->carrier_error.kind != ERR_NONE)
        return;
    if (session_opening_owner(h->session) != h->opening_owner) {
        h->opening_owner = session_opening_owner(h->session);
        h->opening_since = clock_now();
        if (h->stuck)
            hub_set_state(h, HUB_USABLE, &(struct err)ERR_INIT);
        h->stuck = false;
    }
    if (h->opening_owner && !h->stuck && clock_now() >= open_queue_deadline(h, &opening))
        fail_waiting(h, opening);
}
