#include "bundle/json_rows.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "bundle/path.h"
#include "base/banned.h"

/* A position in the manifest, for errors. */
struct place {
    const struct place *above; /* NULL: the root */
    const char *key;           /* NULL: an entry of a list */
    size_t index;
};

static void describe_place(const struct place *p, struct buf *b)
{
    char shown[80];
    if (p->above)
        describe_place(p->above, b);
    if (p->key)
        buf_addf(b, "%s%s", b->len ? "." : "", text_printable(shown, sizeof shown, p->key, strlen(p->key)));
    else if (p->above)
        buf_addf(b, "[%zu]", p->index);
}

static int report_fault(const struct place *p, const char *what, struct err *err)
{
    struct buf where = BUF_INIT(300);
    describe_place(p, &where);
    err_set(err, ERR_FAILED, PATH_MANIFEST " is malformed: %s %s", buf_str(&where), what);
    buf_release(&where);
    return -1;
}

/* ---- text ---------------------------------------------------------------------------------------------- */

/* Recursion is safe: jansson limits the nesting. */
static int check_visible(const json_t *value, const struct place *p, struct err *err)
{
    const char *key;
    json_t *inner;
    if (json_is_string(value) && !text_is_visible(json_string_value(value)))
        return report_fault(p, "has characters that cannot be shown", err);
    for (size_t i = 0; i < json_array_size(value); i++)
        if (check_visible(json_array_get(value, i), &(struct place){p, NULL, i}, err) < 0)
            return -1;
    json_object_foreach((json_t *)(uintptr_t)value, key, inner)
    {
        struct place at = {p, key, 0};
        if (!text_is_visible(key))
            return report_fault(&at, "is no key that can be shown", err);
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

static int check_object(const json_t *o, const struct json_row *table, const struct place *p,
                        struct err *err);

static int check_list(const json_t *list, const struct json_row *row, const struct place *p, struct err *err)
{
    if (!json_is_array(list))
        return report_fault(p, "is not a list", err);
    if (row->most && json_array_size(list) > (size_t)row->most)
        return report_fault(p, "has too many entries", err);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *entry = json_array_get(list, i);
        struct place at = {p, NULL, i};
        if (row->type == ROW_OBJECTS && check_object(entry, row->inside, &at, err) < 0)
            return -1;
        if (row->type == ROW_TEXTS && !json_is_string(entry))
            return report_fault(&at, "is not a text", err);
    }
    return 0;
}

static int check_text(const json_t *value, const struct json_row *row, const struct place *p, struct err *err)
{
    const char *text = json_string_value(value);
    if (!text)
        return report_fault(p, "is not a text", err);
    if (row->type == ROW_NAME && !is_directory_name(text))
        return report_fault(p, "is no name", err);
    if (row->type == ROW_WORD && !is_one_of(text, row->words))
        return report_fault(p, "is a word that this program does not know", err);
    return 0;
}

static int check_number(const json_t *value, const struct json_row *row, const struct place *p,
                        struct err *err)
{
    if (!json_is_integer(value))
        return report_fault(p, "is not a number", err);
    json_int_t n = json_integer_value(value);
    if (row->type == ROW_COUNT && (n < 0 || (row->most && n > row->most)))
        return report_fault(p, "is out of range", err);
    return 0;
}

static int check_value(const json_t *value, const struct json_row *row, const struct place *p,
                       struct err *err)
{
    switch (row->type) {
    case ROW_TEXT:
    case ROW_NAME:
    case ROW_PATH:
    case ROW_TIME:
    case ROW_WORD:
        return check_text(value, row, p, err);
    case ROW_NUMBER:
    case ROW_COUNT:
        return check_number(value, row, p, err);
    case ROW_FLAG:
        return json_is_boolean(value) ? 0 : report_fault(p, "is neither true nor false", err);
    case ROW_OBJECT:
        return check_object(value, row->inside, p, err);
    case ROW_OBJECTS:
    case ROW_TEXTS:
        break;
    }
    return check_list(value, row, p, err);
}

static int check_object(const json_t *o, const struct json_row *table, const struct place *p, struct err *err)
{
    if (!json_is_object(o))
        return report_fault(p, "is not an object", err);
    for (const struct json_row *row = table; row->key; row++) {
        const json_t *value = row->skip_check ? NULL : json_object_get(o, row->key);
        struct place at = {p, row->key, 0};
        if (!value && row->needed)
            return report_fault(&at, "is missing", err);
        if (value && check_value(value, row, &at, err) < 0)
            return -1;
    }
    return 0;
}

int json_rows_check(const json_t *object, const struct json_row *table, struct err *err)
{
    struct place whole = {NULL, NULL, 0};
    if (check_object(object, table, &whole, err) < 0)
        return -1;
    return check_visible(object, &whole, err);
}

/* ---- reading ------------------------------------------------------------------------------------------- */

static void *find_member(void *of, size_t at)
{
    return (char *)of + at;
}

/* The member at a place, which is its offset + 1. */
static const void *find_place(const void *of, size_t place)
{
    return (const char *)of + place - 1;
}

static void set_count(const struct json_row *row, void *to, json_int_t n)
{
    uint64_t value = n > 0 ? (uint64_t)n : 0;
    unsigned narrow = value > INT_MAX ? INT_MAX : (unsigned)value;
    if (row->size == sizeof value)
        memcpy(find_member(to, row->at), &value, sizeof value);
    else
        memcpy(find_member(to, row->at), &narrow, sizeof narrow);
}

/* The index of the word; the number of words if it is unknown. */
static unsigned find_word(const char *text, const char *const *words)
{
    unsigned i = 0;
    while (words[i] && (!text || strcmp(text, words[i]) != 0))
        i++;
    return i;
}

static int take_budget(size_t *budget, size_t n, size_t size, struct err *err)
{
    if (n > *budget / size)
        return err_set(err, ERR_FAILED, PATH_MANIFEST " would take too much memory");
    *budget -= n * size;
    return 0;
}

/* Fills the entries of a list. The caller releases them even if reading fails early. */
static int read_entries(const json_t *list, const struct json_row *row, char *entries, size_t *budget,
                        struct err *err)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *value = json_array_get(list, i);
        char *entry = entries + i * row->inside_size;
        if (row->type == ROW_TEXTS)
            *(const char **)(void *)entry = json_string_value(value);
        else if (json_rows_read(value, row->inside, entry, budget, err) < 0)
            return -1;
    }
    return 0;
}

static int read_list(const json_t *list, const struct json_row *row, void *to, size_t *budget,
                     struct err *err)
{
    size_t n = json_array_size(list);
    if (n == 0)
        return 0;
    if (take_budget(budget, n, row->inside_size, err) < 0)
        return -1;
    char *entries = calloc(n, row->inside_size);
    if (!entries)
        return err_nomem(err);
    memcpy(find_member(to, row->at), &entries, sizeof entries);
    memcpy(find_member(to, row->count - 1), &n, sizeof n);
    return read_entries(list, row, entries, budget, err);
}

static int read_value(const json_t *value, const struct json_row *row, void *to, size_t *budget,
                      struct err *err)
{
    const char *text = json_string_value(value);
    int64_t number = json_integer_value(value);
    unsigned word;
    bool flag = json_is_true(value);
    switch (row->type) {
    case ROW_TEXT:
    case ROW_NAME:
    case ROW_PATH:
        memcpy(find_member(to, row->at), &text, sizeof text);
        return 0;
    case ROW_WORD:
        word = find_word(text, row->words);
        memcpy(find_member(to, row->at), &word, sizeof word);
        return 0;
    case ROW_TIME:
        if (!text || clock_parse(text, &number) < 0 || number < 0)
            number = 0;
        memcpy(find_member(to, row->at), &number, sizeof number);
        return 0;
    case ROW_NUMBER:
        memcpy(find_member(to, row->at), &number, sizeof number);
        return 0;
    case ROW_COUNT:
        set_count(row, to, number);
        return 0;
    case ROW_FLAG:
        memcpy(find_member(to, row->at), &flag, sizeof flag);
        return 0;
    case ROW_OBJECT:
        return json_rows_read(value, row->inside, to, budget, err);
    case ROW_OBJECTS:
    case ROW_TEXTS:
        break;
    }
    return read_list(value, row, to, budget, err);
}

int json_rows_read(const json_t *object, const struct json_row *table, void *to, size_t *budget,
                   struct err *err)
{
    for (const struct json_row *row = table; row->key; row++) {
        const json_t *value = json_object_get(object, row->key);
        if (value && row->presence_flag)
            *(bool *)find_member(to, row->presence_flag - 1) = true;
        /* An unknown word must differ from the first one, also where the key is missing. */
        if ((value || row->type == ROW_WORD) && (row->bound || row->type == ROW_OBJECT) &&
            read_value(value, row, to, budget, err) < 0)
            return -1;
    }
    return 0;
}

static void release_list(const struct json_row *row, void *of)
{
    char *entries;
    size_t n;
    memcpy(&entries, find_member(of, row->at), sizeof entries);
    memcpy(&n, find_member(of, row->count - 1), sizeof n);
    for (size_t i = 0; entries && row->type == ROW_OBJECTS && i < n; i++)
        json_rows_release(row->inside, entries + i * row->inside_size);
    free(entries);
}

void json_rows_release(const struct json_row *table, void *of)
{
    for (const struct json_row *row = table; row->key; row++)
        if (row->type == ROW_OBJECT)
            json_rows_release(row->inside, of);
        else if (row->bound && (row->type == ROW_OBJECTS || row->type == ROW_TEXTS))
            release_list(row, of);
}

/* ---- writing ------------------------------------------------------------------------------------------- */

/* Whether the key is written although its value is 0. */
static bool is_zero_written(const struct json_row *row, const void *from)
{
    if (row->presence_flag)
        return *(const bool *)find_place(from, row->presence_flag);
    const char *other = row->zero_if_set ? find_place(from, row->zero_if_set) : NULL;
    for (size_t i = 0; other && i < row->zero_if_set_size; i++)
        if (other[i])
            return true;
    return row->write_if_zero;
}

static void write_number(const struct json_row *row, const void *from, struct fields *to)
{
    uint64_t value = 0;
    unsigned narrow = 0;
    if (row->size == sizeof value)
        memcpy(&value, find_place(from, row->at + 1), sizeof value);
    else
        memcpy(&narrow, find_place(from, row->at + 1), sizeof narrow);
    value += narrow;
    if (row->presence_flag ? !is_zero_written(row, from) : value == 0 && !is_zero_written(row, from))
        return;
    if (row->type == ROW_NUMBER)
        fields_number(to, row->key, (int64_t)value);
    else
        fields_count(to, row->key, value);
}

static void write_list(const struct json_row *row, const void *from, struct fields *to)
{
    const char *entries;
    size_t n;
    memcpy(&entries, find_place(from, row->at + 1), sizeof entries);
    memcpy(&n, find_place(from, row->count), sizeof n);
    if (n == 0 && !row->write_if_zero)
        return;
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++) {
        const char *entry = entries + i * row->inside_size;
        struct fields one = fields_new();
        json_rows_write(row->inside, entry, &one);
        fields_append(to, list, &one);
    }
    fields_put(to, row->key, list);
}

static void write_text(const struct json_row *row, const char *text, struct fields *to)
{
    if (row->type == ROW_PATH && text)
        fields_put(to, row->key, json_string(text));
    else if (row->write_if_zero)
        fields_put(to, row->key, fields_string(text));
    else
        fields_text(to, row->key, text);
}

static void write_value(const struct json_row *row, const void *from, struct fields *to)
{
    const void *member = find_place(from, row->at + 1);
    struct fields inner;
    switch (row->type) {
    case ROW_TEXT:
    case ROW_NAME:
    case ROW_PATH:
        write_text(row, *(const char *const *)member, to);
        break;
    case ROW_WORD:
        fields_put(to, row->key, json_string(row->words[*(const unsigned *)member]));
        break;
    case ROW_TIME:
        fields_time(to, row->key, *(const int64_t *)member);
        break;
    case ROW_NUMBER:
    case ROW_COUNT:
        write_number(row, from, to);
        break;
    case ROW_FLAG:
        if (*(const bool *)member)
            fields_put(to, row->key, json_true());
        break;
    case ROW_OBJECT:
        if (!is_zero_written(row, from))
            break;
        inner = fields_new();
        json_rows_write(row->inside, from, &inner);
        fields_nest(to, row->key, &inner);
        break;
    case ROW_OBJECTS:
        write_list(row, from, to);
        break;
    case ROW_TEXTS: /* no row of a struct that is written */
        break;
    }
}

void json_rows_write(const struct json_row *table, const void *from, struct fields *to)
{
    for (const struct json_row *row = table; row->key; row++)
        if (!row->again)
            write_value(row, from, to);
}
