/*
 * The interactive shell of pprof, inside: what is typed, what it means, what it says.
 *
 * Source: google/pprof internal/driver/interactive.go, commands.go and config.go, whose commands, options and
 * messages are the standard.
 */
#ifndef CLI_PPROF_SHELL_H
#define CLI_PPROF_SHELL_H

#include "cli/pprof/flags.h"

/* ---- options that stick (shell_options.c) ----------------------------------------------------------
 */

/* A copy that owns its texts. */
int shell_options_init(struct pprof_options *o, const struct pprof_options *from, struct err *err);
void shell_options_release(struct pprof_options *o);

/* Takes a line for an assignment: `name=value`, `name` alone where that is a truth value, `//:` and what
 * follows is a comment. *ret_is_one: whether it was one, whatever became of it. */
int shell_assign(struct pprof_options *o, const struct profile *p, struct str line, bool *ret_is_one,
                 struct err *err);

/* Whether there is such an option, or choice of one. */
bool shell_has_option(struct str name);
/* The options by number: flags of these names, but for `sort` and `granularity`, which have values. NULL
 * behind the last. *ret_choices: the group of flags that are the values; OPTION: there is none. */
const char *shell_option_at(size_t i, enum flag_group *ret_choices);

/* Adds a line for each option, by name, and what it is set to. */
void shell_list_options(const struct pprof_options *o, const struct profile *p, struct buf *to);
/* Adds the names of the sample types, with that between them. */
void shell_add_types(const struct profile *p, const char *between, struct buf *to);

/* ---- commands (shell_command.c) --------------------------------------------------------------------
 */

struct shell_command {
    enum pprof_output wanted;
    struct buf symbol, focus, ignore, output;
    bool has_symbol, has_output, has_count, cum;
    long nodecount;
};

/* Reads `top10 focus -ignore -cum >file` and the like. shell_command_release is due in any case. */
int shell_command_parse(struct str line, struct shell_command *ret, struct err *err);
void shell_command_release(struct shell_command *c);
/* Has options say what the command does, for this once: their texts are the command's. */
void shell_command_apply(const struct shell_command *c, struct pprof_options *o);

/* ---- what it tells (shell_help.c) ------------------------------------------------------------------
 */

/* Adds the help for a command or an option, or all of it for an empty name. */
int shell_help(struct str name, const struct profile *p, struct buf *to, struct err *err);

/* ---- lines (shell_input.c, shell_edit.c) -----------------------------------------------------
 */

struct shell_editor;

struct shell_input {
    const struct profile *profile; /* whose functions' names are completed */
    int cancel_fd;
    struct shell_editor *editor; /* NULL: lines are read as they come */
    struct buf ahead;
    bool ended;
};

int shell_input_init(struct shell_input *in, const struct profile *p, int cancel_fd, struct err *err);
void shell_input_release(struct shell_input *in);
/* The next line, without its end. *ret_end: there is none. */
int shell_input_line(struct shell_input *in, const char *prompt, struct buf *line, bool *ret_end,
                     struct err *err);

/* Reads lines at the terminal that is standard input, with history and completion. `in` must outlive it. */
int shell_editor_new(struct shell_input *in, struct shell_editor **ret, struct err *err);
void shell_editor_free(struct shell_editor *e);
/* As shell_input_line. */
int shell_editor_line(struct shell_editor *e, const char *prompt, struct buf *line, bool *ret_end,
                      struct err *err);

/* What the last word of a line is completed to, if that is certain: a command or option in the first place
 * (behind `help`, too), else a function whose name holds it. Adds the new word; *ret_word is the old one.
 * False: there is none, or more than one. */
bool shell_complete(const struct profile *p, struct str line, struct str *ret_word, struct buf *to);

#endif
