/*
 * Progress for the user: prints a plain line for each finished host, service and item. On a terminal, each
 * host and item in progress has a live line.
 *
 * A separate thread draws the live lines ten times a second. Any thread may call the functions below,
 * but only one thread at a time, as with fetch_observer.
 */
#ifndef CLI_TERM_PROGRESS_H
#define CLI_TERM_PROGRESS_H

#include "cli/term/prompt.h"
#include "cli/term/screen.h"
#include "fetch/fetch.h"

struct progress_options {
    bool quiet;   /* print only errors */
    bool verbose; /* print steps and notes too */
    FILE *out;
    struct prompt *prompt; /* must outlive progress_end. Output pauses during its questions. NULL: none */
    /* Not 0: progress treats `out` as a terminal of this size, and starts no thread, so only progress_draw
     * draws. */
    unsigned rows, columns;
};

struct progress_line;
struct progress {
    struct progress_options options;
    bool live; /* there are live lines */
    bool ticker_runs;
    struct screen screen;
    struct progress_line *lines; /* in display order */
    size_t n_lines, cap_lines;
    struct strlist printed;        /* "HOST: SERVICE: RULE" of each printed finding of a `per_service` rule */
    struct name_map printed_index; /* finds an entry of `printed` */
    FILE *delayed;                 /* collects output during a question; NULL: no question */
    char *delayed_text;
    size_t delayed_size;
    pthread_mutex_t mutex; /* protects the members above from the ticker */
    pthread_t ticker;      /* the thread that draws the live lines */
    int stop_pipe[2];
};

void progress_init(struct progress *p, const struct progress_options *options);
/* Stops the ticker, wipes the live lines, detaches the prompt and frees the lines. May be called twice. */
void progress_end(struct progress *p);

/* Shows a host that is being opened. */
void progress_show_opening(struct progress *p, const struct host *host);
/* Shows that a host is open, or why it could not be opened (`failure`). */
void progress_show_host(struct progress *p, const struct host *host, const struct gateway *gw,
                        const struct err *failure);
/* Shows the findings of a service, and its failure if nothing is fetched from it. */
void progress_show_service(struct progress *p, const struct target *target,
                           const struct fetch_service_report *s);
/* Shows a finished item: its size, or its failure, and its findings. */
void progress_show_item(struct progress *p, const struct target *target, const struct fetch_item *item);
/* Shows an item that is being fetched, or that waits. */
void progress_show_transfer(struct progress *p, const struct target *target,
                            const struct fetch_progress *now);
/* Shows a step of opening a host or a service (NULL: the host). */
void progress_show_step(struct progress *p, const struct host *host, const struct service *service,
                        const struct fetch_step *step);

/* Prints a plain line, unless quiet. */
void progress_print(struct progress *p, const char *line);

/* Pausing wipes the live lines and delays output during a question on the terminal. Resuming prints the
 * delayed output. Any thread may call both. */
void progress_pause(struct progress *p);
void progress_resume(struct progress *p);

/* Draws the live lines. */
void progress_draw(struct progress *p);

#endif
