/* `profgrab diff`: plain words for `profgrab pprof -top -diff_base`. */
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/exit.h"
#include "cli/pprof.h"
#include "base/banned.h"

/* Runs pprof with the flags given, -top unless they ask for another format. */
static int compare(int argc, char **argv, char **room, struct err *err)
{
    static char top[] = "-top", base[] = "-diff_base";
    struct pprof_options o;
    int n = argc - 2;
    room[0] = top;
    memcpy(room + 1, argv, (size_t)n * sizeof *room);
    room[n + 1] = base;
    room[n + 2] = argv[n];
    room[n + 3] = argv[n + 1];
    switch (pprof_parse(n + 3, room + 1, &o, err)) {
    case PPROF_GO_ON:
        return o.wanted == PPROF_OUTPUTS ? command_pprof.run(n + 4, room, err)
                                         : command_pprof.run(n + 3, room + 1, err);
    case PPROF_HELPED:
        return EXIT_OK;
    case PPROF_WRONG:
        break;
    }
    return EXIT_USAGE;
}

static int run(int argc, char **argv, struct err *err)
{
    if (argc < 2) {
        err_set(err, ERR_USAGE, "diff takes two profiles, the older one first");
        return exit_status_of(err);
    }
    char **room = calloc((size_t)argc + 3, sizeof *room);
    if (!room) {
        err_nomem(err);
        return exit_status_of(err);
    }
    int status = compare(argc, argv, room, err);
    free(room);
    return status;
}

const struct command command_diff = {
    .name = "diff",
    .synopsis = "[FLAG...] OLD NEW",
    .summary = "what changed from one profile to another",
    .details =
        "Says what pprof -top -diff_base OLD NEW says. FLAGS are pprof's own: -cum, -tree in place of -top, "
        "-sample_index=alloc_space, ...",
    .flag = pprof_flag_option,
    .words = WORDS_FILES,
    .run = run,
};
