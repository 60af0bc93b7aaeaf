#include "pprof/job.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/banned.h"

void job_format_value(const struct pprof_job *j, char dst[MEASURE_TEXT], int64_t value)
{
    if (j->ratio > 0 && j->ratio != 1)
        value = profile_double_to_int((double)value * j->ratio);
    measure_label(dst, value, j->sample_unit, j->output_unit);
}

void job_message(const struct pprof_job *j, const char *fmt, ...)
{
    char line[1000];
    va_list args;
    va_start(args, fmt);
    vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    j->callbacks->say(j->callbacks->ctx, line);
}
