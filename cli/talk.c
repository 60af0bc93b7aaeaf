#include "cli/talk.h"

#include <stdarg.h>

#include "base/banned.h"

__attribute__((format(printf, 2, 0))) static void vtalk(FILE *out, const char *fmt, va_list ap)
{
    fputs("profgrab: ", out);
    vfprintf(out, fmt, ap);
    fputc('\n', out);
}

void talk(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vtalk(stderr, fmt, ap);
    va_end(ap);
}

void talk_to(FILE *out, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vtalk(out, fmt, ap);
    va_end(ap);
}

void talk_error(FILE *out, const struct err *err)
{
    talk_to(out, "%s", err->msg);
    if (err->hint[0])
        fprintf(out, "hint: %s\n", err->hint);
}
