#include "cli/args/completion.h"

#include <string.h>

#include "base/banned.h"

const char *completion_words(const struct option *o)
{
    static const struct {
        const char *option, *words;
    } rows[] = {{"scheme", "http https"},
                {"via", "auto libssh2 openssh"},
                {"compress", "auto yes no"},
                {"symbolize", "none local fastlocal remote force"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].option, o->name) == 0)
            return rows[i].words;
    return NULL;
}

enum completion_value completion_value(const struct option *o)
{
    static const struct {
        const char *option, *argument; /* NULL: any */
        enum completion_value value;
    } rows[] = {
        {"host", NULL, VALUE_HOSTS},    {"group", NULL, VALUE_GROUPS},
        {"exclude", NULL, VALUE_HOSTS}, {"against", NULL, VALUE_HOSTS},
        {"label", NULL, VALUE_LABELS},  {"service", NULL, VALUE_SERVICES},
        {"for", NULL, VALUE_TEAMS},     {"path", NULL, VALUE_ANY},
        {"unix", NULL, VALUE_ANY}, /* a path on the remote host */
        {"base", NULL, VALUE_PROFILE},  {"diff_base", NULL, VALUE_PROFILE},
        {NULL, "FILE", VALUE_FILE},     {NULL, "PATH", VALUE_FILE},
        {NULL, "DIR", VALUE_FILE},      {"encrypt-to", NULL, VALUE_FILE},
    };
    if (!o->argument || o->type == OPTION_TEXT_OPTIONAL)
        return VALUE_NONE;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if ((!rows[i].option || strcmp(rows[i].option, o->name) == 0) &&
            (!rows[i].argument || strcmp(rows[i].argument, o->argument) == 0))
            return rows[i].value;
    return completion_words(o) ? VALUE_WORDS : VALUE_ANY;
}

bool completion_option(const struct command *c, size_t i, struct option *ret)
{
    if (c->flag_at)
        return c->flag_at(i, ret);
    if (!c->options)
        return false;
    *ret = c->options[i];
    return ret->name != NULL;
}

const char *completion_dashes(const struct command *c)
{
    return c->flag_at ? "-" : "--";
}

const char *completion_hosts_option(enum completion_value value)
{
    switch (value) {
    case VALUE_HOSTS:
        return "--names";
    case VALUE_GROUPS:
        return "--groups";
    case VALUE_SERVICES:
        return "--services";
    case VALUE_TEAMS:
        return "--teams";
    case VALUE_LABELS:
        return "--labels";
    case VALUE_NONE:
    case VALUE_ANY:
    case VALUE_FILE:
    case VALUE_PROFILE:
    case VALUE_WORDS:
        break;
    }
    return NULL;
}

const char *completion_bundle_list_options(enum command_arguments words)
{
    return words == ARGUMENTS_PROFILES             ? "--profiles"
           : words == ARGUMENTS_DUMPS              ? "--dumps"
           : words == ARGUMENTS_PROFILES_AND_DUMPS ? "--profiles --dumps"
                                                   : NULL;
}
