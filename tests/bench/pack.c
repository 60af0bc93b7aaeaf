/*
 * Packs files into a bundle and prints how long bundle_pack took, in seconds of the clock and of the
 * processor:
 *
 *   pack NAME.tar.gz FILE...
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "bundle/bundle.h"
#include "base/banned.h"

static double processor(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static int add_file(struct manifest *m, const struct workdir *w, const char *from, struct err *err)
{
    struct buf bytes = BUF_INIT((size_t)1 << 30);
    char name[300], hex[SHA256_HEX];
    snprintf(name, sizeof name, "files/%s", file_base(from));
    char *to = file_join(workdir_path(w), name);
    struct sha256 *hash = sha256_new(err);
    struct manifest_item item = {
        .kind = "heap", .request = "", .status = MANIFEST_OK, .file = name, .sha256 = hex};
    int rc = to && hash ? file_read(from, &bytes, err) : -1;
    item.bytes = bytes.len;
    if (rc == 0) {
        sha256_add(hash, bytes.data, bytes.len);
        rc = sha256_hex(hash, hex, err);
    }
    if (rc == 0)
        rc = file_write(to, bytes.data, bytes.len, err);
    if (rc == 0)
        rc = manifest_add_item(m, &item, err);
    sha256_free(hash);
    free(to);
    buf_release(&bytes);
    return rc;
}

static int pack(int argc, char **argv, struct err *err)
{
    struct workdir *w = NULL;
    struct manifest *m = NULL;
    struct manifest_info info = {.name = "pack", .version = "0", .user = "bench", .workstation = "bench"};
    char *path = NULL;
    int rc = workdir_new(argv[1], "bench", clock_utc(), &w, err);
    if (rc == 0)
        rc = manifest_new(&info, &m, err);
    if (rc == 0)
        rc = file_mkdirs(workdir_path(w), "files", err);
    for (int i = 2; rc == 0 && i < argc; i++)
        rc = add_file(m, w, argv[i], err);
    if (rc == 0)
        rc = manifest_finish(m, clock_utc(), false, true, err);
    int64_t began = clock_now();
    double used = processor();
    if (rc == 0)
        rc = bundle_pack(w, m, &path, err);
    if (rc == 0)
        printf("%.3f %.3f\n", (double)(clock_now() - began) / 1000, processor() - used);
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
    if (pack(argc, argv, &err) == 0)
        return 0;
    fprintf(stderr, "pack: %s\n", err.msg);
    return 1;
}
