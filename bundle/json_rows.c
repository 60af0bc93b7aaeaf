#include "bundle/json_rows.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "bundle/path.h"
#include "base/banned.h"

/* The position of a value in the manifest, for errors. */
struct json_position {
    const struct json_position *above; /* NULL: the root */
    const char *key;                   /* NULL: an entry of a list, or the root */
    size_t index;
};

static void describe_position(const struct json_position *p, struct buf *b)
{
    char shown[80];
    if (p->above)
        describe_position(p->above, b);
    if (p->key)
        buf_addf(b, "%s%s", b->len ? "." : "", text_printable(shown, sizeof shown, p->key, strlen(p->key)));
    else if (p->above)
        buf_addf(b, "[%zu]", p->index);
}

static int report_fault(const struct json_position *p, const char *what, struct err *err)
{
    struct buf path = BUF_INIT(300);
    describe_position(p, &path);
    err_set(err, ERR_FAILED, PATH_MANIFEST " is malformed: %s %s", buf_str(&path), what);
    buf_release(&path);
    return -1;
}

/* ---- text ---------------------------------------------------------------------------------------------- */

/* Recursion is safe: jansson limits the nesting. */
static int check_visible(const json_t *value, const struct json_position *p, struct err *err)
{
    const char *key;
    json_t *inner;
    if (json_is_string(value) && !text_is_visible(json_string_value(value)))
        return report_fault(p, "has characters that cannot be shown", err);
    for (size_t i = 0; i < json_array_size(value); i++)
        if (check_visible(json_array_get(value, i), &(struct json_position){p, NULL, i}, err) < 0)
            return -1;
    json_object_foreach((json_t *)(uintptr_t)value, key, inner)
    {
        struct json_position at = {p, key, 0};
        if (!text_is_visible(key))
            return report_fault(&at, "is a key that cannot be shown", err);
        if (check_visible(inner, &at, err) < 0)
            return -1;
    }
    return 0;
}

static bool is_directory_name(const char *s)
{
    return !strchr(s, '/') && path_check(s, NULL) == 0;
}

static bool is_one_of(const char *s, const char *const *words)
{
    while (*words && strcmp(s, *words) != 0)
        words++;
    return *words != NULL;
}

/* ---- the check ----------------------------------------------------------------------------------------- */

static int check_object(const json_t *o, const struct json_row *table, const struct json_position *p,
                        struct err *err);

static int check_list(const json_t *list, const struct json_row *row, const struct json_position *p,
                      struct err *err)
{
    if (!json_is_array(list))
        return report_fault(p, "is not a list", err);
    if (row->max && json_array_size(list) > (size_t)row->max)
        return report_fault(p, "has too many entries", err);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *entry = json_array_get(list, i);
        struct json_position at = {p, NULL, i};
        if (row->type == ROW_OBJECTS && check_object(entry, row->inner_rows, &at, err) < 0)
            return -1;
        if (row->type == ROW_TEXTS && !json_is_string(entry))
            return report_fault(&at, "is not a text", err);
    }
    return 0;
}

static int check_text(const json_t *value, const struct json_row *row, const struct json_position *p,
                      struct err *err)
{
    const char *text = json_string_value(value);
    if (!text)
        return report_fault(p, "is not a text", err);
    if (row->type == ROW_NAME && !is_directory_name(text))
        return report_fault(p, "is not usable as the name of a directory", err);
    if (row->type == ROW_ENUM && !is_one_of(text, row->words))
        return report_fault(p, "is a word that this program does not know", err);
    return 0;
}

static int check_number(const json_t *value, const struct json_row *row, const struct json_position *p,
                        struct err *err)
{
    if (!json_is_integer(value))
        return report_fault(p, "is not a number", err);
    json_int_t n = json_integer_value(value);
    if (row->type == ROW_COUNT && (n < 0 || (row->max && n > row->max)))
        return report_fault(p, "is out of range", err);
    return 0;
}

static int check_value(const json_t *value, const struct json_row *row, const struct json_position *p,
                       struct err *err)
{
    switch (row->type) {
    case ROW_TEXT:
    case ROW_NAME:
    case ROW_PATH:
    case ROW_TIME:
    case ROW_ENUM:
        return check_text(value, row, p, err);
    case ROW_NUMBER:
    case ROW_COUNT:
        return check_number(value, row, p, err);
    case ROW_FLAG:
        return json_is_boolean(value) ? 0 : report_fault(p, "is neither true nor false", err);
    case ROW_OBJECT:
        return check_object(value, row->inner_rows, p, err);
    case ROW_OBJECTS:
    case ROW_TEXTS:
        break;
    }
    return check_list(value, row, p, err);
}

static int check_object(const json_t *o, const struct json_row *table, const struct json_position *p,
                        struct err *err)
{
    if (!json_is_object(o))
        return report_fault(p, "is not an object", err);
    for (const struct json_row *row = table; row->key; row++) {
        const json_t *value = row->skip_check ? NULL : json_object_get(o, row->key);
        struct json_position at = {p, row->key, 0};
        if (!value && row->required)
            return report_fault(&at, "is missing", err);
        if (value && check_value(value, row, &at, err) < 0)
            return -1;
    }
    return 0;
}

int json_rows_check(const json_t *object, const struct json_row *table, struct err *err)
{
    struct json_position root = {NULL, NULL, 0};
    if (check_object(object, table, &root, err) < 0)
        return -1;
    return check_visible(object, &root, err);
}

/* ---- reading ------------------------------------------------------------------------------------------- */

static void *find_member(void *object, size_t offset)
{
    return (char *)object + offset;
}

/* Returns the member of a ROW_AT value, which is the offset + 1. */
static const void *find_member_at(const void *object, size_t offset_plus_1)
{
    return (const char *)object + offset_plus_1 - 1;
}

static void set_count(const struct json_row *row, void *to, json_int_t n)
{
    uint64_t value = n > 0 ? (uint64_t)n : 0;
    unsigned narrow = value > INT_MAX ? INT_MAX : (unsigned)value;
    if (row->size == sizeof value)
        memcpy(find_member(to, row->offset), &value, sizeof value);
    else
        memcpy(find_member(to, row->offset), &narrow, sizeof narrow);
}

/* Returns the index of the word; the number of words if it is not in the list. */
static unsigned find_word(const char *text, const char *const *words)
{
    unsigned i = 0;
    while (words[i] && (!text || strcmp(text, words[i]) != 0))
        i++;
    return i;
}

/* Allocates a list of n entries, and stores its address and length in the struct `to`. */
static char *new_list(const struct json_row *row, void *to, size_t n, struct arena *a)
{
    char *entries = arena_alloc(a, n * row->entry_size);
    if (entries) {
        memcpy(find_member(to, row->offset), &entries, sizeof entries);
        memcpy(find_member(to, row->count - 1), &n, sizeof n);
    }
    return entries;
}

static int read_list(const json_t *list, const struct json_row *row, void *to,
                     struct json_rows_reading *reading, struct err *err)
{
    size_t n = json_array_size(list);
    if (n == 0)
        return 0;
    if (n > reading->left / row->entry_size)
        return err_set(err, ERR_FAILED, PATH_MANIFEST " would take too much memory");
    reading->left -= n * row->entry_size;
    char *entries = new_list(row, to, n, reading->arena);
    if (!entries)
        return err_nomem(err);
    for (size_t i = 0; i < n; i++) {
        const json_t *value = json_array_get(list, i);
        char *entry = entries + i * row->entry_size;
        if (row->type == ROW_TEXTS)
            *(const char **)(void *)entry = json_string_value(value);
        else if (json_rows_read(value, row->inner_rows, entry, reading, err) < 0)
            return -1;
    }
    return 0;
}

static int read_value(const json_t *value, const struct json_row *row, void *to,
                      struct json_rows_reading *reading, struct err *err)
{
    const char *text = json_string_value(value);
    int64_t number = json_integer_value(value);
    unsigned word;
    bool flag = json_is_true(value);
    switch (row->type) {
    case ROW_TEXT:
    case ROW_NAME:
    case ROW_PATH:
        memcpy(find_member(to, row->offset), &text, sizeof text);
        return 0;
    case ROW_ENUM:
        word = find_word(text, row->words);
        memcpy(find_member(to, row->offset), &word, sizeof word);
        return 0;
    case ROW_TIME:
        if (!text || clock_parse(text, &number) < 0 || number < 0)
            number = 0;
        memcpy(find_member(to, row->offset), &number, sizeof number);
        return 0;
    case ROW_NUMBER:
        memcpy(find_member(to, row->offset), &number, sizeof number);
        return 0;
    case ROW_COUNT:
        set_count(row, to, number);
        return 0;
    case ROW_FLAG:
        memcpy(find_member(to, row->offset), &flag, sizeof flag);
        return 0;
    case ROW_OBJECT:
        return json_rows_read(value, row->inner_rows, find_member(to, row->offset), reading, err);
    case ROW_OBJECTS:
    case ROW_TEXTS:
        break;
    }
    return read_list(value, row, to, reading, err);
}

int json_rows_read(const json_t *object, const struct json_row *table, void *to,
                   struct json_rows_reading *reading, struct err *err)
{
    const struct json_row *row = table;
    bool outer_has_unknown_keys = reading->has_unknown_keys;
    size_t known = 0;
    reading->has_unknown_keys = false;
    for (; row->key; row++) {
        const json_t *value = json_object_get(object, row->key);
        known += value && !row->read_only;
        if (value && row->presence_flag)
            *(bool *)find_member(to, row->presence_flag - 1) = true;
        /* Read a missing enum too: otherwise its member stays 0, which means the first word. */
        if ((value || row->type == ROW_ENUM) && read_value(value, row, to, reading, err) < 0)
            return -1;
    }
    bool has_unknown_keys = reading->has_unknown_keys || json_object_size(object) > known;
    if (has_unknown_keys && row->has_member)
        memcpy(find_member(to, row->offset), &object, sizeof object);
    /* If this table has no member for keys without a row, the outer object keeps them. */
    reading->has_unknown_keys = outer_has_unknown_keys || (has_unknown_keys && !row->has_member);
    return 0;
}

/* ---- copying ------------------------------------------------------------------------------------------- */

char *json_rows_make_printable(char dst[JSON_ROWS_TEXT_SIZE], const char *s)
{
    enum { MAX = 4096, ELLIPSIS = 8 };
    size_t n = strlen(s);
    return text_printable(dst, (n < MAX ? n : MAX - ELLIPSIS) + ELLIPSIS, s, n);
}

static const char *copy_bytes(const char *s, struct arena *a)
{
    size_t size = strlen(s) + 1;
    char *copy = arena_alloc(a, size);
    return copy ? memcpy(copy, s, size) : NULL;
}

const char *json_rows_copy_text(const char *s, struct arena *a)
{
    char shown[JSON_ROWS_TEXT_SIZE];
    return copy_bytes(json_rows_make_printable(shown, s), a);
}

/* Copies a text. *ret is NULL for NULL, and for an empty text whose row does not keep it. */
static int copy_text(const struct json_row *row, const char *text, const char **ret, struct arena *a)
{
    *ret = NULL;
    if (!text || (!*text && !row->required && !row->write_if_zero && !row->keep_empty))
        return 0;
    *ret = row->type == ROW_PATH ? copy_bytes(text, a) : json_rows_copy_text(text, a);
    return *ret ? 0 : -1;
}

static int copy_list(const struct json_row *row, const void *from, void *to, struct arena *a, struct err *err)
{
    const char *entries;
    size_t n;
    memcpy(&entries, find_member_at(from, row->offset + 1), sizeof entries);
    memcpy(&n, find_member_at(from, row->count), sizeof n);
    if (n == 0)
        return 0;
    char *copies = new_list(row, to, n, a);
    if (!copies)
        return err_nomem(err);
    for (size_t i = 0; i < n; i++) {
        const void *entry = entries + i * row->entry_size;
        void *copy = copies + i * row->entry_size;
        if (row->type == ROW_TEXTS &&
            !(*(const char **)copy = json_rows_copy_text(*(const char *const *)entry, a)))
            return err_nomem(err);
        if (row->type == ROW_OBJECTS && json_rows_copy(row->inner_rows, entry, copy, a, err) < 0)
            return -1;
    }
    return 0;
}

static int copy_value(const struct json_row *row, const void *from, void *to, struct arena *a,
                      struct err *err)
{
    const void *member = find_member_at(from, row->offset + 1);
    switch (row->type) {
    case ROW_TEXT:
    case ROW_NAME:
    case ROW_PATH:
        return copy_text(row, *(const char *const *)member, find_member(to, row->offset), a) < 0
                   ? err_nomem(err)
                   : 0;
    case ROW_OBJECT:
        return json_rows_copy(row->inner_rows, member, find_member(to, row->offset), a, err);
    case ROW_OBJECTS:
    case ROW_TEXTS:
        return copy_list(row, from, to, a, err);
    case ROW_ENUM:
    case ROW_TIME:
    case ROW_NUMBER:
    case ROW_COUNT:
    case ROW_FLAG:
        break;
    }
    memcpy(find_member(to, row->offset), member, row->size);
    return 0;
}

int json_rows_copy(const struct json_row *table, const void *from, void *to, struct arena *a, struct err *err)
{
    for (const struct json_row *row = table; row->key; row++) {
        if (row->presence_flag)
            *(bool *)find_member(to, row->presence_flag - 1) =
                *(const bool *)find_member_at(from, row->presence_flag);
        if (!row->read_only && copy_value(row, from, to, a, err) < 0)
            return -1;
    }
    return 0;
}
