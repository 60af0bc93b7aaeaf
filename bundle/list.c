#include "bundle/bundle.h"

#include <stdlib.h>

#include "bundle/gzfile.h"
#include "bundle/reader.h"
#include "base/banned.h"

int bundle_list(const char *path, struct age_identities *by, bundle_member_fn *member, void *ctx,
                struct err *err)
{
    struct reader *r = NULL;
    const struct reader_member *m = NULL;
    int rc = -1;
    if (reader_open(path, by, &r, err) < 0)
        return -1;
    for (;;) {
        if (reader_next_file(r, &m, err) < 0)
            goto out;
        if (!m)
            break;
        struct bundle_member found = {.path = m->path, .size = m->size, .mtime = m->mtime};
        if (member(ctx, &found, err) != 0)
            goto out;
    }
    rc = 0;
out:
    reader_free(r);
    return rc;
}

int bundle_unlock(const char *path, struct age_identities *by, struct err *err)
{
    struct gzfile *g = NULL;
    if (gzfile_open(path, by, &g, err) < 0)
        return -1;
    gzfile_free(g);
    return 0;
}

int bundle_manifest(const char *path, struct age_identities *by, char **ret, struct err *err)
{
    struct reader *r = NULL;
    struct buf text = BUF_INIT(BUNDLE_MAX_MANIFEST);
    if (reader_open(path, by, &r, err) < 0)
        return -1;
    int rc = reader_manifest(r, &text, err);
    if (rc == 0)
        *ret = buf_take(&text);
    buf_release(&text);
    reader_free(r);
    return rc;
}
