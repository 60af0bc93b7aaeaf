#include "cli/args/command.h"

#include <string.h>

#include "base/banned.h"

static const struct {
    const char *group; /* the title of the group that starts here; else NULL */
    const struct command *command;
} commands[] = {
    {"Collect profiles", &command_grab},
    {NULL, &command_resume},
    {NULL, &command_check},
    {NULL, &command_forward},
    {NULL, &command_hosts},
    {"Keep and hand over bundles", &command_bundle},
    {NULL, &command_attach},
    {"Read profiles", &command_pprof},
    {NULL, &command_goroutines},
    {NULL, &command_diff},
    {NULL, &command_merge},
    {NULL, &command_report},
    {NULL, &command_view},
    {"This program", &command_completion},
    {NULL, &command_version},
    {NULL, &command_help},
};
#define N_COMMANDS (sizeof commands / sizeof *commands)

const struct command *command_at(size_t i)
{
    return i < N_COMMANDS ? commands[i].command : NULL;
}

const char *command_group_at(size_t i)
{
    return i < N_COMMANDS ? commands[i].group : NULL;
}

const struct command *command_find(const char *name)
{
    for (size_t i = 0; i < N_COMMANDS; i++)
        if (strcmp(commands[i].command->name, name) == 0)
            return commands[i].command;
    return NULL;
}
