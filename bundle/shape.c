#include "bundle/shape.h"

#include <stdio.h>
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

static int shape_error(const struct place *p, const char *what, struct err *err)
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
        return shape_error(p, "has characters that cannot be shown", err);
    for (size_t i = 0; i < json_array_size(value); i++)
        if (check_visible(json_array_get(value, i), &(struct place){p, NULL, i}, err) < 0)
            return -1;
    json_object_foreach((json_t *)(uintptr_t)value, key, inner)
    {
        struct place at = {p, key, 0};
        if (!text_is_visible(key))
            return shape_error(&at, "is no key that can be shown", err);
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

/* ---- the table ----------------------------------------------------------------------------------------- */

static int check_object(const json_t *o, const struct shape *table, const struct place *p, struct err *err);

static int check_list(const json_t *list, const struct shape *s, const struct place *p, struct err *err)
{
    if (!json_is_array(list))
        return shape_error(p, "is not a list", err);
    if (s->most && json_array_size(list) > (size_t)s->most)
        return shape_error(p, "has too many entries", err);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *entry = json_array_get(list, i);
        struct place at = {p, NULL, i};
        if (s->type == SHAPE_OBJECTS && check_object(entry, s->inside, &at, err) < 0)
            return -1;
        if (s->type == SHAPE_TEXTS && !json_is_string(entry))
            return shape_error(&at, "is not a text", err);
    }
    return 0;
}

static int check_text(const json_t *value, const struct shape *s, const struct place *p, struct err *err)
{
    const char *text = json_string_value(value);
    if (!text)
        return shape_error(p, "is not a text", err);
    if (s->type == SHAPE_NAME && !is_directory_name(text))
        return shape_error(p, "is no name", err);
    if (s->type == SHAPE_WORD && !is_one_of(text, s->words))
        return shape_error(p, "is a word that this program does not know", err);
    return 0;
}

static int check_number(const json_t *value, const struct shape *s, const struct place *p, struct err *err)
{
    if (!json_is_integer(value))
        return shape_error(p, "is not a number", err);
    json_int_t n = json_integer_value(value);
    if (s->type == SHAPE_COUNT && (n < 0 || (s->most && n > s->most)))
        return shape_error(p, "is out of range", err);
    return 0;
}

static int check_value(const json_t *value, const struct shape *s, const struct place *p, struct err *err)
{
    switch (s->type) {
    case SHAPE_TEXT:
    case SHAPE_NAME:
    case SHAPE_WORD:
        return check_text(value, s, p, err);
    case SHAPE_NUMBER:
    case SHAPE_COUNT:
        return check_number(value, s, p, err);
    case SHAPE_FLAG:
        return json_is_boolean(value) ? 0 : shape_error(p, "is neither true nor false", err);
    case SHAPE_OBJECT:
        return check_object(value, s->inside, p, err);
    case SHAPE_OBJECTS:
    case SHAPE_TEXTS:
        break;
    }
    return check_list(value, s, p, err);
}

static int check_object(const json_t *o, const struct shape *table, const struct place *p, struct err *err)
{
    if (!json_is_object(o))
        return shape_error(p, "is not an object", err);
    for (const struct shape *s = table; s->key; s++) {
        const json_t *value = json_object_get(o, s->key);
        struct place at = {p, s->key, 0};
        if (!value && s->needed)
            return shape_error(&at, "is missing", err);
        if (value && check_value(value, s, &at, err) < 0)
            return -1;
    }
    return 0;
}

int shape_check(const json_t *object, const struct shape *table, struct err *err)
{
    struct place whole = {NULL, NULL, 0};
    if (check_object(object, table, &whole, err) < 0)
        return -1;
    return check_visible(object, &whole, err);
}
