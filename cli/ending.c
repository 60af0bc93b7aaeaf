#include "cli/ending.h"

#include "cli/term/exit.h"
#include "base/banned.h"

void ending_count_item(struct ending *e, const struct fetch_item *item)
{
    if (item->status == FETCH_OK)
        return;
    if (item->file[0])
        e->damaged++;
    else
        e->missing++;
    e->lasting += item->lasting;
}

void ending_count_failure(struct ending *e, const struct err *failure)
{
    e->missing++;
    e->unusable += failure->kind == ERR_USAGE;
    e->lasting += failure->kind == ERR_USAGE;
}

bool ending_is_complete(const struct ending *e)
{
    return e->damaged + e->missing == 0 && !e->signal;
}

int ending_code(const struct ending *e)
{
    if (e->signal)
        return EXIT_SIGNAL + e->signal;
    if (!e->bundled)
        return e->unusable > 0 ? EXIT_USAGE : EXIT_NOTHING;
    if (e->whole == 0)
        return EXIT_NOTHING;
    return ending_is_complete(e) ? EXIT_OK : EXIT_PARTIAL;
}

static void add_count(struct buf *b, size_t n, const char *what)
{
    if (n > 0)
        buf_addf(b, "%s%zu %s", b->len ? ", " : "", n, what);
}

void ending_explain(const struct ending *e, const char *resume_line, struct err *err)
{
    struct buf counts = BUF_INIT(200);
    size_t all = e->missing + e->damaged;
    add_count(&counts, e->missing, "missing");
    add_count(&counts, e->damaged, "damaged");
    if (e->whole > 0)
        err_set(err, ERR_FAILED, "not complete: %s, see above; %zu item%s collected", buf_str(&counts),
                e->whole, e->whole == 1 ? "" : "s");
    else
        err_set(err, ERR_FAILED, "no item arrived whole: %s, see above; the bundle holds only damaged bodies",
                buf_str(&counts));
    if (e->lasting == 0)
        err_hint(err, "`%s` fetches what is missing", resume_line);
    else if (e->lasting < all)
        err_hint(err, "`%s` can fetch %zu of these %zu", resume_line, all - e->lasting, all);
    buf_release(&counts);
}
