#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/exit.h"
#include "fetch/fetch.h"
#include "base/banned.h"

static void print_options(const struct option *table)
{
    for (const struct option *o = table; o && o->name; o++) {
        char left[64], letter[8] = "    ";
        if (o->letter)
            snprintf(letter, sizeof letter, "-%c, ", o->letter);
        snprintf(left, sizeof left, "%s--%s%s%s", letter, o->name, o->argument ? " " : "",
                 o->argument ? o->argument : "");
        printf("  %-32s %s\n", left, o->help);
    }
}

static void print_kinds(void)
{
    struct fetch_kind_help k;
    printf("\nKinds:\n");
    for (size_t i = 0; fetch_kind_help(i, &k) == 0; i++) {
        char left[64];
        snprintf(left, sizeof left, "%s%s", k.name, k.argument);
        printf("  %-32s %s\n", left, k.help);
    }
    printf("  %-32s %s\n", "NAME", "any other profile that the target's index lists");
    printf("  %-32s %s\n", "/PATH", "anything else it serves, such as /debug/vars");
}

static void print_command(const struct command *c)
{
    printf("usage: profgrab %s %s\n\n%s\n", c->name, c->synopsis, c->summary);
    if (c->details)
        printf("\n%s\n", c->details);
    if (c->options && c->options->name)
        printf("\nOptions:\n");
    print_options(c->options);
    if (c == &command_grab)
        print_kinds();
}

static void print_overview(void)
{
    printf("profgrab gets performance profiles out of Go services that can only be reached over SSH.\n\n"
           "usage: profgrab --host NAME [options] [KIND...]      e.g. profgrab --host file-03 cpu heap "
           "goroutines\n"
           "       profgrab COMMAND ...\n\nCommands:\n");
    for (size_t i = 0; command_at(i); i++)
        printf("  %-10s %s\n", command_at(i)->name, command_at(i)->summary);
    printf("\n`profgrab help COMMAND` says more; `profgrab help grab` lists options and kinds.\n");
}

static int run(int argc, char **argv, struct err *err)
{
    const struct command *c = argc > 0 ? command_find(argv[0]) : NULL;
    if (argc > 0 && !c) {
        struct nearest near = NEAREST_INIT(argv[0]);
        char names[200];
        for (size_t i = 0; command_at(i); i++)
            nearest_offer(&near, command_at(i)->name);
        err_set(err, ERR_USAGE, "unknown command \"%.60s\"", argv[0]);
        if (near.n)
            err_hint(err, "did you mean %s?", nearest_text(&near, names, sizeof names));
        return exit_status_of(err);
    }
    if (c)
        print_command(c);
    else
        print_overview();
    return EXIT_OK;
}

const struct command command_help = {
    .name = "help",
    .synopsis = "[COMMAND]",
    .summary = "what there is, or more about one command",
    .run = run,
};
