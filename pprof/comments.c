/* -comments: the profile's comments, one per line. */
#include "pprof/formats.h"
#include "pprof/job.h"
#include "base/banned.h"

int comments_write(struct pprof_job *j)
{
    const struct profile *p = j->profile;
    for (size_t i = 0; i < p->n_comments; i++) {
        out_str(j->out, profile_str(p, p->comments[i]));
        out_text(j->out, "\n");
    }
    return 0;
}
