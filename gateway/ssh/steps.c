#include "gateway/ssh/steps.h"

#include "base/banned.h"

void steps_begin(struct steps *s, enum gateway_step_kind kind)
{
    s->current = (struct gateway_step){.kind = kind, .hop = s->hop->number};
    s->since = clock_now();
    s->unreported = false;
}

void steps_report(struct steps *s, const struct err *failure)
{
    const struct login_options *options = s->hop->options;
    s->current.duration_ms = clock_now() - s->since;
    s->current.failure = failure;
    if (options->step)
        options->step(options->step_ctx, &s->current);
}

int steps_end(struct steps *s, int rc, const struct err *why)
{
    s->unreported = rc < 0 && (why->kind == ERR_BUSY || why->kind == ERR_UNSUPPORTED);
    if (!s->unreported)
        steps_report(s, rc < 0 ? why : NULL);
    return rc;
}
