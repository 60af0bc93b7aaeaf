#include "discovery/discovered.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

#define MAX_NOTES 20
#define MAX_JOB_NAME 200
#define MAX_LABEL 200 /* bytes of a label's name, and of its value */
#define MAX_LABELS 16 /* labels of one target */

void discovered_release(struct discovered *found)
{
    for (size_t i = 0; i < found->n_jobs; i++) {
        free(found->jobs[i].name);
        free(found->jobs[i].path);
        free(found->jobs[i].query);
        strlist_release(&found->jobs[i].kinds);
    }
    for (size_t i = 0; i < found->n; i++)
        free(found->targets[i].address);
    if (found->job_names)
        name_map_release(found->job_names);
    free(found->job_names);
    for (size_t i = 0; i < found->n_label_sets; i++)
        strlist_release(&found->label_sets[i]);
    free(found->jobs);
    free(found->targets);
    free(found->label_sets);
    strlist_release(&found->notes);
    *found = (struct discovered){0};
}

int discovered_note(struct discovered *found, struct err *err, const char *fmt, ...)
{
    char raw[500], printable[500];
    va_list ap;
    if (found->notes.n > MAX_NOTES)
        return 0;
    if (found->notes.n == MAX_NOTES)
        return strlist_add(&found->notes, "there are more such notes", err);
    va_start(ap, fmt);
    vsnprintf(raw, sizeof raw, fmt, ap);
    va_end(ap);
    return strlist_add(&found->notes, text_printable(printable, sizeof printable, raw, strlen(raw)), err);
}

int discovered_add_job(struct discovered *found, const char *name, size_t *ret, struct err *err)
{
    char shown[MAX_JOB_NAME];
    if (array_reserve((void **)&found->jobs, &found->cap_jobs, found->n_jobs + 1, sizeof *found->jobs, err) <
        0)
        return -1;
    if (!found->job_names && !(found->job_names = calloc(1, sizeof *found->job_names)))
        return err_nomem(err);
    char *copy = strdup(text_printable(shown, sizeof shown, name, strlen(name)));
    if (!copy)
        return err_nomem(err);
    if (name_map_set(found->job_names, copy, (const void *)(uintptr_t)(found->n_jobs + 1), err) < 0) {
        free(copy);
        return -1;
    }
    *ret = found->n_jobs;
    found->jobs[found->n_jobs++] = (struct discovered_job){.name = copy};
    return 0;
}

bool discovered_get_job(const struct discovered *found, const char *name, size_t *ret)
{
    char shown[MAX_JOB_NAME];
    const char *key = text_printable(shown, sizeof shown, name, strlen(name));
    uintptr_t index_plus_one = found->job_names ? (uintptr_t)name_map_get(found->job_names, key) : 0;
    if (index_plus_one)
        *ret = index_plus_one - 1;
    return index_plus_one != 0;
}

int discovered_add_label(struct strlist *labels, const char *name, const char *value, struct err *err)
{
    char text[2 * MAX_LABEL + 2];
    size_t n = strlen(name), m = strlen(value);
    if (labels->n == MAX_LABELS || n > MAX_LABEL || m == 0 || m > MAX_LABEL || strcmp(name, "job") == 0 ||
        strcmp(name, "instance") == 0 || !text_is_name(name) || !text_is_visible(value))
        return 0;
    snprintf(text, sizeof text, "%s=%s", name, value);
    return strlist_add(labels, text, err);
}

static bool is_same_set(const struct strlist *a, const struct strlist *b)
{
    for (size_t i = 0; i < a->n && a->n == b->n; i++)
        if (strcmp(a->items[i], b->items[i]) != 0)
            return false;
    return a->n == b->n;
}

/* Adds the set of labels, unless it equals the last set. */
static int add_set(struct discovered *found, const struct strlist *labels, struct err *err)
{
    if (found->n_label_sets > 0 && is_same_set(&found->label_sets[found->n_label_sets - 1], labels))
        return 0;
    if (array_reserve((void **)&found->label_sets, &found->cap_label_sets, found->n_label_sets + 1,
                      sizeof *found->label_sets, err) < 0)
        return -1;
    struct strlist *set = &found->label_sets[found->n_label_sets++];
    *set = (struct strlist){0};
    for (size_t i = 0; i < labels->n; i++)
        if (strlist_add(set, labels->items[i], err) < 0)
            return -1;
    return 0;
}

int discovered_set_labels(struct discovered *found, size_t from, const struct strlist *labels,
                          struct err *err)
{
    if (labels->n == 0 || from == found->n)
        return 0;
    size_t n_added = labels->n * (found->n - from);
    if (found->n_target_labels > SOURCE_MAX_LABELS)
        return 0;
    if (found->n_target_labels + n_added > SOURCE_MAX_LABELS) {
        found->n_target_labels = SOURCE_MAX_LABELS + 1;
        return discovered_note(found, err, "it has too many labels: further targets have none");
    }
    if (add_set(found, labels, err) < 0)
        return -1;
    found->n_target_labels += n_added;
    for (size_t i = from; i < found->n; i++)
        found->targets[i].label_set = found->n_label_sets;
    return 0;
}

int discovered_set_path(struct discovered_job *job, const char *path, struct err *err)
{
    struct service s = {0};
    if (service_set_path(&s, path, err) < 0)
        return -1;
    free(job->path);
    job->path = s.path;
    return 0;
}

int discovered_add_target(struct discovered *found, size_t job, const char *address, bool https,
                          struct err *err)
{
    char host[ADDRESS_MAX];
    const char *at = address;
    if (strncmp(at, "http://", 7) == 0 || strncmp(at, "https://", 8) == 0) {
        https = at[4] == 's';
        at += https ? 8 : 7;
    }
    unsigned port = https ? 443 : 80;
    if (address_split(at, strcspn(at, "/?#"), host, &port) < 0)
        return discovered_note(found, err, "job \"%.60s\": \"%.100s\" is no address", found->jobs[job].name,
                               address);
    if (found->n == SOURCE_MAX_TARGETS)
        return err_set(err, ERR_LIMIT, "it has more than %d targets", SOURCE_MAX_TARGETS);
    if (array_reserve((void **)&found->targets, &found->cap, found->n + 1, sizeof *found->targets, err) < 0)
        return -1;
    char *copy = strdup(host);
    if (!copy)
        return err_nomem(err);
    found->targets[found->n++] =
        (struct discovered_target){.job = job, .address = copy, .port = port, .https = https};
    return 0;
}
