/* One member of a bundle, read into memory. */
#include <string.h>

#include "bundle/bundle.h"
#include "bundle/reader.h"
#include "base/banned.h"

static int find(struct reader *r, const char *member, struct err *err)
{
    const struct reader_member *m = NULL;
    do {
        if (reader_next_file(r, &m, err) < 0)
            return -1;
        if (!m)
            return err_set(err, ERR_NOT_FOUND, "there is no %s in it", member);
    } while (strcmp(m->path, member) != 0);
    return 0;
}

int bundle_member_bytes(const char *path, struct age_identities *by, const char *member, struct buf *ret,
                        struct err *err)
{
    struct reader *r = NULL;
    char block[65536];
    size_t n = 0;
    if (reader_open(path, by, UINT64_MAX, &r, err) < 0)
        return -1;
    int rc = find(r, member, err);
    while (rc == 0 && !ret->failed && (rc = reader_read(r, block, sizeof block, &n, err)) == 0 && n > 0)
        buf_add(ret, block, n);
    reader_free(r);
    return rc == 0 ? buf_check(ret, member, err) : rc;
}
