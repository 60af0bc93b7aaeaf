/* A work directory as a capture leaves it, for programs that measure the later steps. */
#ifndef TESTS_BENCH_WORK_H
#define TESTS_BENCH_WORK_H

#include <stdio.h>

#include "bundle/bundle.h"
#include "capture/record.h"
#include "fetch/fetch.h"

/* Copies a file into the work directory as `bundle create` does, and adds it to the manifest. */
static inline int work_add_file(struct manifest *m, const struct workdir *w, const char *from,
                                struct err *err)
{
    const struct dir *files = workdir_files(w);
    struct fetch_item item = {0};
    char name[300];
    snprintf(name, sizeof name, "files/%s", file_base(from));
    (void)dir_remove(files, name, NULL);
    int to = -1, fd = file_open(from, err);
    int rc = fd < 0 || (to = dir_create(files, name, err)) < 0 ? -1 : 0;
    if (rc == 0)
        rc = fetch_examine_file(
            &(struct fetch_local_file){.fd = fd, .copy_fd = to, .cancel_fd = -1, .path = from}, &item, err);
    snprintf(item.file, sizeof item.file, "%s", name);
    if (rc == 0)
        rc = record_item(m, NULL, &item, err);
    fetch_item_release(&item);
    fd_close(&fd);
    fd_close(&to);
    return rc;
}

/* Copies the files into the work directory and returns their finished manifest. The caller frees *ret. */
static inline int work_fill(const struct workdir *w, char **files, size_t n, struct manifest **ret,
                            struct err *err)
{
    const struct manifest_info info = {
        .name = "bench", .version = "0", .user = "bench", .workstation = "bench"};
    struct manifest *m = NULL;
    int rc = manifest_new(&info, &m, err);
    if (rc == 0)
        rc = dir_mkdirs(workdir_files(w), "files", err);
    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = work_add_file(m, w, files[i], err);
    if (rc == 0)
        rc = manifest_finish(m, clock_utc(), false, true, err);
    if (rc < 0) {
        manifest_free(m);
        return -1;
    }
    *ret = m;
    return 0;
}

#endif
