#include <stdio.h>
#include <string.h>

#include "cli/columns.h"
#include "cli/command.h"
#include "cli/exit.h"
#include "cli/man.h"
#include "fetch/fetch.h"
#include "report/report.h"
#include "base/banned.h"

/* Where the second column begins. */
#define HELP_COLUMN 28
/* ... of what is said of a rule. */
#define TOPIC_COLUMN 10

/* `left`, and beside it what it means; below it where it is too long. */
static void print_row(const char *left, size_t column, const char *help)
{
    size_t taken = 2 + columns_of(left);
    printf("  %s", left);
    if (taken + 1 > column) {
        putchar('\n');
        taken = 0;
    }
    printf("%*s", (int)(column - taken), "");
    columns_wrap(stdout, help, column, column);
}

static void print_options(const struct option *table)
{
    printf("\nOptions:\n");
    for (const struct option *o = table; o->name; o++) {
        char left[64], letter[8] = "    ";
        if (o->letter)
            snprintf(letter, sizeof letter, "-%c, ", o->letter);
        snprintf(left, sizeof left, "%s--%s%s%s", letter, o->name, o->argument ? " " : "",
                 o->argument ? o->argument : "");
        print_row(left, HELP_COLUMN, o->help);
    }
}

static void print_verbs(const struct command *c)
{
    putchar('\n');
    for (const struct verb *v = c->verbs; v->name; v++) {
        char left[64];
        snprintf(left, sizeof left, "%s %s%s%s", c->name, v->name, *v->synopsis ? " " : "", v->synopsis);
        print_row(left, HELP_COLUMN, v->help);
    }
}

static void print_kinds(void)
{
    struct fetch_kind_help k;
    printf("\nKinds:\n");
    for (size_t i = 0; fetch_kind_help(i, &k) == 0; i++) {
        char left[64];
        snprintf(left, sizeof left, "%s%s", k.name, k.argument);
        print_row(left, HELP_COLUMN, k.help);
    }
    print_row("NAME", HELP_COLUMN, "any other profile that the target's index lists");
    print_row("/PATH", HELP_COLUMN, "anything else it serves, such as /debug/vars");
}

static bool is_place(const char *p)
{
    return p[0] == '{' && p[1] && p[2] == '}';
}

/* "    says: TEXT", its further lines below the first. */
static void print_about(const char *what, const char *text)
{
    printf("    %-6s", what);
    columns_wrap(stdout, text, TOPIC_COLUMN, TOPIC_COLUMN);
}

/* A rule's sentence, with dots for what it leaves open. */
static void print_sentence(const char *sentence)
{
    struct buf b = BUF_INIT(4096);
    for (const char *p = sentence; *p; p += is_place(p) ? 3 : 1) {
        if (!is_place(p))
            buf_addc(&b, *p);
        else if (!is_place(p + 3))
            buf_adds(&b, "...");
    }
    print_about("says:", buf_str(&b));
    buf_release(&b);
}

/* One line each of what a rule is: what it says, what it is found by, where that comes from. */
static void print_finding(const struct fetch_rule_help *r)
{
    printf("\n%s\n", r->name);
    print_sentence(r->sentence);
    print_about("by:", r->evidence);
    print_about("see:", r->source);
}

static void print_findings(void)
{
    struct fetch_rule_help r;
    columns_wrap(
        stdout,
        "Findings are what profiles and services show about themselves: sentences in the manifest, in "
        "README.md and on stderr. Each has a rule.",
        0, 0);
    for (size_t i = 0; fetch_rule_help(i, &r) == 0; i++)
        print_finding(&r);
}

static void print_word(const struct words_rule_help *r)
{
    printf("\n%s (%s, %s)\n", r->name, r->of, r->suspect ? "suspect" : "fact");
    print_sentence(r->sentence);
    char percent[16];
    snprintf(percent, sizeof percent, "%g %%", r->percent);
    print_about("by:", r->evidence);
    print_about("from:", r->threshold ? r->threshold : percent);
    print_about("look:", r->look);
    print_about("see:", r->source);
}

static void print_words(void)
{
    struct words_rule_help r;
    columns_wrap(
        stdout,
        "The summary is what an expert would say of the profiles: the first sentences of README.md, of the "
        "page and of the note on an issue, and `summary` in the manifest. Suspects are said from a "
        "threshold on, facts always. Each has a rule.",
        0, 0);
    for (size_t i = 0; words_rule_help(i, &r) == 0; i++)
        print_word(&r);
}

static const struct verb topics[] = {
    {"findings", "", "what profiles and services show about themselves, rule by rule"},
    {"summary", "", "what is said of profiles, rule by rule: from where on, and where to look"},
    {NULL, NULL, NULL},
};
static void (*const print_topic[])(void) = {print_findings, print_words};

static bool print_named_topic(const char *name)
{
    for (size_t i = 0; i < sizeof print_topic / sizeof *print_topic; i++)
        if (strcmp(topics[i].name, name) == 0) {
            print_topic[i]();
            return true;
        }
    return false;
}

static void print_command(const struct command *c)
{
    printf("usage: profgrab %s%s%s\n\n", c->name, *c->synopsis ? " " : "", c->synopsis);
    columns_wrap(stdout, c->summary, 0, 0);
    if (c->details) {
        putchar('\n');
        columns_wrap(stdout, c->details, 0, 0);
    }
    if (c->verbs)
        print_verbs(c);
    if (c->options && c->options->name)
        print_options(c->options);
    if (c->words == WORDS_KINDS)
        print_kinds();
}

static void print_overview(void)
{
    printf("profgrab gets performance profiles out of Go services that can only be reached\n"
           "over SSH.\n\n"
           "usage: profgrab --host NAME [options] [KIND...]\n"
           "       profgrab COMMAND ...\n\n"
           "For example: profgrab --host file-03 cpu heap goroutines\n\nCommands:\n");
    for (size_t i = 0; command_at(i); i++)
        print_row(command_at(i)->name, 14, command_at(i)->summary);
    printf("\n`profgrab help COMMAND` says more; `profgrab help grab` lists options and kinds.\n");
}

static int unknown_command(const char *name, struct err *err)
{
    struct nearest near = NEAREST_INIT(name);
    char names[200];
    for (size_t i = 0; command_at(i); i++)
        nearest_offer(&near, command_at(i)->name);
    for (size_t i = 0; topics[i].name; i++)
        nearest_offer(&near, topics[i].name);
    err_set(err, ERR_USAGE, "unknown command \"%.60s\"", name);
    if (near.n)
        return err_hint(err, "did you mean %s?", nearest_text(&near, names, sizeof names));
    return err_hint(err, "`profgrab help` lists them");
}

static int run(int argc, char **argv, struct err *err)
{
    const struct command *c = argc > 0 ? command_find(argv[0]) : NULL;
    /* For the build: see cli/man.h. */
    if (argc == 1 && strcmp(argv[0], "--man") == 0)
        return man_fill(stdin, stdout, err) < 0 ? exit_status_of(err) : EXIT_OK;
    if (argc == 1 && print_named_topic(argv[0]))
        return EXIT_OK;
    if (argc > 0 && !c) {
        unknown_command(argv[0], err);
        return exit_status_of(err);
    }
    if (argc > 1) {
        err_set(err, ERR_USAGE, "help takes one command, not \"%.60s\" too", argv[1]);
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
    .synopsis = "[COMMAND | TOPIC]",
    .summary = "what there is, more about one command, or about a topic",
    .verbs = topics,
    .words = WORDS_COMMANDS,
    .run = run,
};
