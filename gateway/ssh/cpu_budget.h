/* The limit of CPU time of a session: a server can send messages for ever that belong to no channel, and data
 * in pieces of one byte. */
#ifndef GATEWAY_SSH_CPU_BUDGET_H
#define GATEWAY_SSH_CPU_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

/* All 0 is a new budget. */
struct cpu_budget {
    uint64_t n_bytes, n_pieces; /* data that channels have read and written, see cpu_budget_add */
    int64_t start;              /* the time of the first check, by clock_now(); 0: not yet checked */
    int64_t start_ns;           /* the CPU time at the first check */
};

/* Counts a piece of data that a channel has read or written: `n` is the result of that call. */
void cpu_budget_add(struct cpu_budget *b, int64_t n);

/* Returns whether the session has taken more CPU time since the first check than the sum of 3 s, 1 % of the
 * elapsed time, 20 us for each piece and 0.5 s for each MB of data. `cpu_ns` is the CPU time that the session
 * has taken so far. */
bool cpu_budget_is_exceeded(struct cpu_budget *b, int64_t cpu_ns);

#endif
