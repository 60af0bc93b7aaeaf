/* profgrab gets performance profiles out of Go services that can only be reached over SSH. */
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/askpass.h"
#include "cli/term/exit.h"
#include "cli/run.h"
#include "gateway/gateway.h"
#include "base/base.h"
#include "base/banned.h"

/* Repairs the state that a parent process may leave: closed standard descriptors, whose numbers the next
 * opened files would get, and ignored SIGCHLD, which loses the exit codes of children. A write beyond the
 * limit of a file's size then fails with EFBIG, as others fail on a full disk; programs that profgrab starts
 * have the default again. */
static void repair_inherited_state(void)
{
    /* Open for reading, so that a write to it fails. open() takes the lowest closed number. */
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            open("/dev/null", O_RDONLY | O_CLOEXEC);
    signal(SIGCHLD, SIG_DFL);
    signal(SIGXFSZ, SIG_IGN);
    secret_protect_process();
}

/* Finds the command and moves argc and argv to its arguments. `profgrab --host …` means
 * `profgrab grab --host …`. */
static const struct command *take_command(int *argc, char ***argv)
{
    const char *first = (*argv)[1];
    const struct command *c = command_find(first);
    if (strcmp(first, "--version") == 0 || strcmp(first, "-V") == 0)
        c = &command_version;
    if (strcmp(first, "--help") == 0 || strcmp(first, "-h") == 0)
        c = &command_help;
    int skip = c ? 2 : 1;
    *argc -= skip;
    *argv += skip;
    return c ? c : &command_grab;
}

/* The first argument that is no option, if it is a verb of the command; else NULL. */
static const char *find_verb(const struct command *c, int argc, char **argv)
{
    int i = 0;
    while (i < argc && argv[i][0] == '-')
        i++;
    for (const struct verb *v = i < argc ? c->verbs : NULL; v && v->name; v++)
        if (strcmp(v->name, argv[i]) == 0)
            return v->name;
    return NULL;
}

static int run_help_of(const struct command *c, int argc, char **argv)
{
    const char *verb = find_verb(c, argc, argv);
    char *words[] = {(char *)(uintptr_t)c->name, (char *)(uintptr_t)verb, NULL};
    return run_command(&command_help, verb ? 2 : 1, words);
}

int main(int argc, char **argv)
{
    repair_inherited_state();
    if (argc == 1 && strcmp(file_base(argv[0]), REAPER_NAME) == 0) {
        reaper_run(argv[0]);
        return EXIT_NOTHING;
    }
    if (askpass_is_meant(argc, argv)) {
        struct err err = ERR_INIT;
        int code = askpass_run(argv, &err);
        return run_end(code, &err);
    }
    if (argc < 2) {
        int code = run_command(&command_help, 0, NULL);
        return code == EXIT_OK ? EXIT_USAGE : code;
    }
    const struct command *c = take_command(&argc, &argv);
    if (c != &command_help && !c->own_help && run_asks_for_help(argc, argv))
        return run_help_of(c, argc, argv);
    return run_command(c, argc, argv);
}
