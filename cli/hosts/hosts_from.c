#include "cli/hosts/hosts_from.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/term/columns.h"
#include "cli/term/document.h"
#include "base/banned.h"

#define COLUMNS 6

json_t *hosts_source_json(const struct source_use *use)
{
    char at[40];
    const struct source *s = use->source;
    json_t *source = json_pack("{s:s, s:s, s:s}", "name", s->name, "kind", source_kind_name(s->kind), "place",
                               s->url_or_path);
    if (use->answered_at)
        json_object_set_new(source, "at", json_string(clock_format(at, sizeof at, use->answered_at)));
    return source;
}

static json_t *text_or_null(const char *text)
{
    return text ? json_string(text) : json_null();
}

static const struct strlist *labels_of(const struct discovered *found, const struct discovered_target *t)
{
    static const struct strlist none = {0};
    return t->label_set ? &found->label_sets[t->label_set - 1] : &none;
}

static json_t *labels_json(const struct strlist *labels)
{
    json_t *o = json_object();
    for (size_t i = 0; i < labels->n; i++) {
        size_t n = strcspn(labels->items[i], "=");
        json_object_setn_new(o, labels->items[i], n, json_string(labels->items[i] + n + 1));
    }
    return o;
}

static json_t *target_json(const struct discovered *found, const struct discovered_target *t)
{
    const struct discovered_job *job = &found->jobs[t->job];
    return json_pack("{s:o, s:o, s:s, s:i, s:s, s:s, s:s, s:o}", "host",
                     text_or_null(t->host ? t->host->name : NULL), "service",
                     text_or_null(t->service ? t->service->name : NULL), "address", t->address, "port",
                     (int)t->port, "scheme", t->https ? "https" : "http", "path",
                     t->service  ? t->service->path
                     : job->path ? job->path
                                 : "/debug/pprof",
                     "job", job->name, "labels", labels_json(labels_of(found, t)));
}

static int print_json(const struct source_use *use, const struct discovered *found, struct err *err)
{
    json_t *targets = json_array(), *notes = json_array();
    bool complete = true;
    for (size_t i = 0; i < found->n; i++)
        if (found->targets[i].is_selected)
            complete &= json_array_append_new(targets, target_json(found, &found->targets[i])) == 0;
    for (size_t i = 0; i < found->notes.n; i++)
        json_array_append_new(notes, json_string(found->notes.items[i]));
    json_t *all =
        json_pack("{s:o, s:o, s:o}", "source", hosts_source_json(use), "targets", targets, "notes", notes);
    if (complete)
        return document_print(all, stdout, err);
    json_decref(all);
    return err_nomem(err);
}

/* The computed texts of a row. */
struct cells {
    char port[8];
    struct buf labels;
};

/* Fills the columns of a row. */
static void make_row(const struct discovered *found, const struct discovered_target *t, struct cells *cells,
                     const char *row[static COLUMNS])
{
    const struct strlist *labels = labels_of(found, t);
    snprintf(cells->port, sizeof cells->port, "%u", t->port);
    buf_clear(&cells->labels);
    for (size_t i = 0; i < labels->n; i++)
        buf_addf(&cells->labels, "%s%s", i ? " " : "", labels->items[i]);
    row[0] = t->host ? t->host->name : "-";
    row[1] = t->service ? t->service->name : "-";
    row[2] = t->address;
    row[3] = cells->port;
    row[4] = found->jobs[t->job].name;
    row[5] = buf_str(&cells->labels);
}

static void print_row(const char *const row[static COLUMNS], const size_t widths[static COLUMNS])
{
    size_t last = COLUMNS - 1;
    while (last > 0 && !*row[last])
        last--;
    for (size_t c = 0; c < last; c++)
        printf("%s%*s", row[c], (int)(widths[c] + 2 - columns_width(row[c])), "");
    printf("%s\n", row[last]);
}

static void print_table(const struct discovered *found)
{
    static const char *const head[COLUMNS] = {"HOST", "SERVICE", "ADDRESS", "PORT", "JOB", "LABELS"};
    size_t widths[COLUMNS];
    struct cells cells = {.labels = BUF_INIT(1u << 16)};
    const char *row[COLUMNS];
    for (size_t c = 0; c < COLUMNS; c++)
        widths[c] = strlen(head[c]);
    for (int printing = 0; printing < 2; printing++) {
        if (printing)
            print_row(head, widths);
        for (size_t i = 0; i < found->n; i++) {
            if (!found->targets[i].is_selected)
                continue;
            make_row(found, &found->targets[i], &cells, row);
            for (size_t c = 0; !printing && c < COLUMNS; c++)
                widths[c] = columns_width(row[c]) > widths[c] ? columns_width(row[c]) : widths[c];
            if (printing)
                print_row(row, widths);
        }
    }
    buf_release(&cells.labels);
}

int hosts_from(const struct discovery_command *c, const char *source, bool json, struct err *err)
{
    struct source_use *use = NULL;
    struct discovered found = {0};
    int rc = targets_find_source(c->inventory, c->targets, source, &use, err);
    if (rc == 0)
        rc = discovery_list(c, use, &found, err);
    if (rc == 0 && discovered_filter(&found, &c->options->selection.labels, err) < 0) {
        const struct source *s = use->source;
        err_wrap(err, "%s", s->name);
        rc = err_hint(err, "`profgrab hosts --from %s:%s` shows the labels of its targets",
                      source_kind_name(s->kind), s->url_or_path);
    }
    if (rc == 0 && json)
        rc = print_json(use, &found, err);
    else if (rc == 0)
        print_table(&found);
    discovered_release(&found);
    return rc;
}
