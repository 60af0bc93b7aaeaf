/* The facts of a whole run, known at its end. */
#include "bundle/manifest_inside.h"

#include "bundle/fields.h"
#include "bundle/path.h"
#include "base/banned.h"

static void put_sync(struct fields *keys, const struct manifest_run *run)
{
    struct fields sync = fields_new();
    fields_time(&sync, "at", run->sync_at);
    fields_count(&sync, "targets", run->sync_targets);
    fields_count(&sync, "late", run->sync_late);
    if (run->has_sync_skew) {
        struct fields skew = fields_new();
        fields_number(&skew, "p50", run->sync_p50_ms);
        fields_number(&skew, "p95", run->sync_p95_ms);
        fields_number(&skew, "max", run->sync_max_ms);
        fields_nest(&sync, "skew_ms", &skew);
    }
    fields_nest(keys, "sync", &sync);
}

static void put_budget(struct fields *keys, const struct manifest_run *run)
{
    struct fields budget = fields_new();
    if (run->budget_bytes > 0)
        fields_count(&budget, "bytes", run->budget_bytes);
    if (run->budget_ms > 0)
        fields_number(&budget, "profiled_ms", run->budget_ms);
    fields_nest(keys, "budget", &budget);
}

int manifest_set_run(struct manifest *m, const struct manifest_run *run, struct err *err)
{
    struct fields keys = fields_new();
    if (run->retries > 0)
        fields_number(&keys, "retries", run->retries);
    if (run->deadline_ms > 0) {
        fields_number(&keys, "deadline_ms", run->deadline_ms);
        fields_put(&keys, "deadline_reached", json_boolean(run->deadline_reached));
    }
    if (run->budget_bytes > 0 || run->budget_ms > 0)
        put_budget(&keys, run);
    if (run->sync_at > 0)
        put_sync(&keys, run);
    else
        fields_keep(&keys, "sync", m->run);
    json_t *made = fields_take(&keys);
    if (!made)
        return err_nomem(err);
    json_decref(m->run);
    m->run = made;
    return 0;
}

int manifest_set_summary(struct manifest *m, const struct manifest_sentence *sentences, size_t n,
                         struct err *err)
{
    struct fields all = fields_new();
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++) {
        struct fields sentence = fields_new();
        fields_put(&sentence, "rule", fields_string(sentences[i].rule));
        fields_put(&sentence, "text", fields_string(sentences[i].text));
        fields_text(&sentence, "file", sentences[i].file);
        fields_text(&sentence, "look", sentences[i].look);
        fields_append(&all, list, &sentence);
    }
    bool failed = all.failed || !list;
    json_decref(fields_take(&all));
    if (failed) {
        json_decref(list);
        return err_nomem(err);
    }
    json_decref(m->summary);
    m->summary = list;
    return 0;
}

int manifest_set_report(struct manifest *m, uint64_t bytes, const char *sha256, struct err *err)
{
    struct fields report = fields_new();
    fields_put(&report, "file", json_string(PATH_REPORT));
    fields_count(&report, "bytes", bytes);
    fields_put(&report, "sha256", json_string(sha256));
    json_t *made = fields_take(&report);
    if (!made)
        return err_nomem(err);
    json_decref(m->report);
    m->report = made;
    return 0;
}
