/*
 * Each file of the manifest is hashed while it is written into the tarball. If a size or hash differs from
 * the manifest, no bundle is written, and the work directory stays.
 */
#include "bundle/bundle.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bundle/manifest_json.h"
#include "bundle/manifest_internal.h"
#include "bundle/path.h"
#include "bundle/readme.h"
#include "bundle/workdir_internal.h"
#include "bundle/writer.h"
#include "base/banned.h"

enum { CHUNK = 32768, MAX_README = 64 << 20 };

struct packer {
    struct writer *tar;
    const struct workdir *w;
    int cancel_fd;
    int64_t stop_at;  /* clock_now() at which packing stops without a bundle; CLOCK_NEVER before a signal */
    const char *file; /* the path of the current file, below the top directory */
    struct name_map dirs; /* directories in the tarball */
};

static int write_directory(struct packer *p, const char *path, struct err *err)
{
    struct stat st;
    if (name_map_has(&p->dirs, path))
        return 0;
    if (name_map_add(&p->dirs, path, NULL, err) < 0 || dir_stat(workdir_files(p->w), path, &st, err) < 0)
        return -1;
    return writer_dir(p->tar, path, st.st_mtime, err);
}

/* Writes the directories above `path` that are not in the tarball yet. */
static int write_directories_above(struct packer *p, const char *path, struct err *err)
{
    for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
        char *dir = strndup(path, (size_t)(slash - path));
        int rc = dir ? write_directory(p, dir, err) : err_nomem(err);
        free(dir);
        if (rc < 0)
            return -1;
    }
    return 0;
}

/* After a cancellation, sets stop_at; ERR_CANCELLED after that time. */
static int check_cancelled(struct packer *p, struct err *err)
{
    if (p->stop_at == CLOCK_NEVER && fd_cancelled(p->cancel_fd))
        p->stop_at = clock_deadline(BUNDLE_AFTER_SIGNAL_MS);
    return p->stop_at != CLOCK_NEVER && clock_now() >= p->stop_at ? err_set(err, ERR_CANCELLED, "interrupted")
                                                                  : 0;
}

/* Copies exactly `left` bytes, the size in the header. */
static int write_bytes(struct packer *p, int fd, uint64_t left, struct sha256 *hash, struct err *err)
{
    char chunk[CHUNK];
    while (left > 0) {
        if (check_cancelled(p, err) < 0)
            return -1;
        ssize_t n = read(fd, chunk, left < sizeof chunk ? (size_t)left : sizeof chunk);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_sys(err, "cannot read %s", p->file);
        if (n == 0)
            return err_set(err, ERR_FAILED, "%s became shorter while it was packed", p->file);
        sha256_add(hash, chunk, (size_t)n);
        if (writer_data(p->tar, chunk, (size_t)n, err) < 0)
            return -1;
        left -= (uint64_t)n;
    }
    return 0;
}

/* Writes an open file as a member, and checks that it is the `expected` one (NULL: no check). */
static int write_open_file(struct packer *p, int fd, const struct file_entry *expected, struct err *err)
{
    struct stat st;
    char hex[SHA256_HEX];
    if (fstat(fd, &st) < 0)
        return err_sys(err, "cannot read %s", p->file);
    struct sha256 *hash = sha256_new(err);
    int rc = -1;
    if (hash && writer_file(p->tar, p->file, (uint64_t)st.st_size, st.st_mtime, err) == 0 &&
        write_bytes(p, fd, (uint64_t)st.st_size, hash, err) == 0)
        rc = sha256_hex(hash, hex, err);
    sha256_free(hash);
    if (rc == 0 && expected &&
        ((uint64_t)st.st_size != expected->bytes || strcmp(hex, expected->sha256) != 0))
        rc = err_set(err, ERR_FAILED, "%s is not the file the manifest describes: it has changed", p->file);
    return rc;
}

/* Writes a file of the work directory as a member. */
static int write_file(struct packer *p, const char *path, const struct file_entry *expected, struct err *err)
{
    p->file = path;
    int fd = dir_open(workdir_files(p->w), path, err);
    int rc = fd < 0 ? -1 : write_open_file(p, fd, expected, err);
    fd_close(&fd);
    return rc;
}

static int write_items(struct packer *p, const struct manifest_item *items, size_t n, struct err *err)
{
    for (size_t i = 0; i < n; i++) {
        const struct file_entry file = {items[i].file, items[i].bytes, items[i].sha256};
        if (file.path &&
            (write_directories_above(p, file.path, err) < 0 || write_file(p, file.path, &file, err) < 0))
            return -1;
    }
    return 0;
}

static int write_members(struct packer *p, const struct manifest *m, struct err *err)
{
    const struct file_entry report = {m->report.file, m->report.bytes, m->report.sha256};
    if (write_directory(p, "", err) < 0 || write_file(p, PATH_MANIFEST, NULL, err) < 0 ||
        write_file(p, PATH_README, NULL, err) < 0 ||
        (report.path && write_file(p, report.path, &report, err) < 0))
        return -1;
    for (size_t i = 0; i < m->n_hosts; i++)
        for (size_t k = 0; k < m->hosts[i].n_services; k++) {
            const struct manifest_service *s = &m->hosts[i].services[k];
            if (write_items(p, s->items, s->n_items, err) < 0)
                return -1;
        }
    return write_items(p, m->files, m->n_files, err);
}

static int write_to_file(void *ctx, const void *p, size_t n, struct err *err)
{
    return fd_write_all(atomic_file_fd(ctx), p, n, err);
}

static int write_tar(const struct workdir *w, const struct manifest *m, int cancel_fd,
                     struct atomic_file *new_file, struct err *err)
{
    struct packer p = {
        .w = w, .cancel_fd = cancel_fd, .stop_at = CLOCK_NEVER, .dirs = {.copies_names = true}};
    const struct writer_output to = {workdir_name(w), workdir_bundle(w), write_to_file, new_file};
    int rc = writer_open(&to, &p.tar, err);
    if (rc == 0)
        rc = write_members(&p, m, err);
    if (rc == 0)
        rc = writer_finish(p.tar, err);
    name_map_release(&p.dirs);
    writer_free(p.tar);
    return rc;
}

/* Names the finished file. If another run has taken the default name in the meantime, appends a number. */
static int name_bundle(const struct workdir *w, struct atomic_file *new_file, char **ret_path,
                       struct err *err)
{
    const char *path = workdir_bundle(w);
    if (!workdir_has_chosen_name(w))
        return atomic_file_give_unused_name(new_file, path, ".tar.gz", ret_path, err);
    char *copy = strdup(path);
    if (!copy)
        return err_nomem(err);
    if (atomic_file_give_name(new_file, path, err) < 0) {
        free(copy);
        return -1;
    }
    *ret_path = copy;
    return 0;
}

/* Writes the bundle. On failure, removes the unfinished bundle; the work directory stays. */
static int write_bundle(const struct workdir *w, const struct manifest *m, int cancel_fd, char **ret_path,
                        struct err *err)
{
    struct atomic_file *new_file = NULL;
    int rc = atomic_file_new_in(workdir_parent(w), workdir_bundle(w), &new_file, err);
    if (rc == 0)
        rc = write_tar(w, m, cancel_fd, new_file, err);
    if (rc == 0)
        rc = atomic_file_sync(new_file, err);
    if (rc == 0)
        rc = name_bundle(w, new_file, ret_path, err);
    atomic_file_free(new_file);
    return rc;
}

static int save_readme(const struct workdir *w, const struct manifest *m, struct err *err)
{
    struct buf text = BUF_INIT(MAX_README);
    int rc = -1;
    if (readme_write(m, &text, err) == 0)
        rc = dir_write(workdir_files(w), PATH_README, text.data, text.len, err);
    buf_release(&text);
    return rc;
}

int manifest_save(const struct manifest *m, const struct workdir *w, struct err *err)
{
    int rc = -1;
    struct buf text = BUF_INIT(BUNDLE_MAX_MANIFEST);
    if (manifest_print(m, &text, err) == 0)
        rc = manifest_save_text(&text, w, err);
    buf_release(&text);
    return rc;
}

int bundle_pack(struct workdir *w, const struct manifest *m, int cancel_fd, char **ret_path, struct err *err)
{
    char *path = NULL;
    if (save_readme(w, m, err) < 0 || manifest_save(m, w, err) < 0 ||
        write_bundle(w, m, cancel_fd, &path, err) < 0)
        return err_hint(err, "everything collected is kept in %s", workdir_path(w));
    /* The bundle is safe: ignore a failure to remove the work directory. */
    workdir_remove(w);
    *ret_path = path;
    return 0;
}
