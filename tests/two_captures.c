/*
 * Runs two captures at once in one process, each with its own observer and cancel descriptor, for
 * tests/e2e/31-two-captures.bats:
 *
 *     two_captures REPORT INVENTORY SSH_CONFIG NAME HOST KINDS CANCEL NAME HOST KINDS CANCEL
 *
 * KINDS are separated by commas. The program cancels a capture while it fetches an item of the kind CANCEL,
 * or never with `-`. NAME.tar.gz is the bundle of a capture. The program prints nothing. It writes a line for
 * each capture to the file REPORT, in which ERROR is a message or empty:
 *
 *     NAME OUTCOME cancelled|not-cancelled COMPLETE MISSING EVENTS BUNDLE ERROR
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/capture.h"
#include "base/banned.h"

/* One capture: its arguments, and what it needs and returns. */
struct job {
    const char *name, *host, *kinds_text, *cancel_at;
    const char *inventory_path, *ssh_config;
    struct inventory *inventory;
    struct targets targets;
    struct selection selection;
    struct strlist kinds;
    char output[300];
    int cancel[2];
    unsigned long n_events;
    struct capture_outcome outcome;
    struct err err;
    pthread_t thread;
};

static void on_event(void *ctx, const struct capture_event *e)
{
    struct job *job = ctx;
    job->n_events++;
    if (e->kind == CAPTURE_PROGRESS && strcmp(e->progress->kind, job->cancel_at) == 0)
        fd_pipe_wake(job->cancel[1]);
}

static int job_init(struct job *job)
{
    snprintf(job->output, sizeof job->output, "%s.tar.gz", job->name);
    return inventory_load(job->inventory_path, NULL, &job->inventory, &job->err) == 0 &&
                   strlist_add(&job->selection.hosts, job->host, &job->err) == 0 &&
                   inventory_select(job->inventory, &job->selection, &job->targets, &job->err) == 0 &&
                   strlist_split(&job->kinds, job->kinds_text, &job->err) == 0 &&
                   fd_pipe(job->cancel, &job->err) == 0
               ? 0
               : -1;
}

static void *run_job(void *ctx)
{
    struct job *job = ctx;
    const struct ssh_settings ssh = {.config = (char *)(uintptr_t)job->ssh_config};
    const struct capture_observer observer = {.ctx = job, .event = on_event};
    const struct capture_request request = {.targets = &job->targets,
                                            .kinds = &job->kinds,
                                            .selection = &job->selection,
                                            .access = {.ssh = &ssh, .timeout_ms = FETCH_TIMEOUT_MS},
                                            .options = {.parallel = FETCH_PARALLEL},
                                            .subject = job->host,
                                            .output = job->output};
    if (job_init(job) == 0)
        capture_run(&request, &observer, job->cancel[0], &job->outcome, &job->err);
    return NULL;
}

static void print_result(const struct job *job, FILE *out)
{
    static const char *const ends[] = {[CAPTURE_NOT_STARTED] = "not-started",
                                       [CAPTURE_NOTHING] = "nothing",
                                       [CAPTURE_NOT_PACKED] = "not-packed",
                                       [CAPTURE_PACKED] = "packed"};
    fprintf(out, "%s %s %s %zu %zu %lu %s %s\n", job->name, ends[job->outcome.end],
            job->outcome.cancelled ? "cancelled" : "not-cancelled", job->outcome.counts.complete,
            job->outcome.counts.missing, job->n_events, job->outcome.bundle ? job->outcome.bundle : "-",
            job->err.msg);
}

static void job_release(struct job *job)
{
    capture_outcome_release(&job->outcome);
    targets_release(&job->targets);
    inventory_free(job->inventory);
    selection_release(&job->selection);
    strlist_release(&job->kinds);
    fd_close(&job->cancel[0]);
    fd_close(&job->cancel[1]);
}

int main(int argc, char **argv)
{
    struct job jobs[2];
    if (argc != 12)
        return 2;
    FILE *out = fopen(argv[1], "w");
    if (!out || capture_global_init(NULL) < 0)
        return 1;
    for (int i = 0; i < 2; i++) {
        char **words = argv + 4 + 4 * i;
        jobs[i] = (struct job){.inventory_path = argv[2],
                               .ssh_config = argv[3],
                               .name = words[0],
                               .host = words[1],
                               .kinds_text = words[2],
                               .cancel_at = words[3],
                               .cancel = {-1, -1}};
        if (pthread_create(&jobs[i].thread, NULL, run_job, &jobs[i]) != 0)
            return 1;
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(jobs[i].thread, NULL);
        print_result(&jobs[i], out);
        job_release(&jobs[i]);
    }
    capture_global_cleanup();
    return fclose(out) == 0 ? 0 : 1;
}
