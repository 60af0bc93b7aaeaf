#include "inventory/range.h"

#include <string.h>

#include "base/banned.h"

#define MAX_RANGES 8
#define MAX_DIGITS 9
#define MAX_BYTES 1024

/* One part between commas: 4, or 04-40. */
struct span {
    unsigned from, to;
    int width; /* 0: no leading zeros */
};

struct expansion {
    const char *text; /* the whole text, for messages */
    size_t max;
    struct strlist names;
};

static int refuse_range(const struct expansion *x, struct err *err, const char *why)
{
    char shown[120];
    return err_set(err, ERR_USAGE, "bad range in \"%s\": %s",
                   text_printable(shown, sizeof shown, x->text, strlen(x->text)), why);
}

static int refuse_too_many(const struct expansion *x, struct err *err)
{
    char shown[120];
    return err_set(err, ERR_USAGE, "\"%s\" expands to more than %zu names",
                   text_printable(shown, sizeof shown, x->text, strlen(x->text)), x->max);
}

/* Reads digits at *p and moves *p after them. */
static int read_number(const char **p, unsigned *ret, size_t *ret_digits)
{
    size_t n = strspn(*p, "0123456789");
    if (n == 0 || n > MAX_DIGITS)
        return -1;
    unsigned v = 0;
    for (size_t i = 0; i < n; i++)
        v = v * 10 + (unsigned)((*p)[i] - '0');
    *p += n;
    *ret = v;
    *ret_digits = n;
    return 0;
}

static int read_span(const struct expansion *x, const char **p, struct span *ret, struct err *err)
{
    struct span s = {0};
    size_t from_digits = 0, to_digits = 0;
    const char *from = *p;
    if (read_number(p, &s.from, &from_digits) < 0)
        return refuse_range(x, err,
                            "brackets contain numbers of at most 9 digits, such as [04-40] or [1,3,5-7]");
    s.to = s.from;
    bool padded = from_digits > 1 && *from == '0';
    if (**p == '-') {
        const char *to = ++*p;
        if (read_number(p, &s.to, &to_digits) < 0)
            return refuse_range(x, err, "a number is missing after \"-\"");
        padded = padded || (to_digits > 1 && *to == '0');
        if (padded && from_digits != to_digits)
            return refuse_range(x, err, "with leading zeros both ends need the same number of digits");
        if (s.to < s.from)
            return refuse_range(x, err, "the range counts down");
    }
    if (padded)
        s.width = (int)from_digits;
    *ret = s;
    return 0;
}

/* A partly expanded name. */
struct partial {
    const char *done;
    const char *rest;
    int ranges; /* the number of ranges in `done` */
};

static int expand_rest(struct expansion *x, const struct partial *name, struct err *err);

/* Expands one span; name->rest begins after its closing bracket. */
static int expand_span(struct expansion *x, const struct span *s, const struct partial *name, struct err *err)
{
    int rc = 0;
    struct buf b = BUF_INIT(2 * MAX_BYTES);
    for (unsigned v = s->from; rc == 0 && v <= s->to; v++) {
        buf_clear(&b);
        buf_addf(&b, "%s%0*u", name->done, s->width, v);
        rc = buf_check(&b, "the name", err);
        if (rc == 0)
            rc = expand_rest(x, &(struct partial){buf_str(&b), name->rest, name->ranges + 1}, err);
    }
    buf_release(&b);
    return rc;
}

/* Expands the range at name->rest, which begins after an opening bracket. */
static int expand_bracket(struct expansion *x, const struct partial *name, struct err *err)
{
    const char *close = strchr(name->rest, ']');
    if (!close)
        return refuse_range(x, err, "\"]\" is missing");
    if (name->ranges == MAX_RANGES)
        return refuse_range(x, err, "more than 8 ranges");
    for (const char *p = name->rest;; p++) {
        struct span s = {0};
        if (read_span(x, &p, &s, err) < 0)
            return -1;
        if (*p != ',' && *p != ']')
            return refuse_range(x, err, "numbers are separated by \",\" or \"-\"");
        if (expand_span(x, &s, &(struct partial){name->done, close + 1, name->ranges}, err) < 0)
            return -1;
        if (*p == ']')
            return 0;
    }
}

/* Returns the end of the literal text at the start of `s`: the first bracket that opens a range or has no
 * partner. If there is none, returns the end of `s`. Brackets around a colon are an IPv6 address, which is
 * literal. */
static const char *literal_end(const char *s)
{
    for (;;) {
        s += strcspn(s, "[]");
        const char *close = *s == '[' ? strchr(s, ']') : NULL;
        if (!close || !memchr(s, ':', (size_t)(close - s)))
            return s;
        s = close + 1;
    }
}

/* Adds every name that begins with name->done and continues with name->rest. */
static int expand_rest(struct expansion *x, const struct partial *name, struct err *err)
{
    int rc = -1;
    const char *end = literal_end(name->rest);
    struct buf b = BUF_INIT(2 * MAX_BYTES);
    buf_adds(&b, name->done);
    buf_add(&b, name->rest, (size_t)(end - name->rest));
    if (buf_check(&b, "the name", err) < 0)
        goto out;
    if (*end == '[')
        rc = expand_bracket(x, &(struct partial){buf_str(&b), end + 1, name->ranges}, err);
    else if (*end)
        refuse_range(x, err, "\"]\" without \"[\"");
    else if (x->names.n == x->max)
        refuse_too_many(x, err);
    else
        rc = strlist_add(&x->names, buf_str(&b), err);
out:
    buf_release(&b);
    return rc;
}

int range_expand(const char *text, size_t max, struct strlist *ret, struct err *err)
{
    struct expansion x = {.text = text, .max = max};
    if (strlen(text) > MAX_BYTES)
        return err_set(err, ERR_USAGE, "a name is longer than %d bytes", MAX_BYTES);
    /* A fast path: nearly no name has brackets, and an inventory has thousands. */
    int rc = strpbrk(text, "[]") ? expand_rest(&x, &(struct partial){"", text, 0}, err)
                                 : strlist_add(&x.names, text, err);
    if (rc < 0) {
        strlist_release(&x.names);
        return -1;
    }
    *ret = x.names;
    return 0;
}
