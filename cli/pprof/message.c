/* The messages of pprof: lines on stderr without a prefix, as upstream prints them. */
#include <stdarg.h>
#include <string.h>

#include "cli/pprof/pprof.h"
#include "cli/term/exit.h"
#include "cli/term/message.h"
#include "cli/term/standard_streams.h"
#include "base/banned.h"

void pprof_print(const char *fmt, ...)
{
    char text[4096], line[4096];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    for (const char *at = text; *at;) {
        size_t n = strcspn(at, "\n");
        text_printable(line, sizeof line, at, n);
        message_hide_passwords(line, sizeof line);
        fprintf(stderr, "%s\n", line);
        at += n + (at[n] == '\n');
    }
}

void pprof_print_error(const struct err *err)
{
    if (err->kind != ERR_NONE)
        pprof_print("%s", err->msg);
    if (err->hint[0])
        pprof_print("hint: %s", err->hint);
}

/* Prints errors in pprof's form, because scripts match pprof's messages and exit codes. After a signal, the
 * exit code is that of the other commands. */
int pprof_report_failure(struct err *err)
{
    /* main prints no message for this error, and replaces the exit code. */
    if (err->kind == ERR_PIPE && standard_output_has_lost_reader())
        return EXIT_FAILED;
    int code = err->kind == ERR_CANCELLED ? exit_status_of(err) : EXIT_USAGE;
    pprof_print_error(err);
    *err = (struct err)ERR_INIT;
    return code;
}
