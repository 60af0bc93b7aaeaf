/*
 * Loads the profiles of the sources and of the base, which are files or URLs, and makes one profile of them
 * that is ready for a report.
 *
 * The caller reads files and asks servers (struct load_callbacks). This module merges, subtracts, looks up
 * names and removes the frames that no report shows.
 *
 * Source: google/pprof internal/driver/fetch.go.
 */
#ifndef PPROF_LOAD_H
#define PPROF_LOAD_H

#include "pprof/symbolize/symbolize.h"

/* The URL of a source. */
struct load_url {
    const char *source; /* the pointer in struct load_settings */
    char *url;          /* NULL: the source is not on a server */
    char *shown;        /* the URL without secrets, for messages */
    long timeout_s;     /* the time limit for the server's answer */
};
/* Makes the URL for a source: adds `?seconds=` if `seconds` is positive, and the path of Go's CPU profiles if
 * the source has no path. If `timeout_s` is 0, the time limit is 1.5 times the seconds that the URL asks for,
 * or 60 s without them. Sets ret->url and ret->timeout_s, but leaves them unchanged if the source is not a
 * URL. The caller frees ret->url. */
int load_url_make(const char *source, long seconds, long timeout_s, struct load_url *ret, struct err *err);
/* Returns the URL of the symbol endpoint on the server of this profile: a new string. Returns NULL if
 * profile_url is invalid, or if memory is exhausted. */
char *load_url_symbols(const char *profile_url);

/* A source that the caller reads. The caller sets either `profile` or `err`. */
struct load_item {
    const char *name; /* the pointer in struct load_settings */
    struct profile *profile;
    struct err err;
};

struct load_callbacks {
    /* Finds the URL of a source. The members of *ret are new strings. */
    int (*find_url)(void *ctx, const char *source, struct load_url *ret, struct err *err);
    /* Fetches one profile. Several threads call it at the same time. */
    int (*fetch)(void *ctx, const struct load_url *from, struct profile **ret, struct err *err);
    /* Reads the sources without a URL. */
    int (*read)(void *ctx, struct load_item *items, size_t n, struct err *err);
    /* Fails if the time for reading is used up; `source` is the last one read. */
    int (*check_time)(void *ctx, const char *source, struct err *err);
    symbolize_say_fn *say;
    void *ctx;
};

/* The options of pprof, under pprof's names. Strings may be NULL. */
struct load_settings {
    char *const *sources, *const *bases;
    size_t n_sources, n_bases;
    bool warn_sources, warn_bases; /* warn if these are of different programs or builds */
    bool diff_base, normalize, all_frames;
    bool limited; /* memory is limited: if a source exceeds the limit, load_profiles fails */
    const char *binary, *buildid, *add_comment, *symbolize;
    const char *binary_path; /* search path for binaries; NULL: $HOME/pprof/binaries */
    long seconds;            /* the duration of CPU profiles, for the message about waiting */
};

struct load {
    struct profile *profile;
    struct symbolize_servers servers; /* that sent the mappings */
    bool remote;                      /* a server sent at least one of the profiles */
};

/* Reads and fetches all sources and bases, merges them, and subtracts the bases. Sends a message for each
 * source or base that fails. Fails if all sources fail, or all bases. Call load_release afterwards, also
 * after a failure. */
int load_profiles(const struct load_settings *s, const struct load_callbacks *callbacks, struct load *ret,
                  struct err *err);
/* Looks up names, removes frames (report_prune), and adds the comment. */
int load_finish(struct load *l, const struct load_settings *s, const struct symbolize_tools *tools,
                struct err *err);
/* Frees the loaded profile and the list of servers. A caller that keeps the profile sets l->profile to NULL
 * first. */
void load_release(struct load *l);

#endif
