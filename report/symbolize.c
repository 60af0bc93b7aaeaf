/* What -symbolize says, and the order in which it is done. */
#include "report/symbolize.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/filter.h"
#include "report/symbols.h"
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

static bool is(struct str word, const char *text)
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
        if (is(word, demangles[i].word)) {
            m->demangle = demangles[i].mode;
            m->force = true;
            return true;
        }
    }
    return is(word, "demangle=default");
}

static struct symbolize_mode read_mode(const struct symbolize_tools *t, const char *text)
{
    struct symbolize_mode m = {.local = true, .remote = true};
    struct str word;
    for (const char *rest = source_list(text); source_next(&rest, &word);) {
        if (word.n == 0 || read_demangle(word, &m))
            continue;
        if (is(word, "none") || is(word, "no")) {
            m.none = true;
            return m;
        }
        if (is(word, "local") || is(word, "fastlocal") || is(word, "remote")) {
            m.local = !is(word, "remote");
            m.remote = !m.local;
            m.fast = m.fast || is(word, "fastlocal");
        } else if (is(word, "force")) {
            m.force = true;
        } else {
            symbolize_say(t, "ignoring unrecognized symbolization option: %s", text);
            symbolize_say(t, "expecting -symbolize=[local|fastlocal|remote|none][:force][:demangle=[none|"
                             "full|templates|default]");
        }
    }
    return m;
}

int symbolize(struct profile *p, const char *mode, const struct symbolize_sources *sources,
              const struct symbolize_tools *tools, struct err *err)
{
    struct symbolize_mode m = read_mode(tools, mode);
    if (m.none)
        return 0;
    if (m.local && symbolize_local(p, &m, tools, err) < 0)
        return -1;
    if (m.remote && symbolize_remote(p, &m, sources, tools, err) < 0)
        return -1;
    return symbolize_names(p, &m, tools, err);
}
