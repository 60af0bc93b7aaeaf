/*
 * Progress, for people: a plain line for each thing that ended, and on a terminal one live line for each that
 * is under way.
 *
 * The live lines are drawn by a thread of their own, ten times a second, so that they also move while nothing
 * is told. All other functions are called as fetch_observer's are: from any thread, never two at a time.
 */
#ifndef CLI_TERM_PROGRESS_H
#define CLI_TERM_PROGRESS_H

#include "cli/term/prompt.h"
#include "cli/term/screen.h"
#include "fetch/fetch.h"

struct progress_options {
    bool quiet;   /* nothing but errors */
    bool verbose; /* steps and notes too */
    FILE *out;
    struct prompt
        *prompt; /* until progress_end: while it asks, nothing is drawn or said. NULL: nobody is asked */
    /* Not 0: `out` is taken for a terminal of that size, and only progress_draw draws. */
    unsigned rows, columns;
};

struct progress_line;
struct progress {
    struct progress_options options;
    bool live;
    bool ticking;
    struct screen screen;
    struct progress_line *lines; /* in the order they are shown */
    size_t n_lines, cap_lines;
    FILE *held; /* what is told while somebody is asked; NULL: nobody is */
    char *held_text;
    size_t held_size;
    pthread_mutex_t mutex; /* between those who tell and the thread that draws */
    pthread_t ticker;
    int stop[2];
};

void progress_init(struct progress *p, const struct progress_options *options);
/* Wipes the live lines for good, lets go of the prompt and releases what is held. A second time is fine. */
void progress_end(struct progress *p);

void progress_opening(struct progress *p, const struct host *host);
void progress_host(struct progress *p, const struct host *host, const struct gateway *gw,
                   const struct err *failure);
void progress_service(struct progress *p, const struct target *target, const struct fetch_service *s);
void progress_item(struct progress *p, const struct target *target, const struct fetch_item *item);
void progress_under_way(struct progress *p, const struct target *target, const struct fetch_progress *now);
/* `service` is NULL for the steps to the host. */
void progress_step(struct progress *p, const struct host *host, const struct service *service,
                   const struct fetch_step *step);

/* A plain line, unless nothing is to be said. */
void progress_say(struct progress *p, const char *line);

/* Wipes the live lines and says nothing until progress_resume, which says it all: while somebody is asked
 * something on the terminal. */
void progress_pause(struct progress *p);
void progress_resume(struct progress *p);

/* Draws the live lines as they are now. */
void progress_draw(struct progress *p);

#endif
