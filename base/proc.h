/*
 * Child processes. All code starts them through this header.
 *
 * A program starts with the default signal dispositions and an empty signal mask, and inherits only the
 * descriptors 0, 1 and 2 (with glibc before 2.34, also all that are not close-on-exec).
 * PATH is searched for the program. No shell is involved. proc_run_in_fork and proc_run_confined start forks
 * of this process instead.
 */
#ifndef BASE_PROC_H
#define BASE_PROC_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/data/buf.h"
#include "base/data/err.h"

struct proc_limits {
    int64_t timeout_ms; /* since the start; then the child is ended (ERR_TIMEOUT) */
    int cancel_fd;      /* once readable, the child is ended (ERR_CANCELLED); -1: none */
    size_t max_output;  /* bytes of standard output; more is ERR_FAILED */
    bool secret_output; /* wipe every copy of the output; proc_result_release wipes the last one */
    /* Limits of a program that reads untrusted bytes; 0: no limit. A child with one of these limits also
     * dumps no core, and on Linux gets no new privileges and is killed when this process ends. Its argv[0]
     * must be a path: PATH is not searched. */
    uint64_t memory; /* bytes of private memory */
    int64_t cpu_ms;  /* CPU time; SIGXCPU ends a child that uses more */
    /* Variables of the child's environment, as in proc_setting. NULL: none. */
    const char *const *variables;
};

struct proc_result {
    int exit_code;          /* 128 + signal if a signal ended the child */
    struct buf out;         /* its standard output */
    char error_output[512]; /* the start of its standard error, made printable */
};

/*
 * Runs argv (NULL-terminated) with /dev/null as its input and collects its output. Returns 0 after the child
 * has ended, whatever its exit code. Returns -1 if the child could not start or wrote too much, and after a
 * timeout or a cancellation. After 0 the caller releases `ret`.
 */
int proc_run(const char *const argv[], const struct proc_limits *limits, struct proc_result *ret,
             struct err *err);
void proc_result_release(struct proc_result *r);

/* Works like proc_run, with the descriptor `input` as the child's standard input. The caller closes it. */
int proc_run_with_input(const char *const argv[], int input, const struct proc_limits *limits,
                        struct proc_result *ret, struct err *err);

/*
 * Starts argv with these descriptors as its 0, 1 and 2 (-1: /dev/null) and returns at once. The caller closes
 * its own descriptors, and reaps the child with proc_end or proc_wait.
 */
int proc_start(const char *const argv[], const int fds[3], pid_t *ret, struct err *err);

/* Settings of a child that differ from the default. */
struct proc_setting {
    /* Strings `NAME=value`, then NULL: each replaces the variable of that name in the child's environment.
     * `NAME` alone removes it. Other processes can read them, so never pass a secret. NULL: none. */
    const char *const *variables;
    /* The process group of another child, so that proc_end of that child also ends this child; 0: a new
     * group. */
    pid_t group;
};

/* Works like proc_start, with these settings. */
int proc_start_with_setting(const char *const argv[], const struct proc_setting *setting, const int fds[3],
                            pid_t *ret, struct err *err);

/* Returns whether a child of proc_start has ended, and then sets *ret_exit_code (may be NULL) as in
 * proc_result. The caller must still call proc_end. */
bool proc_has_ended(pid_t pid, int *ret_exit_code);

/* Waits until the child ends and reaps it. Sends no signal. Returns its exit code as in proc_result. */
int proc_wait(pid_t pid);

/* Ends a child of proc_start: SIGTERM, after half a second SIGKILL. Reaps it and returns its exit code as in
 * proc_result. */
int proc_end(pid_t pid);

/*
 * Runs `run` in a fork of this process and waits for it without a timeout. The child's changes in memory are
 * lost. `run` returns the child's exit code and must flush stdio itself. Other threads of this process do
 * not run in the child, so none of them may hold a lock that `run` needs.
 *
 * While this process waits, it ignores SIGINT and SIGQUIT, as system(3) does. The child does not ignore them,
 * unless this process did before. ERR_CANCELLED: cancel_fd (-1: none) became readable, and the child was
 * ended. *ret_exit_code is as in proc_result.
 */
typedef int proc_fork_fn(void *ctx);
int proc_run_in_fork(proc_fork_fn *run, void *ctx, int cancel_fd, int *ret_exit_code, struct err *err);

/*
 * Limits of a fork of this process that reads untrusted bytes.
 *
 * The child also gets no new privileges (Linux), dumps no core, ends when this process ends (Linux), and
 * keeps only the descriptors 0, 1, 2, cancel_fd and `kept` (Linux 5.9 and later). Sanitizers map terabytes,
 * so builds with them have no memory limit. On macOS the memory limit counts the whole address space.
 */
#define PROC_KEPT_MAX 4
struct proc_fork_limits {
    /* Private memory that the child may map, in bytes, in addition to what this process has mapped at the
     * fork; 0: no limit. */
    uint64_t memory;
    int64_t cpu_ms; /* CPU time, rounded up to whole seconds; 0: no limit */
    /* The largest limits of programs that the child starts (proc_limits), if they are higher than its own. */
    uint64_t program_memory;
    int64_t program_cpu_ms;
    int64_t wall_ms;         /* time since the start; 0: no limit */
    int cancel_fd;           /* once readable, the child is killed at once (ERR_CANCELLED); -1: none */
    int kept[PROC_KEPT_MAX]; /* descriptors that the child needs; 0 and -1: none */
    size_t max_result;       /* limit of the result, in bytes */
};

/* Runs in the child. Returns 0 and fills `ret`, or returns -1. proc_run_confined returns the result or the
 * error in the parent. */
typedef int proc_confined_fn(void *ctx, struct buf *ret, struct err *err);

/* Returns the number of bytes of private memory that this process has mapped. */
uint64_t proc_memory_in_use(void);

/* Returns the CPU time of this process and its ended children, in milliseconds. */
int64_t proc_cpu_ms(void);

/* Limits the private memory of this process: allocations beyond `max_bytes` fail until the caller restores
 * the limit *ret_before (UINT64_MAX: none). Children inherit the limit, so the caller must not start one
 * before it restores the limit. Does nothing under sanitizers, which map terabytes, and on macOS, which
 * limits only the whole address space. */
void proc_limit_memory(uint64_t max_bytes, uint64_t *ret_before);

/*
 * Runs `run` in a fork of this process, within limits, and waits for it. The child's changes in memory are
 * lost; `run` must flush stdio itself. *ret (may be NULL) becomes the child's result. The child read
 * untrusted bytes, so the caller must check the result. The caller releases *ret in every case.
 *
 * Other threads of this process do not run in the child. Do not call this if another thread may hold a lock
 * of a library that `run` needs; the locks of glibc and macOS are safe.
 *
 * The error is the child's, made printable. ERR_LIMIT if the child exceeded a limit or ended without a
 * result. ERR_CANCELLED if cancel_fd became readable, or a signal of the terminal ended the child. A signal
 * from the terminal reaches both processes, and ends this process unless it has a handler.
 */
int proc_run_confined(proc_confined_fn *run, void *ctx, const struct proc_fork_limits *limits,
                      struct buf *ret, struct err *err);

/*
 * Starts a fork of this process within limits, and returns at once. Of the limits, memory, cpu_ms, cancel_fd
 * and kept count: the child keeps cancel_fd, but its end when cancel_fd is readable is up to `run`. `run`
 * returns the exit code and must flush stdio itself. The caller reaps the child with proc_wait. The exit code
 * is PROC_FORK_UNLIMITED if the limits could not be set.
 *
 * As with proc_run_confined, no other thread may hold a lock of a library that `run` needs.
 */
#define PROC_FORK_UNLIMITED 125
int proc_start_fork(proc_fork_fn *run, void *ctx, const struct proc_fork_limits *limits, pid_t *ret,
                    struct err *err);

/* Returns whether a path is an executable regular file. */
bool proc_is_program(const char *path);
/* Searches the absolute directories of PATH for a program. Relative directories may contain untrusted files
 * and are skipped. Returns its path, a new string, or NULL. */
char *proc_find_program(const char *name);

#endif
