/* Parses -symbolize, and runs the steps in order. */
#include "pprof/symbolize/symbolize.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pprof/filter.h"
#include "pprof/symbolize/symbols.h"
#include "base/banned.h"

void symbolize_say(const struct symbolize_tools *t, const char *fmt, ...)
{
    char line[2048];
    va_list args;
    va_start(args, fmt);
    vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    if (t->say)
        t->say(t->ctx, line);
}

static bool is_word(struct str word, const char *text)
{
    return word.n == strlen(text) && strncasecmp(word.p, text, word.n) == 0;
}

static const struct {
    const char *word;
    enum demangle mode;
} demangles[] = {{"demangle=full", DEMANGLE_FULL},
                 {"demangle=templates", DEMANGLE_TEMPLATES},
                 {"demangle=none", DEMANGLE_NONE}};

static bool read_demangle(struct str word, struct symbolize_mode *m)
{
    for (size_t i = 0; i < sizeof demangles / sizeof *demangles; i++) {
        if (is_word(word, demangles[i].word)) {
            m->demangle = demangles[i].mode;
            m->force = true;
            return true;
        }
    }
    return is_word(word, "demangle=default");
}

static struct symbolize_mode read_mode(const struct symbolize_tools *t, const char *text)
{
    struct symbolize_mode m = {.local = true, .remote = true};
    struct str word;
    for (const char *rest = source_list(text); source_next(&rest, &word);) {
        if (word.n == 0 || read_demangle(word, &m))
            continue;
        if (is_word(word, "none") || is_word(word, "no")) {
            m.none = true;
            return m;
        }
        if (is_word(word, "local") || is_word(word, "fastlocal") || is_word(word, "remote")) {
            m.local = !is_word(word, "remote");
            m.remote = !m.local;
            m.fast = m.fast || is_word(word, "fastlocal");
        } else if (is_word(word, "force")) {
            m.force = true;
        } else {
            symbolize_say(t, "ignoring unrecognized symbolization option: %s", text);
            symbolize_say(t, "expecting -symbolize=[local|fastlocal|remote|none][:force][:demangle=[none|"
                             "full|templates|default]");
        }
    }
    return m;
}

int mapped_locations_init(const struct profile *p, struct mapped_locations *ret, struct err *err)
{
    size_t n = p->n_mappings < SYMBOLIZE_MAPPINGS ? p->n_mappings : SYMBOLIZE_MAPPINGS, sum = 0;
    struct mapped_locations m = {.n_mappings = n};
    m.items = calloc(p->n_locations + 1, sizeof *m.items);
    m.first = calloc(n + 2, sizeof *m.first);
    if (!m.items || !m.first) {
        mapped_locations_release(&m);
        return err_nomem(err);
    }
    /* A counting sort. first[m + 2] counts the locations of mapping m. After the sums, first[m + 1] is the
     * place of its next location. */
    for (size_t i = 0; i < p->n_locations; i++)
        if (p->locations[i].mapping < n)
            m.first[p->locations[i].mapping + 2]++;
    for (size_t i = 0; i < n + 2; i++)
        m.first[i] = sum += m.first[i];
    for (size_t i = 0; i < p->n_locations; i++)
        if (p->locations[i].mapping < n)
            m.items[m.first[p->locations[i].mapping + 1]++] = (uint32_t)i;
    *ret = m;
    return 0;
}

void mapped_locations_release(struct mapped_locations *m)
{
    free(m->items);
    free(m->first);
    *m = (struct mapped_locations){0};
}

int symbolize(struct profile *p, const char *mode, const struct symbolize_sources *sources,
              const struct symbolize_tools *tools, struct err *err)
{
    struct symbolize_mode m = read_mode(tools, mode);
    if (m.none)
        return 0;
    struct mapped_locations locations;
    if (mapped_locations_init(p, &locations, err) < 0)
        return -1;
    if (p->n_mappings > locations.n_mappings)
        symbolize_say(tools, "The profile has %zu mappings: names are looked up for the first %d of them",
                      p->n_mappings, SYMBOLIZE_MAPPINGS);
    const struct symbolizing s = {.profile = p, .mode = &m, .tools = tools, .locations = &locations};
    int rc = 0;
    if (m.local)
        rc = symbolize_local(&s, err);
    if (rc == 0 && m.remote)
        rc = symbolize_remote(&s, sources, err);
    mapped_locations_release(&locations);
    return rc < 0 ? -1 : symbolize_names(p, &m, tools, err);
}
