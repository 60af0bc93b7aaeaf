#include "cli/pprof/picture.h"

#include <stdlib.h>
#include <unistd.h>

#include "cli/pprof/pprof.h"
#include "cli/term/signals.h"
#include "base/banned.h"

/* Large graphs take minutes. */
#define DOT_TIMEOUT_MS (INT64_C(15) * 60 * 1000)
#define DOT_CPU_MS (INT64_C(5) * 60 * 1000)
#define DOT_MEMORY (UINT64_C(2) << 30)

int picture_draw(const char *format, int graph_fd, struct buf *ret, struct err *err)
{
    char option[16];
    snprintf(option, sizeof option, "-T%s", format);
    char *path = proc_find_program("dot");
    const char *const argv[] = {path ? path : "dot", option, NULL};
    struct proc_limits limits = {.timeout_ms = DOT_TIMEOUT_MS,
                                 .max_output = PICTURE_BYTES_MAX,
                                 .memory = DOT_MEMORY,
                                 .cpu_ms = DOT_CPU_MS};
    struct proc_result result;
    struct err why = ERR_INIT;
    /* A picture may take minutes, and dot must not outlive this process. */
    if (lseek(graph_fd, 0, SEEK_SET) != 0)
        return err_sys(err, "cannot read the graph back");
    int rc = signals_install(err);
    limits.cancel_fd = signals_cancel_fd();
    int started = rc == 0 ? proc_run_with_input(argv, graph_fd, &limits, &result, &why) : -1;
    free(path);
    if (rc < 0)
        return -1;
    if (started < 0) {
        if (why.kind == ERR_CANCELLED)
            return err_set(err, ERR_CANCELLED, "interrupted");
        err_set(err, ERR_NOT_FOUND, "failed to execute dot. Is Graphviz installed? Error: %s", why.msg);
        return err_hint(err, "-dot writes the graph as text, and -top or -tree need no graphviz");
    }
    if (result.exit_code) {
        if (result.error_output[0])
            pprof_print("%s", result.error_output);
        rc = err_set(err, ERR_FAILED, "failed to execute dot. Is Graphviz installed? Error: exit status %d",
                     result.exit_code);
    } else {
        buf_release(ret);
        *ret = result.out;
        result.out = (struct buf)BUF_INIT(0);
    }
    proc_result_release(&result);
    return rc;
}

void picture_allow(struct proc_fork_limits *limits)
{
    if (limits->program_memory < DOT_MEMORY)
        limits->program_memory = DOT_MEMORY;
    if (limits->program_cpu_ms < DOT_CPU_MS)
        limits->program_cpu_ms = DOT_CPU_MS;
}
