/*
 * The table of commands. The first command of a group has the title of the group in `profgrab help`. The
 * folders capture/, hosts/, bundle/, read/ and pprof/ have the commands; args/, term/ and input/ have the
 * parts that all commands share.
 *
 * read/ has one file for each command that reads profiles, bundles or dumps. Each expands its arguments
 * (cli/input/input.h), parses untrusted input in a child process or within a budget (base/confined.h), and
 * prints the result or writes a page.
 */
#include "cli/args/command.h"
#include "base/banned.h"

const struct command_row command_table[] = {
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
    {NULL, NULL},
};
