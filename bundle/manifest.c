/*
 * A manifest is a struct; code in other folders reads its members directly. manifest_add.c copies added
 * records; manifest_read.c reads records from JSON. In a loaded manifest, a new record of a host,
 * a service or an item replaces the earlier one. manifest_free frees all memory at once.
 */
#include "bundle/manifest_internal.h"

#include <stdlib.h>
#include <string.h>

#include "bundle/manifest_rows.h"
#include "bundle/path.h"
#include "base/banned.h"

int manifest_alloc(struct manifest **ret, struct err *err)
{
    struct manifest *m = calloc(1, sizeof *m);
    if (m)
        m->index = calloc(1, sizeof *m->index);
    if (!m || !m->index) {
        free(m);
        return err_nomem(err);
    }
    *ret = m;
    return 0;
}

void manifest_free(struct manifest *m)
{
    if (!m)
        return;
    arena_release(&m->index->arena);
    json_decref(m->index->source);
    name_map_release(&m->index->hosts);
    name_map_release(&m->index->paths);
    free(m->index);
    free(m);
}

/* Formats a time. Returns NULL for an unknown one. */
static const char *format_time(char *dst, size_t cap, int64_t utc_ms)
{
    return utc_ms > 0 ? clock_format_millis(dst, cap, utc_ms) : NULL;
}

int manifest_new(const struct manifest_info *info, struct manifest **ret, struct err *err)
{
    char started[64];
    const struct manifest head = {.format = "profgrab-bundle",
                                  .version = 1,
                                  .name = info->name,
                                  .tool = "profgrab",
                                  .tool_version = info->version,
                                  .user = info->user,
                                  .workstation = info->workstation,
                                  .reason = info->reason,
                                  .started = format_time(started, sizeof started, info->started)};
    struct manifest *m = NULL;
    if (manifest_alloc(&m, err) < 0)
        return -1;
    if (json_rows_copy(manifest_rows, &head, m, &m->index->arena, err) < 0) {
        manifest_free(m);
        return -1;
    }
    *ret = m;
    return 0;
}

int manifest_resume(struct manifest *m, const struct manifest_info *now, struct err *err)
{
    char time[64];
    const struct manifest_resumption run = {.time = format_time(time, sizeof time, now->started),
                                            .version = now->version,
                                            .user = now->user,
                                            .workstation = now->workstation};
    struct arena *a = &m->index->arena;
    struct manifest_resumption *list = arena_alloc(a, (m->n_resumed + 1) * sizeof *list);
    const char *name = json_rows_copy_text(now->name, a);
    if (!list || !name)
        return err_nomem(err);
    if (m->n_resumed)
        memcpy(list, m->resumed, m->n_resumed * sizeof *list);
    if (json_rows_copy(manifest_resumed_rows, &run, &list[m->n_resumed], a, err) < 0)
        return -1;
    m->resumed = list;
    m->n_resumed++;
    m->name = name;
    return 0;
}

void manifest_set_run(struct manifest *m, const struct manifest_run *run)
{
    const struct manifest_run before = m->run;
    m->run = *run;
    /* A resumed run without --sync keeps the figures of the earlier run. */
    if (run->sync_at > 0)
        return;
    m->run.sync_at = before.sync_at;
    m->run.sync_processes = before.sync_processes;
    m->run.sync_late = before.sync_late;
    m->run.has_sync_skew = before.has_sync_skew;
    m->run.sync_p50_ms = before.sync_p50_ms;
    m->run.sync_p95_ms = before.sync_p95_ms;
    m->run.sync_max_ms = before.sync_max_ms;
}

int manifest_set_summary(struct manifest *m, const struct manifest_sentence *sentences, size_t n,
                         struct err *err)
{
    struct manifest_sentence *list = arena_alloc(&m->index->arena, n * sizeof *list);
    if (!list)
        return err_nomem(err);
    for (size_t i = 0; i < n; i++)
        if (json_rows_copy(manifest_sentence_rows, &sentences[i], &list[i], &m->index->arena, err) < 0)
            return -1;
    m->summary = list;
    m->n_summary = n;
    return 0;
}

int manifest_set_report(struct manifest *m, uint64_t bytes, const char *sha256, struct err *err)
{
    const char *copy = json_rows_copy_text(sha256, &m->index->arena);
    if (!copy)
        return err_nomem(err);
    m->report = (struct manifest_report){.file = PATH_REPORT, .bytes = bytes, .sha256 = copy};
    return 0;
}

int manifest_finish(struct manifest *m, int64_t finished, bool interrupted, bool complete, struct err *err)
{
    char time[64];
    if (m->index->finished)
        return err_set(err, ERR_FAILED, "the manifest is finished already");
    const char *at = json_rows_copy_text(clock_format_millis(time, sizeof time, finished), &m->index->arena);
    if (!at)
        return err_nomem(err);
    m->index->finished = true;
    m->finished = at;
    m->interrupted = interrupted;
    m->complete = complete;
    manifest_drop_resolved_errors(m);
    return manifest_sort(m, err);
}

int manifest_print(const struct manifest *m, struct buf *ret, struct err *err)
{
    json_rows_print(manifest_rows, m, false, ret);
    return manifest_json_finish(ret, err);
}

int manifest_print_for_page(const struct manifest *m, struct buf *ret, struct err *err)
{
    struct manifest shown = *m;
    shown.n_summary = 0;
    shown.report = (struct manifest_report){0};
    json_rows_print(manifest_rows, &shown, true, ret);
    return buf_check(ret, PATH_MANIFEST, err);
}
