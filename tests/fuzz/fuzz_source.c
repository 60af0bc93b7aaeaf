/*
 * The lines of a source file, and the shortening of a file's name: a trim path, a search path and
 * the name, each to the end of a line.
 */
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>

#include "pprof/filter.h"
#include "pprof/source_code.h"
#include "base/banned.h"

static void check_lines(struct str text)
{
    struct source_code_lines l = {0};
    struct err err = ERR_INIT;
    assert(source_code_split(text, &l, &err) == 0);
    const char *at = text.p;
    for (size_t i = 0; i < l.n; i++) {
        /* The lines are in order, inside the text, and without line ends. */
        assert(l.items[i].p == at && l.items[i].n <= SOURCE_LINE_MAX);
        assert(!memchr(at, '\n', l.items[i].n));
        at += l.items[i].n;
        at += at < text.p + text.n && *at == '\r';
        at += at < text.p + text.n && *at == '\n';
    }
    assert(at <= text.p + text.n);
    free(l.items);
}

static char *next_piece(struct str *rest)
{
    const char *end = rest->n ? memchr(rest->p, '\n', rest->n) : NULL;
    size_t n = end ? (size_t)(end - rest->p) : rest->n;
    char *s = strndup(rest->n ? rest->p : "", n);
    assert(s);
    *rest = end ? (struct str){end + 1, rest->n - n - 1} : (struct str){rest->p, 0};
    return s;
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    struct str text = {(const char *)p, n}, rest = text;
    check_lines(text);
    char *trim = next_piece(&rest), *search = next_piece(&rest);
    struct str cut = source_code_trim(rest, trim, search);
    /* The result is a suffix of the name. */
    assert(cut.n <= rest.n && cut.p + cut.n == rest.p + rest.n);
    free(trim);
    free(search);
    return 0;
}
