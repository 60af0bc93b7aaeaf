/* profgrab: gets performance profiles out of Go services that can only be reached over SSH. This is the file
 * that is started: what it has itself, and the way to all else (cli/whole.h). */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/exit.h"
#include "cli/run.h"
#include "cli/talk.h"
#include "cli/whole.h"
#include "gateway/gateway.h"
#include "base/base.h"
#include "base/banned.h"

/* Undoes what our parent may have left us: standard descriptors that are closed, which files opened later
 * would become, and children that vanish before their exit code can be read. A write beyond the limit of a
 * file's size fails with EFBIG as others fail on a full disk; programs that are started have the default
 * again. */
static void settle_in(void)
{
    /* For reading, so that what is written there is known to be lost. The lowest that is closed is taken. */
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            open("/dev/null", O_RDONLY | O_CLOEXEC);
    signal(SIGCHLD, SIG_DFL);
    signal(SIGXFSZ, SIG_IGN);
    secret_protect_process();
}

static bool is_started_as(const char *name, int argc, char **argv)
{
    return argc > 0 && strcmp(file_base(argv[0]), name) == 0;
}

/* The command, if it is one that needs no more than what is here. */
static const struct command *choose(int argc, char **argv)
{
    static const struct command *const here[] = {&command_pprof, &command_goroutines, &command_diff,
                                                 &command_merge};
    if (argc < 2 || is_started_as(ASKPASS_NAME, argc, argv))
        return NULL;
    for (size_t i = 0; i < sizeof here / sizeof *here; i++)
        if (strcmp(here[i]->name, argv[1]) == 0)
            return here[i]->own_help || !run_asks_for_help(argc - 2, argv + 2) ? here[i] : NULL;
    return NULL;
}

int main(int argc, char **argv)
{
    settle_in();
    if (argc == 1 && is_started_as(KEEPER_NAME, argc, argv)) {
        keeper_run(argv[0]);
        return EXIT_NOTHING;
    }
    const struct command *c = choose(argc, argv);
    if (c)
        return run_command(c, argc - 2, argv + 2);
    struct err err = ERR_INIT;
    const struct whole *whole = whole_get(&err);
    return whole ? whole->run(argc, argv) : run_end(EXIT_NOTHING, &err);
}
