/*
 * Names in pictures. pprof removes parts by regular expressions. This code removes the same parts: the
 * longest path or namespace that leaves a name.
 */
#include "pprof/dot.h"
#include "base/banned.h"

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static bool is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

static bool is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static struct str text_from(struct str s, size_t at)
{
    return (struct str){s.p + at, s.n - at};
}

/* The length of "/v2" or a later version before "." or "/"; 0 if there is none. */
static size_t version_length(struct str s)
{
    size_t n = 2;
    if (s.n < 4 || s.p[0] != '/' || s.p[1] != 'v')
        return 0;
    while (n < s.n && is_digit(s.p[n]))
        n++;
    bool number = n == 3 ? s.p[2] >= '2' : n > 3 && s.p[2] != '0';
    return number && n < s.n && (s.p[n] == '.' || s.p[n] == '/') ? n : 0;
}

/* Removes the first module version from a name of one line. */
static struct str drop_version(struct str s, struct buf *scratch)
{
    if (memchr(s.p, '\n', s.n))
        return s;
    for (size_t i = 0; i < s.n; i++) {
        size_t n = s.p[i] == '/' ? version_length(text_from(s, i)) : 0;
        if (n == 0)
            continue;
        buf_clear(scratch);
        buf_add(scratch, s.p, i);
        buf_add(scratch, s.p + i + n, s.n - i - n);
        return (struct str){buf_str(scratch), scratch->len};
    }
    return s;
}

static bool is_path_char(char c)
{
    return is_word(c) || c == '-' || c == '.';
}

/* The end of the path at the start of a name, including its last slash. */
static size_t path_end(struct str s)
{
    size_t end = 0;
    for (size_t i = 0; i < s.n && (is_path_char(s.p[i]) || s.p[i] == '/'); i++) {
        if (s.p[i] != '/')
            continue;
        if (i == end)
            break;
        end = i + 1;
    }
    return end;
}

/* Go: keeps "package.Function" after the path. If no name with a dot follows the whole path, removes fewer of
 * its elements. */
static bool shorten_go(struct str s, struct str *ret)
{
    size_t end = path_end(s);
    const char *found = end ? memchr(s.p + end, '.', s.n - end) : NULL;
    size_t dot = found ? (size_t)(found - s.p) : s.n;
    for (size_t at = end; at > 0; at--) {
        dot = at < s.n && s.p[at] == '.' ? at : dot;
        if (s.p[at - 1] != '/' || dot == at || dot + 1 >= s.n || s.p[dot + 1] == '\n')
            continue;
        const char *line = memchr(s.p + dot, '\n', s.n - dot);
        *ret = (struct str){s.p + at, (line ? (size_t)(line - s.p) : s.n) - at};
        return true;
    }
    return false;
}

/* Java: "Class.method" after packages in lower case, without arguments. */
static bool shorten_java(struct str s, struct str *ret)
{
    size_t begin = 0, at = 0;
    for (; at < s.n && is_lower(s.p[at]); begin = at) {
        while (at < s.n && is_word(s.p[at]))
            at++;
        if (at == s.n || s.p[at++] != '.')
            return false;
    }
    if (at == s.n || !is_upper(s.p[at]))
        return false;
    while (at < s.n && (is_word(s.p[at]) || s.p[at] == '$'))
        at++;
    if (at == s.n || s.p[at++] != '.')
        return false;
    if (str_begins(text_from(s, at), "<init>")) {
        at += strlen("<init>");
    } else {
        if (at == s.n || !is_lower(s.p[at]))
            return false;
        while (at < s.n && (is_word(s.p[at]) || s.p[at] == '$'))
            at++;
    }
    *ret = (struct str){s.p + begin, at - begin};
    return at == s.n || s.p[at] == '(';
}

static bool is_class(struct str s)
{
    size_t at = 0;
    while (at < s.n && s.p[at] == '_')
        at++;
    return at < s.n && is_upper(s.p[at]);
}

/* The length of the identifier at the start; 0 if there is none. */
static size_t identifier_length(struct str s)
{
    size_t n = 0;
    while (n < s.n && is_word(s.p[n]))
        n++;
    return n && !is_digit(s.p[0]) ? n : 0;
}

/* The length of the template arguments, up to the last > of the line. */
static size_t arguments_length(struct str s)
{
    const char *line = memchr(s.p, '\n', s.n);
    size_t end = line ? (size_t)(line - s.p) : s.n;
    if (end == 0 || s.p[0] != '<')
        return 0;
    while (s.p[end - 1] != '>' && end > 1)
        end--;
    return end > 1 ? end : 0;
}

/* C++: "Class::method" after at least one namespace; removes as many namespaces as possible. */
static bool shorten_cpp(struct str s, struct str *ret)
{
    size_t at = 0, n_names = 0;
    bool found = false;
    struct str previous = {"", 0}; /* the class before the current name, if it follows a namespace */
    for (;;) {
        struct str name = text_from(s, at);
        size_t destructor = name.n && name.p[0] == '~', n = identifier_length(text_from(name, destructor));
        if (n == 0)
            return found;
        if (previous.n) {
            size_t method = at + destructor + n;
            *ret = (struct str){previous.p, (size_t)(s.p + method - previous.p)};
            ret->n += arguments_length(text_from(s, method));
            found = true;
        }
        if (destructor || !str_begins(text_from(name, n), "::"))
            return found;
        previous = n_names++ && is_class((struct str){name.p, n}) ? name : (struct str){"", 0};
        at += n + 2;
    }
}

struct str dot_shorten(struct str name, struct buf *scratch)
{
    struct str s = name, shorter;
    if (str_begins(s, "(anonymous namespace)::"))
        s = text_from(s, strlen("(anonymous namespace)::"));
    s = drop_version(s, scratch);
    return shorten_go(s, &shorter) || shorten_java(s, &shorter) || shorten_cpp(s, &shorter) ? shorter : s;
}

void dot_escape(struct buf *to, struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (c == '\\' || c == '"')
            buf_addc(to, '\\');
        if (c == '\n')
            buf_adds(to, "\\l");
        else
            buf_addc(to, c);
    }
}

void dot_format_value(const struct dot *d, char dst[MEASURE_TEXT], int64_t value)
{
    report_format_value(d->report, dst, value);
    for (char *c = dst; *c; c++)
        if (*c == '"' || *c == '\\' || *c == '\n')
            *c = '?';
}

/* Adds a function's name with a line for each part. The dots of Go's "[...]" separate no parts. */
static void add_lines(struct buf *to, struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        struct str rest = text_from(s, i);
        if (str_begins(rest, "[...]")) {
            buf_adds(to, "[\xe2\x80\xa6]");
            i += 4;
        } else if (str_begins(rest, "::")) {
            buf_adds(to, "\\n");
            i++;
        } else if (rest.p[0] == '.') {
            buf_adds(to, "\\n");
        } else {
            dot_escape(to, (struct str){rest.p, 1});
        }
    }
}

void dot_node_lines(const struct graph *g, const struct node_info *info, struct buf *to)
{
    struct buf scratch = BUF_INIT(REPORT_NAME_MAX);
    struct str name = dot_shorten(profile_str(g->profile, info->name), &scratch),
               file = profile_str(g->profile, info->file);
    struct node_info place = *info;
    place.name = 0;
    place.address = 0;
    if (info->address)
        buf_addf(to, "%016llx\\n", (unsigned long long)info->address);
    if (name.n) {
        add_lines(to, name);
        buf_adds(to, "\\n");
    }
    if (info->line || file.n) {
        struct str base = file.n ? path_base(file) : file;
        buf_add(to, base.p, base.n);
        if (info->line)
            buf_addf(to, ":%lld", (long long)info->line);
        if (info->line && info->column)
            buf_addf(to, ":%lld", (long long)info->column);
        buf_adds(to, "\\n");
    } else if (name.n == 0) {
        node_name(g, &place, to);
        buf_adds(to, "\\n");
    }
    buf_release(&scratch);
}
