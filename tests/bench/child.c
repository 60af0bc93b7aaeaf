/*
 * Draws the page of a capture alternately in this process and in the child that a grab starts for it. Prints
 * the medians in milliseconds: in this process, in the child, and of the differences within a round. The
 * first line has wall-clock time, the second processor time:
 *
 *   child NAME.tar.gz ROUNDS FILE...
 *
 * This process has as much memory as a grab, because fork copies its page tables. Replacing proc_run_confined
 * avoids the child (--wrap, see the Makefile): its body then runs here, without limits.
 */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "page/page.h"
#include "tests/bench/work.h"
#include "base/banned.h"

/* The resident memory of a grab (docs/performance.md, Memory). */
#define GRAB_MEMORY ((size_t)17 << 20)

static bool in_this_process; /* only one thread measures */

int __real_proc_run_confined(proc_confined_fn *body, void *ctx, const struct proc_fork_limits *limits,
                             struct buf *ret, struct err *err);
int __wrap_proc_run_confined(proc_confined_fn *body, void *ctx, const struct proc_fork_limits *limits,
                             struct buf *ret, struct err *err);

int __wrap_proc_run_confined(proc_confined_fn *body, void *ctx, const struct proc_fork_limits *limits,
                             struct buf *ret, struct err *err)
{
    if (!in_this_process)
        return __real_proc_run_confined(body, ctx, limits, ret, err);
    buf_init(ret, limits->max_result);
    return body(ctx, ret, err);
}

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1000 + (double)t.tv_nsec / 1e6;
}

/* The processor time of this process and of its finished children. */
static double processor_ms(void)
{
    struct rusage self, children;
    getrusage(RUSAGE_SELF, &self);
    getrusage(RUSAGE_CHILDREN, &children);
    const struct timeval all[] = {self.ru_utime, self.ru_stime, children.ru_utime, children.ru_stime};
    double sum = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        sum += (double)all[i].tv_sec * 1000 + (double)all[i].tv_usec / 1000;
    return sum;
}

/* In milliseconds. */
struct duration {
    double clock, processor;
};

/* Draws once, with a manifest that has no report yet. */
static int draw_once(const struct workdir *w, char **files, size_t n, struct duration *ret, struct err *err)
{
    struct manifest *m = NULL;
    if (work_fill(w, files, n, &m, err) < 0)
        return -1;
    /* Returns free memory to the kernel, because a grab draws only once. */
    malloc_trim(0);
    double began = now_ms(), used = processor_ms();
    struct confined_budget budget;
    confined_budget_init(manifest_bytes_on_disk(m, workdir_files(w)), &budget);
    int rc = page_build_workdir(m, w, &budget, -1, err);
    *ret = (struct duration){now_ms() - began, processor_ms() - used};
    manifest_free(m);
    return rc < 0 ? -1 : dir_remove(workdir_files(w), BUNDLE_REPORT, err);
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *times, size_t n)
{
    qsort(times, n, sizeof *times, by_size);
    return times[n / 2];
}

/* Arrays with a time of each round, in milliseconds. [0] is the wall-clock time, [1] the processor time. */
struct times {
    double *here[2], *child[2];
    double *difference[2]; /* child less here */
};

static int measure_round(const struct workdir *w, char **files, size_t n, size_t i, const struct times *t,
                         struct err *err)
{
    struct duration took[2] = {{0, 0}, {0, 0}}; /* in the child, here */
    for (size_t turn = 0; turn < 2; turn++) {
        in_this_process = (i + turn) % 2;
        if (draw_once(w, files, n, &took[in_this_process], err) < 0)
            return -1;
    }
    for (size_t k = 0; k < 2; k++) {
        t->child[k][i] = k ? took[0].processor : took[0].clock;
        t->here[k][i] = k ? took[1].processor : took[1].clock;
        t->difference[k][i] = t->child[k][i] - t->here[k][i];
    }
    return 0;
}

static int measure_draw(const struct workdir *w, char **words, size_t n, size_t rounds, struct err *err)
{
    struct duration unused;
    struct times t;
    double *values = calloc(rounds * 6, sizeof *values);
    if (!values)
        return err_nomem(err);
    for (size_t k = 0; k < 2; k++) {
        t.here[k] = values + rounds * (3 * k);
        t.child[k] = values + rounds * (3 * k + 1);
        t.difference[k] = values + rounds * (3 * k + 2);
    }
    /* The first drawing loads what both ways need, so it is not measured. */
    int rc = draw_once(w, words, n, &unused, err);
    for (size_t i = 0; rc == 0 && i < rounds; i++)
        rc = measure_round(w, words, n, i, &t, err);
    for (size_t k = 0; rc == 0 && k < 2; k++)
        printf("%.3f %.3f %.3f\n", median(t.here[k], rounds), median(t.child[k], rounds),
               median(t.difference[k], rounds));
    free(values);
    return rc;
}

static int run_rounds(char **words, size_t n, struct err *err)
{
    struct workdir *w = NULL;
    size_t rounds = strtoul(words[1], NULL, 10);
    char *ballast = malloc(GRAB_MEMORY);
    int rc = ballast && rounds > 0 && rounds < 100000 ? 0 : err_set(err, ERR_USAGE, "how many rounds?");
    if (rc == 0) {
        memset(ballast, 1, GRAB_MEMORY);
        rc = workdir_new(words[0], "bench", clock_utc(), &w, err);
    }
    if (rc == 0)
        rc = measure_draw(w, words + 2, n - 2, rounds, err);
    if (w)
        workdir_remove(w);
    workdir_free(w);
    free(ballast);
    return rc;
}

int main(int argc, char **argv)
{
    struct err err = ERR_INIT;
    if (argc < 4) {
        fputs("usage: child NAME.tar.gz ROUNDS FILE...\n", stderr);
        return 2;
    }
    if (run_rounds(argv + 1, (size_t)argc - 1, &err) == 0)
        return 0;
    fprintf(stderr, "child: %s\n", err.msg);
    return 1;
}
