/* What symbolizing runs and asks: addr2line, nm and c++filt of the binutils, and servers. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/pprof/pprof.h"
#include "cli/term/signals.h"
#include "base/banned.h"

/*
 * Limits of the programs that symbolizing runs. A profile may name a binary that its maker has brought along,
 * and a thousand mappings of one binary. So each program has 512 MB, and all programs of a command together
 * have 30 s of processor time. Large binaries take gigabytes and minutes, so the size of the binary and of
 * the input adds to the memory, and the largest size so far adds to the time. The output is bounded like the
 * memory.
 */
#define TOOL_TIMEOUT_MS (INT64_C(15) * 60 * 1000)
#define TOOL_MEMORY (UINT64_C(512) << 20)
#define TOOL_MEMORY_PER_BYTE 16
#define TOOL_MEMORY_MAX (UINT64_C(8) << 30)
#define TOOL_CPU_MS INT64_C(30000)
#define TOOL_CPU_MS_PER_MB 1000
#define TOOL_OUTPUT (UINT64_C(64) << 20)
#define TOOL_OUTPUT_PER_BYTE 16

static const char *const program_names[] = {[SYMBOLIZE_ADDR2LINE] = "addr2line",
                                            [SYMBOLIZE_NM] = "nm",
                                            [SYMBOLIZE_CXXFILT] = "c++filt",
                                            [SYMBOLIZE_CXXFILT_P] = "c++filt"};

struct symbolizer {
    const struct pprof_options *options;
    int64_t spent_ms; /* processor time of the programs so far */
    uint64_t largest; /* bytes of a binary and its input so far */
};

/* ---- where programs are ----------------------------------------------------------------------------------
 */

static char *executable(char *path)
{
    struct stat st;
    if (path && stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0)
        return path;
    free(path);
    return NULL;
}

/* In PATH, of which only absolute directories count: a profile may have been unpacked where we are. */
char *pprof_find_program(const char *name)
{
    const char *at = getenv("PATH");
    char *found = NULL;
    for (size_t n; at && *at && !found; at += n + (at[n] == ':')) {
        char *path = NULL;
        n = strcspn(at, ":");
        if (*at == '/' && asprintf(&path, "%.*s/%s", (int)n, at, name) >= 0)
            found = executable(path);
    }
    return found;
}

/* In the directories that -tools has for that program (`NAME:DIRECTORY`), or for all (`DIRECTORY`). */
static char *in_tools(const char *tools, const char *name, bool own)
{
    char *found = NULL;
    for (size_t n; *tools && !found; tools += n + (tools[n] == ',')) {
        n = strcspn(tools, ",");
        const char *colon = memchr(tools, ':', n);
        size_t to_colon = colon ? (size_t)(colon - tools) : 0;
        char *path = NULL;
        bool is_own = colon && strlen(name) == to_colon && memcmp(tools, name, to_colon) == 0;
        if (own ? !is_own : colon != NULL)
            continue;
        const char *dir = colon ? colon + 1 : tools;
        int length = (int)(n - (size_t)(dir - tools));
        if (length > 0 && asprintf(&path, "%.*s/%s", length, dir, name) >= 0)
            found = executable(path);
    }
    return found;
}

/* A new string, or NULL. addr2line must be where -tools says; the others may also be in PATH, as upstream
 * has it. */
static char *find(const struct pprof_options *o, enum symbolize_program program)
{
    const char *name = program_names[program], *tools = o->tools ? o->tools : "";
    char *found = in_tools(tools, name, true);
    if (!found)
        found = in_tools(tools, name, false);
    if (!found && (!*tools || program != SYMBOLIZE_ADDR2LINE))
        found = pprof_find_program(name);
    return found;
}

/* ---- running them ----------------------------------------------------------------------------------------
 */

/* The input, in a file without a name: a pipe to a program that writes meanwhile may fill up. -1, or its
 * descriptor. */
static int file_of(struct str input, struct err *err)
{
    const char *dir = getenv("TMPDIR");
    char *beside = file_join(dir && *dir ? dir : "/tmp", "pprof.names");
    int fd = beside ? file_create_nameless(beside, err) : err_nomem(err);
    free(beside);
    if (fd >= 0 && (fd_write_all(fd, input.p, input.n, err) < 0 ||
                    (lseek(fd, 0, SEEK_SET) != 0 && err_sys(err, "cannot read a file back") < 0)))
        fd_close(&fd);
    return fd;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* CPU time of all children that have ended, in milliseconds. */
static int64_t children_cpu_ms(void)
{
    struct rusage used;
    if (getrusage(RUSAGE_CHILDREN, &used) < 0)
        return 0;
    return (int64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000 +
           (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1000;
}

/* `most`: the bytes that the output may have in any case. cpu_ms is 0 or less if no time is left. */
static struct proc_limits limits_for(struct symbolizer *s, const char *file, struct str input, size_t most)
{
    struct stat st;
    uint64_t size = file && stat(file, &st) == 0 && st.st_size > 0 ? (uint64_t)st.st_size : 0;
    uint64_t bytes = least(size + input.n, TOOL_MEMORY_MAX);
    s->largest = bytes > s->largest ? bytes : s->largest;
    uint64_t ms =
        least((uint64_t)TOOL_CPU_MS + s->largest / 1000000 * TOOL_CPU_MS_PER_MB, (uint64_t)TOOL_TIMEOUT_MS);
    return (struct proc_limits){.timeout_ms = TOOL_TIMEOUT_MS,
                                .cancel_fd = signals_cancel_fd(),
                                .max_output = (size_t)least(most, TOOL_OUTPUT + bytes * TOOL_OUTPUT_PER_BYTE),
                                .memory = least(TOOL_MEMORY + bytes * TOOL_MEMORY_PER_BYTE, TOOL_MEMORY_MAX),
                                .cpu_ms = (int64_t)ms - s->spent_ms};
}

/* Succeeds with any exit code, but not if a signal ended the program. */
static int run_on(struct symbolizer *s, const char *const argv[], struct str input,
                  const struct proc_limits *limits, struct proc_result *ret, struct err *err)
{
    struct proc_result r;
    int fd = -1;
    if (limits->cpu_ms <= 0)
        return err_set(err, ERR_LIMIT,
                       "%s is not run: the programs before it took %" PRId64 " s of processor time",
                       file_base(argv[0]), s->spent_ms / 1000);
    if (input.n && (fd = file_of(input, err)) < 0)
        return -1;
    int64_t before = children_cpu_ms();
    int rc = proc_run_on(argv, fd, limits, &r, err);
    s->spent_ms += children_cpu_ms() - before;
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
                       file_base(argv[0]), (limits->cpu_ms + 999) / 1000);
    return err_set(err, ERR_LIMIT, "%s was ended by signal %d", file_base(argv[0]), r.exit_code - 128);
}

/* A name that looks like an option is none. */
static char *as_operand(const char *file)
{
    char *path = NULL;
    return file && asprintf(&path, "%s%s", *file == '-' ? "./" : "", file) >= 0 ? path : NULL;
}

static int run(void *ctx, enum symbolize_program program, const char *file, struct str input, struct buf *ret,
               struct err *err)
{
    struct symbolizer *s = ctx;
    struct proc_result result = {.exit_code = -1};
    char *path = find(s->options, program), *operand = as_operand(file);
    const char *const commands[][6] = {
        [SYMBOLIZE_ADDR2LINE] = {path, "-aif", "-e", operand, NULL},
        [SYMBOLIZE_NM] = {path, "--numeric-sort", "--print-size", "--format=posix", operand, NULL},
        [SYMBOLIZE_CXXFILT] = {path, NULL},
        [SYMBOLIZE_CXXFILT_P] = {path, "-p", NULL}};
    int rc = -1;
    if (!path)
        err_set(err, ERR_NOT_FOUND, "%s is not installed", program_names[program]);
    else if (file && !operand)
        err_nomem(err);
    else if (signals_install(err) == 0) {
        struct proc_limits limits = limits_for(s, operand, input, ret->max);
        rc = run_on(s, commands[program], input, &limits, &result, err);
    }
    if (rc == 0) {
        if (program != SYMBOLIZE_NM || result.exit_code == 0) {
            buf_release(ret);
            *ret = result.out;
            result.out = (struct buf)BUF_INIT(ret->max);
        }
        proc_result_release(&result);
    }
    free(path);
    free(operand);
    return rc;
}

static int post(void *ctx, const char *source, struct str addresses, struct buf *ret, struct err *err)
{
    return pprof_post(((const struct symbolizer *)ctx)->options, source, addresses, ret, err);
}

static void say(void *ctx, const char *line)
{
    (void)ctx;
    pprof_say("%s", line);
}

int pprof_symbolize(const struct pprof_options *o, struct profile *p, const struct symbolize_sources *sources,
                    struct err *err)
{
    struct symbolizer s = {.options = o};
    struct symbolize_tools tools = {.run = run, .post = post, .say = say, .ctx = &s};
    return symbolize(p, o->symbolize, sources, &tools, err);
}

int pprof_locate(struct profile *p, struct err *err)
{
    return symbolize_locate(p, getenv("PPROF_BINARY_PATH"), say, NULL, err);
}
