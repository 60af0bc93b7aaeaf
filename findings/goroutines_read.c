#include "findings/goroutines_internal.h"

#include "base/banned.h"

static int read_dump(struct goroutines *goroutines, size_t i, struct str bytes, uint64_t max_bytes,
                     struct err *err)
{
    switch (goroutines->dumps[i].form) {
    case GOROUTINES_STACKS:
        return goroutines_read_stacks(goroutines, i, bytes, err);
    case GOROUTINES_GROUPED:
        return goroutines_read_grouped(goroutines, i, bytes, err);
    case GOROUTINES_PROFILE:
        return goroutines_read_profile(goroutines, i, bytes, max_bytes, err);
    }
    return 0;
}

int goroutines_read(const struct goroutines_input *from, struct goroutines **ret, struct err *err)
{
    const struct str *dumps = from->dumps;
    size_t n = from->n;
    struct goroutines *g = goroutines_new(err);
    if (!g)
        return -1;
    g->n_dumps = n;
    for (size_t i = 0; i < n; i++)
        g->dumps[i].form = goroutines_detect_form(dumps[i]);
    g->store->frames_only = n == 2 && g->dumps[0].form != g->dumps[1].form;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < n; i++)
        if ((rc = read_dump(g, i, dumps[i], from->max_bytes, err)) < 0)
            err_wrap(err, "%s", from->names[i]);
    if (rc == 0)
        rc = goroutines_finish(g, err);
    if (rc < 0)
        goroutines_free(g);
    else
        *ret = g;
    return rc;
}
