/* All commands, and what stands behind the doors. */
#include "cli/whole.h"

#include <string.h>

#include "cli/askpass.h"
#include "cli/exit.h"
#include "cli/goroutines_json.h"
#include "cli/run.h"
#include "fetch/fetch.h"
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

/* The first argument that is no option, if it is a verb of the command; or NULL. */
static const char *named_verb(const struct command *c, int argc, char **argv)
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
    const char *verb = named_verb(c, argc, argv);
    char *words[] = {(char *)(uintptr_t)c->name, (char *)(uintptr_t)verb, NULL};
    return run_command(&command_help, verb ? 2 : 1, words);
}

static int run(int argc, char **argv)
{
    struct err err = ERR_INIT;
    if (askpass_is_meant(argc, argv)) {
        int code = askpass_run(argv, &err);
        return run_end(code, &err);
    }
    if (argc < 2) {
        int code = run_command(&command_help, 0, NULL);
        return code == EXIT_OK ? EXIT_USAGE : code;
    }
    const struct command *c = choose(&argc, &argv);
    if (c != &command_help && !c->own_help && run_asks_for_help(argc, argv))
        return run_help_of(c, argc, argv);
    return run_command(c, argc, argv);
}

const struct whole *whole_get(struct err *err)
{
    static const struct whole all = {
        .run = run,
        .source_entries = source_bundle_entries,
        .source_member = source_bundle_member,
        .source_announce = source_bundle_announce,
        .source_unlock = source_bundle_unlock,
        .source_forget = source_bundle_forget,
        .fetch_global_init = fetch_global_init,
        .fetch_global_cleanup = fetch_global_cleanup,
        .url_shown = url_shown,
        .pprof_url = pprof_url,
        .pprof_fetch = pprof_fetch,
        .pprof_post = pprof_post,
        .pprof_shell = pprof_shell,
        .goroutines_json = goroutines_json,
    };
    (void)err;
    return &all;
}
