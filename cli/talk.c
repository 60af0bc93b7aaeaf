#include "cli/talk.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/banned.h"

void talk(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fputs("profgrab: ", stderr);
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
    va_end(ap);
}

void talk_error(const struct err *err)
{
    talk("%s", err->msg);
    if (err->hint[0])
        fprintf(stderr, "hint: %s\n", err->hint);
}
