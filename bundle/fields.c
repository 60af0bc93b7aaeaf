#include "bundle/fields.h"

#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/banned.h"

struct fields fields_new(void)
{
    struct fields r = {.o = json_object()};
    r.failed = !r.o;
    return r;
}

json_t *fields_string(const char *s)
{
    size_t n = strlen(s);
    size_t cap = (n < FIELDS_MAX_TEXT ? n : FIELDS_MAX_TEXT - 8) + 8;
    char *shown = malloc(cap);
    json_t *value = shown ? json_string(text_printable(shown, cap, s, n)) : NULL;
    free(shown);
    return value;
}

void fields_put(struct fields *r, const char *key, json_t *value)
{
    if (json_object_set_new(r->o, key, value) < 0)
        r->failed = true;
}

void fields_text(struct fields *r, const char *key, const char *s)
{
    if (s && *s)
        fields_put(r, key, fields_string(s));
}

void fields_number(struct fields *r, const char *key, int64_t v)
{
    fields_put(r, key, json_integer(v));
}

void fields_count(struct fields *r, const char *key, uint64_t v)
{
    fields_number(r, key, v < INT64_MAX ? (int64_t)v : INT64_MAX);
}

void fields_time(struct fields *r, const char *key, int64_t utc_ms)
{
    char text[64];
    if (utc_ms > 0)
        fields_put(r, key, json_string(clock_format_millis(text, sizeof text, utc_ms)));
}

void fields_append(struct fields *r, json_t *list, struct fields *part)
{
    if (json_array_append_new(list, fields_take(part)) < 0)
        r->failed = true;
}

void fields_nest(struct fields *r, const char *key, struct fields *part)
{
    fields_put(r, key, fields_take(part));
}

void fields_keep(struct fields *r, const char *key, const json_t *before)
{
    json_t *value = json_object_get(before, key);
    if (value)
        fields_put(r, key, json_incref(value));
}

json_t *fields_take(struct fields *r)
{
    json_t *o = r->o;
    if (r->failed) {
        json_decref(o);
        o = NULL;
    }
    r->o = NULL;
    return o;
}
