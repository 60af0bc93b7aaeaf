/* profgrab collects performance profiles from Go services that are reachable only over SSH. */
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/args/command.h"
#include "cli/term/exit.h"
#include "cli/term/signals.h"
#include "cli/term/standard_streams.h"
#include "cli/term/message.h"
#include "gateway/gateway.h"
#include "base/base.h"
#include "base/banned.h"

/* Repairs the state inherited from the parent process, and forbids core dumps. Opens closed standard
 * descriptors, because otherwise the next opened files get their numbers. Restores SIGCHLD, because the exit
 * codes of children are lost while SIGCHLD is ignored. Ignores SIGXFSZ and SIGPIPE: a write beyond the file
 * size limit then fails with EFBIG, and a write to a pipe without a reader with EPIPE. */
static void prepare_process(void)
{
    /* open(2) uses the lowest closed number, which is fd. Read-only: a write to the descriptor must fail. */
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            open("/dev/null", O_RDONLY | O_CLOEXEC);
    signal(SIGCHLD, SIG_DFL);
    signal(SIGXFSZ, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    secret_protect_process();
}

/* Prints the error, if any, and flushes stdout. Returns the program's exit code: `code`, or another one if
 * the flush fails. If the reader of stdout has exited, as in `profgrab bundle list | head -1`, prints no
 * error about that and returns the code of SIGPIPE, as other tools do. */
static int finish_output(int code, const struct err *err)
{
    bool written = fflush(stdout) == 0 && !ferror(stdout);
    bool has_lost_reader = (!written || err->kind == ERR_PIPE) && standard_output_has_lost_reader();
    if (err->kind != ERR_NONE && !(has_lost_reader && err->kind == ERR_PIPE))
        message_print_error(stderr, err);
    if (written && !has_lost_reader)
        return code;
    if (signals_received())
        return EXIT_SIGNAL + signals_received();
    if (has_lost_reader)
        return EXIT_SIGNAL + SIGPIPE;
    /* The data on stdout is incomplete. */
    message_print("cannot write to standard output");
    return code ? code : EXIT_FAILED;
}

/* Runs the command and prints its error. Returns the exit code. */
static int run_command(const struct command *c, int argc, char **argv)
{
    struct err err = ERR_INIT;
    int code = c->run(argc, argv, &err);
    return finish_output(code, &err);
}

/* Returns whether the arguments before `--` contain -h or --help. */
static bool asks_for_help(int argc, char **argv)
{
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return true;
    return false;
}

/* Returns whether ssh started this process as its askpass program (gateway/openssh/askpass.h). */
static bool is_askpass(int argc, char **argv)
{
    return argc == 2 && strcmp(file_base(argv[0]), ASKPASS_NAME) == 0;
}

/* Gets the answer to ssh's question from the profgrab process that started ssh, and prints it. Returns the
 * exit code. */
static int run_askpass(char **argv, struct err *err)
{
    struct secret answer = {.len = 0};
    if (askpass_ask(argv[0], getenv("SSH_ASKPASS_PROMPT"), argv[1], &answer, err) < 0) {
        /* The user declined: no message is needed, and ssh continues without an answer. */
        if (err->kind == ERR_NOT_FOUND)
            err->kind = ERR_NONE;
        return EXIT_FAILED;
    }
    /* Writes without stdio, because the buffer of stdio is never wiped. */
    int rc = fd_write_all(STDOUT_FILENO, answer.text, answer.len, err);
    secret_wipe(&answer);
    return rc < 0 || fd_write_all(STDOUT_FILENO, "\n", 1, err) < 0 ? EXIT_FAILED : 0;
}

/* Finds the command and moves argc and argv to its arguments. `profgrab --host …` means
 * `profgrab grab --host …`. */
static const struct command *select_command(int *argc, char ***argv)
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

/* Returns the first argument without a dash if it is a verb of the command, else NULL. */
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

static int print_command_help(const struct command *c, int argc, char **argv)
{
    const char *verb = find_verb(c, argc, argv);
    char *words[] = {(char *)(uintptr_t)c->name, (char *)(uintptr_t)verb, NULL};
    return run_command(&command_help, verb ? 2 : 1, words);
}

int main(int argc, char **argv)
{
    prepare_process();
    if (argc == 1 && strcmp(file_base(argv[0]), REAPER_NAME) == 0) {
        reaper_run(argv[0]);
        return EXIT_FAILED;
    }
    if (is_askpass(argc, argv)) {
        struct err err = ERR_INIT;
        int code = run_askpass(argv, &err);
        return finish_output(code, &err);
    }
    standard_streams_replace();
    if (argc < 2) {
        int code = run_command(&command_help, 0, NULL);
        return code == EXIT_OK ? EXIT_USAGE : code;
    }
    const struct command *c = select_command(&argc, &argv);
    if (c != &command_help && !c->handles_help && asks_for_help(argc, argv))
        return print_command_help(c, argc, argv);
    return run_command(c, argc, argv);
}
