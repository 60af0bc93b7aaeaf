/* The rows of the manifest against its schema in docs/formats.md. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "bundle/manifest_rows.h"
#include "tests/unit/unit.h"
#include "base/banned.h"

#define DOCUMENT "docs/formats.md"

static struct buf read_document(void)
{
    struct buf text = BUF_INIT(1 << 20);
    struct err err = ERR_INIT;
    assert_ok(file_read(DOCUMENT, &text, &err), &err);
    return text;
}

/* Reads the schema of manifest.json, the first one in the document. */
static json_t *read_schema(void)
{
    struct buf text = read_document();
    const char *begin = strstr(buf_str(&text), "```json\n{\n  \"$schema\"");
    assert_non_null(begin);
    begin += strlen("```json\n");
    json_t *schema = json_loadb(begin, (size_t)(strstr(begin, "\n```") - begin), 0, NULL);
    assert_non_null(schema);
    buf_release(&text);
    return schema;
}

static const char *type_in_schema(enum row_type type)
{
    switch (type) {
    case ROW_NUMBER:
    case ROW_COUNT:
        return "integer";
    case ROW_FLAG:
        return "boolean";
    case ROW_OBJECT:
        return "object";
    case ROW_OBJECTS:
    case ROW_TEXTS:
        return "array";
    default:
        return "string";
    }
}

static bool is_required(const json_t *schema, const char *key)
{
    const json_t *list = json_object_get(schema, "required");
    for (size_t i = 0; i < json_array_size(list); i++)
        if (strcmp(json_string_value(json_array_get(list, i)), key) == 0)
            return true;
    return false;
}

/* Returns the definition that a schema refers to, or the schema itself. */
static const json_t *resolve_definition(const json_t *defs, const json_t *schema)
{
    const char *ref = json_string_value(json_object_get(schema, "$ref"));
    return ref ? json_object_get(defs, ref + strlen("#/$defs/")) : schema;
}

static const char *text_at(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

static void assert_documented(const json_t *defs, const json_t *schema, const struct json_row *table);

static void assert_key_documented(const json_t *defs, const json_t *schema, const char *key,
                                  const struct json_row *row)
{
    const json_t *own = json_object_get(json_object_get(schema, "properties"), key),
                 *known = resolve_definition(defs, own);
    const char *doc = text_at(json_object_get(own, "description") ? own : known, "description"),
               *type = text_at(known, "type");
    bool is_path = json_object_get(own, "$ref") && strcmp(text_at(own, "$ref"), "#/$defs/path") == 0;
    if (strcmp(doc, row->doc ? row->doc : is_path ? doc : "") != 0)
        fail_msg("docs/formats.md: %s: \"%s\" is described as \"%s\" in the rows", key, doc,
                 row->doc ? row->doc : "");
    if (*type && strcmp(type, type_in_schema(row->type)) != 0)
        fail_msg("docs/formats.md: %s has the type %s, but the rows have another", key, type);
    if (is_required(schema, key) != (row->required || row->write_if_zero))
        fail_msg("docs/formats.md and the rows do not agree whether %s is required", key);
    if (row->type == ROW_OBJECT)
        assert_documented(defs, known, row->inner_rows);
    if (row->type == ROW_OBJECTS)
        assert_documented(defs, resolve_definition(defs, json_object_get(known, "items")), row->inner_rows);
}

/* Returns whether only a copy has the key, which redaction adds. */
static bool is_of_copy(const char *key)
{
    return strcmp(key, "original") == 0 || strcmp(key, "readme") == 0;
}

/* The schema has the keys of the rows, in this order, with the same types and descriptions, and no others. */
static void assert_documented(const json_t *defs, const json_t *schema, const struct json_row *table)
{
    json_t *keys = json_object_get(schema, "properties");
    const struct json_row *row = table;
    const char *key;
    json_t *known;
    assert_non_null(keys);
    json_object_foreach(keys, key, known)
    {
        while (row->read_only)
            row++;
        if (row->key && strcmp(row->key, key) == 0)
            assert_key_documented(defs, schema, key, row++);
        else if (!is_of_copy(key))
            fail_msg("docs/formats.md: %s stands where the rows have %s", key, row->key ? row->key : "none");
    }
    if (row->key)
        fail_msg("docs/formats.md: %s is missing", row->key);
}

static void the_schema_documents_every_row(void **state)
{
    (void)state;
    json_t *schema = read_schema();
    assert_documented(json_object_get(schema, "$defs"), schema, manifest_rows);
    json_decref(schema);
}

/* ---- the lines of an item's keys --------------------------------------------------------------------- */

#define BEGIN "    \"item\": {\n      \"type\": \"object\",\n      \"properties\": {"
#define END "\n      },\n"
#define INDENT "\n        "

/* Adds the line of a key as its row describes it. A person adds what the row does not know, such as a
 * pattern, and writes the lines of a key with inner keys or words. */
static void add_line(struct buf *b, const struct json_row *row)
{
    bool is_zero_printed = row->write_if_zero || row->presence_flag || row->write_zero_if_set;
    buf_addf(b, INDENT "\"%s\": { ", row->key);
    switch (row->type) {
    case ROW_TIME:
        buf_adds(b, "\"$ref\": \"#/$defs/time\"");
        break;
    case ROW_PATH:
        buf_adds(b, "\"$ref\": \"#/$defs/path\"");
        break;
    case ROW_COUNT:
        buf_addf(b, "\"type\": \"integer\", \"minimum\": %d", is_zero_printed ? 0 : 1);
        if (row->max > 0)
            buf_addf(b, ", \"maximum\": %lld", (long long)row->max);
        break;
    case ROW_FLAG:
        buf_adds(b, is_zero_printed ? "\"type\": \"boolean\"" : "\"const\": true");
        break;
    case ROW_TEXTS:
        buf_adds(b, "\"type\": \"array\", \"items\": { \"type\": \"string\" }");
        break;
    case ROW_TEXT:
    case ROW_NAME:
    case ROW_NUMBER:
        buf_addf(b, "\"type\": \"%s\"", type_in_schema(row->type));
        break;
    case ROW_ENUM:
    case ROW_OBJECT:
    case ROW_OBJECTS:
        fail_msg(DOCUMENT ": write the lines of %s by hand", row->key);
    }
    if (row->doc)
        buf_addf(b, ", \"description\": \"%s\"", row->doc);
    buf_adds(b, " }");
}

/* Returns the lines of a key from the document, with the line feed in front and without a comma at the end;
 * empty if it has none. */
static struct str find_lines(struct str lines, const char *key)
{
    char first[100];
    snprintf(first, sizeof first, INDENT "\"%s\": ", key);
    const char *begin = memmem(lines.p, lines.n, first, strlen(first));
    if (!begin)
        return (struct str){lines.p, 0};
    size_t rest = (size_t)(lines.p + lines.n - begin);
    const char *next = memmem(begin + 1, rest - 1, INDENT "\"", strlen(INDENT "\""));
    size_t n = next ? (size_t)(next - begin) : rest;
    return (struct str){begin, n - (begin[n - 1] == ',')};
}

/* Returns whether these lines have the description of the row. A key that refers to a definition may leave
 * the description to it. */
static bool has_description(struct str lines, const struct json_row *row)
{
    char *text = format_text("{%.*s}", (int)lines.n, lines.p);
    json_t *object = json_loads(text, 0, NULL);
    const json_t *schema = json_object_get(object, row->key);
    const char *doc = row->doc ? row->doc : "";
    assert_non_null(schema);
    bool has = json_object_get(schema, "description") || !json_object_get(schema, "$ref")
                   ? strcmp(text_at(schema, "description"), doc) == 0
                   : true;
    json_decref(object);
    free(text);
    return has;
}

/* Writes the keys of an item in the order of the rows. Keeps the lines that have the row's description. */
static void write_item_keys(struct str old, struct buf *b)
{
    for (const struct json_row *row = manifest_item_rows; row->key; row++) {
        struct str lines = find_lines(old, row->key);
        if (row->read_only)
            continue;
        if (row != manifest_item_rows)
            buf_addc(b, ',');
        if (lines.n > 0 && has_description(lines, row))
            buf_add(b, lines.p, lines.n);
        else
            add_line(b, row);
    }
}

/* MANIFEST_SCHEMA=renew writes the lines instead of checking them. */
static void the_schema_has_the_lines_of_an_item(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct buf document = read_document(), renewed = BUF_INIT(1 << 20);
    const char *begin = strstr(buf_str(&document), BEGIN), *how = getenv("MANIFEST_SCHEMA");
    assert_non_null(begin);
    begin += strlen(BEGIN);
    const char *end = strstr(begin, END);
    assert_non_null(end);
    buf_add(&renewed, buf_str(&document), (size_t)(begin - buf_str(&document)));
    write_item_keys((struct str){begin, (size_t)(end - begin)}, &renewed);
    buf_adds(&renewed, end);
    if (how && strcmp(how, "renew") == 0)
        assert_ok(file_write(DOCUMENT, buf_str(&renewed), renewed.len, &err), &err);
    else
        assert_string_equal(buf_str(&document), buf_str(&renewed));
    buf_release(&document);
    buf_release(&renewed);
}

/* The document's own lines show that the lines made from rows are right. */
static void a_line_made_from_a_row_equals_that_of_the_document(void **state)
{
    (void)state;
    struct buf document = read_document(), made = BUF_INIT(1000);
    const char *begin = strstr(buf_str(&document), BEGIN);
    assert_non_null(begin);
    struct str all = {begin, strlen(begin)};
    size_t compared = 0;
    for (const struct json_row *row = manifest_item_rows; row->key; row++) {
        /* These have more than the row knows: the two numbers, the words, the pattern. */
        if (row->type >= ROW_OBJECT || row->type == ROW_ENUM || row->read_only ||
            strcmp(row->key, "pair") == 0 || strcmp(row->key, "sha256") == 0 ||
            strcmp(row->key, "status") == 0)
            continue;
        struct str lines = find_lines(all, row->key);
        buf_clear(&made);
        add_line(&made, row);
        if (made.len != lines.n)
            fail_msg("%s: %.*s", row->key, (int)made.len, made.data);
        assert_memory_equal(buf_str(&made), lines.p, lines.n);
        compared++;
    }
    assert_int_equal(compared, 13);
    buf_release(&document);
    buf_release(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_schema_has_the_lines_of_an_item),
        cmocka_unit_test(the_schema_documents_every_row),
        cmocka_unit_test(a_line_made_from_a_row_equals_that_of_the_document),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
