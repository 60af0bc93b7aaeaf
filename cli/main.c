/* profgrab: gets performance profiles out of Go services that can only be reached over SSH. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/askpass.h"
#include "cli/command.h"
#include "cli/exit.h"
#include "cli/talk.h"
#include "gateway/gateway.h"
#include "base/base.h"
#include "base/banned.h"

/* `profgrab --host …` is `profgrab grab --host …`. */
static const struct command *choose(int *argc, char ***argv)
{
    const char *first = *argc > 1 ? (*argv)[1] : "";
    const struct command *c = command_find(first);
    if (strcmp(first, "--version") == 0 || strcmp(first, "-V") == 0)
        c = &command_version;
    if (strcmp(first, "--help") == 0 || strcmp(first, "-h") == 0)
        c = &command_help;
    int skip = c ? 2 : 1;
    *argc = *argc > skip ? *argc - skip : 0;
    *argv += skip;
    return c ? c : &command_grab;
}

static bool asks_for_help(int argc, char **argv)
{
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return true;
    return false;
}

/* What our parent may have left us: standard descriptors that are closed, which files opened later would
 * become, and children that vanish before their exit code can be read. */
static void settle_in(void)
{
    int fd;
    /* For reading, so that what is written there is known to be lost. */
    do
        fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0)
        close(fd);
    signal(SIGCHLD, SIG_DFL);
    secret_protect_process();
}

int main(int argc, char **argv)
{
    settle_in();
    if (argc == 1 && strcmp(file_base(argv[0]), KEEPER_NAME) == 0) {
        keeper_run(argv[0]);
        return EXIT_NOTHING;
    }
    struct err err = ERR_INIT;
    bool asked = askpass_is_meant(argc, argv);
    const struct command *c = asked ? NULL : choose(&argc, &argv);
    int code;
    if (asked) {
        code = askpass_run(argv, &err);
    } else if (c != &command_help && asks_for_help(argc, argv)) {
        char *name[] = {(char *)(uintptr_t)c->name, NULL};
        code = command_help.run(1, name, &err);
    } else {
        code = c->run(argc, argv, &err);
    }
    if (err.kind != ERR_NONE)
        talk_error(stderr, &err);
    /* Data that did not reach stdout was not delivered. */
    if (fflush(stdout) != 0 || ferror(stdout)) {
        talk("cannot write to standard output");
        return code ? code : EXIT_NOTHING;
    }
    return code;
}
