#include "pprof/report.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/banned.h"

void report_format_value(const struct report *report, char dst[MEASURE_TEXT], int64_t value)
{
    if (report->ratio > 0 && report->ratio != 1)
        value = profile_double_to_int((double)value * report->ratio);
    measure_label(dst, value, report->sample_unit, report->output_unit);
}

void report_message(const struct report *report, const char *fmt, ...)
{
    char line[1000];
    va_list args;
    if (!report->callbacks->say)
        return;
    va_start(args, fmt);
    vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    report->callbacks->say(report->callbacks->ctx, line);
}
