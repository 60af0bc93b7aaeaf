#include "cli/args/completion.h"
#include "fetch/fetch.h"
#include "base/banned.h"

/* The script also runs in bash 3.2 of macOS: no mapfile, no associative arrays. */
static const char functions[] =
    "# Adds the words that complete the last entry of the comma-separated list CURRENT.\n"
    "_profgrab_add() { # CURRENT WORD...\n"
    "    local head='' word\n"
    "    [[ $1 != *,* ]] || head=${1%,*},\n"
    "    for word in \"${@:2}\"; do\n"
    "        [[ $head$word != \"$1\"* ]] || COMPREPLY+=(\"$head$word\")\n"
    "    done\n"
    "}\n"
    "\n"
    "# Adds names from the inventory of --inventory, or from the default inventory.\n"
    "_profgrab_names() { # OPTION-OF-HOSTS CURRENT\n"
    "    local i inventory=() name names=()\n"
    "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
    "        case ${COMP_WORDS[i]} in\n"
    "        -i | --inventory)\n"
    "            [[ ${COMP_WORDS[i + 1]} != = ]] || ((i++))\n"
    "            inventory=(-i \"${COMP_WORDS[i + 1]/#\\~\\//$HOME/}\")\n"
    "            ;;\n"
    "        esac\n"
    "    done\n"
    "    while IFS= read -r name; do\n"
    "        names+=(\"$name\")\n"
    "    done < <(profgrab hosts \"$1\" ${inventory[@]+\"${inventory[@]}\"} 2>/dev/null)\n"
    "    _profgrab_add \"$2\" ${names[@]+\"${names[@]}\"}\n"
    "}\n"
    "\n"
    "# Adds files. compopt lets readline complete names that compgen cannot, such as those with ~.\n"
    "_profgrab_files() { # CURRENT\n"
    "    local name\n"
    "    while IFS= read -r name; do\n"
    "        COMPREPLY+=(\"$name\")\n"
    "    done < <(compgen -f -- \"$1\")\n"
    "    compopt -o filenames -o default 2>/dev/null\n"
    "}\n"
    "\n"
    "# Completes BUNDLE:MEMBER with the members that `bundle list OPTION...` prints, and other words as "
    "files.\n"
    "# Readline splits words at a colon and replaces only the last part. It does not quote that part, so "
    "members with\n"
    "# characters that the shell would interpret are left out.\n"
    "_profgrab_members() { # CURRENT OPTION...\n"
    "    local word=${COMP_LINE:0:COMP_POINT} bundle='' rest member\n"
    "    word=${word##*[[:blank:]]}\n"
    "    [[ $word != -*=* ]] || word=${word#*=}\n"
    "    rest=$word\n"
    "    while [[ $rest == *:* ]]; do\n"
    "        bundle+=${rest%%:*}\n"
    "        rest=${rest#*:}\n"
    "        if [[ -f ${bundle/#\\~\\//$HOME/} ]]; then\n"
    "            [[ $1 != [:=] ]] || set -- '' \"${@:2}\"\n"
    "            while IFS= read -r member; do\n"
    "                [[ $member == *[^[:alnum:]._/=:,+@%-]* || $bundle:$member != \"$word\"* ]] ||\n"
    "                    COMPREPLY+=(\"$1${member:${#rest}}\")\n"
    "            done < <(profgrab bundle list \"${@:2}\" -- \"${bundle/#\\~\\//$HOME/}\" 2>/dev/null)\n"
    "            return\n"
    "        fi\n"
    "        bundle+=:\n"
    "    done\n"
    "    _profgrab_files \"$1\"\n"
    "}\n"
    "\n"
    "# TYPE is files, kinds, commands, options, verbs, members OPTION..., =WORD..., or the option of "
    "`profgrab "
    "hosts`\n"
    "# that prints the names. Other types complete nothing.\n"
    "_profgrab_complete() { # TYPE CURRENT COMMAND\n"
    "    local words=()\n"
    "    case $1 in\n"
    "    files) _profgrab_files \"$2\" ;;\n"
    "    members*) read -ra words <<<\"$1\" && _profgrab_members \"$2\" \"${words[@]:1}\" && words=() ;;\n"
    "    =*) read -ra words <<<\"${1#=}\" ;;\n"
    "    --*) _profgrab_names \"$1\" \"$2\" ;;\n"
    "    kinds) read -ra words <<<\"$_profgrab_kinds\" ;;\n"
    "    commands) read -ra words <<<\"$_profgrab_commands\" ;;\n"
    "    options) read -ra words <<<\"$(_profgrab_options \"$3\")\" ;;\n"
    "    verbs) read -ra words <<<\"$(_profgrab_verbs \"$3\")\" ;;\n"
    "    esac\n"
    "    [[ ${#words[@]} == 0 ]] || _profgrab_add \"$2\" \"${words[@]}\"\n"
    "}\n"
    "\n"
    "_profgrab() {\n"
    "    local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command=grab value=\n"
    "    COMPREPLY=()\n"
    "    # Readline splits --host=NAME into three words.\n"
    "    if [[ $current == = ]]; then\n"
    "        current=\n"
    "    elif [[ $before == = ]] && ((COMP_CWORD > 2)); then\n"
    "        before=${COMP_WORDS[COMP_CWORD - 2]}\n"
    "    fi\n"
    "    if ((COMP_CWORD > 1)) && [[ \" $_profgrab_commands \" == *\" ${COMP_WORDS[1]} \"* ]]; then\n"
    "        command=${COMP_WORDS[1]}\n"
    "    fi\n"
    "    value=$(_profgrab_value \"$command\" \"$before\")\n"
    "    if [[ -n $value ]]; then\n"
    "        _profgrab_complete \"$value\" \"$current\"\n"
    "    elif [[ $current == -* ]]; then\n"
    "        _profgrab_complete options \"$current\" \"$command\"\n"
    "    elif ((COMP_CWORD == 1)); then\n"
    "        _profgrab_complete commands \"$current\"\n"
    "    elif ((COMP_CWORD == 2)) && [[ -n $(_profgrab_verbs \"$command\") ]]; then\n"
    "        _profgrab_complete verbs \"$current\" \"$command\"\n"
    "        [[ $(_profgrab_words \"$command\") != commands ]] || _profgrab_complete commands \"$current\"\n"
    "    else\n"
    "        _profgrab_complete \"$(_profgrab_words \"$command\")\" \"$current\"\n"
    "    fi\n"
    "}\n"
    "\n"
    "complete -F _profgrab profgrab\n";

static const char *argument_type(const struct command *c)
{
    static const char *const words[] = {
        [ARGUMENTS_NONE] = "",         [ARGUMENTS_KINDS] = "kinds",
        [ARGUMENTS_HOSTS] = "--names", [ARGUMENTS_COMMANDS] = "commands",
        [ARGUMENTS_FILES] = "files",   [ARGUMENTS_PROFILES] = "members",
        [ARGUMENTS_DUMPS] = "members", [ARGUMENTS_PROFILES_AND_DUMPS] = "members"};
    return words[c->words];
}

static void put_options(FILE *out, const struct command *c)
{
    const char *dashes = completion_dashes(c);
    struct option o;
    fprintf(out, "    %s) echo '", c->name);
    for (size_t i = 0; completion_option(c, i, &o); i++)
        fprintf(out, "%s%s ", dashes, o.name);
    fputs("--help' ;;\n", out);
}

static void put_value(FILE *out, const struct command *c, const struct option *o)
{
    enum completion_value value = completion_value(o);
    const char *hosts_option = completion_hosts_option(value);
    if (value == VALUE_NONE)
        return;
    fprintf(out, "    %s:--%s", c->name, o->name);
    if (c->flag_at)
        fprintf(out, " | %s:-%s", c->name, o->name);
    if (o->letter)
        fprintf(out, " | %s:-%c", c->name, o->letter);
    if (value == VALUE_WORDS)
        fprintf(out, ") echo '=%s' ;;\n", completion_words(o));
    else
        fprintf(out, ") echo %s ;;\n",
                hosts_option             ? hosts_option
                : value == VALUE_FILE    ? "files"
                : value == VALUE_PROFILE ? "members --profiles"
                                         : "anything");
}

static void put_values(FILE *out, const struct command *c)
{
    struct option o;
    for (size_t i = 0; completion_option(c, i, &o); i++)
        put_value(out, c, &o);
}

static void put_verbs(FILE *out, const struct command *c)
{
    if (!c->verbs)
        return;
    fprintf(out, "    %s) echo '", c->name);
    for (const struct verb *v = c->verbs; v->name; v++)
        fprintf(out, "%s%s", v == c->verbs ? "" : " ", v->name);
    fputs("' ;;\n", out);
}

static void put_words(FILE *out, const struct command *c)
{
    const char *members = completion_bundle_list_options(c->words);
    if (c->words != ARGUMENTS_NONE)
        fprintf(out, "    %s) echo %s%s%s ;;\n", c->name, argument_type(c), members ? " " : "",
                members ? members : "");
}

/* Writes a shell function with a `case` on `subject`, to which `put` adds the rows of each command. */
static void put_case(FILE *out, const char *name, const char *comment, const char *subject,
                     void (*put)(FILE *out, const struct command *c))
{
    fprintf(out, "%s() { # %s\n    case %s in\n", name, comment, subject);
    for (size_t i = 0; command_at(i); i++)
        put(out, command_at(i));
    fputs("    esac\n}\n\n", out);
}

void completion_bash(FILE *out)
{
    struct fetch_kind_help k;
    fputs("# Completion of profgrab's commands for bash, made by `profgrab completion bash`.\n"
          "# shellcheck shell=bash\n\n_profgrab_commands='",
          out);
    for (size_t i = 0; command_at(i); i++)
        fprintf(out, "%s%s", i ? " " : "", command_at(i)->name);
    fputs("'\n_profgrab_kinds='", out);
    for (size_t i = 0; fetch_kind_help(i, &k) == 0; i++)
        fprintf(out, "%s%s", i ? " " : "", k.name);
    fputs("'\n\n", out);
    put_case(out, "_profgrab_options", "COMMAND", "$1", put_options);
    put_case(out, "_profgrab_value", "COMMAND OPTION: the type of its value; nothing for a flag", "$1:$2",
             put_values);
    put_case(out, "_profgrab_verbs", "COMMAND", "$1", put_verbs);
    put_case(out, "_profgrab_words", "COMMAND: the type of its arguments", "$1", put_words);
    fputs(functions, out);
}
