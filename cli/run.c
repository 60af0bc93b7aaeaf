#include "cli/run.h"

#include <stdio.h>
#include <string.h>

#include "cli/term/exit.h"
#include "cli/term/signals.h"
#include "cli/term/talk.h"
#include "base/banned.h"

bool run_asks_for_help(int argc, char **argv)
{
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return true;
    return false;
}

int run_command(const struct command *c, int argc, char **argv)
{
    struct err err = ERR_INIT;
    int code = c->run(argc, argv, &err);
    return run_end(code, &err);
}

int run_end(int code, const struct err *err)
{
    if (err->kind != ERR_NONE)
        talk_error(stderr, err);
    /* Data that did not reach stdout was not delivered. */
    if (fflush(stdout) == 0 && !ferror(stdout))
        return code;
    if (signals_received())
        return EXIT_SIGNAL + signals_received();
    talk("cannot write to standard output");
    return code ? code : EXIT_NOTHING;
}
