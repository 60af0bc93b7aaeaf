/* The interactive shell of pprof: reads lines, sets options, makes reports. */
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "cli/pprof/shell.h"
#include "cli/term/signals.h"
#include "cli/term/standard_streams.h"
#include "base/banned.h"

#define LINE_SIZE_MAX ((size_t)1 << 20)
#define TEXT_SIZE_MAX ((size_t)64 << 20)

struct shell {
    struct pprof_options options; /* the current values */
    struct profile *profile;
    struct pprof_session session;
    struct shell_input input;
    bool ended;
};

/* ---- messages ------------------------------------------------------------------------------------------ */

/* Prints text on stderr. On a terminal, replaces unprintable bytes. */
static void print_text(const char *text)
{
    struct buf line = BUF_INIT(TEXT_SIZE_MAX);
    bool on_terminal = isatty(STDERR_FILENO);
    for (const char *at = text; *at;) {
        size_t n = strcspn(at, "\n");
        buf_clear(&line);
        buf_add(&line, at, n);
        if (on_terminal)
            pprof_make_printable(&line);
        buf_addc(&line, '\n');
        standard_stream_write(STDERR_FILENO, buf_str(&line), line.len, NULL);
        at += n + (at[n] == '\n');
    }
    buf_release(&line);
}

static int collect_text(void *ctx, const void *p, size_t n, struct err *err)
{
    (void)err;
    buf_add(ctx, p, n);
    return 0;
}

static void print_line(void *ctx, const char *line)
{
    (void)ctx;
    pprof_print("%s", line);
}

/* Prints the heading of the profile and of the shell. */
static void print_heading(struct shell *sh)
{
    struct buf text = BUF_INIT(TEXT_SIZE_MAX);
    struct report_callbacks callbacks = {.sink = collect_text, .say = print_line, .ctx = &text};
    struct err err = ERR_INIT;
    bool empty = false;
    if (report_heading(sh->profile, &sh->options.report, &callbacks, &empty, &err) == 0) {
        print_text(text.len ? buf_str(&text) : "\n");
        if (empty && sh->profile->n_sample_types > 1)
            print_text("No samples were found with the default sample value type.\n"
                       "Try \"sample_index\" command to analyze different sample values.\n");
    }
    print_text("Entering interactive mode (type \"help\" for commands, \"o\" for options)\n");
    buf_release(&text);
}

/* ---- a line -------------------------------------------------------------------------------------------- */

static int make_report(struct shell *sh, struct str line, struct err *err)
{
    struct shell_command command;
    struct pprof_options options = sh->options;
    int rc = shell_command_parse(line, &command, err);
    if (rc == 0) {
        shell_command_apply(&command, &options);
        rc = pprof_write_shell_report(&options, sh->profile, &sh->session, err);
    }
    shell_command_release(&command);
    return rc;
}

/* Prints the help for the name in the line; if `is_list`, prints the options and their values instead. */
static int show_help(struct shell *sh, struct str line, bool is_list, struct err *err)
{
    struct buf text = BUF_INIT(TEXT_SIZE_MAX);
    int rc = 0;
    if (is_list)
        shell_list_options(&sh->options, sh->profile, &text);
    else
        rc = shell_help(str_trim(line), sh->profile, &text, err);
    if (rc == 0)
        rc = buf_check(&text, "the help", err);
    if (rc == 0)
        print_text(buf_str(&text));
    buf_release(&text);
    return rc;
}

static int execute_line(struct shell *sh, struct str line, struct err *err)
{
    bool is_assignment = false;
    int rc = shell_assign(&sh->options, sh->profile, line, &is_assignment, err);
    struct str rest = line, word = str_next_word(&rest);
    if (is_assignment || word.n == 0)
        return rc;
    if (str_is(word, "o") || str_is(word, "options"))
        return show_help(sh, rest, true, err);
    if (str_is(word, "help"))
        return show_help(sh, rest, false, err);
    if (str_is(word, "exit") || str_is(word, "quit") || str_is(word, "q")) {
        sh->ended = true;
        return 0;
    }
    return make_report(sh, line, err);
}

/* Executes a line and prints its error. Sets err and returns -1 only for an error that ends the shell. */
static int execute_and_print_error(struct shell *sh, const char *line, struct err *err)
{
    struct err why = ERR_INIT;
    if (execute_line(sh, str_trim(str_of(line)), &why) == 0)
        return 0;
    bool ends_shell = why.kind == ERR_CANCELLED && (!sh->input.editor || fd_cancelled(sh->session.cancel_fd));
    if (ends_shell)
        *err = why;
    else
        pprof_print_error(&why);
    return ends_shell ? -1 : 0;
}

/* ---- shortcuts ----------------------------------------------------------------------------------------- */

/* Returns whether a line is the prefix and the name of a sample type, as in inuse_space, total_delay,
 * mean_cpu. Sets *ret to the name. */
static bool match_sample_type(const struct shell *sh, const char *prefix, struct str line, struct str *ret)
{
    size_t n = strlen(prefix);
    for (size_t i = 0; str_begins(line, prefix) && i < sh->profile->n_sample_types; i++) {
        *ret = profile_str(sh->profile, sh->profile->sample_types[i].type);
        if (str_equal(*ret, (struct str){line.p + n, line.n - n}))
            return true;
    }
    return false;
}

/* Executes the assignment `first`, if it is not empty, and then selects the sample type. */
static int set_sample_index(struct shell *sh, const char *first, struct str type, struct err *err)
{
    struct buf line = BUF_INIT(LINE_SIZE_MAX);
    int rc = *first ? execute_and_print_error(sh, first, err) : 0;
    buf_adds(&line, "sample_index=");
    buf_add(&line, type.p, type.n);
    if (rc == 0)
        rc = execute_and_print_error(sh, buf_str(&line), err);
    buf_release(&line);
    return rc;
}

/* Executes a line, which may be a shortcut: the name of a sample type, or `:` to clear the filters. */
static int execute_line_or_shortcut(struct shell *sh, const char *line, struct err *err)
{
    static const char *const cleared[] = {"focus=", "ignore=", "hide=", "tagfocus=", "tagignore="};
    struct str trimmed = str_trim(str_of(line)), type;
    if (match_sample_type(sh, "", trimmed, &type))
        return set_sample_index(sh, "", type, err);
    if (match_sample_type(sh, "total_", trimmed, &type))
        return set_sample_index(sh, "mean=0", type, err);
    if (match_sample_type(sh, "mean_", trimmed, &type))
        return set_sample_index(sh, "mean=1", type, err);
    if (!str_is(trimmed, ":"))
        return execute_and_print_error(sh, line, err);
    for (size_t i = 0; i < sizeof cleared / sizeof *cleared; i++)
        if (execute_and_print_error(sh, cleared[i], err) < 0)
            return -1;
    return 0;
}

/* ---- the shell ----------------------------------------------------------------------------------------- */

static int read_commands(struct shell *sh, struct err *err)
{
    struct buf line = BUF_INIT(LINE_SIZE_MAX);
    int rc = 0;
    while (rc == 0 && !sh->ended) {
        bool end = false;
        rc = shell_input_line(&sh->input, "(pprof) ", &line, &end, err);
        sh->ended = sh->ended || end;
        if (rc == 0 && !end)
            rc = execute_line_or_shortcut(sh, buf_str(&line), err);
    }
    buf_release(&line);
    return rc;
}

int pprof_run_shell(const struct pprof_options *o, struct profile *p, struct err *err)
{
    struct shell sh = {.profile = p};
    int rc = signals_install(err);
    sh.session.cancel_fd = signals_cancel_fd();
    if (rc == 0)
        rc = shell_options_init(&sh.options, o, err);
    if (rc == 0)
        rc = shell_input_init(&sh.input, p, sh.session.cancel_fd, err);
    if (rc == 0) {
        sh.options.report.compact_labels = true;
        print_heading(&sh);
        rc = read_commands(&sh, err);
    }
    shell_input_release(&sh.input);
    pprof_session_end(&sh.session);
    shell_options_release(&sh.options);
    profile_free(p);
    return rc;
}
