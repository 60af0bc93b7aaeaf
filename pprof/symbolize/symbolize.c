/* Parses -symbolize, and runs the steps in order. */
#include "pprof/symbolize/symbolize.h"

#include <string.h>

#include "pprof/symbolize/symbols.h"
#include "base/banned.h"

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
    for (const char *rest = colon_list_begin(text); colon_list_next(&rest, &word);) {
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

int symbolize(struct profile *p, const char *mode, const struct symbolize_servers *sources,
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
    const struct symbolize_inputs s = {.profile = p, .mode = &m, .tools = tools, .locations = &locations};
    int rc = 0;
    if (m.local)
        rc = symbolize_local(&s, err);
    if (rc == 0 && m.remote)
        rc = symbolize_remote(&s, sources, err);
    mapped_locations_release(&locations);
    return rc < 0 ? -1 : symbolize_demangle(p, &m, tools, err);
}
