/*
 * Reads the two text forms line by line. Unknown lines are ignored, because any text may surround a dump. The
 * last goroutine of a dump that ends early is dropped.
 */
#include <string.h>

#include "findings/goroutines_internal.h"
#include "base/banned.h"

/* Splits off the first line. Returns false if nothing is left. */
static bool next_line(struct str *rest, struct str *ret)
{
    if (rest->n == 0)
        return false;
    const char *end = memchr(rest->p, '\n', rest->n);
    size_t n = end ? (size_t)(end - rest->p) : rest->n;
    *ret = (struct str){rest->p, n};
    rest->p += n + (end != NULL);
    rest->n -= n + (end != NULL);
    if (ret->n > 0 && ret->p[ret->n - 1] == '\r')
        ret->n--;
    return true;
}

static void skip_bytes(struct str *s, size_t n)
{
    s->p += n;
    s->n -= n;
}

static bool skip_prefix(struct str *s, const char *prefix)
{
    if (!str_begins(*s, prefix))
        return false;
    skip_bytes(s, strlen(prefix));
    return true;
}

/* Reads an unsigned number that fits into an int64_t. */
static bool read_number(struct str *s, uint64_t *ret)
{
    uint64_t value = 0;
    size_t n = 0;
    for (; n < s->n && s->p[n] >= '0' && s->p[n] <= '9'; n++) {
        if (value > (INT64_MAX - 9) / 10)
            return false;
        value = value * 10 + (uint64_t)(s->p[n] - '0');
    }
    if (n == 0)
        return false;
    skip_bytes(s, n);
    *ret = value;
    return true;
}

/* Returns the position of the last `part` in s, or the length of s. */
static size_t find_last(struct str s, const char *part)
{
    size_t n = strlen(part);
    for (size_t at = s.n; at-- > 0;)
        if (s.n - at >= n && memcmp(s.p + at, part, n) == 0)
            return at;
    return s.n;
}

static struct str first_bytes(struct str s, size_t n)
{
    return (struct str){s.p, n};
}

static struct str trim_blanks(struct str s)
{
    while (s.n > 0 && (*s.p == ' ' || *s.p == '\t'))
        skip_bytes(&s, 1);
    while (s.n > 0 && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t'))
        s.n--;
    return s;
}

/* ---- debug=2 ------------------------------------------------------------------------------------------- */

/* Splits off the text before the first comma, and the comma. */
static struct str split_part(struct str *rest)
{
    const char *comma = memchr(rest->p, ',', rest->n);
    struct str part = first_bytes(*rest, comma ? (size_t)(comma - rest->p) : rest->n);
    skip_bytes(rest, part.n + (comma != NULL));
    return part;
}

/* Reads "chan receive, 12 minutes, locked to thread". */
static void read_state(struct str text, struct goroutine *current)
{
    current->state = trim_blanks(split_part(&text));
    while (text.n > 0) {
        uint64_t minutes;
        struct str part = trim_blanks(split_part(&text));
        if (read_number(&part, &minutes) && str_begins(part, " minute"))
            current->wait = minutes < UINT32_MAX ? (uint32_t)minutes : UINT32_MAX;
    }
}

/* Reads "goroutine 18 [chan receive, 12 minutes]:" into `current`, unless it is NULL. More text may precede
 * the brackets, and labels may follow them. */
static bool read_header(struct str line, struct goroutine *current)
{
    uint64_t number;
    if (!skip_prefix(&line, "goroutine ") || !read_number(&line, &number) || line.n == 0 ||
        line.p[line.n - 1] != ':')
        return false;
    const char *opening = memchr(line.p, '[', line.n);
    const char *closing = opening ? memchr(opening, ']', line.n - (size_t)(opening - line.p)) : NULL;
    if (!closing || *line.p != ' ')
        return false;
    struct str labels = {closing + 1, line.n - (size_t)(closing - line.p) - 2};
    if (current) {
        read_state((struct str){opening + 1, (size_t)(closing - opening) - 1}, current);
        labels = trim_blanks(labels);
        if (str_begins(labels, "{"))
            current->labels = labels;
    }
    return true;
}

/* Reads "\t/src/main.go:12 +0x1d fp=…", the source position of the call that the previous text line named. */
static int read_file_line(struct goroutines *goroutines, struct str line, struct err *err)
{
    struct goroutine *current = &goroutines->store->current;
    struct str file_line = trim_blanks(first_bytes(line, find_last(line, " +0x")));
    if (current->creator.function.n > 0)
        current->creator.file_line = file_line;
    else if (current->n_frames > 0)
        current->frames[current->n_frames - 1].file_line = file_line;
    else
        return goroutine_add_frame(goroutines, (struct goroutine_frame){file_line, STR("")}, err);
    return 0;
}

static int read_call(struct goroutines *goroutines, struct str line, struct err *err)
{
    if (skip_prefix(&line, "created by ")) {
        goroutines->store->current.creator.function = first_bytes(line, find_last(line, " in goroutine "));
        return 0;
    }
    return goroutine_add_frame(
        goroutines, (struct goroutine_frame){first_bytes(line, find_last(line, "(")), STR("")}, err);
}

int goroutines_read_stacks(struct goroutines *goroutines, size_t dump, struct str text, struct err *err)
{
    struct goroutine *current = &goroutines->store->current;
    bool in_goroutine = false, in_ancestors = false;
    struct str line;
    goroutines->dumps[dump].cut = text.n > 0 && text.p[text.n - 1] != '\n';
    while (next_line(&text, &line)) {
        bool is_header = read_header(line, NULL);
        if (in_goroutine && (is_header || line.n == 0)) {
            if (goroutine_end(goroutines, dump, err) < 0)
                return -1;
            in_goroutine = false;
        }
        if (is_header) {
            goroutine_begin(goroutines, 1);
            read_header(line, current);
            in_goroutine = true;
            in_ancestors = false;
        } else if (in_goroutine && str_begins(line, "[originating from")) {
            in_ancestors = true;
        } else if (in_goroutine && !in_ancestors && line.n > 0) {
            if ((*line.p == '\t' ? read_file_line : read_call)(goroutines, line, err) < 0)
                return -1;
        }
    }
    return in_goroutine && !goroutines->dumps[dump].cut ? goroutine_end(goroutines, dump, err) : 0;
}

/* ---- debug=1 ------------------------------------------------------------------------------------------- */

/* Reads "goroutine profile: total 12". */
static bool read_total(struct str line, uint64_t *ret)
{
    return str_begins(line, "goroutine") && find_last(line, " profile: total ") < line.n &&
           (skip_bytes(&line, find_last(line, " profile: total ") + strlen(" profile: total ")),
            read_number(&line, ret));
}

/* Reads "3 @ 0x43e1d6 0x44d4f2". */
static bool read_count(struct str line, uint64_t *ret, struct str *ret_addresses)
{
    if (!read_number(&line, ret) || !skip_prefix(&line, " @"))
        return false;
    *ret_addresses = trim_blanks(line);
    return true;
}

/* Reads "#\t0x4e2c78\tmain.waitFor+0x18\t\t/src/main.go:133". */
static int read_symbol(struct goroutines *goroutines, struct str line, struct err *err)
{
    struct goroutine_frame frame = {STR(""), STR("")};
    line = trim_blanks(line);
    const char *tab = memchr(line.p, '\t', line.n);
    if (!tab)
        return goroutine_add_frame(goroutines, (struct goroutine_frame){line, STR("")}, err);
    skip_bytes(&line, (size_t)(tab - line.p) + 1);
    tab = memchr(line.p, '\t', line.n);
    frame.function = first_bytes(line, tab ? (size_t)(tab - line.p) : line.n);
    frame.function.n = find_last(frame.function, "+0x");
    if (tab)
        frame.file_line = trim_blanks((struct str){tab, line.n - (size_t)(tab - line.p)});
    return goroutine_add_frame(goroutines, frame, err);
}

static int end_group(struct goroutines *goroutines, size_t dump, struct str addresses, struct err *err)
{
    if (goroutines->store->current.n_frames == 0 &&
        goroutine_add_frame(goroutines, (struct goroutine_frame){addresses, STR("")}, err) < 0)
        return -1;
    return goroutine_end(goroutines, dump, err);
}

int goroutines_read_grouped(struct goroutines *goroutines, size_t dump, struct str text, struct err *err)
{
    bool in_group = false, is_cut = text.n > 0 && text.p[text.n - 1] != '\n';
    uint64_t count, total = 0;
    struct str line, addresses = STR(""), next;
    while (next_line(&text, &line)) {
        bool begins_group = read_count(line, &count, &next);
        if (in_group && (begins_group || line.n == 0)) {
            if (end_group(goroutines, dump, addresses, err) < 0)
                return -1;
            in_group = false;
        }
        if (begins_group) {
            goroutine_begin(goroutines, count);
            addresses = next;
            in_group = true;
        } else if (in_group && skip_prefix(&line, "# labels: ")) {
            goroutines->store->current.labels = line;
        } else if (in_group && skip_prefix(&line, "#\t")) {
            if (read_symbol(goroutines, line, err) < 0)
                return -1;
        } else if (total == 0) {
            (void)read_total(line, &total);
        }
    }
    if (in_group && !is_cut && end_group(goroutines, dump, addresses, err) < 0)
        return -1;
    goroutines->dumps[dump].cut = is_cut || goroutines->dumps[dump].total < total;
    return 0;
}

/* ---- forms --------------------------------------------------------------------------------------------- */

enum goroutine_form goroutines_detect_form(struct str dump)
{
    uint64_t total;
    struct str line;
    if (dump.n > 0 && *dump.p == 0x1f)
        return GOROUTINES_PROFILE; /* gzip */
    while (next_line(&dump, &line)) {
        if (read_total(line, &total))
            return GOROUTINES_GROUPED;
        if (read_header(line, NULL))
            return GOROUTINES_STACKS;
    }
    return GOROUTINES_PROFILE;
}
