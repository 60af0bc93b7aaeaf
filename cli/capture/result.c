#include "cli/capture/result.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include "cli/term/document.h"

#include "base/banned.h"

/* The put functions return 0, or another number if memory runs out. */

/* Sets a key, unless the text is empty. Repairs the UTF-8 of a message that was cut within a character. */
static int put_text(json_t *object, const char *key, const char *text)
{
    char printable[1024];
    if (!text || !*text)
        return 0;
    text_printable(printable, sizeof printable, text, strlen(text));
    return json_object_set_new(object, key, json_string(printable));
}

static int put_failure(json_t *object, const struct err *failure)
{
    return put_text(object, "error", failure->msg) | put_text(object, "hint", failure->hint);
}

static int put_target(json_t *object, const struct host *host, const struct service *service)
{
    return put_text(object, "host", host->name) | put_text(object, "service", service ? service->name : NULL);
}

/* Adds the object to the list; creates the list if needed. `object_rc` is not 0 if the object is incomplete,
 * because memory ran out. */
static void append_object(struct result *r, json_t **list, json_t *object, int object_rc)
{
    if (!*list)
        *list = json_array();
    if (object_rc != 0 || !*list)
        json_decref(object);
    else if (json_array_append_new(*list, object) == 0)
        return;
    r->out_of_memory = true;
}

void result_add_failure(struct result *r, const struct host *host, const struct service *service,
                        const struct err *failure)
{
    if (!r->json)
        return;
    json_t *object = json_object();
    append_object(r, &r->failures, object, put_target(object, host, service) | put_failure(object, failure));
}

static const char *status_name(enum fetch_status status)
{
    switch (status) {
    case FETCH_OK:
        return "ok";
    case FETCH_DAMAGED:
        return "damaged";
    case FETCH_INTERRUPTED:
        return "interrupted";
    case FETCH_LEFT_OUT:
        return "left-out";
    case FETCH_FAILED:
        break;
    }
    return "failed";
}

static int put_kind(json_t *object, const struct fetch_item *item)
{
    return put_text(object, "kind", item->kind) | put_text(object, "argument", item->argument) |
           (item->pair ? json_object_set_new(object, "pair", json_integer(item->pair)) : 0) |
           put_text(object, "status", status_name(item->status));
}

static void add_failed_item(struct result *r, const struct target *target, const struct fetch_item *item)
{
    json_t *object = json_object();
    append_object(r, &r->failures, object,
                  put_target(object, target->host, target->service) | put_kind(object, item) |
                      put_failure(object, &item->err));
}

void result_add_item(struct result *r, const struct target *target, const struct fetch_item *item)
{
    if (!r->json)
        return;
    json_t *object = json_object();
    int rc = put_target(object, target->host, target->service) | put_kind(object, item) |
             put_text(object, "file", item->file);
    if (item->file[0])
        rc |= json_object_set_new(object, "bytes", json_integer((json_int_t)item->bytes));
    if (item->status != FETCH_OK)
        rc |= put_failure(object, &item->err);
    append_object(r, &r->items, object, rc);
    if (item->status != FETCH_OK)
        add_failed_item(r, target, item);
}

static json_t *list_or_empty(json_t *list)
{
    return list ? json_incref(list) : json_array();
}

/* Adds the step at which the hand-off ended, and whether its request may have succeeded nevertheless. */
static int put_step(json_t *handoff, const struct handoff_result *h)
{
    for (int step = 0; step < HANDOFF_STEPS; step++) {
        bool unknown = h->steps[step].outcome == HANDOFF_UNKNOWN;
        if (unknown || h->steps[step].outcome == HANDOFF_FAILED)
            return put_text(handoff, "step", handoff_step_name((enum handoff_step)step)) |
                   json_object_set_new(handoff, "unknown", json_boolean(unknown));
    }
    return 0;
}

static int put_handoff(json_t *object, const struct result *r)
{
    static const char *const sent[] = {
        [HANDOFF_SENT_NOTHING] = "nothing", [HANDOFF_SENT_ISSUE] = "issue",
        [HANDOFF_SENT_PART] = "part",       [HANDOFF_SENT_FILE_UNKNOWN] = "file-unknown",
        [HANDOFF_SENT_FILE] = "file",       [HANDOFF_SENT_SUMMARY_UNKNOWN] = "words-unknown",
        [HANDOFF_SENT_SUMMARY] = "words"};
    const struct handoff_report *h = &r->handoff;
    if (!r->handoff_requested)
        return 0;
    json_t *handoff = json_object();
    int rc = json_object_set_new(handoff, "attached", json_boolean(h->result.attached)) |
             json_object_set_new(handoff, "confidential", json_boolean(h->result.handoff.confidential)) |
             put_text(handoff, "left", sent[h->result.handoff.sent]) |
             put_text(handoff, "copy", h->result.copy) |
             put_text(handoff, "issue", h->result.handoff.issue_url) |
             put_text(handoff, "sha256", h->result.copy ? h->result.handoff.sha256 : "") |
             put_failure(handoff, &h->failure) | put_step(handoff, &h->result.handoff);
    /* JSON cannot represent a command line that is not UTF-8; stderr has it. */
    json_t *repeat = h->repeat ? json_string(h->repeat) : NULL;
    if (repeat)
        rc |= json_object_set_new(handoff, "repeat", repeat);
    return json_object_set_new(object, "handoff", handoff) | rc;
}

static json_t *target_json(const struct outcome *t)
{
    json_t *object = json_object();
    int rc = put_target(object, t->target->host, t->target->service);
    if (t->planned)
        rc |= json_object_set_new(object, "asked", json_integer((json_int_t)t->n_to_fetch));
    rc |= json_object_set_new(object, "got", json_integer((json_int_t)t->n_collected)) |
          json_object_set_new(object, "bytes", json_integer((json_int_t)t->bytes));
    if (t->began)
        rc |= json_object_set_new(object, "duration_ms", json_integer(outcome_duration(t)));
    rc |= put_text(object, "error", t->why);
    if (rc == 0)
        return object;
    json_decref(object);
    return NULL;
}

/* Returns NULL if memory runs out. */
static json_t *targets_json(const struct outcomes *t)
{
    json_t *list = json_array();
    for (size_t i = 0; t->items && i < t->targets->n; i++)
        if (json_array_append_new(list, target_json(&t->items[i])) != 0) {
            json_decref(list);
            return NULL;
        }
    return list;
}

int result_print(const struct result *r, int exit_code, const struct err *failure, FILE *out, struct err *err)
{
    json_t *object = json_pack("{s:s?, s:i, s:b, s:b, s:o, s:o, s:o}", "bundle", r->bundle, "exit_code",
                               exit_code, "complete", r->complete, "interrupted", r->interrupted, "targets",
                               targets_json(&r->outcomes), "failures", list_or_empty(r->failures), "items",
                               list_or_empty(r->items));
    if (!object || r->out_of_memory || put_handoff(object, r) != 0 ||
        (failure->kind != ERR_NONE && put_failure(object, failure) != 0)) {
        json_decref(object);
        return err_nomem(err);
    }
    return document_print(object, out, err);
}

void result_release(struct result *r)
{
    json_decref(r->failures);
    json_decref(r->items);
    free(r->bundle);
    handoff_report_release(&r->handoff);
    outcomes_release(&r->outcomes);
    *r = (struct result){0};
}
