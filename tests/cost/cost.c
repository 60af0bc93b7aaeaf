/*
 * Runs each parser on each of its inputs in a child process, and prints TAP.
 *
 * The time of an input is the least of several runs. It is the processor time of the child and of the
 * programs that the parser starts, so that other load on the machine does not count. n is doubled from 4 kB
 * on until a run takes at least COST_MIN_MS (or the grammar's min_ms) and at least twice the time of a tiny
 * input; a parser that takes less for the largest input is too fast for a comparison. Inputs of n, 2n and 4n
 * bytes are then parsed by turns, and each of the two doublings is judged separately. A doubling that takes
 * too long is measured again with more runs. If it is still slow, the data may have outgrown a cache or
 * reached a limit of the program. Therefore the next two doublings are measured instead: they are slow only
 * if the parser is quadratic. A parser that is quadratic up to a limit and refuses larger inputs fails,
 * unless it is fast below the limit. The process counts no instructions, because virtual machines rarely have
 * the counters that perf_event_open(2) needs.
 *
 * Memory is the child's peak of resident memory over what it had before the parser ran
 * (/proc/self/clear_refs).
 *
 *   cost [--self-test] [--part I/N] [NAME...]    NAME: parsers, by the beginning of their names
 *
 * With --part I/N, measures only every Nth grammar, beginning with number I (from 0), so that N processes can
 * run side by side.
 */
#include "tests/cost/cost.h"

#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/banned.h"

/* A parser that takes more time or memory for an input has failed. On a loaded machine the time may be ten
 * times the processor time. RLIMIT_CPU is not set, because Linux would then update CLOCK_PROCESS_CPUTIME_ID
 * only at its ticks. */
#define MAX_SECONDS 300
#define MAX_MEMORY ((rlim_t)3 << 30)
#define SMALLEST ((size_t)4096)
/* The time for an input of this size is overhead, not the input's cost. */
#define TINY ((size_t)512)
#define TURNS_IN_DOUBT 16
/* After a slow doubling, the next two are measured instead, if the largest of the three inputs took less than
 * this. A quadratic parser then takes up to 16 times as long. */
#define MAX_MOVE_NS INT64_C(400000000)
/* The longest time of an input if the parser refuses larger inputs sooner. */
#define MAX_REFUSED_NS INT64_C(100000000)
/* Nanoseconds for each byte. Reading input that is not in a processor cache takes about as long, so the
 * growth of faster parsers does not count. */
#define FAST_NS_A_BYTE 4
/* Inputs that take long are parsed no more often than this allows. */
#define MAX_TURNS_NS INT64_C(3000000000)
/* Memory that a parser takes however small its input is. */
#define MEMORY_FIXED ((size_t)2 << 20)
/* The input on which memory is measured. */
#define MEMORY_BYTES ((size_t)1 << 20)

/* The measurements of a parser with an input. Each child fills one part. */
struct result {
    size_t n;        /* bytes of the smallest input that was compared */
    int64_t ns[3];   /* of n, 2n and 4n */
    int at;          /* the index of the input that a child measures */
    int64_t slowest; /* ns of any input, also of those that larger ones replaced */
    double growth;   /* of the slower doubling; 0: the parser is as fast as memory */
    double memory;   /* bytes for each byte of MEMORY_BYTES */
    bool was_slow;   /* a doubling took too long */
    bool compared;   /* a run took long enough to compare its growth */
};

/* ---- inputs -------------------------------------------------------------------------------------------- */

static void add_unit(struct buf *to, const char *unit, unsigned number)
{
    for (; *unit; unit++) {
        if (*unit == 1)
            buf_addf(to, "%x", number);
        else
            buf_addc(to, *unit);
    }
}

static void make_input(const struct cost_grammar *g, size_t n, struct buf *ret)
{
    buf_init(ret, SIZE_MAX / 2);
    if (g->make) {
        g->make(ret, n);
    } else {
        size_t tail = strlen(g->tail);
        buf_adds(ret, g->head);
        size_t unit = strlen(g->unit);
        bool same = !strchr(g->unit, 1);
        for (unsigned i = 0; ret->len + tail < n; i++) {
            if (same)
                buf_add(ret, g->unit, unit);
            else
                add_unit(ret, g->unit, i);
        }
        buf_adds(ret, g->tail);
    }
    buf_addc(ret, '\0');
    if (ret->failed) {
        fprintf(stderr, "%s: an input of %zu bytes could not be made\n", g->name, n);
        _exit(3);
    }
}

/* ---- measuring ----------------------------------------------------------------------------------------- */

static int64_t cpu_ns(void)
{
    struct timespec t;
    struct rusage children;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    getrusage(RUSAGE_CHILDREN, &children);
    int64_t s = t.tv_sec + children.ru_utime.tv_sec + children.ru_stime.tv_sec;
    return s * 1000000000 + t.tv_nsec + (children.ru_utime.tv_usec + children.ru_stime.tv_usec) * 1000;
}

/* Makes the heap keep its memory, so that the second run's time has no allocation from the kernel. */
static void keep_memory(void)
{
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
}

static int64_t time_run(const struct cost_parser *parser, const struct buf *input)
{
    int64_t start = cpu_ns();
    parser->run(input->data, input->len - 1);
    return cpu_ns() - start;
}

static int64_t time_size(const struct cost_parser *parser, const struct cost_grammar *g, size_t n)
{
    struct buf input;
    make_input(g, n, &input);
    int64_t took = time_run(parser, &input);
    buf_release(&input);
    return took;
}

/* Returns the value of a line of /proc/self/status, in bytes. */
static size_t status_bytes(const char *key)
{
    char line[256];
    size_t kb = 0, n = strlen(key);
    FILE *f = fopen("/proc/self/status", "re");
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, key, n) == 0)
            kb = strtoul(line + n, NULL, 10);
    if (f)
        fclose(f);
    return kb * 1024;
}

static void reset_peak(void)
{
    int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, "5", 1) != 1) {
        perror("/proc/self/clear_refs");
        _exit(3);
    }
    close(fd);
}

/* Returns the bytes of memory that a run takes for each byte of its input. */
static double memory_per_byte(const struct cost_parser *parser, const struct cost_grammar *g, size_t n)
{
    struct buf input;
    make_input(g, n, &input);
    size_t before = status_bytes("VmRSS:");
    reset_peak();
    parser->run(input.data, input.len - 1);
    size_t peak = status_bytes("VmHWM:");
    size_t grown = peak > before + MEMORY_FIXED ? peak - before - MEMORY_FIXED : 0;
    double bytes = (double)grown / (double)(input.len - 1);
    buf_release(&input);
    return bytes;
}

/* Finds the smallest size for which a run takes long enough, and resets the other results. */
static void find_size(const struct cost_parser *parser, const struct cost_grammar *g, struct result *r)
{
    size_t max = (parser->max_bytes ? parser->max_bytes : COST_MAX_BYTES) / 4;
    int64_t took = 0, least = (g->min_ms ? g->min_ms : COST_MIN_MS) * INT64_C(1000000);
    *r = (struct result){.n = SMALLEST};
    keep_memory();
    time_size(parser, g, TINY);
    int64_t tiny = time_size(parser, g, TINY);
    least = least > 2 * tiny ? least : 2 * tiny;
    while ((took = time_size(parser, g, r->n)) < least && r->n < max)
        r->n *= 2;
    r->compared = took >= least;
}

/* Parses one of the three inputs twice: the second run finds its memory in the heap. */
static void time_one(const struct cost_parser *parser, const struct cost_grammar *g, struct result *r)
{
    struct buf input;
    keep_memory();
    make_input(g, r->n << r->at, &input);
    for (int i = 0; i < 2; i++) {
        int64_t took = time_run(parser, &input);
        r->ns[r->at] = took < r->ns[r->at] ? took : r->ns[r->at];
    }
    buf_release(&input);
}

static void measure_memory(const struct cost_parser *parser, const struct cost_grammar *g, struct result *r)
{
    size_t max = parser->max_bytes ? parser->max_bytes : COST_MAX_BYTES;
    r->memory = memory_per_byte(parser, g, max < MEMORY_BYTES ? max : MEMORY_BYTES);
}

/* ---- children ------------------------------------------------------------------------------------------ */

static void limit_child(void)
{
    const struct rlimit memory = {MAX_MEMORY, MAX_MEMORY}, core = {0, 0};
    if (setrlimit(RLIMIT_AS, &memory) < 0 || setrlimit(RLIMIT_CORE, &core) < 0)
        _exit(3);
    alarm(MAX_SECONDS);
}

/* Runs `work` in a child process, because the parser may crash. Returns 0, or -1 after a crash. */
static int run_in_child(void (*work)(const struct cost_parser *, const struct cost_grammar *,
                                     struct result *),
                        const struct cost_parser *parser, const struct cost_grammar *g, struct result *r)
{
    int ends[2], status = 0;
    if (pipe2(ends, O_CLOEXEC) < 0)
        exit(3);
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        limit_child();
        work(parser, g, r);
        ssize_t n = write(ends[1], r, sizeof *r);
        _exit(n == (ssize_t)sizeof *r ? 0 : 3);
    }
    close(ends[1]);
    ssize_t n = read(ends[0], r, sizeof *r);
    close(ends[0]);
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0 && n == (ssize_t)sizeof *r ? 0 : -1;
}

/* ---- growth -------------------------------------------------------------------------------------------- */

/* The growth of the time in the slower of the two doublings; 0 for a parser that is as fast as memory. */
static double growth_of(const int64_t ns[3], size_t n)
{
    double first = (double)ns[1] / (double)ns[0], second = (double)ns[2] / (double)ns[1];
    if ((double)ns[2] < FAST_NS_A_BYTE * 4 * (double)n)
        return 0;
    return first > second ? first : second;
}

/* Times each of the three inputs in its own process, because a fragmented heap would slow down the next one.
 * Returns -1 if a process crashed. */
static int time_three(const struct cost_parser *parser, const struct cost_grammar *g, struct result *r)
{
    for (r->at = 0; r->at < 3; r->at++)
        if (run_in_child(time_one, parser, g, r) < 0)
            return -1;
    r->growth = growth_of(r->ns, r->n);
    return 0;
}

static void record_slow(struct result *r)
{
    for (int i = 0; i < 3; i++) {
        r->slowest = r->ns[i] > r->slowest ? r->ns[i] : r->slowest;
        r->was_slow |= i > 0 && (double)r->ns[i] > COST_MAX_GROWTH * (double)r->ns[i - 1];
    }
}

/* Returns whether the largest input is fast only because the parser refuses it. */
static bool is_refused_late(const struct cost_grammar *g, const struct result *r)
{
    int64_t allowed = g->min_ms * INT64_C(1000000);
    return r->was_slow && r->slowest > 2 * r->ns[2] &&
           r->slowest > (allowed > MAX_REFUSED_NS ? allowed : MAX_REFUSED_NS);
}

static bool is_in_doubt(const struct cost_grammar *g, const struct result *r)
{
    struct result with_record = *r;
    record_slow(&with_record);
    return r->growth > COST_MAX_GROWTH || is_refused_late(g, &with_record);
}

/* Measures the growth of the time from r->n on. The three inputs take turns, so that all run under the same
 * load. The least time of each counts. Takes more turns while the result would be a failure, within
 * TURNS_IN_DOUBT and MAX_TURNS_NS. */
static int measure_growth(const struct cost_parser *parser, const struct cost_grammar *g, struct result *r)
{
    int64_t start = cpu_ns();
    r->ns[0] = r->ns[1] = r->ns[2] = INT64_MAX;
    int rc = time_three(parser, g, r);
    for (int turn = 1;
         rc == 0 && is_in_doubt(g, r) && turn < TURNS_IN_DOUBT && cpu_ns() - start < MAX_TURNS_NS; turn++)
        rc = time_three(parser, g, r);
    record_slow(r);
    return rc;
}

/* The size at which the slow doubling ends; a slow second doubling restarts the comparison at 4n. */
static size_t size_after_slow(const struct result *r)
{
    bool second = (double)r->ns[2] > COST_MAX_GROWTH * (double)r->ns[1];
    return r->n * (second ? 4 : 2);
}

static int measure_grammar(const struct cost_parser *parser, const struct cost_grammar *g, struct result *r)
{
    /* A fast parser may be measured beyond the sizes that find_size tries. */
    size_t max = parser->max_bytes ? parser->max_bytes : COST_MAX_BYTES;
    if (run_in_child(find_size, parser, g, r) < 0)
        return -1;
    if (!r->compared)
        return 0;
    int rc = measure_growth(parser, g, r);
    while (rc == 0 && r->growth > COST_MAX_GROWTH && r->ns[2] < MAX_MOVE_NS && size_after_slow(r) <= max) {
        r->n = size_after_slow(r);
        rc = measure_growth(parser, g, r);
    }
    return rc;
}

/* ---- results ------------------------------------------------------------------------------------------- */

static const char crashed[] = "it crashed";

/* Returns the reason of a failure, or NULL. */
static const char *find_failure(const struct cost_parser *parser, const struct cost_grammar *g,
                                struct result *r)
{
    if (measure_grammar(parser, g, r) < 0)
        return crashed;
    if (r->compared && r->growth > COST_MAX_GROWTH)
        return "twice the input takes too long";
    if (r->compared && is_refused_late(g, r))
        return "it takes too long, and refuses larger inputs sooner";
    if (run_in_child(measure_memory, parser, g, r) < 0)
        return crashed;
    return r->memory > parser->max_memory ? "it takes too much memory" : NULL;
}

/* The load of the machine changes between the measurements of a parser. A failure therefore counts only if
 * each of three measurements finds one, and a broken parser may pass two of three. */
static const char *find_repeated_failure(const struct cost_parser *parser, const struct cost_grammar *g,
                                         bool must_fail, struct result *r)
{
    const char *failure = NULL;
    for (int i = 0; i < 3; i++) {
        *r = (struct result){.n = 0};
        failure = find_failure(parser, g, r);
        bool in_doubt = must_fail ? !failure : failure && failure != crashed;
        if (!in_doubt)
            break;
    }
    return failure;
}

static void print_times(const struct result *r)
{
    printf(" # from %zu kB on: ", r->n >> 10);
    if (r->compared)
        printf("%.1f, %.1f, %.1f ms, growth %.2f", (double)r->ns[0] / 1e6, (double)r->ns[1] / 1e6,
               (double)r->ns[2] / 1e6, r->growth);
    else
        printf("too short to compare");
    printf("; %.1f bytes of memory a byte\n", r->memory);
}

/* The state that the runs share. */
struct tally {
    int n_tests, n_failed;
    bool must_fail;         /* the parsers are broken */
    unsigned part, n_parts; /* of --part */
    unsigned n_grammars;    /* also those of other parts */
};

static void run_parser(const struct cost_parser *parser, struct tally *t)
{
    for (const struct cost_grammar *g = parser->grammars; g->name; g++) {
        struct result r = {.n = 0};
        if (t->n_grammars++ % t->n_parts != t->part)
            continue;
        const char *failure = find_repeated_failure(parser, g, t->must_fail, &r);
        bool passed = t->must_fail ? failure && failure != crashed : !failure;
        t->n_failed += !passed;
        printf("%s %d - cost of %s, %s%s%s", passed ? "ok" : "not ok", ++t->n_tests, parser->name, g->name,
               failure ? ": " : "", failure ? failure : "");
        print_times(&r);
        if (!passed && failure)
            printf("# allowed: growth %.1f, %.1f bytes of memory a byte\n", COST_MAX_GROWTH,
                   parser->max_memory);
        fflush(stdout);
    }
}

static bool is_named(const struct cost_parser *parser, char **names)
{
    for (size_t i = 0; names[i]; i++)
        if (strncmp(parser->name, names[i], strlen(names[i])) == 0)
            return true;
    return !names[0];
}

static void run_all(const struct cost_parser *parsers, char **names, struct tally *t)
{
    for (; parsers->name; parsers++)
        if (is_named(parsers, names))
            run_parser(parsers, t);
}

int main(int argc, char **argv)
{
    static const struct cost_parser *const tables[] = {
        cost_text_parsers,    cost_json_parsers,   cost_ssh_parsers,   cost_profile_parsers,
        cost_archive_parsers, cost_binary_parsers, cost_answer_parsers};
    struct tally t = {.n_parts = 1};
    char **arguments = argv + (argc > 0);
    if (arguments[0] && strcmp(arguments[0], "--self-test") == 0) {
        t.must_fail = true;
        arguments++;
    }
    if (arguments[0] && arguments[1] && strcmp(arguments[0], "--part") == 0) {
        if (sscanf(arguments[1], "%u/%u", &t.part, &t.n_parts) != 2 || t.part >= t.n_parts)
            return 2;
        arguments += 2;
    }
    if (t.must_fail)
        run_all(cost_broken_parsers, arguments, &t);
    for (size_t i = 0; !t.must_fail && i < sizeof tables / sizeof *tables; i++)
        run_all(tables[i], arguments, &t);
    printf("1..%d\n", t.n_tests);
    return t.n_failed ? 1 : 0;
}
