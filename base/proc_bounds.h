/* Functions that a child calls between fork and its work, and a function that starts a program with limits.
 * In the child, all of them make only async-signal-safe calls, because another thread of the parent may have
 * held a lock during the fork. */
#ifndef BASE_PROC_BOUNDS_H
#define BASE_PROC_BOUNDS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/data/err.h"

/* In builds with a sanitizer, this process and its forks have no memory limit, because sanitizers map
 * terabytes and abort if an allocation fails. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define UNDER_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define UNDER_SANITIZER 1
#endif
#endif
#ifndef UNDER_SANITIZER
#define UNDER_SANITIZER 0
#endif

/* Limits of a process and of its children. 0: none. */
struct proc_bounds {
    uint64_t memory; /* bytes of private memory, as RLIMIT_DATA counts it */
    int64_t cpu_ms;  /* CPU time, rounded up to whole seconds */
    /* The largest limits that the process may give to programs that it starts, if they are higher. */
    uint64_t most_memory;
    int64_t most_cpu_ms;
    char **environment; /* of a program that is started; NULL: that of this process */
};

/* Sets the limits, forbids core dumps and new privileges, and makes the kernel kill this process when its
 * parent, the process `parent`, ends (Linux). Returns 0, or -1 with errno. */
int proc_limit_self(const struct proc_bounds *bounds, pid_t parent);

/* In a fork, resets the parent's handlers of SIGINT, SIGQUIT, SIGTERM, SIGHUP and SIGTSTP. Ignored signals
 * stay ignored. */
void proc_drop_handlers(void);

/* Closes every descriptor from 3 on except those in `kept`, if the system has close_range(2). */
void proc_close_all_but(const int *kept, size_t n);

/* Works like proc_start, with limits. argv[0] is a path; PATH is not searched. */
int proc_start_bounded(const char *const argv[], const struct proc_bounds *bounds, const int fds[3],
                       pid_t *ret, struct err *err);

#endif
