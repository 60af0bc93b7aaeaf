/* Lists the members of a bundle, and reads them into memory. */
#include <string.h>

#include "bundle/bundle.h"
#include "bundle/gzfile.h"
#include "bundle/reader.h"
#include "base/banned.h"

int bundle_list(const char *path, struct age_identities *identities, bundle_member_fn *visit, void *ctx,
                struct err *err)
{
    struct reader *r = NULL;
    const struct reader_member *m = NULL;
    int rc = -1;
    if (reader_open(path, identities, &r, err) < 0)
        return -1;
    for (;;) {
        if (reader_next_file(r, &m, err) < 0)
            goto out;
        if (!m)
            break;
        struct bundle_member found = {.path = m->path, .size = m->size, .mtime = m->mtime};
        if (visit(ctx, &found, err) != 0)
            goto out;
    }
    rc = 0;
out:
    reader_free(r);
    return rc;
}

int bundle_unlock(const char *path, struct age_identities *identities, struct err *err)
{
    struct gzfile *g = NULL;
    if (gzfile_open(path, identities, &g, err) < 0)
        return -1;
    gzfile_free(g);
    return 0;
}

int bundle_read_manifest(const char *path, struct age_identities *identities, char **ret, struct err *err)
{
    struct reader *r = NULL;
    struct buf text = BUF_INIT(BUNDLE_MAX_MANIFEST);
    if (reader_open(path, identities, &r, err) < 0)
        return -1;
    int rc = reader_manifest(r, &text, err);
    if (rc == 0)
        *ret = buf_detach(&text);
    buf_release(&text);
    reader_free(r);
    return rc;
}

static int find_member(struct reader *r, const char *member, struct err *err)
{
    const struct reader_member *m = NULL;
    do {
        if (reader_next_file(r, &m, err) < 0)
            return -1;
        if (!m)
            return err_set(err, ERR_NOT_FOUND, "the bundle has no file %s", member);
    } while (strcmp(m->path, member) != 0);
    return 0;
}

int bundle_read_member(const char *path, struct age_identities *identities, const char *member,
                       struct buf *ret, struct err *err)
{
    struct reader *r = NULL;
    if (reader_open(path, identities, &r, err) < 0)
        return -1;
    int rc = find_member(r, member, err);
    if (rc == 0)
        rc = reader_read_all(r, ret, err);
    reader_free(r);
    return rc == 0 ? buf_check(ret, member, err) : rc;
}

static int visit_member(struct reader *r, const struct reader_member *m, const struct bundle_visitor *v,
                        struct err *err)
{
    struct bundle_member member = {.path = m->path, .size = m->size, .mtime = m->mtime};
    struct buf bytes = BUF_INIT(m->size);
    if (!v->filter(v->ctx, &member))
        return 0;
    int rc = reader_read_all(r, &bytes, err);
    if (rc == 0)
        rc = buf_check(&bytes, m->path, err);
    if (rc == 0)
        rc = v->receive(v->ctx, &member, &bytes, err);
    buf_release(&bytes);
    return rc;
}

int bundle_visit(const char *path, struct age_identities *identities, const struct bundle_visitor *visitor,
                 struct err *err)
{
    struct reader *r = NULL;
    const struct reader_member *m = NULL;
    if (reader_open(path, identities, &r, err) < 0)
        return -1;
    int rc;
    while ((rc = reader_next_file(r, &m, err)) == 0 && m && (rc = visit_member(r, m, visitor, err)) == 0)
        continue;
    reader_free(r);
    return rc;
}
