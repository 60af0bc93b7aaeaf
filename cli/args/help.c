#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/term/columns.h"
#include "cli/args/command.h"
#include "cli/term/exit.h"
#include "cli/args/man.h"
#include "cli/args/manual.h"
#include "fetch/fetch.h"
#include "findings/findings.h"
#include "base/banned.h"

/* The column at which the help of an option, a kind or a verb starts. */
#define HELP_COLUMN 28
/* The column at which the texts of a rule start. */
#define RULE_COLUMN 15
#define PLACEHOLDERS_TEXT                                                                                    \
    "Words in braces stand for figures, names and clauses; those that begin with a space, a comma or a "     \
    "semicolon may be missing."

/* Prints `left`, then `help` from `column` on. If `left` is too long, `help` begins on the next line. */
static void print_row(const char *left, size_t column, const char *help)
{
    size_t used = 2 + columns_width(left);
    printf("  %s", left);
    if (used + 1 > column) {
        putchar('\n');
        used = 0;
    }
    printf("%*s", (int)(column - used), "");
    columns_print_folded(stdout, help, column, column);
}

static void print_option(const struct option *o)
{
    char left[64], letter[8] = "    ";
    if (o->letter)
        snprintf(letter, sizeof letter, "-%c, ", o->letter);
    const char *argument = o->argument ? o->argument : "";
    snprintf(left, sizeof left,
             o->type == OPTION_TEXT_OPTIONAL ? "%s--%s[=%s]"
             : *argument                     ? "%s--%s %s"
                                             : "%s--%s%s",
             letter, o->name, argument);
    print_row(left, HELP_COLUMN, o->help);
}

/* Prints only the names of options that another command's help describes. */
static void print_option_names(const struct option *from, const struct option *to)
{
    struct buf names = BUF_INIT(4096);
    for (const struct option *o = from; o < to; o++)
        buf_addf(&names, "%s--%s", o == from ? "" : ", ", o->name);
    printf("  ");
    columns_print_folded(stdout, buf_str(&names), 2, 2);
    buf_release(&names);
}

/* Returns the end of the group that starts at `o`: the first option of the next group. */
static const struct option *find_group_end(const struct option *o, const struct option_group *next)
{
    while (o->name && !(next->title && strcmp(o->name, next->first) == 0))
        o++;
    return o;
}

static void print_options(const struct command *c)
{
    static const struct option_group single[] = {{"Options", NULL, NULL}, {NULL, NULL, NULL}};
    const struct option *o = c->options;
    for (const struct option_group *g = c->groups ? c->groups : single; g->title; g++) {
        const struct option *end = find_group_end(o, g + 1);
        if (g->described_by)
            printf("\n%s, described by `profgrab help %s`:\n", g->title, g->described_by);
        else
            printf("\n%s:\n", g->title);
        if (g->described_by)
            print_option_names(o, end);
        for (; !g->described_by && o < end; o++)
            print_option(o);
        o = end;
    }
}

static void print_examples(const struct example *e)
{
    printf("\nExamples:\n");
    for (; e->line; e++) {
        printf("  %s\n      ", e->line);
        columns_print_folded(stdout, e->effect, 6, 6);
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
    print_row("NAME", HELP_COLUMN, "any other profile of the target's index page");
    print_row("/PATH", HELP_COLUMN, "any other path of the service, such as /debug/vars");
}

/* Prints "    LABEL TEXT", with further lines indented. */
static void print_labelled(const char *label, const char *text)
{
    printf("    %-*s", RULE_COLUMN - 4, label);
    columns_print_folded(stdout, text, RULE_COLUMN, RULE_COLUMN);
}

/* Prints the rule of one finding. A rule on bodies has no threshold, and no function to look at. */
static void print_rule(const struct finding_rule *r)
{
    char percent[16], *sentence = finding_rule_describe(r);
    snprintf(percent, sizeof percent, "%g %%", r->percent);
    printf("\n%s", r->id);
    if (r->topic != FINDING_TOPIC_BODY)
        printf(" (%s, %s)", finding_topic_name(r->topic),
               r->severity == FINDING_SUSPECT ? "suspect" : "fact");
    printf("\n");
    print_labelled("says:", sentence ? sentence : "");
    free(sentence);
    print_labelled("evidence:", r->evidence);
    if (r->threshold || r->percent > 0)
        print_labelled("threshold:", r->threshold ? r->threshold : percent);
    if (r->look)
        print_labelled("look at:", r->look);
    print_labelled("source:", r->source);
}

static void print_findings(void)
{
    const struct finding_rule *r;
    columns_print_folded(
        stdout,
        "A finding is a sentence on a body or a service, in the manifest, in README.md and on "
        "stderr. Each finding has a rule. " PLACEHOLDERS_TEXT,
        0, 0);
    for (size_t i = 0; (r = fetch_rule(i)); i++)
        print_rule(r);
}

static void print_summary(void)
{
    const struct finding_rule *r;
    columns_print_folded(
        stdout,
        "The summary has the findings on the profiles. README.md, the page and the note on an issue begin "
        "with it; the manifest has it as `summary`. A suspect is in the "
        "summary only from its threshold on, a fact always. Each finding has a rule. " PLACEHOLDERS_TEXT,
        0, 0);
    for (size_t i = 0; (r = findings_rule(i)); i++)
        print_rule(r);
}

static const struct verb topics[] = {
    {"inventory", "", "the inventory file: services, hosts, groups, teams and discovery"},
    {"kinds", "", "the kinds of profile and their order"},
    {"formats", "", "the contents of bundles, encrypted files and work directories"},
    {"exit-codes", "", "the meaning of the exit codes"},
    {"findings", "", "the findings on each profile and service"},
    {"summary", "", "the findings of the summary, with thresholds and places to look"},
    {NULL, NULL, NULL},
};
/* For each of `topics`, the function or the manual page that explains it. */
static const struct {
    void (*print)(void);
    const char *page;
    const char *alias; /* a second name; NULL: none */
} topic_texts[] = {
    {NULL, "profgrab-inventory", NULL},
    {NULL, "profgrab-kinds", NULL},
    {NULL, "profgrab-formats", "bundle-formats"},
    {NULL, "profgrab-exit-codes", NULL},
    {print_findings, NULL, NULL},
    {print_summary, NULL, NULL},
};

/* Joins the words with dashes: `help exit codes` is `help exit-codes`. */
static void join_words(int argc, char **argv, struct buf *ret)
{
    for (int i = 0; i < argc; i++)
        buf_addf(ret, "%s%s", i ? "-" : "", argv[i]);
}

/* Prints the topic of that name. Returns 1, or 0 if there is no such topic, or -1 on an error. */
static int print_named_topic(const char *name, struct err *err)
{
    for (size_t i = 0; i < sizeof topic_texts / sizeof *topic_texts; i++) {
        bool is_alias = topic_texts[i].alias && strcmp(topic_texts[i].alias, name) == 0;
        if (strcmp(topics[i].name, name) != 0 && !is_alias)
            continue;
        if (topic_texts[i].page)
            return manual_print(topic_texts[i].page, stdout, err) < 0 ? -1 : 1;
        topic_texts[i].print();
        return 1;
    }
    return 0;
}

static void print_usage(const char *name, const char *synopsis)
{
    struct buf line = BUF_INIT(1000);
    buf_addf(&line, "profgrab %s%s%s", name, *synopsis ? " " : "", synopsis);
    printf("usage: ");
    columns_print_folded(stdout, buf_str(&line), 7, 11);
    buf_release(&line);
}

static void print_command(const struct command *c)
{
    print_usage(c->name, c->synopsis);
    putchar('\n');
    columns_print_folded(stdout, c->summary, 0, 0);
    if (c->examples)
        print_examples(c->examples);
    if (c->details) {
        putchar('\n');
        columns_print_folded(stdout, c->details, 0, 0);
    }
    if (c->verbs)
        print_verbs(c);
    if (c->words == ARGUMENTS_KINDS)
        print_kinds();
    if (c->options && c->options->name)
        print_options(c);
}

/* Returns the verb of that name, or NULL. */
static const struct verb *find_verb(const struct command *c, const char *name)
{
    for (const struct verb *v = c->verbs; v && v->name; v++)
        if (strcmp(v->name, name) == 0)
            return v;
    return NULL;
}

/* Returns whether the option's help starts with a list of verbs (`list, verify: as JSON`) without this verb.
 */
static bool is_of_other_verb(const struct command *c, const struct option *o, const struct verb *verb)
{
    char first[32], listed[40], last[40];
    snprintf(first, sizeof first, "%.*s", (int)strcspn(o->help, ",: "), o->help);
    snprintf(listed, sizeof listed, "%s,", verb->name);
    snprintf(last, sizeof last, "%s:", verb->name);
    return find_verb(c, first) && !strstr(o->help, listed) && !strstr(o->help, last);
}

static void print_verb(const struct command *c, const struct verb *v)
{
    bool has_title = false;
    printf("usage: profgrab %s %s%s%s\n\n", c->name, v->name, *v->synopsis ? " [options] " : "", v->synopsis);
    columns_print_folded(stdout, v->help, 0, 0);
    for (const struct option *o = c->options; o && o->name; o++) {
        if (is_of_other_verb(c, o, v))
            continue;
        if (!has_title)
            printf("\nOptions:\n");
        has_title = true;
        print_option(o);
    }
}

static void print_overview(void)
{
    columns_print_folded(
        stdout, "profgrab fetches performance profiles from Go services that are reachable only over SSH.", 0,
        0);
    printf("\nusage: profgrab --host NAME [options] [KIND...]\n"
           "       profgrab COMMAND ...\n\n"
           "For example: profgrab --host file-03 cpu heap goroutines\n");
    for (size_t i = 0; command_at(i); i++) {
        if (command_group_at(i))
            printf("\n%s:\n", command_group_at(i));
        print_row(command_at(i)->name, 14, command_at(i)->summary);
    }
    printf("\nTopics:\n");
    for (const struct verb *t = topics; t->name; t++)
        print_row(t->name, 14, t->help);
    printf("\n`profgrab help NAME` explains a command or a topic.\n");
}

static int refuse_command(const char *name, struct err *err)
{
    struct nearest near = NEAREST_INIT(name);
    char names[200];
    for (size_t i = 0; command_at(i); i++)
        nearest_add(&near, command_at(i)->name);
    for (size_t i = 0; topics[i].name; i++)
        nearest_add(&near, topics[i].name);
    err_set(err, ERR_USAGE, "unknown command \"%.60s\"", name);
    if (fetch_is_known_word(name))
        return err_hint(err, "it is a kind: `profgrab help kinds` lists them");
    if (near.n)
        return err_hint(err, "did you mean %s?", nearest_text(&near, names, sizeof names));
    return err_hint(err, "`profgrab help` lists them");
}

static int refuse_verb(const struct command *c, const char *name, struct err *err)
{
    struct nearest near = NEAREST_INIT(name);
    char names[200];
    for (const struct verb *v = c->verbs; v->name; v++)
        nearest_add(&near, v->name);
    err_set(err, ERR_USAGE, "%s: unknown verb \"%.60s\"", c->name, name);
    if (near.n)
        return err_hint(err, "did you mean %s?", nearest_text(&near, names, sizeof names));
    return err_hint(err, "`profgrab help %s` lists them", c->name);
}

static int print_help(int argc, char **argv, struct err *err)
{
    const struct command *c = argc > 0 ? command_find(argv[0]) : NULL;
    struct buf topic = BUF_INIT(200);
    join_words(argc, argv, &topic);
    int shown = print_named_topic(buf_str(&topic), err);
    buf_release(&topic);
    if (shown != 0)
        return shown < 0 ? -1 : 0;
    if (argc > 0 && !c)
        return refuse_command(argv[0], err);
    if (argc == 2 && c->verbs) {
        const struct verb *v = find_verb(c, argv[1]);
        if (!v)
            return refuse_verb(c, argv[1], err);
        print_verb(c, v);
        return 0;
    }
    if (argc > 1)
        return err_set(err, ERR_USAGE, "help takes one command: \"%.60s\" is one too many", argv[1]);
    if (c)
        print_command(c);
    else
        print_overview();
    return 0;
}

static int run_help(int argc, char **argv, struct err *err)
{
    /* The build uses --man: see cli/args/man.h. */
    bool is_build = argc == 1 && strcmp(argv[0], "--man") == 0;
    int rc = is_build ? man_fill(stdin, stdout, err) : print_help(argc, argv, err);
    return rc < 0 ? exit_status_of(err) : EXIT_OK;
}

const struct command command_help = {
    .name = "help",
    .synopsis = "[COMMAND [VERB] | TOPIC]",
    .summary = "list the commands, explain a command or a topic",
    .verbs = topics,
    .words = ARGUMENTS_COMMANDS,
    .run = run_help,
};
