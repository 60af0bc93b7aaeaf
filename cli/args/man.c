#include "cli/args/man.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "cli/args/command.h"
#include "cli/term/exit.h"
#include "fetch/fetch.h"
#include "base/banned.h"

/* Writes text as roff source. Escapes hyphens, so that a reader can copy them, and characters that roff would
 * interpret. Puts each sentence on its own line, because roff recognises the end of a sentence only at the
 * end of a line. */
static void put_text(FILE *out, const char *text)
{
    bool line_begins = true;
    for (; *text; text++) {
        if (line_begins && (*text == '.' || *text == '\''))
            fputs("\\&", out);
        line_begins = *text == '\n';
        if (strncmp(text, "\n\n", 2) == 0) {
            fputs("\n.Pp", out);
        } else if (strncmp(text, ". ", 2) == 0 && isupper((unsigned char)text[2])) {
            fputs(".\n", out);
            text++;
            line_begins = true;
        } else if (*text == '-') {
            fputs("\\-", out);
        } else if (*text == '\\') {
            fputs("\\e", out);
        } else {
            fputc(*text, out);
        }
    }
}

/* Writes text as a single argument of a macro. */
static void put_argument(FILE *out, const char *text)
{
    fputs(" \"", out);
    put_text(out, text);
    fputc('"', out);
}

static void put_paragraph(FILE *out, const char *text)
{
    put_text(out, text);
    fputc('\n', out);
}

static void put_verbs(FILE *out, const struct command *c)
{
    fputs(".Bl -tag -width Ds\n", out);
    for (const struct verb *v = c->verbs; v->name; v++) {
        fprintf(out, ".It Cm %s %s", c->name, v->name);
        if (*v->synopsis)
            put_argument(out, v->synopsis);
        fputc('\n', out);
        put_paragraph(out, v->help);
    }
    fputs(".El\n", out);
}

static void put_commands(FILE *out)
{
    const struct command *c;
    fputs(".Bl -tag -width Ds\n", out);
    for (size_t i = 0; (c = command_at(i)); i++) {
        fprintf(out, ".It Cm %s", c->name);
        if (*c->synopsis)
            put_argument(out, c->synopsis);
        fputc('\n', out);
        put_paragraph(out, c->summary);
        if (c->details) {
            fputs(".Pp\n", out);
            put_paragraph(out, c->details);
        }
        if (c->verbs)
            put_verbs(out, c);
    }
    fputs(".El\n", out);
}

static void put_options_of(FILE *out, const struct option *table)
{
    fputs(".Bl -tag -width Ds\n", out);
    for (const struct option *o = table; o->name; o++) {
        fputs(".It", out);
        if (o->letter)
            fprintf(out, " Fl %c ,", o->letter);
        fputs(" Fl", out);
        char name[64];
        snprintf(name, sizeof name, "-%s", o->name);
        fputc(' ', out);
        put_text(out, name);
        if (o->argument) {
            fputs(o->type == OPTION_TEXT_OPTIONAL ? " Oo Ns = Ns Ar" : " Ar", out);
            put_argument(out, o->argument);
            fputs(o->type == OPTION_TEXT_OPTIONAL ? " Oc" : "", out);
        }
        fputc('\n', out);
        put_paragraph(out, o->help);
    }
    fputs(".El\n", out);
}

static void put_options(FILE *out)
{
    const struct command *c;
    for (size_t i = 0; (c = command_at(i)); i++) {
        if (!c->options || !c->options->name)
            continue;
        fprintf(out, ".Ss Options of %s\n", c->name);
        put_options_of(out, c->options);
    }
}

static void put_kinds(FILE *out)
{
    struct fetch_kind_help k;
    fputs(".Bl -tag -width Ds\n", out);
    for (size_t i = 0; fetch_kind_help(i, &k) == 0; i++) {
        fprintf(out, ".It Cm %s", k.name);
        if (*k.argument) {
            fputs(" Ns", out);
            put_argument(out, k.argument);
        }
        fputc('\n', out);
        put_paragraph(out, k.help);
    }
    fputs(".El\n", out);
}

static void put_exit_codes(FILE *out)
{
    struct exit_status_help h;
    fputs(".Bl -tag -width Ds -compact\n", out);
    for (size_t i = 0; exit_status_help(i, &h) == 0; i++) {
        fprintf(out, ".It %s\n", h.codes);
        put_paragraph(out, h.text);
    }
    fputs(".El\n", out);
}

/* Writes the list that replaces `@marker@`. */
static int put_list(FILE *out, const char *marker, struct err *err)
{
    if (strcmp(marker, "commands") == 0)
        put_commands(out);
    else if (strcmp(marker, "kinds") == 0)
        put_kinds(out);
    else if (strcmp(marker, "exit-codes") == 0)
        put_exit_codes(out);
    else if (strcmp(marker, "options") == 0)
        put_options(out);
    else
        return err_set(err, ERR_USAGE, "unknown marker \"@%.60s@\"", marker);
    return 0;
}

int man_fill(FILE *in, FILE *out, struct err *err)
{
    static const char marker_start[] = ".\\\" @";
    char *line = NULL;
    size_t cap = 0;
    int rc = 0;
    while (rc == 0 && getline(&line, &cap, in) > 0) {
        size_t start_length = sizeof marker_start - 1;
        char *end = strncmp(line, marker_start, start_length) == 0 ? strchr(line + start_length, '@') : NULL;
        if (end) {
            *end = '\0';
            rc = put_list(out, line + start_length, err);
        } else {
            fputs(line, out);
        }
    }
    free(line);
    if (rc == 0 && (ferror(in) || ferror(out)))
        rc = err_sys(err, "cannot fill in the manual page");
    return rc;
}
