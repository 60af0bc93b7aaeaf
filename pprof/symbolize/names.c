/*
 * Readable names of functions: demangles C++ and Rust with c++filt, and keeps the others.
 *
 * Source: google/pprof internal/symbolizer/symbolizer.go (Demangle).
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "pprof/symbolize/symbols.h"
#include "base/banned.h"

/* Limits the output of c++filt on all names, because a short mangled name can have a long result. */
#define OUTPUT_MAX ((size_t)256 << 20)
#define NAME_MAX_BYTES ((size_t)64 << 20)

struct namer {
    struct profile *profile;
    const struct symbolize_mode *mode;
    const struct symbolize_tools *tools;
    struct err *err;
};

/* ---- demangled names ----------------------------------------------------------------------------------- */

static bool has_part(struct str s, const char *part)
{
    return s.n && memmem(s.p, s.n, part, strlen(part));
}

/* Whether a name looks like demangled C++, and not like Java or Go. */
static bool looks_like_cpp(struct str name)
{
    enum { BRACKET = 1, COLON = 2 };
    static const unsigned char kinds[UCHAR_MAX + 1] = {
        ['<'] = BRACKET, ['>'] = BRACKET, ['['] = BRACKET, [']'] = BRACKET, [':'] = COLON};
    unsigned seen = 0;
    for (size_t i = 0; i < name.n; i++)
        seen |= kinds[(unsigned char)name.p[i]];
    if (seen & BRACKET)
        return !has_part(name, ".<") && !has_part(name, "]).");
    return seen & COLON && has_part(name, "::");
}

/* Copies a name without the parts in brackets. From the first unmatched bracket on, copies all. */
static void remove_brackets(struct str name, char opening, char closing, struct buf *to)
{
    size_t depth = 0, first = 0, i = 0;
    for (; i < name.n; i++) {
        if (name.p[i] == opening && depth++ == 0)
            first = i;
        if (name.p[i] == closing && depth == 0)
            break;
        if (depth == 0)
            buf_addc(to, name.p[i]);
        else if (name.p[i] == closing)
            depth--;
    }
    if (depth)
        i = first;
    buf_add(to, name.p + i, name.n - i);
}

/* Removes the parts of a demangled C++ name that upstream does not show. For other names leaves *ret as it
 * is. */
static int simplify_name(struct namer *n, struct str name, uint32_t *ret)
{
    if (n->mode->demangle == DEMANGLE_FULL || !looks_like_cpp(name))
        return 0;
    struct buf bare = BUF_INIT(NAME_MAX_BYTES), simple = BUF_INIT(NAME_MAX_BYTES);
    remove_brackets(name, '(', ')', &bare);
    name = (struct str){buf_str(&bare), bare.len};
    if (n->mode->demangle == DEMANGLE_SIMPLE) {
        remove_brackets(name, '<', '>', &simple);
        name = (struct str){buf_str(&simple), simple.len};
    }
    int rc = buf_check(&bare, "a name", n->err) < 0 || buf_check(&simple, "a name", n->err) < 0
                 ? -1
                 : profile_intern(n->profile, name.p, name.n, ret, n->err);
    buf_release(&bare);
    buf_release(&simple);
    return rc;
}

/* ---- mangled names ------------------------------------------------------------------------------------- */

/* Whether the function's name must be made from its linker name. */
static bool needs_name(const struct profile_function *f)
{
    return !f->name || f->system_name == f->name;
}

/* Writes all mangled names, one per line. */
static int write_names(const struct namer *n, struct buf *to)
{
    struct str name;
    for (size_t i = 0; i < n->profile->n_functions; i++) {
        const struct profile_function *f = &n->profile->functions[i];
        if (needs_name(f) && demangle_find_mangled(profile_str(n->profile, f->system_name), &name)) {
            buf_add(to, name.p, name.n);
            buf_addc(to, '\n');
        }
    }
    return buf_check(to, "the list of names", n->err);
}

/* Runs c++filt on the names. If c++filt fails, sends the user a message and empties the answer. Only
 * cancellation and lack of memory are errors. */
static int run_cxxfilt(const struct namer *n, const struct buf *names, struct buf *answer)
{
    struct err why = ERR_INIT;
    const struct symbolize_query query = {
        .program = n->mode->demangle == DEMANGLE_FULL ? SYMBOLIZE_CXXFILT : SYMBOLIZE_CXXFILT_NO_PARAMETERS,
        .input = {names->data, names->len}};
    if (names->len == 0 || n->tools->run(n->tools->ctx, &query, answer, &why) == 0)
        return 0;
    if (why.kind == ERR_CANCELLED || answer->out_of_memory) {
        *n->err = why;
        return -1;
    }
    buf_clear(answer);
    symbolize_say(n->tools, "C++ and Rust names stay mangled: %s", why.msg);
    return 0;
}

/* Returns false if there is no further line. */
static bool next_line(struct str *rest, struct str *ret)
{
    const char *end = rest->n ? memchr(rest->p, '\n', rest->n) : NULL;
    if (!end)
        return false;
    *ret = (struct str){rest->p, (size_t)(end - rest->p)};
    *rest = (struct str){end + 1, rest->n - ret->n - 1};
    return true;
}

/* Sets the name of one function from its line of the answer. */
static int set_demangled_name(struct namer *n, struct profile_function *f, struct str mangled,
                              struct str line)
{
    struct buf shorter = BUF_INIT(NAME_MAX_BYTES);
    demangle_shorten(mangled, line, n->mode->demangle, &shorter);
    int rc = buf_check(&shorter, "a name", n->err);
    if (rc == 0)
        rc = profile_intern(n->profile, buf_str(&shorter), shorter.len, &f->name, n->err);
    buf_release(&shorter);
    return rc;
}

static int set_names(struct namer *n, struct str answer)
{
    struct profile *p = n->profile;
    for (size_t i = 0; i < p->n_functions; i++) {
        struct profile_function *f = &p->functions[i];
        struct str name = profile_str(p, f->system_name), mangled, line;
        int rc;
        if (!needs_name(f))
            continue;
        f->name = f->system_name;
        if (demangle_find_mangled(name, &mangled) && next_line(&answer, &line) && !str_equal(mangled, line))
            rc = set_demangled_name(n, f, mangled, line);
        else
            rc = simplify_name(n, name, &f->name);
        if (rc < 0)
            return -1;
    }
    return 0;
}

int symbolize_demangle(struct profile *p, const struct symbolize_mode *mode,
                       const struct symbolize_tools *tools, struct err *err)
{
    struct namer n = {.profile = p, .mode = mode, .tools = tools, .err = err};
    struct buf names = BUF_INIT(OUTPUT_MAX), answer = BUF_INIT(OUTPUT_MAX);
    for (size_t i = 0; mode->force && i < p->n_functions; i++)
        if (p->functions[i].name && p->functions[i].system_name)
            p->functions[i].name = p->functions[i].system_name;
    if (mode->demangle == DEMANGLE_NONE)
        return 0;
    int rc = write_names(&n, &names);
    if (rc == 0)
        rc = run_cxxfilt(&n, &names, &answer);
    if (rc == 0)
        rc = set_names(&n, (struct str){buf_str(&answer), answer.len});
    buf_release(&names);
    buf_release(&answer);
    return rc;
}
