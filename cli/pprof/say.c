/* The messages of pprof: lines on stderr without a prefix, as upstream prints them. */
#include <stdarg.h>
#include <string.h>

#include "cli/pprof/pprof.h"
#include "cli/term/exit.h"
#include "cli/term/standard_streams.h"
#include "base/banned.h"

void pprof_say(const char *fmt, ...)
{
    char text[4096], line[4096];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    for (const char *at = text; *at;) {
        size_t n = strcspn(at, "\n");
        fprintf(stderr, "%s\n", text_printable(line, sizeof line, at, n));
        at += n + (at[n] == '\n');
    }
}

void pprof_say_error(const struct err *err)
{
    if (err->kind != ERR_NONE)
        pprof_say("%s", err->msg);
    if (err->hint[0])
        pprof_say("hint: %s", err->hint);
}

/* Prints errors in pprof's form, because scripts match its messages and exit codes. A signal gives the usual
 * exit code. */
int pprof_failed(struct err *err)
{
    /* main ends the program without a message. */
    if (err->kind == ERR_PIPE && standard_output_has_lost_reader())
        return EXIT_NOTHING;
    int code = err->kind == ERR_CANCELLED ? exit_status_of(err) : EXIT_USAGE;
    pprof_say_error(err);
    *err = (struct err)ERR_INIT;
    return code;
}
