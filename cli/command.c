#include "cli/command.h"

#include <string.h>

#include "base/banned.h"

static const struct command *const commands[] = {
    &command_grab,       &command_resume,     &command_check,   &command_forward,
    &command_hosts,      &command_bundle,     &command_attach,  &command_pprof,
    &command_goroutines, &command_diff,       &command_merge,   &command_report,
    &command_view,       &command_completion, &command_version, &command_help};

const struct command *command_at(size_t i)
{
    return i < sizeof commands / sizeof *commands ? commands[i] : NULL;
}

const struct command *command_find(const char *name)
{
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}
