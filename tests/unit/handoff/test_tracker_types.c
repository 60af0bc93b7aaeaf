/* The table of tracker types, and the tables in the documents that are made from it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "handoff/handoff.h"
#include "handoff/job.h"
#include "tests/unit/unit.h"
#include "base/banned.h"

static void every_kind_has_its_type(void **state)
{
    (void)state;
    const struct tracker_kind unknown = {.name = "gitlab"};
    for (size_t i = 0; handoff_tracker_kinds[i]; i++) {
        const struct tracker_kind *kind = handoff_tracker_kinds[i];
        const struct tracker_type *type = tracker_type_of(kind);
        assert_ptr_equal(&type->kind, kind);
        assert_true(text_is_name(kind->name) && *kind->title && *kind->project);
        assert_true(*type->auth && *type->place && *type->issue && *type->permissions && *type->assignee);
        assert_true(type->read_place && type->check_request && type->create && type->upload && type->verify);
        assert_true(type->format_note && type->write_note && type->read_note);
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(handoff_tracker_kinds[k]->name, kind->name);
    }
    assert_null(tracker_type_of(&unknown));
}

static void the_inventory_accepts_every_kind(void **state)
{
    (void)state;
    const struct inventory_options options = {.tracker_kinds = handoff_tracker_kinds};
    for (size_t i = 0; handoff_tracker_kinds[i]; i++) {
        char text[300];
        struct inventory *inv = NULL;
        struct err err = ERR_INIT;
        const struct tracker *t = NULL;
        snprintf(text, sizeof text,
                 "version: 1\ntrackers: { lab: { kind: %s, url: https://a, token_env: A } }\n",
                 handoff_tracker_kinds[i]->name);
        assert_ok(inventory_parse("inv.yaml", str_of(text), &options, &inv, &err), &err);
        assert_ok(inventory_tracker(inv, "lab", &t, &err), &err);
        assert_ptr_equal(t->kind, handoff_tracker_kinds[i]);
        inventory_free(inv);
    }
}

/* ---- documentation ----------------------------------------------------------------------------------- */

static void add_markdown(struct buf *b)
{
    buf_adds(b, "| `kind` | tracker | a team's `project` | an assignee, and the maximum number | `labels` | "
                "permissions of the "
                "token |\n|---|---|---|---|---|---|\n");
    for (size_t i = 0; handoff_tracker_kinds[i]; i++) {
        const struct tracker_kind *kind = handoff_tracker_kinds[i];
        const struct tracker_type *type = tracker_type_of(kind);
        buf_addf(b, "| `%s` | %s | %s | %s, at most %zu | %s | %s |\n", kind->name, kind->title,
                 kind->project, type->assignee, kind->max_assignees, kind->has_labels ? "yes" : "no",
                 type->permissions);
    }
}

static void add_mdoc(struct buf *b)
{
    for (size_t i = 0; handoff_tracker_kinds[i]; i++) {
        const struct tracker_kind *kind = handoff_tracker_kinds[i];
        buf_addf(b, ".Cm %s\n(%s; a team's project is %s)%s\n", kind->name, kind->title, kind->project,
                 handoff_tracker_kinds[i + 1] ? "," : ".");
    }
}

/* Asserts that the lines between `begin` and `end` are those that `add` adds. TRACKERS_TABLE=renew replaces
 * them instead. */
static void check_or_renew_document(const char *path, const char *begin, const char *end,
                                    void (*add)(struct buf *b))
{
    struct err err = ERR_INIT;
    struct buf current = BUF_INIT(1u << 20), renewed = BUF_INIT(1u << 20);
    assert_ok(file_read(path, &current, &err), &err);
    const char *from = strstr(buf_str(&current), begin), *to = strstr(buf_str(&current), end);
    assert_true(from && to && from < to);
    from = strchr(from, '\n') + 1;
    buf_add(&renewed, buf_str(&current), (size_t)(from - buf_str(&current)));
    add(&renewed);
    buf_adds(&renewed, to);
    const char *mode = getenv("TRACKERS_TABLE");
    if (mode && strcmp(mode, "renew") == 0)
        assert_ok(file_write(path, buf_str(&renewed), renewed.len, &err), &err);
    else
        assert_string_equal(buf_str(&current), buf_str(&renewed));
    buf_release(&current);
    buf_release(&renewed);
}

static void the_documents_have_every_kind(void **state)
{
    (void)state;
    check_or_renew_document("docs/inventory.md", "<!-- trackers:", "<!-- end of trackers", add_markdown);
    check_or_renew_document("docs/man/profgrab-inventory.5", ".\\\" trackers:", ".\\\" end of trackers",
                            add_mdoc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_has_its_type),
        cmocka_unit_test(the_inventory_accepts_every_kind),
        cmocka_unit_test(the_documents_have_every_kind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
