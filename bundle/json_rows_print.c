/* Prints as jansson does with JSON_INDENT(2) or JSON_COMPACT, but without building a tree, because a capture
 * prints its manifest many times. */
#include "bundle/json_rows.h"

#include <inttypes.h>
#include <string.h>

#include "base/banned.h"

struct printer {
    struct buf *to;
    unsigned depth; /* open objects and lists */
    bool empty;     /* the innermost object or list has no entry yet */
    bool compact;   /* no lines and no blanks */
};

/* ---- JSON ---------------------------------------------------------------------------------------------- */

static void begin_line(const struct printer *p)
{
    static const char blanks[] = "                                ";
    size_t n = 2 * (size_t)p->depth;
    if (p->compact)
        return;
    buf_addc(p->to, '\n');
    for (; n >= sizeof blanks; n -= sizeof blanks - 1)
        buf_add(p->to, blanks, sizeof blanks - 1);
    buf_add(p->to, blanks, n);
}

/* Prints null for NULL: in a list of texts, NULL stands for a value that is no text. */
static void print_string(const struct printer *p, const char *s)
{
    if (!s) {
        buf_adds(p->to, "null");
        return;
    }
    buf_addc(p->to, '"');
    while (*s) {
        size_t n = 0;
        while ((unsigned char)s[n] >= ' ' && s[n] != '"' && s[n] != '\\')
            n++;
        buf_add(p->to, s, n);
        s += n;
        if (*s == '"' || *s == '\\')
            buf_addf(p->to, "\\%c", *s++);
        else if (*s)
            buf_addf(p->to, "\\u%04X", (unsigned char)*s++);
    }
    buf_addc(p->to, '"');
}

/* Begins an entry of an object, or of a list if `key` is NULL. */
static void begin_entry(struct printer *p, const char *key)
{
    if (!p->empty)
        buf_addc(p->to, ',');
    p->empty = false;
    begin_line(p);
    if (!key)
        return;
    print_string(p, key);
    buf_adds(p->to, p->compact ? ":" : ": ");
}

static void open_container(struct printer *p, char bracket)
{
    buf_addc(p->to, bracket);
    p->depth++;
    p->empty = true;
}

static void close_container(struct printer *p, char bracket)
{
    p->depth--;
    if (!p->empty)
        begin_line(p);
    p->empty = false;
    buf_addc(p->to, bracket);
}

static int add_indented(const char *s, size_t n, void *ctx)
{
    const struct printer *p = ctx;
    for (const char *end; (end = memchr(s, '\n', n)); n -= (size_t)(end + 1 - s), s = end + 1) {
        buf_add(p->to, s, (size_t)(end - s));
        begin_line(p);
    }
    buf_add(p->to, s, n);
    return p->to->failed ? -1 : 0;
}

static void print_json(const struct printer *p, const json_t *value)
{
    size_t form = p->compact ? JSON_COMPACT : JSON_INDENT(2);
    if (json_dump_callback(value, add_indented, (void *)(uintptr_t)p,
                           form | JSON_PRESERVE_ORDER | JSON_ENCODE_ANY) < 0 &&
        !p->to->failed)
        p->to->failed = p->to->out_of_memory = true;
}

/* ---- members ------------------------------------------------------------------------------------------- */

static const void *find_member(const void *object, size_t offset)
{
    return (const char *)object + offset;
}

static bool is_nonzero(const void *object, size_t offset_plus_1, size_t size)
{
    const char *member = find_member(object, offset_plus_1 - 1);
    for (size_t i = 0; i < size; i++)
        if (member[i])
            return true;
    return false;
}

static bool is_any_printed(const struct json_row *table, const void *from);

/* Returns whether the key is printed. */
static bool is_printed(const struct json_row *row, const void *from)
{
    const void *member = find_member(from, row->offset);
    if (row->read_only)
        return false;
    if (row->presence_flag)
        return *(const bool *)find_member(from, row->presence_flag - 1);
    switch (row->type) {
    case ROW_TEXT:
    case ROW_NAME:
    case ROW_PATH:
        return *(const char *const *)member;
    case ROW_ENUM:
        return row->words[*(const unsigned *)member];
    case ROW_OBJECT:
        if (row->write_zero_if_set)
            return is_nonzero(from, row->write_zero_if_set, row->zero_if_set_size);
        return row->required || is_any_printed(row->inner_rows, member);
    case ROW_OBJECTS:
    case ROW_TEXTS:
        return row->write_if_zero || is_nonzero(from, row->count, sizeof(size_t));
    case ROW_TIME:
    case ROW_NUMBER:
    case ROW_COUNT:
    case ROW_FLAG:
        break;
    }
    return row->write_if_zero || is_nonzero(from, row->offset + 1, row->size) ||
           (row->write_zero_if_set && is_nonzero(from, row->write_zero_if_set, row->zero_if_set_size));
}

static bool is_any_printed(const struct json_row *table, const void *from)
{
    const struct json_row *row = table;
    while (row->key && !is_printed(row, from))
        row++;
    return row->key;
}

static void print_number(const struct printer *p, const struct json_row *row, const void *member)
{
    uint64_t value = 0;
    unsigned narrow = 0;
    if (row->size == sizeof value)
        memcpy(&value, member, sizeof value);
    else
        memcpy(&narrow, member, sizeof narrow);
    value += narrow;
    if (row->type == ROW_COUNT && value > INT64_MAX)
        value = INT64_MAX;
    buf_addf(p->to, "%" PRId64, (int64_t)value);
}

static void print_time(const struct printer *p, int64_t utc_ms)
{
    char text[64];
    print_string(p, clock_format_millis(text, sizeof text, utc_ms));
}

static void print_object(struct printer *p, const struct json_row *table, const void *from,
                         const json_t *source);

static void print_list(struct printer *p, const struct json_row *row, const void *from)
{
    const char *entries;
    size_t n;
    memcpy(&entries, find_member(from, row->offset), sizeof entries);
    memcpy(&n, find_member(from, row->count - 1), sizeof n);
    open_container(p, '[');
    for (size_t i = 0; i < n; i++) {
        const void *entry = entries + i * row->entry_size;
        begin_entry(p, NULL);
        if (row->type == ROW_TEXTS)
            print_string(p, *(const char *const *)entry);
        else
            print_object(p, row->inner_rows, entry, NULL);
    }
    close_container(p, ']');
}

static void print_value(struct printer *p, const struct json_row *row, const void *from, const json_t *source)
{
    const void *member = find_member(from, row->offset);
    switch (row->type) {
    case ROW_TEXT:
    case ROW_NAME:
    case ROW_PATH:
        print_string(p, *(const char *const *)member);
        break;
    case ROW_ENUM:
        print_string(p, row->words[*(const unsigned *)member]);
        break;
    case ROW_TIME:
        print_time(p, *(const int64_t *)member);
        break;
    case ROW_NUMBER:
    case ROW_COUNT:
        print_number(p, row, member);
        break;
    case ROW_FLAG:
        buf_adds(p->to, *(const bool *)member ? "true" : "false");
        break;
    case ROW_OBJECT:
        print_object(p, row->inner_rows, member, json_object_get(source, row->key));
        break;
    case ROW_OBJECTS:
    case ROW_TEXTS:
        print_list(p, row, from);
        break;
    }
}

static bool has_row(const struct json_row *table, const char *key)
{
    while (table->key && strcmp(table->key, key) != 0)
        table++;
    return table->key;
}

/* `source`: the object that the members were read from, if the table has no member for it. */
static void print_object(struct printer *p, const struct json_row *table, const void *from,
                         const json_t *source)
{
    const struct json_row *row = table;
    const char *key;
    json_t *value;
    const struct json_row *end = table;
    while (end->key)
        end++;
    if (end->has_member)
        memcpy(&source, find_member(from, end->offset), sizeof source);
    open_container(p, '{');
    for (; row->key; row++)
        if (is_printed(row, from)) {
            begin_entry(p, row->key);
            print_value(p, row, from, source);
        }
    json_object_foreach((json_t *)(uintptr_t)source, key, value)
    {
        if (has_row(table, key))
            continue;
        begin_entry(p, key);
        print_json(p, value);
    }
    close_container(p, '}');
}

void json_rows_print(const struct json_row *table, const void *from, bool compact, struct buf *to)
{
    struct printer p = {.to = to, .compact = compact};
    print_object(&p, table, from, NULL);
}
