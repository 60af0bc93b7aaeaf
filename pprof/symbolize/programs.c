/* Finds and runs llvm-symbolizer, and addr2line, nm, c++filt and objdump of the binutils. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pprof/symbolize/symbols.h"
#include "base/banned.h"

/*
 * Limits of the programs that symbolizing runs. A hostile profile may come with a hostile binary, and may
 * name one binary in a thousand mappings. Therefore each program has 512 MB, and all programs of a command
 * together have 30 s of processor time. Large binaries take gigabytes and minutes. Therefore the size of the
 * binary and of the input adds to the memory, and the largest size so far adds to the time. The limit of the
 * output grows like the limit of the memory.
 */
#define PROGRAM_TIMEOUT_MS (INT64_C(15) * 60 * 1000)
#define PROGRAM_MEMORY (UINT64_C(512) << 20)
#define PROGRAM_MEMORY_PER_BYTE 16
#define PROGRAM_MEMORY_MAX (UINT64_C(8) << 30)
#define PROGRAM_CPU_MS INT64_C(30000)
#define PROGRAM_CPU_MS_PER_MB 1000
#define PROGRAM_OUTPUT (UINT64_C(64) << 20)
#define PROGRAM_OUTPUT_PER_BYTE 16

static const char *const program_names[] = {
    [SYMBOLIZE_ADDR2LINE] = "addr2line",           [SYMBOLIZE_NM] = "nm",     [SYMBOLIZE_CXXFILT] = "c++filt",
    [SYMBOLIZE_CXXFILT_NO_PARAMETERS] = "c++filt", [SYMBOLIZE_NM_ALL] = "nm", [SYMBOLIZE_OBJDUMP] = "objdump",
    [SYMBOLIZE_LLVM] = "llvm-symbolizer"};

/* llvm-symbolizer asks the servers of this variable for debug information. If the variable is empty, that of
 * LLVM 14 asks the host `buildid`, so it is removed. */
static const char *const variables[] = {"DEBUGINFOD_URLS", NULL};

/* ---- finding programs ---------------------------------------------------------------------------------- */

/* Looks for the program in the directories that -tools gives for it alone (`NAME:DIRECTORY`; only_own), or in
 * those for all programs (`DIRECTORY`). */
static char *find_in_tools(const char *tools, const char *name, bool only_own)
{
    char *found = NULL;
    for (size_t n; *tools && !found; tools += n + (tools[n] == ',')) {
        n = strcspn(tools, ",");
        const char *colon = memchr(tools, ':', n);
        size_t to_colon = colon ? (size_t)(colon - tools) : 0;
        char *path = NULL;
        bool is_own = colon && strlen(name) == to_colon && memcmp(tools, name, to_colon) == 0;
        if (only_own ? !is_own : colon != NULL)
            continue;
        const char *dir = colon ? colon + 1 : tools;
        int length = (int)(n - (size_t)(dir - tools));
        if (length <= 0 || asprintf(&path, "%.*s/%s", length, dir, name) < 0)
            continue;
        if (proc_is_program(path))
            found = path;
        else
            free(path);
    }
    return found;
}

/* Returns a new string, or NULL. As in upstream, -tools replaces PATH, except for nm and c++filt, for which
 * it precedes PATH. */
static char *find_program(const struct programs *p, enum symbolize_program program)
{
    const char *name = program_names[program], *tools = p->directories ? p->directories : "";
    char *found = find_in_tools(tools, name, true);
    if (!found)
        found = find_in_tools(tools, name, false);
    bool only_tools =
        program == SYMBOLIZE_ADDR2LINE || program == SYMBOLIZE_OBJDUMP || program == SYMBOLIZE_LLVM;
    if (!found && (!*tools || !only_tools))
        found = proc_find_program(name);
    return found;
}

/* ---- running them -------------------------------------------------------------------------------------- */

/* Writes the input to a file without a name, because a pipe could fill up while the program writes. Returns
 * its descriptor, or -1. */
static int write_input(struct str input, struct err *err)
{
    int fd = file_create_scratch(err);
    if (fd >= 0 && (fd_write_all(fd, input.p, input.n, err) < 0 ||
                    (lseek(fd, 0, SEEK_SET) != 0 && err_sys(err, "cannot read a file back") < 0)))
        fd_close(&fd);
    return fd;
}

static uint64_t min_u64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* The processor time of all children that have ended, in milliseconds. */
static int64_t children_cpu_ms(void)
{
    struct rusage used;
    if (getrusage(RUSAGE_CHILDREN, &used) < 0)
        return 0;
    return (int64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000 +
           (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1000;
}

static uint64_t size_of_file(const char *path)
{
    return min_u64(file_bytes_on_disk(path), PROGRAM_MEMORY_MAX);
}

/* The limits for a binary of that size. */
static uint64_t memory_for(uint64_t bytes)
{
    return min_u64(PROGRAM_MEMORY + bytes * PROGRAM_MEMORY_PER_BYTE, PROGRAM_MEMORY_MAX);
}
static uint64_t cpu_ms_for(uint64_t bytes)
{
    return min_u64((uint64_t)PROGRAM_CPU_MS + bytes / 1000000 * PROGRAM_CPU_MS_PER_MB,
                   (uint64_t)PROGRAM_TIMEOUT_MS);
}

/* Computes the limits of the next program, and updates p->largest_bytes. The output is limited to max_output
 * bytes or less. cpu_ms is 0 or less if no time is left. */
static struct proc_limits limits_for(struct programs *p, const char *file, struct str input,
                                     size_t max_output)
{
    uint64_t bytes = min_u64((file ? size_of_file(file) : 0) + input.n, PROGRAM_MEMORY_MAX);
    p->largest_bytes = bytes > p->largest_bytes ? bytes : p->largest_bytes;
    uint64_t ms = cpu_ms_for(p->largest_bytes);
    return (struct proc_limits){
        .timeout_ms = PROGRAM_TIMEOUT_MS,
        .cancel_fd = p->cancel_fd,
        .max_output = (size_t)min_u64(max_output, PROGRAM_OUTPUT + bytes * PROGRAM_OUTPUT_PER_BYTE),
        .memory = memory_for(bytes),
        .cpu_ms = (int64_t)ms - p->spent_ms,
        .variables = variables};
}

struct command {
    const char *const *argv;
    const char *operand; /* the file in argv, or NULL */
    struct str input;
    size_t max_output;
};

/* Any exit code is a success, a signal is a failure. */
static int run_limited(struct programs *p, const struct command *c, struct proc_result *ret, struct err *err)
{
    const struct proc_limits limits = limits_for(p, c->operand, c->input, c->max_output);
    const char *const *argv = c->argv;
    struct proc_result r;
    int fd = -1;
    if (limits.cpu_ms <= 0)
        return err_set(err, ERR_LIMIT,
                       "%s is not run: the programs before it took %" PRId64 " s of processor time",
                       file_base(argv[0]), p->spent_ms / 1000);
    if (c->input.n && (fd = write_input(c->input, err)) < 0)
        return -1;
    int64_t before = children_cpu_ms();
    int rc = proc_run_with_input(argv, fd, &limits, &r, err);
    p->spent_ms += children_cpu_ms() - before;
    fd_close(&fd);
    if (rc < 0)
        return err->kind == ERR_CANCELLED ? err_set(err, ERR_CANCELLED, "interrupted") : -1;
    if (r.exit_code <= 128) {
        *ret = r;
        return 0;
    }
    proc_result_release(&r);
    if (r.exit_code == 128 + SIGXCPU)
        return err_set(err, ERR_LIMIT, "%s takes more than %" PRId64 " s of processor time",
                       file_base(argv[0]), (limits.cpu_ms + 999) / 1000);
    return err_set(err, ERR_LIMIT, "%s was ended by signal %d", file_base(argv[0]), r.exit_code - 128);
}

/* A file name that looks neither like an option nor like a file of options. Returns a new string, or NULL. */
static char *path_operand(const char *file)
{
    char *path = NULL;
    return file && asprintf(&path, "%s%s", *file == '-' || *file == '@' ? "./" : "", file) >= 0 ? path : NULL;
}

/* A command as argv. `start` and `stop` are options of objdump. */
struct command_line {
    char start[48], stop[48];
    const char *argv[11];
};

static void make_command(const struct symbolize_query *query, const char *path, const char *operand,
                         struct command_line *ret)
{
    const char *const syntax = query->intel_syntax ? "-M" : operand;
    const char *const commands[][sizeof ret->argv / sizeof *ret->argv] = {
        [SYMBOLIZE_ADDR2LINE] = {path, "-aif", "-e", operand},
        [SYMBOLIZE_NM] = {path, "--numeric-sort", "--print-size", "--format=posix", operand},
        [SYMBOLIZE_CXXFILT] = {path},
        [SYMBOLIZE_CXXFILT_NO_PARAMETERS] = {path, "-p"},
        [SYMBOLIZE_NM_ALL] = {path, "-n", operand},
        [SYMBOLIZE_OBJDUMP] = {path, "--disassemble", "--demangle", "--no-show-raw-insn", "--line-numbers",
                               ret->start, ret->stop, syntax, query->intel_syntax ? "intel" : NULL, operand},
        [SYMBOLIZE_LLVM] = {path, "--output-style=GNU", "--print-address", "--inlining",
                            "--functions=linkage", "-demangle=false", "-e", operand}};
    snprintf(ret->start, sizeof ret->start, "--start-address=0x%" PRIx64, query->start);
    snprintf(ret->stop, sizeof ret->stop, "--stop-address=0x%" PRIx64, query->stop);
    memcpy(ret->argv, commands[query->program], sizeof ret->argv);
}

/* Writes upstream's message of a failed command. */
static int set_exit_error(const char *const *argv, int code, struct err *err)
{
    struct buf words = BUF_INIT(400);
    for (size_t i = 0; argv[i]; i++)
        buf_addf(&words, "%s%s", i ? " " : "", argv[i]);
    err_set(err, ERR_FAILED, "[%s]: exit status %d", buf_str(&words), code);
    buf_release(&words);
    return -1;
}

/* Gives *ret the output. A failed nm has none; a failed objdump or llvm-symbolizer is an error. */
static int take_output(const struct symbolize_query *query, const char *const *argv,
                       struct proc_result *result, struct buf *ret, struct err *err)
{
    bool is_nm = query->program == SYMBOLIZE_NM || query->program == SYMBOLIZE_NM_ALL;
    bool must_succeed = query->program == SYMBOLIZE_OBJDUMP || query->program == SYMBOLIZE_LLVM;
    if (result->exit_code != 0 && must_succeed)
        return set_exit_error(argv, result->exit_code, err);
    if (result->exit_code != 0 && is_nm)
        return 0;
    buf_release(ret);
    *ret = result->out;
    result->out = (struct buf)BUF_INIT(ret->max);
    return 0;
}

int programs_run(void *ctx, const struct symbolize_query *query, struct buf *ret, struct err *err)
{
    struct programs *p = ctx;
    struct proc_result result = {.exit_code = -1};
    char *path = find_program(p, query->program), *operand = path_operand(query->file);
    struct command_line line;
    int rc = -1;
    make_command(query, path, operand, &line);
    if (!path)
        err_set(err, ERR_NOT_FOUND, "%s is not installed", program_names[query->program]);
    else if (query->file && !operand)
        err_nomem(err);
    else if (p->begin(&p->cancel_fd, err) == 0)
        rc = run_limited(p, &(struct command){line.argv, operand, query->input, ret->max}, &result, err);
    if (rc == 0) {
        rc = take_output(query, line.argv, &result, ret, err);
        proc_result_release(&result);
    }
    free(path);
    free(operand);
    return rc;
}

void programs_allow(const struct profile *p, struct proc_fork_limits *limits)
{
    for (size_t i = 0; i < p->n_mappings && i < SYMBOLIZE_MAPPINGS; i++) {
        struct str file = profile_str(p, p->mappings[i].file);
        char *path = strndup(file.p, file.n);
        uint64_t bytes = path ? size_of_file(path) : 0, memory = memory_for(bytes);
        int64_t cpu_ms = (int64_t)cpu_ms_for(bytes);
        free(path);
        limits->program_memory = limits->program_memory < memory ? memory : limits->program_memory;
        limits->program_cpu_ms = limits->program_cpu_ms < cpu_ms ? cpu_ms : limits->program_cpu_ms;
    }
}
