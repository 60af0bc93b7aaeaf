#include "cli/args/completion.h"

#include <string.h>

#include "fetch/fetch.h"
#include "base/banned.h"

static const char head[] =
    "#compdef profgrab\n"
    "# Completion of profgrab's commands for zsh, made by `profgrab completion zsh`.\n"
    "\n"
    "# Completes the last entry of a comma-separated list with names from the inventory of --inventory, or "
    "from the\n"
    "# default inventory. OPTION of `profgrab hosts` selects the type of the names.\n"
    "_profgrab_names() { # OPTION\n"
    "    local -a inventory names\n"
    "    local i=${words[(I)(-i|--inventory)]}\n"
    "    if ((i)); then\n"
    "        inventory=(-i ${~${(Q)words[i + 1]}})\n"
    "    elif i=${words[(I)--inventory=*]} && ((i)); then\n"
    "        inventory=(-i ${(Q)${words[i]#--inventory=}})\n"
    "    fi\n"
    "    names=(${(f)\"$(profgrab hosts $1 $inventory 2>/dev/null)\"})\n"
    "    compset -P '*,'\n"
    "    compadd -a names\n"
    "}\n"
    "\n"
    "# Completes BUNDLE:MEMBER with the members that `bundle list OPTION...` prints, and other words as "
    "files.\n"
    "_profgrab_members() { # OPTION...\n"
    "    local -a members\n"
    "    local bundle= rest=${(Q)PREFIX}\n"
    "    local -i colons=0\n"
    "    while [[ $rest == *:* ]]; do\n"
    "        bundle+=${rest%%:*}\n"
    "        rest=${rest#*:}\n"
    "        ((++colons))\n"
    "        if [[ -f ${bundle/#\\~\\//$HOME/} ]]; then\n"
    "            members=(${(f)\"$(profgrab bundle list $@ -- "
    "${bundle/#\\~\\//$HOME/} 2>/dev/null)\"})\n"
    "            compset -P $colons '*:'\n"
    "            compadd -a members\n"
    "            return\n"
    "        fi\n"
    "        bundle+=:\n"
    "    done\n"
    "    _files\n"
    "}\n"
    "\n";

static const char tail[] = "_profgrab() {\n"
                           "    local command=grab\n"
                           "    if ((CURRENT == 2)) && [[ $words[2] != -* ]]; then\n"
                           "        _profgrab_commands\n"
                           "        return\n"
                           "    fi\n"
                           "    if (($+functions[_profgrab_command_$words[2]])); then\n"
                           "        command=$words[2]\n"
                           "        shift words\n"
                           "        ((CURRENT--))\n"
                           "    fi\n"
                           "    _profgrab_command_$command\n"
                           "}\n"
                           "\n"
                           "if [[ $funcstack[1] == _profgrab ]]; then\n"
                           "    _profgrab \"$@\"\n"
                           "else\n"
                           "    compdef _profgrab profgrab\n"
                           "fi\n";

/* Writes text for use inside single quotes. Puts a backslash before the characters of `escaped`, which would
 * end a name or description. */
static void put_quoted(FILE *out, const char *text, const char *escaped)
{
    for (; *text; text++) {
        if (*text == '\'')
            fputs("'\\''", out);
        else if (*text == '\\' || strchr(escaped, *text))
            fprintf(out, "\\%c", *text);
        else
            fputc(*text, out);
    }
}

/* Writes `name:help` for _describe. */
static void put_described(FILE *out, const char *name, const char *help)
{
    fputs("        '", out);
    put_quoted(out, name, ":");
    fputc(':', out);
    put_quoted(out, help, "");
    fputs("'\n", out);
}

/* Writes a function that completes the rows which `put` writes. `title` describes them for zsh. */
static void put_list(FILE *out, const char *function, const char *title, void (*put)(FILE *out))
{
    fprintf(out, "%s() {\n    local -a rows=(\n", function);
    put(out);
    fprintf(out, "    )\n    _describe %s rows\n}\n\n", title);
}

static void put_all_commands(FILE *out)
{
    for (size_t i = 0; command_at(i); i++)
        put_described(out, command_at(i)->name, command_at(i)->summary);
}

static void put_all_kinds(FILE *out)
{
    struct fetch_kind_help k;
    for (size_t i = 0; fetch_kind_help(i, &k) == 0; i++)
        put_described(out, k.name, k.help);
}

static void put_verbs(FILE *out, const struct command *c)
{
    fprintf(out, "_profgrab_verbs_%s() {\n    local -a rows=(\n", c->name);
    for (const struct verb *v = c->verbs; v->name; v++)
        put_described(out, v->name, v->help);
    fputs("    )\n    _describe verb rows\n", out);
    if (c->words == ARGUMENTS_COMMANDS)
        fputs("    _profgrab_commands\n", out);
    fputs("}\n\n", out);
}

/* Writes one form of an option for _arguments: `(other forms)--name=[help]:argument:action`. */
static void put_option(FILE *out, const char *dashes, const struct option *o, bool is_long)
{
    enum completion_value value = completion_value(o);
    fputs(" \\\n        '", out);
    if (o->type == OPTION_LIST)
        fputc('*', out);
    else if (o->letter)
        fprintf(out, "(-%c --%s)", o->letter, o->name);
    if (is_long)
        fprintf(out, "%s%s%s[", dashes, o->name, value != VALUE_NONE ? "=" : "");
    else
        fprintf(out, "-%c%s[", o->letter, value != VALUE_NONE ? "+" : "");
    put_quoted(out, o->help, "[]:");
    fputc(']', out);
    if (value != VALUE_NONE) {
        fputc(':', out);
        put_quoted(out, o->argument, ":");
        fputc(':', out);
    }
    if (value == VALUE_FILE)
        fputs("_files", out);
    else if (value == VALUE_PROFILE)
        fputs(" _profgrab_members --profiles", out);
    else if (completion_hosts_option(value))
        fprintf(out, " _profgrab_names %s", completion_hosts_option(value));
    else if (value == VALUE_WORDS)
        fprintf(out, "(%s)", completion_words(o));
    else if (value == VALUE_ANY)
        fputc(' ', out);
    fputc('\'', out);
}

static void put_command(FILE *out, const struct command *c)
{
    static const char *const words[] = {[ARGUMENTS_NONE] = "",
                                        [ARGUMENTS_KINDS] = "*:kind:_profgrab_kinds",
                                        [ARGUMENTS_HOSTS] = "*:host: _profgrab_names --names",
                                        [ARGUMENTS_COMMANDS] = "*:command:_profgrab_commands",
                                        [ARGUMENTS_FILES] = "*:file:_files",
                                        [ARGUMENTS_PROFILES] = "*:profile: _profgrab_members ",
                                        [ARGUMENTS_DUMPS] = "*:dump: _profgrab_members ",
                                        [ARGUMENTS_PROFILES_AND_DUMPS] = "*:file: _profgrab_members "};
    const char *dashes = completion_dashes(c), *members = completion_bundle_list_options(c->words);
    if (c->verbs)
        put_verbs(out, c);
    /* -s: letters may be combined after one dash. */
    fprintf(out, "_profgrab_command_%s() {\n    _arguments%s -S :", c->name, c->flag_at ? "" : " -s");
    struct option o;
    for (size_t i = 0; completion_option(c, i, &o); i++) {
        if (o.letter)
            put_option(out, dashes, &o, false);
        put_option(out, dashes, &o, true);
    }
    fputs(" \\\n        '(-)--help[print the help]'", out);
    if (c->verbs)
        fprintf(out, " \\\n        '1:verb:_profgrab_verbs_%s'", c->name);
    if (c->words != ARGUMENTS_NONE)
        fprintf(out, " \\\n        '%s%s'", words[c->words], members ? members : "");
    fputs("\n}\n\n", out);
}

void completion_zsh(FILE *out)
{
    fputs(head, out);
    put_list(out, "_profgrab_commands", "command", put_all_commands);
    put_list(out, "_profgrab_kinds", "kind", put_all_kinds);
    for (size_t i = 0; command_at(i); i++)
        put_command(out, command_at(i));
    fputs(tail, out);
}
