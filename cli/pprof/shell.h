/*
 * The parts of pprof's interactive shell: lines, commands, options, help.
 *
 * Source: google/pprof internal/driver/interactive.go, commands.go and config.go, whose commands, options and
 * messages are the standard.
 */
#ifndef CLI_PPROF_SHELL_H
#define CLI_PPROF_SHELL_H

#include "cli/pprof/flags.h"

/* ---- persistent options (shell_options.c) -------------------------------------------------------------- */

/* Copies `from`; the copy owns the texts of its options. */
int shell_options_init(struct pprof_options *o, const struct pprof_options *from, struct err *err);
void shell_options_release(struct pprof_options *o);

/* Executes a line if it is an assignment: `name=value`, or `name` alone for a boolean. A comment begins with
 * `//:`. *ret_is_assignment: whether the line is an assignment, even if it fails. */
int shell_assign(struct pprof_options *o, const struct profile *p, struct str line, bool *ret_is_assignment,
                 struct err *err);

/* Sets the option `name`, one of those that shell_option_at returns. */
int shell_set_option(struct pprof_options *o, const char *name, const char *value, struct err *err);

/* Returns whether an option, or a value of `sort` or `granularity`, has that name. */
bool shell_has_option(struct str name);
/* Returns the name of option i, or NULL after the last. The options with choices come first: `sort` and
 * `granularity`, whose choices are flags, such as `cum`. *ret_choices is the group of these flags; for every
 * other option, OPTION. */
const char *shell_option_at(size_t i, enum flag_group *ret_choices);

/* Adds a line for each option, sorted by name, with its value. */
void shell_list_options(const struct pprof_options *o, const struct profile *p, struct buf *to);
/* Adds a float as Go prints it: with the fewest digits that identify the value. */
void shell_add_float(double v, struct buf *to);
/* Adds the names of the sample types, separated by `between`. */
void shell_add_types(const struct profile *p, const char *between, struct buf *to);

/* ---- commands (shell_command.c) ------------------------------------------------------------------------ */

struct shell_command {
    enum pprof_output format;
    struct buf symbol; /* the regular expression that the format needs, as in `list main`; if has_symbol */
    struct buf focus, ignore;
    struct buf output; /* the file; if has_output */
    long nodecount;    /* if has_nodecount */
    bool has_symbol, has_output, has_nodecount, cum;
};

/* Parses a command such as `top10 focus -ignore >file`. The caller releases *ret, also after a failure. */
int shell_command_parse(struct str line, struct shell_command *ret, struct err *err);
void shell_command_release(struct shell_command *c);
/* Sets the command's options in `o`, the caller's copy of the persistent options. The copy then refers to
 * texts of the command. */
void shell_command_apply(const struct shell_command *c, struct pprof_options *o);

/* ---- help (shell_help.c) ------------------------------------------------------------------------------- */

/* Adds the help for a command or an option; for an empty name, the list of all commands and options. */
int shell_help(struct str name, const struct profile *p, struct buf *to, struct err *err);

/* ---- lines (shell_input.c, shell_edit.c) --------------------------------------------------------------- */

struct shell_editor;

struct shell_input {
    const struct profile *profile; /* completion offers its functions */
    int cancel_fd;
    struct shell_editor *editor; /* NULL: lines are read without editing */
    struct buf unread;           /* bytes read after the last line that was returned */
    bool ended;                  /* standard input has ended */
};

int shell_input_init(struct shell_input *in, const struct profile *p, int cancel_fd, struct err *err);
void shell_input_release(struct shell_input *in);
/* Reads the next line, without its end. *ret_end: the input has ended. */
int shell_input_line(struct shell_input *in, const char *prompt, struct buf *line, bool *ret_end,
                     struct err *err);

/* Reads lines from the terminal, with history and completion. `in` must outlive the editor. */
int shell_editor_new(struct shell_input *in, struct shell_editor **ret, struct err *err);
void shell_editor_free(struct shell_editor *e);
/* Works like shell_input_line. */
int shell_editor_line(struct shell_editor *e, const char *prompt, struct buf *line, bool *ret_end,
                      struct err *err);

/* Completes the last word of a line. The first word, or the word after `help`, becomes a command or an
 * option; other words become a function whose name contains the word. Adds the new word to `to`; *ret_word is
 * the old word. Returns false if there is no candidate, or more than one. */
bool shell_complete(const struct profile *p, struct str line, struct str *ret_word, struct buf *to);

#endif
