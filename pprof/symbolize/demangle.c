/*
 * Changes a name from c++filt of the GNU binutils to upstream's form.
 *
 * Upstream has its own demangler (github.com/ianlancetaylor/demangle), which can leave out parts. Here these
 * parts are cut out of c++filt's text: template arguments, parameters of a function that encloses a local
 * name, hashes of Rust crates. `c++filt -p` leaves out the parameters of the function itself. docs/pprof.md
 * lists the differences.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "pprof/symbolize/symbols.h"
#include "base/banned.h"

#define NONE SIZE_MAX
/* Longer names stay mangled. Real names are shorter. */
#define MANGLED_MAX 65536u

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$';
}

bool demangle_find_mangled(struct str name, struct str *ret)
{
    if (str_begins(name, "__Z") || str_begins(name, "__R"))
        name = (struct str){name.p + 1, name.n - 1};
    if (name.n > MANGLED_MAX || !(str_begins(name, "_Z") || str_begins(name, "_R") ||
                                  str_begins(name, "___Z") || str_begins(name, "_GLOBAL_")))
        return false;
    /* c++filt would end the name at any other character. */
    for (size_t i = 0; i < name.n; i++)
        if (!is_word(name.p[i]) && name.p[i] != '.')
            return false;
    *ret = name;
    return true;
}

/* ---- reading a name ------------------------------------------------------------------------------------ */

static bool begins_at(struct str s, size_t at, const char *text)
{
    return str_begins((struct str){s.p + at, s.n - at}, text);
}

/* The end of `operator` and its sign at `at`, or `at` if there is none. Brackets in the sign do not count as
 * brackets. */
static size_t operator_end(struct str s, size_t at)
{
    static const char *const signs[] = {"<=>", "<<=", ">>=", "->*", "<<", ">>",
                                        "<=",  ">=",  "->",  "<",   ">",  "()"};
    if (!begins_at(s, at, "operator") || (at > 0 && is_word(s.p[at - 1])))
        return at;
    at += strlen("operator");
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (begins_at(s, at, signs[i]))
            return at + strlen(signs[i]);
    return at;
}

/* The position after the bracket that closes the angle bracket at `at`, or NONE. */
static size_t angle_end(struct str s, size_t at)
{
    size_t angles = 0, others = 0;
    while (at < s.n) {
        size_t end = operator_end(s, at);
        if (end != at) {
            at = end;
            continue;
        }
        char c = s.p[at];
        if (c && strchr("([{", c))
            others++;
        else if (c && strchr(")]}", c))
            others -= others > 0;
        else if (begins_at(s, at, "->"))
            at++;
        else if (others == 0 && c == '<')
            angles++;
        else if (others == 0 && c == '>' && --angles == 0)
            return at + 1;
        at++;
    }
    return NONE;
}

/* Returns a new array with the position of the closing bracket of each `(`, or NONE. NULL: out of memory. */
static size_t *match_brackets(struct str s)
{
    size_t *partner = malloc((s.n + 1) * sizeof *partner), last = NONE;
    for (size_t i = 0; partner && i < s.n; i++) {
        partner[i] = NONE;
        if (s.p[i] == '(') {
            /* The open brackets are a list in `partner` itself. */
            partner[i] = last;
            last = i;
        } else if (s.p[i] == ')' && last != NONE) {
            size_t before = partner[last];
            partner[last] = i;
            last = before;
        }
    }
    while (partner && last != NONE) {
        size_t before = partner[last];
        partner[last] = NONE;
        last = before;
    }
    return partner;
}

/* ---- cutting ------------------------------------------------------------------------------------------- */

/* Whether a local name follows a function's parameters: `() const::`. */
static bool is_before_local(struct str s, size_t at)
{
    static const char *const behind[] = {" const", " volatile", " &&", " &"};
    for (size_t i = 0; i < sizeof behind / sizeof *behind; i++)
        if (begins_at(s, at, behind[i]))
            at += strlen(behind[i]);
    if (begins_at(s, at, "[abi:")) {
        const char *end = memchr(s.p + at, ']', s.n - at);
        at = end ? (size_t)(end + 1 - s.p) : at;
    }
    return begins_at(s, at, "::");
}

/* Removes the parameters of a function that encloses a local name. Keeps the parameters of a lambda, because
 * they identify the lambda. */
static void cut_parameters(struct str s, struct buf *to)
{
    size_t *partner = match_brackets(s);
    if (!partner) {
        to->failed = to->out_of_memory = true;
        return;
    }
    for (size_t i = 0; i < s.n; i++) {
        size_t sign = operator_end(s, i);
        if (sign != i) {
            buf_add(to, s.p + i, sign - i);
            i = sign - 1;
            continue;
        }
        bool named = s.p[i] == '(' && i > 0 && s.p[i - 1] &&
                     (is_word(s.p[i - 1]) || strchr(">])=<+-*/&|^!~%", s.p[i - 1])) &&
                     !begins_at(s, i, "(anonymous") && !(i >= 6 && begins_at(s, i - 6, "lambda("));
        if (named && partner[i] != NONE && is_before_local(s, partner[i] + 1)) {
            buf_adds(to, "()");
            i = partner[i];
        } else {
            buf_addc(to, s.p[i]);
        }
    }
    free(partner);
}

/* Removes template arguments, and the blank between them and an operator's sign. */
static void cut_templates(struct str s, struct buf *to)
{
    for (size_t i = 0; i < s.n; i++) {
        size_t end = operator_end(s, i);
        if (end != i) {
            buf_add(to, s.p + i, end - i);
            i = begins_at(s, end, " <") ? end : end - 1;
        } else if (begins_at(s, i, "->")) {
            buf_adds(to, "->");
            i++;
        } else if (s.p[i] == '<' && (end = angle_end(s, i)) != NONE) {
            i = end - 1;
        } else if (s.p[i] == '<') {
            /* A `<` that nothing closes is plain text, and so is the text after it. */
            buf_add(to, s.p + i, s.n - i);
            return;
        } else {
            buf_addc(to, s.p[i]);
        }
    }
}

/* Newer versions of c++filt write `>>` at the end of two lists, upstream `> >`. */
static void space_angles(struct str s, struct buf *to)
{
    for (size_t i = 0; i < s.n; i++) {
        size_t end = operator_end(s, i);
        if (end != i) {
            buf_add(to, s.p + i, end - i);
            i = end - 1;
            continue;
        }
        buf_addc(to, s.p[i]);
        if (begins_at(s, i, ">>"))
            buf_addc(to, ' ');
    }
}

static bool has_part(struct str s, const char *part)
{
    return s.n && memmem(s.p, s.n, part, strlen(part));
}

/* Mangled names have short forms of some standard classes. Upstream keeps these, except in constructors and
 * destructors. */
static const struct standard {
    const char *short_code, *long_code; /* in the mangled name */
    const char *long_name, *short_name;
} standards[] = {
    {"Ss", "12basic_stringI", "std::basic_string<char, std::char_traits<char>, std::allocator<char> >",
     "std::string"},
    {"Si", "13basic_istreamI", "std::basic_istream<char, std::char_traits<char> >", "std::istream"},
    {"So", "13basic_ostreamI", "std::basic_ostream<char, std::char_traits<char> >", "std::ostream"},
    {"Sd", "14basic_iostreamI", "std::basic_iostream<char, std::char_traits<char> >", "std::iostream"},
};

/* The class whose long name is at `at`, if the mangled name has its short form. */
static const struct standard *standard_at(struct str mangled, struct str text, size_t at)
{
    if (!begins_at(text, at, "std::basic_"))
        return NULL;
    for (size_t i = 0; i < sizeof standards / sizeof *standards; i++) {
        const struct standard *known = &standards[i];
        size_t behind = at + strlen(known->long_name);
        if (begins_at(text, at, known->long_name) && has_part(mangled, known->short_code) &&
            !has_part(mangled, known->long_code))
            return begins_at(text, behind, "::basic_") || begins_at(text, behind, "::~basic_") ? NULL : known;
    }
    return NULL;
}

static void shorten_standard(struct str mangled, struct str text, struct buf *to)
{
    for (size_t i = 0; i < text.n; i++) {
        const struct standard *known = standard_at(mangled, text, i);
        if (known) {
            buf_adds(to, known->short_name);
            i += strlen(known->long_name) - 1;
        } else {
            buf_addc(to, text.p[i]);
        }
    }
}

static void shorten_cpp(struct str mangled, struct str text, enum demangle mode, struct buf *to)
{
    struct buf standard = BUF_INIT(to->max), cut = BUF_INIT(to->max);
    shorten_standard(mangled, text, &standard);
    struct str name = {buf_str(&standard), standard.len};
    if (mode == DEMANGLE_FULL) {
        const char *clone = memmem(name.p, name.n, " [clone ", 8);
        space_angles((struct str){name.p, clone ? (size_t)(clone - name.p) : name.n}, to);
    } else {
        cut_parameters(name, &cut);
        name = (struct str){buf_str(&cut), cut.len};
        if (mode == DEMANGLE_TEMPLATES)
            space_angles(name, to);
        else
            cut_templates(name, to);
    }
    to->failed = to->failed || standard.failed || cut.failed;
    to->out_of_memory = to->out_of_memory || standard.out_of_memory || cut.out_of_memory;
    buf_release(&standard);
    buf_release(&cut);
}

/* ---- Rust ---------------------------------------------------------------------------------------------- */

/* Whether a name has Rust's older form: without its suffix (.llvm.1), it ends in 17h, a hash of 16
 * hexadecimal digits (at least 5 of them different), and E. */
static bool is_old_rust(struct str mangled)
{
    unsigned seen = 0, distinct = 0;
    for (size_t i = mangled.n; i-- > 1;) {
        if (mangled.p[i] == '.' && mangled.p[i - 1] == 'E') {
            mangled.n = i;
            break;
        }
    }
    if (!str_begins(mangled, "_ZN") || mangled.n < 24 || mangled.p[mangled.n - 1] != 'E' ||
        memcmp(mangled.p + mangled.n - 20, "17h", 3) != 0)
        return false;
    for (size_t i = mangled.n - 17; i < mangled.n - 1; i++) {
        char c = mangled.p[i];
        if (!isdigit((unsigned char)c) && !(c >= 'a' && c <= 'f'))
            return false;
        seen |= 1u << (isdigit((unsigned char)c) ? c - '0' : c - 'a' + 10);
    }
    for (; seen; seen &= seen - 1)
        distinct++;
    return distinct >= 5;
}

/* Removes `::h0123456789abcdef` and the text after it. */
static void shorten_old_rust(struct str text, struct buf *to)
{
    for (size_t i = text.n; i-- > 0;) {
        size_t digits = 0;
        if (!begins_at(text, i, "::h"))
            continue;
        while (i + 3 + digits < text.n && isxdigit((unsigned char)text.p[i + 3 + digits]))
            digits++;
        if (digits == 16) {
            text.n = i;
            break;
        }
    }
    buf_add(to, text.p, text.n);
}

/* The end of a crate's hash `[0123456789abcdef]` at `at`, or `at` if there is none. */
static size_t hash_end(struct str s, size_t at)
{
    size_t end = at + 1;
    if (s.p[at] != '[' || at == 0 || !is_word(s.p[at - 1]))
        return at;
    while (end < s.n && end - at <= 16 && isxdigit((unsigned char)s.p[end]))
        end++;
    return end > at + 1 && end < s.n && s.p[end] == ']' ? end + 1 : at;
}

/* Removes the hashes of crates. Unless `keep_generics`, also removes generic arguments but keeps their
 * brackets. Keeps brackets around a type. */
static void shorten_rust(struct str s, bool keep_generics, struct buf *to)
{
    for (size_t i = 0; i < s.n; i++) {
        size_t end = hash_end(s, i);
        bool arguments =
            s.p[i] == '<' && i > 0 && (is_word(s.p[i - 1]) || s.p[i - 1] == ':' || s.p[i - 1] == ']');
        if (end != i) {
            i = end - 1;
        } else if (begins_at(s, i, "->")) {
            buf_adds(to, "->");
            i++;
        } else if (arguments && !keep_generics && (end = angle_end(s, i)) != NONE) {
            buf_adds(to, "<>");
            i = end - 1;
        } else if (arguments && !keep_generics) {
            buf_add(to, s.p + i, s.n - i);
            return;
        } else {
            buf_addc(to, s.p[i]);
        }
    }
}

void demangle_shorten(struct str mangled, struct str text, enum demangle mode, struct buf *to)
{
    if (str_begins(mangled, "_R"))
        shorten_rust(text, mode != DEMANGLE_SIMPLE, to);
    else if (is_old_rust(mangled))
        shorten_old_rust(text, to);
    else
        shorten_cpp(mangled, text, mode, to);
}
