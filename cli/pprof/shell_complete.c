/* Completes words of the shell. */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "cli/pprof/shell.h"
#include "base/banned.h"

/* The last candidate that was found. `several`: an earlier candidate was different. */
struct candidate {
    struct str text;
    bool several;
};

static void offer_candidate(struct candidate *c, struct str text)
{
    c->several = c->several || (c->text.n && !str_equal(c->text, text));
    c->text = text;
}

static void offer_name(struct candidate *c, const char *name, struct str word)
{
    if (strncasecmp(name, word.p, word.n) == 0)
        offer_candidate(c, str_of(name));
}

static void find_names(struct str word, struct candidate *c)
{
    enum flag_group choices;
    const struct pprof_flag *f;
    for (size_t i = 0; (f = pprof_flag_at(i)); i++)
        if (f->group == FORMAT || f->group == OPTION || f->group == GRANULARITY || f->group == SORT)
            offer_name(c, f->name, word);
    for (size_t i = 0; shell_option_at(i, &choices) && choices != OPTION; i++)
        offer_name(c, shell_option_at(i, &choices), word);
}

static void find_functions(const struct profile *p, struct str part, struct candidate *c)
{
    for (size_t i = 0; i < p->n_functions && !c->several; i++) {
        struct str name = profile_str(p, p->functions[i].name);
        if (name.n >= part.n && memmem(name.p, name.n, part.p, part.n))
            offer_candidate(c, name);
    }
}

/* Returns whether a text is one word of printable ASCII: a terminal does not interpret it, and it cannot end
 * a command with a file to write (`>FILE`). */
static bool is_plain_word(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] <= ' ' || s.p[i] > '~')
            return false;
    return s.n > 0 && s.p[0] != '>';
}

bool shell_complete(const struct profile *p, struct str line, struct str *ret_word, struct buf *to)
{
    struct str first = {NULL, 0}, last = {NULL, 0}, rest = line;
    struct candidate found = {0};
    size_t n = 0;
    for (struct str word = str_next_word(&rest); word.n; word = str_next_word(&rest), n++) {
        first = n ? first : word;
        last = word;
    }
    if (n == 0 || last.p + last.n != line.p + line.n)
        return false;
    const struct pprof_flag *f = pprof_flag_find(first.p, first.n);
    bool excluded = n > 1 && last.n > 1 && *last.p == '-';
    if (n == 1 || (n == 2 && str_is(first, "help")))
        find_names(last, &found);
    else if (f && f->group == FORMAT && !str_is(first, "tags"))
        find_functions(p, (struct str){last.p + excluded, last.n - excluded}, &found);
    if (found.several || !is_plain_word(found.text))
        return false;
    buf_adds(to, excluded ? "-" : "");
    buf_add(to, found.text.p, found.text.n);
    *ret_word = last;
    return !to->failed;
}
