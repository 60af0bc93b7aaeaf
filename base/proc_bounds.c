/* Limits of this process and of programs that it starts. posix_spawn cannot set limits, so
 * proc_start_bounded forks. Between fork and exec only async-signal-safe calls are allowed. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif

#include "base/base.h"
#include "base/proc_bounds.h"
#include "base/banned.h"

extern char **environ;

/* On Linux RLIMIT_DATA counts the heap and private writable mappings. macOS limits only the address space. */
#ifdef __linux__
#define MEMORY_LIMIT RLIMIT_DATA
#else
#define MEMORY_LIMIT RLIMIT_AS
#endif
/* The result of proc_memory_in_use on a system without /proc. */
#define DEFAULT_IN_USE (UINT64_C(128) << 20)

/* Lowers the hard limit of a resource, and sets the soft limit, at most to the hard limit. */
static int set_limit(int resource, uint64_t soft, uint64_t hard)
{
    struct rlimit limit;
    if (getrlimit(resource, &limit) < 0)
        return -1;
    if (limit.rlim_max == RLIM_INFINITY || limit.rlim_max > hard)
        limit.rlim_max = (rlim_t)hard;
    limit.rlim_cur = limit.rlim_max < soft ? limit.rlim_max : (rlim_t)soft;
    return setrlimit(resource, &limit);
}

static uint64_t seconds_of(int64_t ms)
{
    return ((uint64_t)ms + 999) / 1000;
}

int proc_limit_self(const struct proc_bounds *bounds, pid_t parent)
{
    uint64_t seconds = seconds_of(bounds->cpu_ms), most_seconds = seconds_of(bounds->most_cpu_ms);
#ifdef __linux__
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
        return -1;
#endif
    if (getppid() != parent) {
        errno = ESRCH;
        return -1;
    }
    if (set_limit(RLIMIT_CORE, 0, 0) < 0)
        return -1;
    /* The soft limit raises SIGXCPU, which names the cause; the hard limit raises SIGKILL. */
    if (seconds > 0 &&
        set_limit(RLIMIT_CPU, seconds, (most_seconds > seconds ? most_seconds : seconds) + 1) < 0)
        return -1;
    if (bounds->memory == 0)
        return 0;
    return set_limit(MEMORY_LIMIT, bounds->memory,
                     bounds->most_memory > bounds->memory ? bounds->most_memory : bounds->memory);
}

uint64_t proc_memory_in_use(void)
{
    char text[256];
    uint64_t pages = 0;
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    fd_close(&fd);
    if (n <= 0)
        return DEFAULT_IN_USE;
    text[n] = '\0';
    /* Fields: size resident shared text lib data dt */
    const char *at = text;
    for (int field = 0; field < 6; field++) {
        char *end = NULL;
        pages = strtoull(at, &end, 10);
        if (end == at)
            return DEFAULT_IN_USE;
        at = end;
    }
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static int64_t read_cpu_ms(int who)
{
    struct rusage used;
    if (getrusage(who, &used) < 0)
        return 0;
    return (int64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000 +
           (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1000;
}

int64_t proc_cpu_ms(void)
{
    return read_cpu_ms(RUSAGE_SELF) + read_cpu_ms(RUSAGE_CHILDREN);
}

void proc_limit_memory(uint64_t max_bytes, uint64_t *ret_before)
{
    *ret_before = UINT64_MAX;
#ifdef __linux__
    struct rlimit limit;
    if (UNDER_SANITIZER || getrlimit(MEMORY_LIMIT, &limit) < 0)
        return;
    if (limit.rlim_cur != RLIM_INFINITY)
        *ret_before = limit.rlim_cur;
    limit.rlim_cur = max_bytes == UINT64_MAX ? RLIM_INFINITY : (rlim_t)max_bytes;
    if (limit.rlim_max != RLIM_INFINITY && (max_bytes == UINT64_MAX || limit.rlim_cur > limit.rlim_max))
        limit.rlim_cur = limit.rlim_max;
    setrlimit(MEMORY_LIMIT, &limit);
#else
    (void)max_bytes;
#endif
}

void proc_drop_handlers(void)
{
    static const int numbers[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGTSTP};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct sigaction act = {.sa_handler = SIG_DFL}, current;
        if (sigaction(numbers[i], NULL, &current) == 0 && current.sa_handler != SIG_IGN)
            sigaction(numbers[i], &act, NULL);
    }
}

void proc_close_all_but(const int *kept, size_t n)
{
#if defined(__linux__) && defined(SYS_close_range)
    unsigned from = 3;
    for (;;) {
        unsigned next = UINT_MAX;
        for (size_t i = 0; i < n; i++)
            if (kept[i] >= 0 && (unsigned)kept[i] >= from && (unsigned)kept[i] < next)
                next = (unsigned)kept[i];
        if (next > from)
            syscall(SYS_close_range, from, next == UINT_MAX ? UINT_MAX : next - 1, 0);
        if (next == UINT_MAX)
            return;
        from = next + 1;
    }
#else
    (void)kept, (void)n;
#endif
}

/* Makes fds[i] the descriptor i. First duplicates them above 2, so that none overwrites another. */
static int install_descriptors(const int fds[3])
{
    int moved[3];
    for (int i = 0; i < 3; i++) {
        moved[i] = fds[i] >= 0 ? fcntl(fds[i], F_DUPFD_CLOEXEC, 3)
                               : open("/dev/null", (i ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
        if (moved[i] < 0)
            return -1;
    }
    for (int i = 0; i < 3; i++)
        if (dup2(moved[i], i) < 0)
            return -1;
    return 0;
}

static void reset_signals(void)
{
    struct sigaction act = {.sa_handler = SIG_DFL};
    sigset_t none;
    for (int number = 1; number < NSIG; number++)
        sigaction(number, &act, NULL);
    sigemptyset(&none);
    pthread_sigmask(SIG_SETMASK, &none, NULL);
}

/* Execs the program. Returns only on failure, with errno. */
static void exec_program(const char *const argv[], const struct proc_bounds *bounds, const int fds[3],
                         int failure_fd, pid_t parent)
{
    setpgid(0, 0);
    if (install_descriptors(fds) < 0 || proc_limit_self(bounds, parent) < 0)
        return;
    proc_close_all_but(&failure_fd, 1);
    reset_signals();
    execve(argv[0], (char *const *)(uintptr_t)argv, bounds->environment ? bounds->environment : environ);
}

int proc_start_bounded(const char *const argv[], const struct proc_bounds *bounds, const int fds[3],
                       pid_t *ret, struct err *err)
{
    int failure_pipe[2], why = 0;
    pid_t parent = getpid();
    if (fd_pipe(failure_pipe, err) < 0)
        return -1;
    fd_spawn_lock();
    pid_t pid = fork();
    if (pid == 0) {
        exec_program(argv, bounds, fds, failure_pipe[1], parent);
        why = errno;
        (void)!write(failure_pipe[1], &why, sizeof why);
        _exit(127);
    }
    fd_spawn_unlock();
    why = pid < 0 ? errno : 0;
    fd_close(&failure_pipe[1]);
    /* exec closes the pipe, so end-of-file means success. */
    while (pid > 0 && read(failure_pipe[0], &why, sizeof why) < 0 && errno == EINTR)
        continue;
    fd_close(&failure_pipe[0]);
    if (why != 0) {
        while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
            continue;
        errno = why;
        err_sys(err, "cannot start %s", argv[0]);
        if (err && why == ENOENT)
            err->kind = ERR_NOT_FOUND;
        return -1;
    }
    fd_restore_limit(pid);
    *ret = pid;
    return 0;
}
