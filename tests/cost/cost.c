/*
 * Runs each parser on each of its inputs in a child process, and prints TAP.
 *
 * Time is processor time of the child's thread (CLOCK_PROCESS_CPUTIME_ID), the least of several runs, so that
 * other load on the machine does not count. n is doubled from 4 kB on until a run takes COST_LEAST_MS; what
 * takes less at the largest size has no growth to speak of. Growth that looks too large is measured again
 * with more runs. Memory is the child's peak of resident memory over what it had before the parser ran
 * (/proc/self/clear_refs).
 *
 *   cost [--self-test] [--part I/N] [NAME...]    NAME: parsers, by the beginning of their names
 *
 * Of N parts, run side by side, each takes every Nth grammar.
 */
#include "tests/cost/cost.h"

#include <fcntl.h>
#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/banned.h"

/* A parser that takes longer for one of its inputs has failed, and one that takes more memory. */
#define MOST_SECONDS 40
#define MOST_MEMORY ((rlim_t)3 << 30)
#define SMALLEST ((size_t)4096)
#define RUNS 2
#define RUNS_IN_DOUBT 12
/* Reading input that is not in a cache takes about as long. */
#define FAST_NS_A_BYTE 4
#define MOST_RUNS_NS INT64_C(500000000)
/* Memory that a parser takes however small its input is. */
#define MEMORY_FIXED ((size_t)2 << 20)
/* The input on which memory is measured. */
#define MEMORY_BYTES ((size_t)1 << 20)

/* What a child found out. */
struct result {
    size_t n;      /* bytes of the smallest input that was compared */
    int64_t ns[3]; /* of n, 2n and 4n */
    double growth; /* the larger of the two */
    double memory; /* bytes for each byte of MEMORY_BYTES */
    int compared;
};

/* ---- inputs ---------------------------------------------------------------------------------------------
 */

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

/* ---- measuring -------------------------------------------------------------------------------------------
 */

static int64_t cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int64_t time_of(const struct cost_parser *parser, const struct buf *input, int runs)
{
    int64_t best = INT64_MAX, all = 0;
    for (int i = 0; i < runs && all < MOST_RUNS_NS; i++) {
        int64_t start = cpu_ns();
        parser->run(input->data, input->len - 1);
        int64_t took = cpu_ns() - start;
        best = took < best ? took : best;
        all += took;
    }
    return best;
}

static int64_t time_of_size(const struct cost_parser *parser, const struct cost_grammar *g, size_t n,
                            int runs)
{
    struct buf input;
    make_input(g, n, &input);
    int64_t took = time_of(parser, &input, runs);
    buf_release(&input);
    return took;
}

/* A line of /proc/self/status, in bytes. */
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

static void forget_peak(void)
{
    int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, "5", 1) != 1) {
        perror("/proc/self/clear_refs");
        _exit(3);
    }
    close(fd);
}

static double memory_of(const struct cost_parser *parser, const struct cost_grammar *g, size_t n)
{
    struct buf input;
    make_input(g, n, &input);
    size_t before = status_bytes("VmRSS:");
    forget_peak();
    parser->run(input.data, input.len - 1);
    size_t peak = status_bytes("VmHWM:");
    size_t grown = peak > before + MEMORY_FIXED ? peak - before - MEMORY_FIXED : 0;
    double bytes = (double)grown / (double)(input.len - 1);
    buf_release(&input);
    return bytes;
}

/* By how much each of the two doublings multiplied the time, on average: one alone may be where memory no
 * longer fits a cache. What is as fast as memory says nothing. */
static double growth_of(const int64_t ns[3], size_t n)
{
    return (double)ns[2] < FAST_NS_A_BYTE * 4 * (double)n ? 0 : sqrt((double)ns[2] / (double)ns[0]);
}

static void take_least(int64_t *ns, int64_t other)
{
    *ns = other < *ns ? other : *ns;
}

/* How the time grows from n on, which takes long enough. */
static void compare(const struct cost_parser *parser, const struct cost_grammar *g, struct result *r)
{
    r->compared = 1;
    for (int i = 0; i < 3; i++)
        r->ns[i] = time_of_size(parser, g, r->n << i, RUNS);
    for (int again = 0; again < 3 && growth_of(r->ns, r->n) > COST_MOST_GROWTH; again++)
        for (int i = 0; i < 3; i++)
            take_least(&r->ns[i], time_of_size(parser, g, r->n << i, RUNS_IN_DOUBT));
    r->growth = growth_of(r->ns, r->n);
}

/* The size from which on a run takes long enough, and how the time grows from there. */
static void measure(const struct cost_parser *parser, const struct cost_grammar *g, struct result *r)
{
    size_t most = (parser->most_bytes ? parser->most_bytes : COST_MOST_BYTES) / 4;
    int64_t took = 0, least = (g->least_ms ? g->least_ms : COST_LEAST_MS) * INT64_C(1000000);
    /* Memory is kept, so that getting it from the kernel is no part of the time. */
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    *r = (struct result){.n = SMALLEST};
    while ((took = time_of_size(parser, g, r->n, 1)) < least && r->n < most)
        r->n *= 2;
    if (took >= least)
        compare(parser, g, r);
}

static void limit_child(void)
{
    const struct rlimit memory = {MOST_MEMORY, MOST_MEMORY}, core = {0, 0};
    if (setrlimit(RLIMIT_AS, &memory) < 0 || setrlimit(RLIMIT_CORE, &core) < 0)
        _exit(3);
    alarm(MOST_SECONDS);
}

/* In a child, which may die of what it runs. 0, or -1 if it did. */
static int in_child(void (*work)(const struct cost_parser *, const struct cost_grammar *, struct result *),
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

static void measure_memory(const struct cost_parser *parser, const struct cost_grammar *g, struct result *r)
{
    size_t most = parser->most_bytes ? parser->most_bytes : COST_MOST_BYTES;
    r->memory = memory_of(parser, g, most < MEMORY_BYTES ? most : MEMORY_BYTES);
}

/* ---- judging ----------------------------------------------------------------------------------------------
 */

static const char died[] = "it died";

/* The reason why it fails, or NULL. */
static const char *judge(const struct cost_parser *parser, const struct cost_grammar *g, struct result *r)
{
    if (in_child(measure, parser, g, r) < 0)
        return died;
    if (r->compared && r->growth > COST_MOST_GROWTH)
        return "twice the input takes too long";
    if (in_child(measure_memory, parser, g, r) < 0)
        return died;
    return r->memory > parser->most_memory ? "it takes too much memory" : NULL;
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

/* What the runs share. */
struct tally {
    int number, failed;
    bool broken; /* the parsers must fail */
    unsigned part, parts, seen;
};

static void run_parser(const struct cost_parser *parser, struct tally *t)
{
    for (const struct cost_grammar *g = parser->grammars; g->name; g++) {
        struct result r = {.n = 0};
        if (t->seen++ % t->parts != t->part)
            continue;
        const char *why = judge(parser, g, &r);
        bool fine = t->broken ? why && why != died : !why;
        t->failed += !fine;
        printf("%s %d - cost of %s, %s%s%s", fine ? "ok" : "not ok", ++t->number, parser->name, g->name,
               why ? ": " : "", why ? why : "");
        print_times(&r);
        if (!fine && why)
            printf("# allowed: growth %.1f, %.1f bytes of memory a byte\n", COST_MOST_GROWTH,
                   parser->most_memory);
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
    static const struct cost_parser *const tables[] = {cost_text_parsers, cost_json_parsers, cost_ssh_parsers,
                                                       cost_profile_parsers};
    struct tally t = {.parts = 1};
    char **words = argv + (argc > 0);
    if (words[0] && strcmp(words[0], "--self-test") == 0) {
        t.broken = true;
        words++;
    }
    if (words[0] && words[1] && strcmp(words[0], "--part") == 0) {
        if (sscanf(words[1], "%u/%u", &t.part, &t.parts) != 2 || t.part >= t.parts)
            return 2;
        words += 2;
    }
    if (t.broken)
        run_all(cost_broken_parsers, words, &t);
    for (size_t i = 0; !t.broken && i < sizeof tables / sizeof *tables; i++)
        run_all(tables[i], words, &t);
    printf("1..%d\n", t.number);
    return t.failed ? 1 : 0;
}
