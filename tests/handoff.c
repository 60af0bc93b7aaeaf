/*
 * Hands off one file like `profgrab attach`, but without an inventory, for the tests of handoff/.
 *
 *     handoff [OPTION...] gitlab|redmine|rt URL PROJECT FILE       the token is in $TOKEN
 *
 *     --ca FILE  --issue N  --title TEXT  --summary TEXT  --label L  --assignee A  --encrypted
 *     --plaintext-i-know  --dry-run  --upload-max BYTES  --silence MS  --patience MS  --cancel-after STEP
 *
 * stdout: `step NAME OUTCOME TEXT` for each step, `waiting MS REASON` for each wait, `url URL`, `left
 * SENTENCE` and `name FILE`; with --dry-run also `would METHOD URL TEXT` for each request. stderr: the error
 * and its hint. The exit code is 0, 4 if the hand-off fails, or 2 for wrong usage. SIGINT cancels the
 * hand-off.
 */
#include <curl/curl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "handoff/handoff.h"
#include "base/banned.h"

static void on_dry_request(void *ctx, const struct http_dry_request *request)
{
    (void)ctx;
    printf("would %s %s%s%s\n", request->method, request->url, *request->body ? " " : "", request->body);
}

static void on_waiting(void *ctx, int64_t ms, const char *reason)
{
    (void)ctx;
    printf("waiting %lld %s\n", (long long)ms, reason);
}

/* The pipe to which SIGINT and --cancel-after write. */
struct canceller {
    const char *after; /* the step after which to cancel; NULL: none */
    int fds[2];
};

static int interrupt_fd;

static void on_interrupt(int number)
{
    (void)number;
    if (write(interrupt_fd, "x", 1) < 0)
        _exit(3);
}

static void on_step(void *ctx, enum handoff_step step, enum handoff_outcome outcome, const char *text)
{
    (void)text;
    struct canceller *c = ctx;
    if (c->after && outcome == HANDOFF_DONE && strcmp(c->after, handoff_step_name(step)) == 0)
        fd_write_all(c->fds[1], "x", 1, NULL);
}

static const struct tracker_kind *kind_of(const char *name)
{
    for (const struct tracker_kind *const *kind = handoff_tracker_kinds; *kind; kind++)
        if (strcmp(name, (*kind)->name) == 0)
            return *kind;
    fprintf(stderr, "handoff: no such kind: %s\n", name);
    exit(2);
}

static void read_options(int argc, char **argv, struct handoff_request *r, struct handoff_options *o,
                         struct tracker *t, struct canceller *c)
{
    enum {
        CA = 1,
        ISSUE,
        TITLE,
        SUMMARY,
        LABEL,
        ASSIGNEE,
        ENCRYPTED,
        PLAIN,
        DRY,
        MAX,
        SILENCE,
        PATIENCE,
        CANCEL
    };
    static const struct option options[] = {{"ca", 1, NULL, CA},
                                            {"issue", 1, NULL, ISSUE},
                                            {"title", 1, NULL, TITLE},
                                            {"summary", 1, NULL, SUMMARY},
                                            {"label", 1, NULL, LABEL},
                                            {"assignee", 1, NULL, ASSIGNEE},
                                            {"encrypted", 0, NULL, ENCRYPTED},
                                            {"plaintext-i-know", 0, NULL, PLAIN},
                                            {"dry-run", 0, NULL, DRY},
                                            {"upload-max", 1, NULL, MAX},
                                            {"silence", 1, NULL, SILENCE},
                                            {"patience", 1, NULL, PATIENCE},
                                            {"cancel-after", 1, NULL, CANCEL},
                                            {NULL, 0, NULL, 0}};
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        switch (option) {
        case CA:
            t->ca = optarg;
            break;
        case ISSUE:
            r->issue = optarg;
            break;
        case TITLE:
            r->title = optarg;
            break;
        case SUMMARY:
            r->summary = optarg;
            break;
        case LABEL:
            strlist_add(&r->labels, optarg, NULL);
            break;
        case ASSIGNEE:
            strlist_add(&r->assignees, optarg, NULL);
            break;
        case ENCRYPTED:
            r->encrypted = true;
            break;
        case PLAIN:
            o->plaintext_i_know = true;
            break;
        case DRY:
            o->dry_run = true;
            break;
        case MAX:
            o->upload_max = strtoull(optarg, NULL, 10);
            break;
        case SILENCE:
            o->silence_ms = strtoll(optarg, NULL, 10);
            break;
        case PATIENCE:
            o->max_wait_ms = strtoll(optarg, NULL, 10);
            break;
        case CANCEL:
            c->after = optarg;
            break;
        default:
            exit(2);
        }
    }
    if (argc - optind != 4)
        exit(2);
    t->kind = kind_of(argv[optind]);
    t->url = argv[optind + 1];
    r->project = argv[optind + 2];
    r->file = argv[optind + 3];
}

int main(int argc, char **argv)
{
    char variable[] = "TOKEN", name[] = "work", sent[HANDOFF_SENT_TEXT];
    struct canceller canceller = {.fds = {-1, -1}};
    struct tracker tracker = {.name = name, .token = {SECRET_ENV, variable}};
    struct handoff_request request = {.tracker = &tracker, .reading = "profgrab bundle decrypt -i KEY FILE"};
    struct handoff_options options = {.cancel_fd = -1,
                                      .dry_request = on_dry_request,
                                      .waiting = on_waiting,
                                      .step = on_step,
                                      .ctx = &canceller};
    struct handoff_result result;
    struct err err = ERR_INIT;
    read_options(argc, argv, &request, &options, &tracker, &canceller);
    if (fd_pipe(canceller.fds, &err) < 0)
        return 3;
    options.cancel_fd = canceller.fds[0];
    interrupt_fd = canceller.fds[1];
    sigaction(SIGINT, &(struct sigaction){.sa_handler = on_interrupt}, NULL);
    setvbuf(stdout, NULL, _IOLBF, 0);
    curl_global_init(CURL_GLOBAL_DEFAULT);
    int rc = handoff_run(&request, &options, &result, &err);
    for (int i = 0; i < HANDOFF_STEPS; i++)
        printf("step %s %s %s\n", handoff_step_name((enum handoff_step)i),
               handoff_outcome_name(result.steps[i].outcome), result.steps[i].text);
    printf("url %s\nleft %s\nname %s\n", result.issue_url, handoff_sent_text(&result, sent, sizeof sent),
           result.file_name);
    if (rc < 0)
        fprintf(stderr, "error: %s\n", err.msg);
    if (rc < 0 && *err.hint)
        fprintf(stderr, "hint: %s\n", err.hint);
    strlist_release(&request.labels);
    strlist_release(&request.assignees);
    curl_global_cleanup();
    fd_close(&canceller.fds[0]);
    fd_close(&canceller.fds[1]);
    return rc < 0 ? 4 : 0;
}
