#include "cli/args/command.h"

#include <string.h>

#include "base/banned.h"

const struct command *command_at(size_t i)
{
    return command_table[i].command;
}

const char *command_group_at(size_t i)
{
    return command_table[i].group;
}

const struct command *command_find(const char *name)
{
    for (size_t i = 0; command_at(i); i++)
        if (strcmp(command_at(i)->name, name) == 0)
            return command_at(i);
    return NULL;
}
