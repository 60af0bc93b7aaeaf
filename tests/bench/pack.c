/*
 * Packs files into a bundle and prints how long bundle_pack took, in seconds of wall-clock and processor
 * time:
 *
 *   pack NAME.tar.gz FILE...
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "tests/bench/work.h"
#include "base/banned.h"

static double processor_seconds(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static int pack_files(int argc, char **argv, struct err *err)
{
    struct workdir *w = NULL;
    struct manifest *m = NULL;
    char *path = NULL;
    int rc = workdir_new(argv[1], "bench", clock_utc(), &w, err);
    if (rc == 0)
        rc = work_fill(w, argv + 2, (size_t)argc - 2, &m, err);
    int64_t began = clock_now();
    double used = processor_seconds();
    if (rc == 0)
        rc = bundle_pack(w, m, -1, &path, err);
    if (rc == 0)
        printf("%.3f %.3f\n", (double)(clock_now() - began) / 1000, processor_seconds() - used);
    free(path);
    manifest_free(m);
    workdir_free(w);
    return rc;
}

int main(int argc, char **argv)
{
    struct err err = ERR_INIT;
    if (argc < 3) {
        fputs("usage: pack NAME.tar.gz FILE...\n", stderr);
        return 2;
    }
    if (pack_files(argc, argv, &err) == 0)
        return 0;
    fprintf(stderr, "pack: %s\n", err.msg);
    return 1;
}
