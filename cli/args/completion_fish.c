#include "cli/args/completion.h"

#include "fetch/fetch.h"
#include "base/banned.h"

static const char head[] =
    "# Completion of profgrab's commands for fish, made by `profgrab completion fish`.\n"
    "\n"
    "# Prints the command on the command line, or grab if there is none.\n"
    "function __profgrab_command\n"
    "    set -l words (commandline -opc)\n"
    "    if set -q words[2]; and contains -- $words[2] $__profgrab_commands\n"
    "        echo $words[2]\n"
    "    else\n"
    "        echo grab\n"
    "    end\n"
    "end\n"
    "\n"
    "# Prints names from the inventory of --inventory, or from the default inventory. If the word is a\n"
    "# comma-separated list (a,b,c), prints each name after the earlier entries (a,b,NAME).\n"
    "function __profgrab_names # OPTION, the option of `profgrab hosts` that selects the type of name\n"
    "    set -l words (commandline -opc)\n"
    "    set -l inventory\n"
    "    for i in (seq (count $words))\n"
    "        if contains -- $words[$i] -i --inventory; and set -q words[(math $i + 1)]\n"
    "            set inventory -i $words[(math $i + 1)]\n"
    "        else if string match -q -- '--inventory=*' $words[$i]\n"
    "            set inventory -i (string replace -- --inventory= '' $words[$i])\n"
    "        end\n"
    "    end\n"
    "    set -l before (string match -r -- '.*,' (string replace -r -- '^--[a-z-]+=' '' (commandline -ct)))\n"
    "    for name in (profgrab hosts $argv $inventory 2>/dev/null)\n"
    "        echo \"$before$name\"\n"
    "    end\n"
    "end\n"
    "\n"
    "# Prints the BUNDLE of BUNDLE:MEMBER; fails if BUNDLE is not a file.\n"
    "function __profgrab_bundle\n"
    "    set -l word (commandline -ct)\n"
    "    set -l pieces (string split -- : (string replace -r -- '^--?[a-z_]+=' '' \"$word\"))\n"
    "    set -l bundle\n"
    "    while set -q pieces[2]\n"
    "        set bundle (string join -- : $bundle $pieces[1])\n"
    "        set -e pieces[1]\n"
    "        if test -f (string replace -r -- '^~(?=/)' $HOME \"$bundle\")\n"
    "            echo $bundle\n"
    "            return\n"
    "        end\n"
    "    end\n"
    "    return 1\n"
    "end\n"
    "\n"
    "# Prints BUNDLE:MEMBER for each member that `bundle list OPTION...` prints.\n"
    "function __profgrab_members # OPTION...\n"
    "    set -l bundle (__profgrab_bundle)\n"
    "    for member in (profgrab bundle list $argv -- (string replace -r -- '^~(?=/)' $HOME $bundle) "
    "2>/dev/null)\n"
    "        echo \"$bundle:$member\"\n"
    "    end\n"
    "end\n"
    "\n"
    "complete -c profgrab -f\n";

static void put_quoted(FILE *out, const char *text)
{
    fputc('\'', out);
    for (; *text; text++) {
        if (*text == '\'' || *text == '\\')
            fputc('\\', out);
        fputc(*text, out);
    }
    fputc('\'', out);
}

/* Writes a line that offers a candidate and its description if `condition` is true. */
static void put_candidate(FILE *out, const char *condition, const char *name, const char *help)
{
    fprintf(out, "complete -c profgrab -n '%s' -a ", condition);
    put_quoted(out, name);
    fputs(" -d ", out);
    put_quoted(out, help);
    fputc('\n', out);
}

/* Adds the arguments of `complete` that offer the option's value. */
static void put_value(FILE *out, const struct option *o)
{
    enum completion_value value = completion_value(o);
    if (value == VALUE_FILE || value == VALUE_PROFILE)
        fputs(" -r -F", out);
    else if (value != VALUE_NONE)
        fputs(" -x", out);
    if (completion_hosts_option(value))
        fprintf(out, " -a '(__profgrab_names %s)'", completion_hosts_option(value));
    else if (value == VALUE_WORDS)
        fprintf(out, " -a '%s'", completion_words(o));
}

/* Begins a `complete` line for an option of the command. `condition` is "" or a further condition, such as
 * IN_BUNDLE. */
static void begin_option_line(FILE *out, const struct command *c, const struct option *o,
                              const char *condition)
{
    /* -o: an option with one dash. */
    fprintf(out, "complete -c profgrab -n 'test (__profgrab_command) = %s%s' -%c %s", c->name, condition,
            c->flag_at ? 'o' : 'l', o->name);
    if (o->letter)
        fprintf(out, " -s %c", o->letter);
}

/* Further conditions of an option or argument. Without them fish would also offer files after the colon of
 * BUNDLE:MEMBER. */
#define IN_BUNDLE "; and __profgrab_bundle"
#define NOT_IN_BUNDLE "; and not __profgrab_bundle"

static void put_option(FILE *out, const struct command *c, const struct option *o)
{
    bool is_profile = completion_value(o) == VALUE_PROFILE;
    if (is_profile) {
        begin_option_line(out, c, o, IN_BUNDLE);
        fputs(" -x -a '(__profgrab_members --profiles)'\n", out);
    }
    begin_option_line(out, c, o, is_profile ? NOT_IN_BUNDLE : "");
    put_value(out, o);
    fputs(" -d ", out);
    put_quoted(out, o->help);
    fputc('\n', out);
}

static void put_words(FILE *out, const struct command *c, const char *condition)
{
    struct fetch_kind_help k;
    switch (c->words) {
    case ARGUMENTS_NONE:
        break;
    case ARGUMENTS_KINDS:
        for (size_t i = 0; fetch_kind_help(i, &k) == 0; i++)
            put_candidate(out, condition, k.name, k.help);
        break;
    case ARGUMENTS_HOSTS:
        fprintf(out, "complete -c profgrab -n '%s' -a '(__profgrab_names --names)'\n", condition);
        break;
    case ARGUMENTS_COMMANDS:
        fprintf(out, "complete -c profgrab -n '%s' -a '$__profgrab_commands'\n", condition);
        break;
    case ARGUMENTS_FILES:
        fprintf(out, "complete -c profgrab -n '%s' -F\n", condition);
        break;
    case ARGUMENTS_PROFILES:
    case ARGUMENTS_DUMPS:
    case ARGUMENTS_PROFILES_AND_DUMPS:
        fprintf(out, "complete -c profgrab -n '%s" NOT_IN_BUNDLE "' -F\n", condition);
        fprintf(out, "complete -c profgrab -n '%s" IN_BUNDLE "' -a '(__profgrab_members %s)'\n", condition,
                completion_bundle_list_options(c->words));
        break;
    }
}

static void put_command(FILE *out, const struct command *c)
{
    char condition[200];
    struct option o;
    for (size_t i = 0; completion_option(c, i, &o); i++)
        put_option(out, c, &o);
    snprintf(condition, sizeof condition,
             "test (__profgrab_command) = %s; and test (count (commandline -opc)) -eq 2", c->name);
    for (const struct verb *v = c->verbs; v && v->name; v++)
        put_candidate(out, condition, v->name, v->help);
    snprintf(condition, sizeof condition,
             "test (__profgrab_command) = %s; and test (count (commandline -opc)) -ge %d", c->name,
             c->verbs && c->words != ARGUMENTS_COMMANDS ? 3 : 2);
    put_words(out, c, condition);
}

void completion_fish(FILE *out)
{
    fputs("set -g __profgrab_commands", out);
    for (size_t i = 0; command_at(i); i++)
        fprintf(out, " %s", command_at(i)->name);
    fputs("\n", out);
    fputs(head, out);
    for (size_t i = 0; command_at(i); i++)
        put_candidate(out, "test (count (commandline -opc)) -eq 1", command_at(i)->name,
                      command_at(i)->summary);
    for (size_t i = 0; command_at(i); i++)
        put_command(out, command_at(i));
    fputs("complete -c profgrab -l help -s h -d 'print the help'\n", out);
}
