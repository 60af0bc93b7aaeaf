/*
 * -proto: the profile itself, after the filters.
 *
 * Source: google/pprof internal/report (printProto).
 */
#include "pprof/formats.h"
#include "pprof/report.h"
#include "base/banned.h"

static int write_bytes(void *ctx, const void *p, size_t n, struct err *err)
{
    (void)err;
    out_add(ctx, p, n);
    return 0;
}

int proto_write_profile(struct report *report, const struct profile *p)
{
    return profile_write_gzip(p, write_bytes, report->out, report->err);
}

int proto_write(struct report *report)
{
    struct profile *p = report->profile;
    if (report->ratio > 0 && report->ratio != 1)
        for (size_t i = 0; i < p->n_samples * p->n_sample_types; i++)
            p->values[i] = profile_double_to_int((double)p->values[i] * report->ratio);
    return proto_write_profile(report, p);
}
