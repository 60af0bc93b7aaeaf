/* Saves copies of fetched profiles. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "cli/pprof/pprof.h"
#include "base/banned.h"

/* Finds or creates the directory for copies. Returns its path, a new string. */
static char *find_directory(struct err *err)
{
    const char *pprof_tmpdir = getenv("PPROF_TMPDIR"), *home = getenv("HOME"), *tmpdir = getenv("TMPDIR");
    char *directories[] = {pprof_tmpdir && *pprof_tmpdir ? strdup(pprof_tmpdir) : NULL,
                           home && *home ? file_join(home, "pprof") : NULL,
                           strdup(tmpdir && *tmpdir ? tmpdir : "/tmp")};
    char *ret = NULL;
    for (size_t i = 0; i < sizeof directories / sizeof *directories; i++) {
        if (!ret && directories[i] && (mkdir(directories[i], 0755) == 0 || errno == EEXIST))
            ret = directories[i];
        else
            free(directories[i]);
    }
    if (!ret)
        err_set(err, ERR_LOCAL_IO, "failed to identify temp dir");
    return ret;
}

static int write_gzip(void *ctx, const void *p, size_t n, struct err *err)
{
    return n == 0 || gzwrite(ctx, p, (unsigned)n) == (int)n ? 0 : err_sys(err, "cannot write");
}

/* Adds the start of the file's name, as upstream does: `pprof.`, the program's name and the sample types. */
static void add_name(const struct profile *p, struct buf *name)
{
    buf_adds(name, "pprof.");
    if (p->n_mappings && p->mappings[0].file) {
        struct str file = profile_str(p, p->mappings[0].file);
        const char *slash = memrchr(file.p, '/', file.n);
        buf_add(name, slash ? slash + 1 : file.p, slash ? file.n - (size_t)(slash + 1 - file.p) : file.n);
        buf_addc(name, '.');
    }
    for (size_t i = 0; i < p->n_sample_types; i++) {
        struct str type = profile_str(p, p->sample_types[i].type);
        buf_add(name, type.p, type.n);
        buf_addc(name, '.');
    }
    for (size_t i = 0; i < name->len; i++)
        if (name->data[i] == '/' || (unsigned char)name->data[i] < ' ')
            name->data[i] = '_';
}

static int save_in(const struct profile *p, const char *dir, struct err *err)
{
    struct buf name = BUF_INIT(200);
    char *path = NULL;
    add_name(p, &name);
    int fd = pprof_create_numbered(dir, buf_str(&name), ".pb.gz", &path, err);
    gzFile to = fd >= 0 ? gzdopen(fd, "wb") : NULL;
    int rc = to ? profile_write(p, write_gzip, to, err) : -1;
    if (fd >= 0 && !to) {
        err_nomem(err);
        fd_close(&fd);
    }
    if (to && gzclose(to) != Z_OK && rc == 0)
        rc = err_sys(err, "cannot write %s", path);
    if (rc == 0)
        pprof_print("Saved profile in %s", path);
    free(path);
    buf_release(&name);
    return rc;
}

int pprof_save_copy(const struct profile *p, struct err *err)
{
    struct err why = ERR_INIT;
    char *dir = find_directory(err);
    if (!dir)
        return -1;
    if (save_in(p, dir, &why) < 0)
        pprof_print("Could not save profile: %s", why.msg);
    free(dir);
    return 0;
}
