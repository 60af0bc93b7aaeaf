#include "cli/args/manual.h"

#include <stdlib.h>
#include <string.h>

#include "cli/args/man.h"
#include "cli/args/mdoc.h"
#include "base/banned.h"

static const char *const *find_lines(const char *name)
{
    for (const struct manual_page *p = manual_pages; p->name; p++)
        if (strcmp(p->name, name) == 0)
            return p->lines;
    return NULL;
}

/* Replaces the markers in a page's source. *ret is a new string. */
static int fill_page(const char *const *lines, char **ret, struct err *err)
{
    int rc = -1;
    struct buf raw = BUF_INIT(1 << 20);
    char *filled = NULL;
    size_t n = 0;
    FILE *in = NULL, *out = NULL;
    while (*lines)
        buf_adds(&raw, *lines++);
    if (buf_check(&raw, "the page", err) < 0)
        goto done;
    in = fmemopen(raw.data, raw.len, "r");
    out = open_memstream(&filled, &n);
    if (!in || !out) {
        err_nomem(err);
        goto done;
    }
    rc = man_fill(in, out, err);
done:
    if (in)
        fclose(in);
    if (out && fclose(out) != 0 && rc == 0)
        rc = err_nomem(err);
    buf_release(&raw);
    if (rc == 0)
        *ret = filled;
    else
        free(filled);
    return rc;
}

int manual_print(const char *name, FILE *out, struct err *err)
{
    char *text = NULL;
    const char *const *lines = find_lines(name);
    if (!lines)
        return err_set(err, ERR_NOT_FOUND, "no page \"%.60s\"", name);
    if (fill_page(lines, &text, err) < 0)
        return -1;
    mdoc_print(text, out);
    free(text);
    return 0;
}
