/* The help for the shell's commands and options. */
#include <stdlib.h>
#include <string.h>

#include "cli/pprof/shell.h"
#include "base/banned.h"

#define ROWS 64

struct row {
    const char *name, *help;
};

static int compare_rows(const void *a, const void *b)
{
    const struct row *left = a, *right = b;
    return strcmp(left->name, right->name);
}

static void add_row(struct buf *to, const char *name, const char *help)
{
    buf_addf(to, "    %-16s %s\n", name, help);
}

static const char *help_of(const char *name)
{
    const struct pprof_flag *f = pprof_flag_find(name, strlen(name));
    return f ? f->help : "";
}

static void add_commands(struct buf *to)
{
    buf_adds(to, "  Commands:\n");
    for (size_t i = 0; i < PPROF_OUTPUTS; i++)
        add_row(to, pprof_flag_at(i)->name, pprof_flag_at(i)->help);
    add_row(to, "o/options", "list the options and their values");
    add_row(to, "q/quit/exit/^D", "end the shell");
    add_row(to, ":", "clear focus, ignore, hide, tagfocus and tagignore");
    buf_adds(to, "  The name of a sample type, alone or after total_ or mean_, selects that sample type.\n");
}

static void add_options(struct buf *to)
{
    struct row rows[ROWS] = {0};
    enum flag_group choices;
    size_t n = 0;
    const char *name;
    for (size_t i = 0; n < ROWS && (name = shell_option_at(i, &choices)); i++)
        if (choices == OPTION)
            rows[n++] = (struct row){name, help_of(name)};
    qsort(rows, n, sizeof *rows, compare_rows);
    buf_adds(to, "\n  Options, set by name=value:\n");
    for (size_t i = 0; i < n; i++)
        add_row(to, rows[i].name, rows[i].help);
}

static void add_choices(struct buf *to)
{
    enum flag_group choices;
    const char *name;
    buf_adds(to, "\n  Options with a fixed set of values:\n");
    for (size_t i = 0; (name = shell_option_at(i, &choices)); i++) {
        if (choices == OPTION)
            continue;
        buf_addf(to, "    %s\n", name);
        for (size_t k = 0; pprof_flag_at(k); k++)
            if (pprof_flag_at(k)->group == choices) {
                buf_adds(to, "  ");
                add_row(to, pprof_flag_at(k)->name, pprof_flag_at(k)->help);
            }
    }
}

static void add_command(const struct pprof_flag *f, struct buf *to)
{
    buf_addf(to, "%s\n  %s%s [N] [FOCUS]... [-IGNORE]... [-cum] [>FILE]\n", f->help, f->name,
             f->type == TEXT ? " REGEX" : "");
    add_row(to, "N", "the maximum number of entries");
    if (strcmp(f->name, "tags") == 0) {
        add_row(to, "FOCUS, -IGNORE", "tagfocus and tagignore for this report only");
    } else {
        add_row(to, "FOCUS, -IGNORE", "focus and ignore for this report only; several are alternatives");
    }
    add_row(to, "-cum", help_of("cum"));
    add_row(to, ">FILE", "write the report to this file");
    if (f->note)
        buf_addf(to, "  %s\n", f->note);
}

int shell_help(struct str name, const struct profile *p, struct buf *to, struct err *err)
{
    const struct pprof_flag *f = pprof_flag_find(name.p, name.n);
    if (name.n == 0) {
        add_commands(to);
        add_options(to);
        add_choices(to);
        buf_adds(to, "\n  `help NAME` explains a command or an option\n");
        return 0;
    }
    if (!f || f->group == SOURCE || f->group == MISC || f->group == LEGACY)
        return err_set(err, ERR_USAGE, "Unknown command: %.*s", (int)(name.n < 200 ? name.n : 200), name.p);
    if (f->group == FORMAT) {
        add_command(f, to);
        return 0;
    }
    buf_addf(to, "%s\n", f->help);
    if (strcmp(f->name, "sample_index") == 0) {
        buf_adds(to, "one of ");
        shell_add_types(p, " ", to);
        buf_addc(to, '\n');
    }
    if (f->note)
        buf_addf(to, "%s\n", f->note);
    return 0;
}
