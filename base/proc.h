/*
 * Child processes: the one place that starts them.
 *
 * A child starts with the default signal dispositions and an empty signal mask, inherits no descriptor but
 * 0, 1 and 2, and is looked up in PATH. Nothing is ever passed through a shell.
 */
#ifndef BASE_PROC_H
#define BASE_PROC_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"

struct proc_limits {
    int64_t timeout_ms; /* from the start; the child is killed then (ERR_TIMEOUT) */
    int cancel_fd;      /* readable: the child is killed (ERR_CANCELLED); -1 for none */
    size_t max_output;  /* bytes of standard output; more is ERR_FAILED */
    bool secret_output; /* no copy of it stays in memory; proc_result_release wipes it */
    /* For a program that reads a stranger's bytes; 0: no limit. With either of them the child also dumps no
     * core, gets no new privileges, and ends with us. argv[0] is a path then: PATH is not looked at. */
    uint64_t memory; /* bytes of private memory */
    int64_t cpu_ms;  /* processor time; a child that takes more is ended by SIGXCPU */
};

struct proc_result {
    int exit_code;       /* 128 + signal for a child that a signal ended */
    struct buf out;      /* what it wrote to standard output */
    char complaint[512]; /* the beginning of its standard error, made printable */
};

/*
 * Runs argv (NULL-terminated) with /dev/null as its input and collects what it says. 0 once it has ended,
 * whatever its exit code; -1 if it could not be started, was killed or said too much. The caller releases
 * `ret` in every case where 0 was returned.
 */
int proc_run(const char *const argv[], const struct proc_limits *limits, struct proc_result *ret,
             struct err *err);
void proc_result_release(struct proc_result *r);

/* The same with that descriptor as its input, which stays the caller's. */
int proc_run_on(const char *const argv[], int input, const struct proc_limits *limits,
                struct proc_result *ret, struct err *err);

/*
 * Starts argv with these descriptors as its 0, 1 and 2 (-1: /dev/null) and does not wait. The caller keeps
 * its own copies, and ends the child with proc_end.
 */
int proc_start(const char *const argv[], const int fds[3], pid_t *ret, struct err *err);

/* How a child is started other than by default. */
struct proc_setting {
    /* `NAME=value`, NULL-terminated: they win over ours of those names. Whoever can look at the child's
     * process can read them: never a secret. NULL: none. */
    const char *const *variables;
    pid_t group; /* that of another child, which proc_end of that one ends too; 0: a new one */
};
int proc_start_with(const char *const argv[], const struct proc_setting *setting, const int fds[3],
                    pid_t *ret, struct err *err);

/* Whether a child started by proc_start has ended by itself, and with which exit code, as proc_result has it
 * (NULL: never mind). It is still to be collected by proc_end. */
bool proc_ended(pid_t pid, int *ret_exit_code);

/* Waits for the end of a child that is about to end by itself, and collects it. Returns its exit code as
 * proc_result has it. */
int proc_wait(pid_t pid);

/* Ends a child started by proc_start: SIGTERM, SIGKILL after half a second, and collects it. Returns its
 * exit code as proc_result has it. */
int proc_end(pid_t pid);

/*
 * Has a copy of this process do something, and waits for it, however long that takes: what it changes in
 * memory is gone with it, and costs only the pages that it wrote to. `body` returns the copy's exit code;
 * what it leaves in buffers of stdio is lost. No other thread may run, unless the copy has no need of it.
 *
 * Signals of the terminal are left to the copy meanwhile, as system(3) has it. ERR_CANCELLED: cancel_fd (or
 * -1) became readable, and the copy was ended. *ret_exit_code: as proc_result has it.
 */
typedef int proc_body_fn(void *ctx);
int proc_run_copy(proc_body_fn *body, void *ctx, int cancel_fd, int *ret_exit_code, struct err *err);

/*
 * Limits of a copy of this process that reads a stranger's bytes.
 *
 * Beside them the copy gets no new privileges (Linux), dumps no core, ends when this process ends (Linux),
 * and has no descriptors but 0, 1, 2, cancel_fd and `kept` (Linux 5.9 and later). Under sanitizers, which map
 * terabytes, there is no limit of memory; macOS counts the whole address space.
 */
#define PROC_KEPT_MAX 4
struct proc_confines {
    uint64_t memory;         /* bytes of private memory beyond what this process has; 0: no limit */
    int64_t cpu_ms;          /* processor time, rounded up to whole seconds; 0: no limit */
    int64_t wall_ms;         /* time from the start; 0: no limit */
    int cancel_fd;           /* readable: the copy is killed at once (ERR_CANCELLED); -1 for none */
    int kept[PROC_KEPT_MAX]; /* descriptors that the copy needs; 0 and -1: none */
    size_t max_result;       /* bytes of `ret` below */
};

/* Fills `ret` with what the parent is to get. 0, or -1 with an error that becomes the parent's. */
typedef int proc_confined_fn(void *ctx, struct buf *ret, struct err *err);

/* Bytes of private memory that this process has mapped. */
uint64_t proc_memory_in_use(void);

/* Milliseconds of processor time that this process and its ended children have taken. */
int64_t proc_cpu_ms(void);

/* Limits the private memory of this process itself: allocations beyond `most` bytes fail until the limit is
 * set back to *ret_before (UINT64_MAX: none). Children inherit the limit, so the caller starts none
 * meanwhile. Under sanitizers and on macOS, which count the whole address space, this does nothing. */
void proc_limit_memory(uint64_t most, uint64_t *ret_before);

/*
 * Has a copy of this process, within limits, do something, and waits for it. What the copy changes in memory
 * is gone with it; what it writes to stdio, it must flush. *ret (NULL: nothing is wanted) becomes what the
 * copy filled in: bytes from a process that read a stranger's bytes, so the caller checks them. The caller
 * releases *ret in any case.
 *
 * The copy is forked: other threads of this process do not run in it. A caller whose other threads may hold a
 * lock of a library that `body` needs must not call this; glibc's and macOS's own locks are no concern.
 *
 * The error is the copy's own, made printable; ERR_LIMIT if it took more time or memory than it may, or
 * ended without a word; ERR_CANCELLED. A signal of the terminal, which reaches both, ends
 * this process too unless it handles that signal.
 */
int proc_run_confined(proc_confined_fn *body, void *ctx, const struct proc_confines *limits, struct buf *ret,
                      struct err *err);

#endif
