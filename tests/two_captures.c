/*
 * Runs two captures at once in one process, each with its own observer and cancel descriptor, for
 * tests/e2e/31-two-captures.bats. Prints nothing; writes REPORT, a line for each capture:
 *
 *     NAME END cancelled|not-cancelled COMPLETE MISSING EVENTS BUNDLE ERROR
 *
 *     two_captures REPORT INVENTORY SSH_CONFIG NAME HOST KINDS CANCEL NAME HOST KINDS CANCEL
 *
 * KINDS are separated by commas. The capture is cancelled while it fetches an item of the kind CANCEL, or
 * never with `-`. NAME.tar.gz is its bundle. ERROR is a message, or empty.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/capture.h"
#include "base/banned.h"

struct session {
    const char *name, *host, *kinds_text, *cancel_at;
    const char *inventory_path, *ssh_config;
    struct inventory *inventory;
    struct targets targets;
    struct selection selection;
    struct strlist kinds;
    char output[300];
    int cancel[2];
    unsigned long events;
    struct capture_outcome outcome;
    struct err err;
    pthread_t thread;
};

static void on_event(void *ctx, const struct capture_event *e)
{
    struct session *s = ctx;
    s->events++;
    if (e->kind == CAPTURE_PROGRESS && strcmp(e->progress->kind, s->cancel_at) == 0)
        fd_pipe_wake(s->cancel[1]);
}

static int session_init(struct session *s)
{
    snprintf(s->output, sizeof s->output, "%s.tar.gz", s->name);
    return inventory_load(s->inventory_path, NULL, &s->inventory, &s->err) == 0 &&
                   strlist_add(&s->selection.hosts, s->host, &s->err) == 0 &&
                   inventory_select(s->inventory, &s->selection, &s->targets, &s->err) == 0 &&
                   strlist_split(&s->kinds, s->kinds_text, &s->err) == 0 && fd_pipe(s->cancel, &s->err) == 0
               ? 0
               : -1;
}

static void *run_session(void *ctx)
{
    struct session *s = ctx;
    const struct ssh_settings ssh = {.config = (char *)(uintptr_t)s->ssh_config};
    const struct capture_observer observer = {.ctx = s, .event = on_event};
    const struct capture_request request = {.targets = &s->targets,
                                            .kinds = &s->kinds,
                                            .selection = &s->selection,
                                            .access = {.ssh = &ssh, .timeout_ms = FETCH_TIMEOUT_MS},
                                            .options = {.parallel = FETCH_PARALLEL},
                                            .subject = s->host,
                                            .output = s->output};
    if (session_init(s) == 0)
        capture_run(&request, &observer, s->cancel[0], &s->outcome, &s->err);
    return NULL;
}

static void print_result(const struct session *s, FILE *out)
{
    static const char *const ends[] = {[CAPTURE_NOT_STARTED] = "not-started",
                                       [CAPTURE_NOTHING] = "nothing",
                                       [CAPTURE_NOT_PACKED] = "not-packed",
                                       [CAPTURE_PACKED] = "packed"};
    fprintf(out, "%s %s %s %zu %zu %lu %s %s\n", s->name, ends[s->outcome.end],
            s->outcome.cancelled ? "cancelled" : "not-cancelled", s->outcome.counts.complete,
            s->outcome.counts.missing, s->events, s->outcome.bundle ? s->outcome.bundle : "-", s->err.msg);
}

static void session_release(struct session *s)
{
    capture_outcome_release(&s->outcome);
    targets_release(&s->targets);
    inventory_free(s->inventory);
    selection_release(&s->selection);
    strlist_release(&s->kinds);
    fd_close(&s->cancel[0]);
    fd_close(&s->cancel[1]);
}

int main(int argc, char **argv)
{
    struct session sessions[2];
    if (argc != 12)
        return 2;
    FILE *out = fopen(argv[1], "w");
    if (!out || capture_global_init(NULL) < 0)
        return 1;
    for (int i = 0; i < 2; i++) {
        char **words = argv + 4 + 4 * i;
        sessions[i] = (struct session){.inventory_path = argv[2],
                                       .ssh_config = argv[3],
                                       .name = words[0],
                                       .host = words[1],
                                       .kinds_text = words[2],
                                       .cancel_at = words[3],
                                       .cancel = {-1, -1}};
        if (pthread_create(&sessions[i].thread, NULL, run_session, &sessions[i]) != 0)
            return 1;
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(sessions[i].thread, NULL);
        print_result(&sessions[i], out);
        session_release(&sessions[i]);
    }
    capture_global_cleanup();
    return fclose(out) == 0 ? 0 : 1;
}
