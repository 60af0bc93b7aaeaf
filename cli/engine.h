/* How a capture goes about it, for the commands that fetch: in step or not, how often, how long, how much. */
#ifndef CLI_ENGINE_H
#define CLI_ENGINE_H

#include "cli/args/options.h"
#include "fetch/fetch.h"

struct engine_options {
    bool sync;
    int64_t sync_deadline_ms; /* 0: not given */
    unsigned retries;
    int64_t deadline_ms; /* 0: not given */
    uint64_t max_bytes;  /* 0: not given */
    bool concurrent;
    struct strlist budget;
    uint64_t budget_bytes; /* what `budget` means, from engine_check; and so on */
    int64_t budget_ms;
};

/* The rows of a command's table of options; its struct has them as `member`. */
// NOLINTBEGIN(bugprone-macro-parentheses): a type and a member cannot stand in parentheses
#define ENGINE_OPTION_ROWS(type, member)                                                                     \
    {"sync",                                                                                                 \
     0,                                                                                                      \
     OPTION_FLAG,                                                                                            \
     NULL,                                                                                                   \
     "start the timed profiles of all targets at the same instant; opens all hosts at once",                 \
     offsetof(type, member.sync),                                                                            \
     0},                                                                                                     \
        {"sync-deadline",                                                                                    \
         0,                                                                                                  \
         OPTION_DURATION,                                                                                    \
         "DURATION",                                                                                         \
         "how long the first target waits for the others (default 30s); later ones get a finding",           \
         offsetof(type, member.sync_deadline_ms),                                                            \
         0},                                                                                                 \
        {"retries",                                                                                          \
         0,                                                                                                  \
         OPTION_COUNT,                                                                                       \
         "N",                                                                                                \
         "retry a temporary failure up to N times (default: 0)",                                             \
         offsetof(type, member.retries),                                                                     \
         100},                                                                                               \
        {"deadline",                                                                                         \
         0,                                                                                                  \
         OPTION_DURATION,                                                                                    \
         "DURATION",                                                                                         \
         "end the run after DURATION, from the opening of the first host, and bundle the items that "        \
         "arrived",                                                                                          \
         offsetof(type, member.deadline_ms),                                                                 \
         0},                                                                                                 \
        {"max-bytes",                                                                                        \
         0,                                                                                                  \
         OPTION_BYTES,                                                                                       \
         "SIZE",                                                                                             \
         "the maximum size of an item (default 512MiB; trace 2GiB, cmdline and symbol 4MiB)",                \
         offsetof(type, member.max_bytes),                                                                   \
         0},                                                                                                 \
        {"concurrent",                                                                                       \
         0,                                                                                                  \
         OPTION_FLAG,                                                                                        \
         NULL,                                                                                               \
         "take a process's cpu, trace and deltas at the same time (they then show each other's work)",       \
         offsetof(type, member.concurrent),                                                                  \
         0},                                                                                                 \
    {                                                                                                        \
        "budget", 0, OPTION_LIST, "bytes=SIZE,seconds=N",                                                    \
            "limit the bytes fetched from one process and its time of profiling; items beyond the limit "    \
            "are left out",                                                                                  \
            offsetof(type, member.budget), 0                                                                 \
    }
// NOLINTEND(bugprone-macro-parentheses)

/* Once they are read. ERR_USAGE. */
int engine_check(struct engine_options *o, struct err *err);
void engine_set(const struct engine_options *o, struct fetch_grab *fetch);
void engine_release(struct engine_options *o);

/* Once it is known whether to begin in step, and with whom. --sync opens all hosts of the targets at once:
 * ERR_USAGE if `parallel` (0: not given) allows fewer. */
int engine_check_sync(const struct engine_options *o, unsigned parallel, const struct targets *targets,
                      struct err *err);

#endif
