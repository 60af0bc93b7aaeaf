/* The options of commands that fetch: synchronisation, retries, time limits and size limits. */
#ifndef CLI_CAPTURE_FETCH_OPTIONS_H
#define CLI_CAPTURE_FETCH_OPTIONS_H

#include "cli/args/options.h"
#include "fetch/fetch.h"

struct fetch_arguments {
    struct fetch_options options; /* sync_deadline_ms 0: not given. `parallel` is not used. */
    struct strlist budget;        /* the parts of --budget between commas */
};

/* Rows for a command's table of options. `type` is the command's struct, `member` its struct
 * fetch_arguments. */
// NOLINTBEGIN(bugprone-macro-parentheses): a type and a member cannot be in parentheses
#define FETCH_OPTION_ROWS(type, member)                                                                      \
    {"sync",                                                                                                 \
     0,                                                                                                      \
     OPTION_FLAG,                                                                                            \
     NULL,                                                                                                   \
     "start the timed profiles of all targets at the same instant; opens all hosts at once",                 \
     offsetof(type, member.options.sync),                                                                    \
     0},                                                                                                     \
        {"sync-deadline",                                                                                    \
         0,                                                                                                  \
         OPTION_DURATION,                                                                                    \
         "DURATION",                                                                                         \
         "the time that the first target waits for the others (default 30s); a later target gets a finding", \
         offsetof(type, member.options.sync_deadline_ms),                                                    \
         0},                                                                                                 \
        {"retries",                                                                                          \
         0,                                                                                                  \
         OPTION_COUNT,                                                                                       \
         "N",                                                                                                \
         "retry a temporary failure up to N times (default: 0)",                                             \
         offsetof(type, member.options.retries),                                                             \
         100},                                                                                               \
        {"deadline",                                                                                         \
         0,                                                                                                  \
         OPTION_DURATION,                                                                                    \
         "DURATION",                                                                                         \
         "end the run after DURATION, from the opening of the first host, and bundle the items that "        \
         "arrived",                                                                                          \
         offsetof(type, member.options.deadline_ms),                                                         \
         0},                                                                                                 \
        {"max-bytes",                                                                                        \
         0,                                                                                                  \
         OPTION_BYTES,                                                                                       \
         "SIZE",                                                                                             \
         "the maximum size of an item (default 512MiB; trace 2GiB, cmdline and symbol 4MiB)",                \
         offsetof(type, member.options.max_bytes),                                                           \
         0},                                                                                                 \
        {"concurrent",                                                                                       \
         0,                                                                                                  \
         OPTION_FLAG,                                                                                        \
         NULL,                                                                                               \
         "take a process's cpu, trace and deltas at the same time (each then also shows the load of the "    \
         "others)",                                                                                          \
         offsetof(type, member.options.concurrent),                                                          \
         0},                                                                                                 \
    {                                                                                                        \
        "budget", 0, OPTION_LIST, "bytes=SIZE,seconds=N",                                                    \
            "limit the bytes fetched from one process and its time of profiling; items beyond the limit "    \
            "are left out",                                                                                  \
            offsetof(type, member.budget), 0                                                                 \
    }
// NOLINTEND(bugprone-macro-parentheses)

/* Sets the budget of values->options to the value of --budget. ERR_USAGE: the value is wrong. */
int fetch_arguments_read_budget(struct fetch_arguments *values, struct err *err);
/* Returns the options of a run, with the defaults of missing options. `parallel` 0: not given. */
struct fetch_options fetch_options_with_defaults(const struct fetch_arguments *values, unsigned parallel);
void fetch_arguments_release(struct fetch_arguments *values);

/* Checks --sync and --sync-deadline against the targets. ERR_USAGE: they do not fit. */
int fetch_arguments_check_sync(const struct fetch_arguments *values, unsigned parallel,
                               const struct targets *targets, struct err *err);

#endif
