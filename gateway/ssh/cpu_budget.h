/* The limit of CPU time of a session that moves no data of its channels: a server can send messages for ever
 * that belong to no channel. */
#ifndef GATEWAY_SSH_CPU_BUDGET_H
#define GATEWAY_SSH_CPU_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

/* All 0 is a new budget. */
struct cpu_budget {
    uint64_t n_moved;   /* bytes that channels have read and written; the caller counts them */
    uint64_t n_checked; /* n_moved at the last check */
    int64_t since;      /* when n_moved last differed from n_checked, by clock_now(); 0: not yet checked */
    int64_t since_ns;   /* the CPU time at that moment */
};

/* Returns whether the session has taken too much since it last moved data: 2 s, and 5 % of the elapsed time.
 * `cpu_ns` is the CPU time that the session has taken so far. */
bool cpu_budget_is_exceeded(struct cpu_budget *b, int64_t cpu_ns);

#endif
