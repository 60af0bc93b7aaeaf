#include "bundle/contents.h"

#include <stdlib.h>

#include "bundle/items.h"
#include "bundle/manifest_rows.h"
#include "base/banned.h"

/* The limit for the lists of a manifest. The largest real manifest, of ITEMS_MAX_MEMORY, takes less than a
 * quarter of it. */
#define MAX_LISTS ((size_t)64 << 20)

/* The public struct, and the JSON that owns its strings. */
struct owned_contents {
    struct manifest_contents contents;
    json_t *root;
};

int manifest_read_json(json_t *root, struct manifest_contents **ret, struct err *err)
{
    size_t budget = MAX_LISTS;
    struct owned_contents *c = calloc(1, sizeof *c);
    if (!c)
        return err_nomem(err);
    c->root = json_incref(root);
    if (json_rows_read(root, manifest_rows, &c->contents, &budget, err) < 0) {
        manifest_contents_free(&c->contents);
        return -1;
    }
    *ret = &c->contents;
    return 0;
}

int manifest_read(const char *text, size_t n, struct manifest_contents **ret, struct err *err)
{
    json_t *root = NULL;
    if (items_parse(text, n, &root, err) < 0)
        return -1;
    int rc = manifest_read_json(root, ret, err);
    json_decref(root);
    return rc;
}

void manifest_contents_free(struct manifest_contents *c)
{
    struct owned_contents *owned = (struct owned_contents *)c;
    if (!c)
        return;
    json_rows_release(manifest_rows, c);
    json_decref(owned->root);
    free(owned);
}

int manifest_item_read(const json_t *item, struct manifest_item *ret, struct err *err)
{
    size_t budget = MAX_LISTS;
    struct manifest_item read = {0};
    if (json_rows_read(item, manifest_item_rows, &read, &budget, err) < 0) {
        manifest_item_release(&read);
        return -1;
    }
    *ret = read;
    return 0;
}

void manifest_item_release(struct manifest_item *i)
{
    json_rows_release(manifest_item_rows, i);
}
