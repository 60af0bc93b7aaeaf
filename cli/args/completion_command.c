/* `profgrab completion bash|zsh|fish`. */
#include <string.h>

#include "cli/args/completion.h"
#include "cli/term/exit.h"
#include "base/banned.h"

static const struct verb verbs[] = {
    {"bash", "", "for ~/.bashrc: eval \"$(profgrab completion bash)\""},
    {"zsh", "", "for a file _profgrab in a directory of $fpath, or as above for ~/.zshrc"},
    {"fish", "", "for ~/.config/fish/completions/profgrab.fish"},
    {NULL, NULL, NULL},
};
/* In the order of `verbs`. */
static void (*const writers[])(FILE *out) = {completion_bash, completion_zsh, completion_fish};

static int run_completion(int argc, char **argv, struct err *err)
{
    for (size_t i = 0; argc == 1 && i < sizeof writers / sizeof *writers; i++)
        if (strcmp(argv[0], verbs[i].name) == 0) {
            writers[i](stdout);
            return EXIT_OK;
        }
    err_set(err, ERR_USAGE, "completion needs the name of a shell: bash, zsh or fish");
    return exit_status_of(err);
}

const struct command command_completion = {
    .name = "completion",
    .synopsis = "bash|zsh|fish",
    .summary = "print a script for shell completion of commands, options, kinds and inventory names",
    .verbs = verbs,
    .run = run_completion,
};
