#include "fetch/body/index.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/banned.h"

/* A part of the page. The functions that read it move `p` forward. */
struct text {
    const char *p;
    const char *end;
};

static size_t bytes_left(const struct text *t)
{
    return (size_t)(t->end - t->p);
}

static void skip_blanks(struct text *t)
{
    while (t->p < t->end && isspace((unsigned char)*t->p))
        t->p++;
}

/* Skips a word, in any letter case. */
static bool skip_word(struct text *t, const char *word)
{
    size_t n = strlen(word);
    if (bytes_left(t) < n || strncasecmp(t->p, word, n) != 0)
        return false;
    t->p += n;
    return true;
}

/* Reads `<name ...>`, with its attributes in *ret. Fails if another `<` comes before the `>`, also because
 * this keeps the work proportional to the size of the page. */
static bool read_tag(struct text *t, const char *name, struct text *ret)
{
    struct text at = *t;
    skip_blanks(&at);
    if (!skip_word(&at, "<") || !skip_word(&at, name) || at.p == at.end)
        return false;
    if (*at.p != '>' && !isspace((unsigned char)*at.p))
        return false;
    const char *begin = at.p;
    while (at.p < at.end && *at.p != '<' && *at.p != '>')
        at.p++;
    if (at.p == at.end || *at.p == '<')
        return false;
    *ret = (struct text){begin, at.p};
    t->p = at.p + 1;
    return true;
}

static bool read_count(struct text *t, int64_t *ret)
{
    int64_t count = 0;
    skip_blanks(t);
    const char *begin = t->p;
    for (; t->p < t->end && isdigit((unsigned char)*t->p); t->p++)
        if (__builtin_mul_overflow(count, 10, &count) || __builtin_add_overflow(count, *t->p - '0', &count))
            return false;
    *ret = count;
    return t->p > begin;
}

/* Finds the value of href among a tag's attributes, without its quotes. */
static bool find_href(struct text attributes, struct text *ret)
{
    struct text *t = &attributes;
    while (t->p < t->end &&
           !(isspace((unsigned char)*t->p) && bytes_left(t) > 5 && strncasecmp(t->p + 1, "href=", 5) == 0))
        t->p++;
    if (t->p == t->end)
        return false;
    t->p += 6;
    char quote = '\0';
    if (t->p < t->end && (*t->p == '"' || *t->p == '\''))
        quote = *t->p++;
    const char *begin = t->p;
    while (t->p < t->end && (quote ? *t->p != quote : !isspace((unsigned char)*t->p)))
        t->p++;
    *ret = (struct text){begin, t->p};
    return !quote || t->p < t->end;
}

/* Returns the profile's name in a link: without query and fragment; of an absolute path only the part after
 * `pprof/`, or else after the last slash. */
static struct text find_name(struct text href)
{
    static const char before[] = "pprof/";
    struct text t = href;
    for (const char *p = t.p; p < t.end; p++)
        if (*p == '?' || *p == '#')
            t.end = p;
    skip_word(&t, "./");
    if (t.p == t.end || *t.p != '/')
        return t;
    const char *found = memmem(t.p, bytes_left(&t), before, sizeof before - 1);
    if (found)
        t.p = found + sizeof before - 1;
    else
        for (const char *p = t.p; p < t.end; p++)
            if (*p == '/')
                t.p = p + 1;
    return t;
}

/* Decodes %XX. Returns false if the result is too long or has a NUL, or if an escape is invalid. */
static bool decode_percent(struct text t, char *dst, size_t cap)
{
    size_t n = 0;
    for (; t.p < t.end && n + 1 < cap; t.p++) {
        char c = *t.p;
        if (c == '%') {
            int high = bytes_left(&t) > 2 ? text_hex_digit(t.p[1]) : -1,
                low = high < 0 ? -1 : text_hex_digit(t.p[2]);
            if (low < 0)
                return false;
            c = (char)(high * 16 + low);
            t.p += 2;
        }
        dst[n++] = c;
    }
    dst[n] = '\0';
    return t.p == t.end && strlen(dst) == n;
}

static bool is_profile_name(const char *s)
{
    char before = '/';
    if (!isalnum((unsigned char)s[0]))
        return false;
    for (; *s; before = *s++) {
        if (!isalnum((unsigned char)*s) && !strchr("._-/", *s))
            return false;
        if (before == '/' && (*s == '.' || *s == '/'))
            return false;
    }
    return before != '/';
}

/* Reads a row from its first cell on: `<td>8</td><td><a href='heap?debug=1'>`. */
static bool read_row(struct text *t, struct index_entry *ret)
{
    struct text attributes, href;
    if (!read_tag(t, "td", &attributes) || !read_count(t, &ret->count))
        return false;
    read_tag(t, "/td", &attributes);
    if (!read_tag(t, "td", &attributes) || !read_tag(t, "a", &attributes) || !find_href(attributes, &href))
        return false;
    return decode_percent(find_name(href), ret->name, sizeof ret->name) && is_profile_name(ret->name);
}

static int add_entry(struct index_page *page, size_t *cap, const struct index_entry *entry, struct err *err)
{
    void *items = page->items;
    if (page->n == INDEX_MAX_ENTRIES || index_find(page, entry->name))
        return 0;
    if (array_reserve(&items, cap, page->n + 1, sizeof *page->items, err))
        return -1;
    page->items = items;
    page->items[page->n++] = *entry;
    return 0;
}

int index_parse(const void *p, size_t n, struct index_page *ret, struct err *err)
{
    struct index_page page = {0};
    size_t cap = 0;
    struct text t = {p, (const char *)p + n};
    int rc = -1;
    while (t.p < t.end && (t.p = memchr(t.p, '<', bytes_left(&t)))) {
        struct index_entry entry = {0};
        struct text row = t;
        bool found = read_row(&row, &entry);
        if (found && add_entry(&page, &cap, &entry, err))
            goto out;
        t.p = found ? row.p : t.p + 1;
    }
    if (page.n == 0) {
        err_set(err, ERR_NOT_FOUND, "no profile list in the page");
        goto out;
    }
    *ret = page;
    page = (struct index_page){0};
    rc = 0;
out:
    index_release(&page);
    return rc;
}

void index_release(struct index_page *page)
{
    free(page->items);
    *page = (struct index_page){0};
}

const struct index_entry *index_find(const struct index_page *page, const char *name)
{
    for (size_t i = 0; i < page->n; i++)
        if (strcmp(page->items[i].name, name) == 0)
            return &page->items[i];
    return NULL;
}
