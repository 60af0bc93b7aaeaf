/* -comments: the profile's comments, one per line. */
#include "pprof/formats.h"
#include "pprof/report.h"
#include "base/banned.h"

int comments_write(struct report *report)
{
    const struct profile *p = report->profile;
    for (size_t i = 0; i < p->n_comments; i++) {
        out_str(report->out, profile_str(p, p->comments[i]));
        out_text(report->out, "\n");
    }
    return 0;
}
