#include "cli/capture/ending.h"

#include "cli/term/exit.h"
#include "base/banned.h"

int ending_code(const struct capture_outcome *o, int signal)
{
    /* A signal after the bundle was packed has no effect. */
    if (signal && (o->cancelled || o->end == CAPTURE_NOT_PACKED))
        return EXIT_SIGNAL + signal;
    if (o->end == CAPTURE_NOT_PACKED)
        return EXIT_FAILED;
    if (o->end != CAPTURE_PACKED)
        return o->counts.wrong_requests > 0 ? EXIT_USAGE : EXIT_FAILED;
    if (o->counts.complete == 0)
        return EXIT_FAILED;
    return capture_is_complete(o) ? EXIT_OK : EXIT_PARTIAL;
}

static void add_count(struct buf *b, size_t n, const char *word)
{
    if (n > 0)
        buf_addf(b, "%s%zu %s", b->len ? ", " : "", n, word);
}

void ending_explain(const struct capture_counts *c, const char *resume_line, struct err *err)
{
    struct buf counts = BUF_INIT(200);
    size_t all = c->missing + c->damaged;
    add_count(&counts, c->missing, "missing");
    add_count(&counts, c->damaged, "damaged");
    if (c->complete > 0)
        err_set(err, ERR_FAILED, "not complete: %s, see above; %zu item%s collected", buf_str(&counts),
                c->complete, text_plural_s(c->complete));
    else
        err_set(err, ERR_FAILED, "no item is intact: %s, see above; the bundle contains only damaged bodies",
                buf_str(&counts));
    if (c->permanent == 0)
        err_hint(err, "`%s` fetches the missing items", resume_line);
    else if (c->permanent < all)
        err_hint(err, "`%s` can fetch %zu of these %zu", resume_line, all - c->permanent, all);
    buf_release(&counts);
}
