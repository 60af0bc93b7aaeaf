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
#define MAX_JOB 200
#define MAX_LABEL 200 /* of a name, and of a value */
#define MAX_LABELS 16 /* of one target */

void discovered_release(struct discovered *f)
{
    for (size_t i = 0; i < f->n_jobs; i++) {
        free(f->jobs[i].name);
        free(f->jobs[i].path);
        free(f->jobs[i].query);
        strlist_release(&f->jobs[i].kinds);
    }
    for (size_t i = 0; i < f->n; i++)
        free(f->targets[i].address);
    if (f->job_names)
        name_map_release(f->job_names);
    free(f->job_names);
    for (size_t i = 0; i < f->n_labels; i++)
        strlist_release(&f->labels[i]);
    free(f->jobs);
    free(f->targets);
    free(f->labels);
    strlist_release(&f->notes);
    *f = (struct discovered){0};
}

int discovered_note(struct discovered *f, struct err *err, const char *fmt, ...)
{
    char raw[500], printable[500];
    va_list ap;
    if (f->notes.n > MAX_NOTES)
        return 0;
    if (f->notes.n == MAX_NOTES)
        return strlist_add(&f->notes, "there are more such notes", err);
    va_start(ap, fmt);
    vsnprintf(raw, sizeof raw, fmt, ap);
    va_end(ap);
    return strlist_add(&f->notes, text_printable(printable, sizeof printable, raw, strlen(raw)), err);
}

int discovered_add_job(struct discovered *f, const char *name, size_t *ret, struct err *err)
{
    char shown[MAX_JOB];
    if (array_reserve((void **)&f->jobs, &f->cap_jobs, f->n_jobs + 1, sizeof *f->jobs, err) < 0)
        return -1;
    if (!f->job_names && !(f->job_names = calloc(1, sizeof *f->job_names)))
        return err_nomem(err);
    char *copy = strdup(text_printable(shown, sizeof shown, name, strlen(name)));
    if (!copy)
        return err_nomem(err);
    if (name_map_set(f->job_names, copy, (const void *)(uintptr_t)(f->n_jobs + 1), err) < 0) {
        free(copy);
        return -1;
    }
    *ret = f->n_jobs;
    f->jobs[f->n_jobs++] = (struct discovered_job){.name = copy};
    return 0;
}

bool discovered_get_job(const struct discovered *f, const char *name, size_t *ret)
{
    char shown[MAX_JOB];
    const char *key = text_printable(shown, sizeof shown, name, strlen(name));
    uintptr_t index_plus_one = f->job_names ? (uintptr_t)name_map_get(f->job_names, key) : 0;
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
static int add_set(struct discovered *f, const struct strlist *labels, struct err *err)
{
    if (f->n_labels > 0 && is_same_set(&f->labels[f->n_labels - 1], labels))
        return 0;
    if (array_reserve((void **)&f->labels, &f->cap_labels, f->n_labels + 1, sizeof *f->labels, err) < 0)
        return -1;
    struct strlist *set = &f->labels[f->n_labels++];
    *set = (struct strlist){0};
    for (size_t i = 0; i < labels->n; i++)
        if (strlist_add(set, labels->items[i], err) < 0)
            return -1;
    return 0;
}

int discovered_set_labels(struct discovered *f, size_t from, const struct strlist *labels, struct err *err)
{
    if (labels->n == 0 || from == f->n)
        return 0;
    size_t n_added = labels->n * (f->n - from);
    if (f->n_target_labels > SOURCE_MAX_LABELS)
        return 0;
    if (f->n_target_labels + n_added > SOURCE_MAX_LABELS) {
        f->n_target_labels = SOURCE_MAX_LABELS + 1;
        return discovered_note(f, err, "it has too many labels: further targets have none");
    }
    if (add_set(f, labels, err) < 0)
        return -1;
    f->n_target_labels += n_added;
    for (size_t i = from; i < f->n; i++)
        f->targets[i].labels = f->n_labels;
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

int discovered_add(struct discovered *f, size_t job, const char *address, bool https, struct err *err)
{
    char host[ADDRESS_MAX];
    const char *at = address;
    if (strncmp(at, "http://", 7) == 0 || strncmp(at, "https://", 8) == 0) {
        https = at[4] == 's';
        at += https ? 8 : 7;
    }
    unsigned port = https ? 443 : 80;
    if (address_split(at, strcspn(at, "/?#"), host, &port) < 0)
        return discovered_note(f, err, "job \"%.60s\": \"%.100s\" is no address", f->jobs[job].name, address);
    if (f->n == SOURCE_MAX_TARGETS)
        return err_set(err, ERR_LIMIT, "it has more than %d targets", SOURCE_MAX_TARGETS);
    if (array_reserve((void **)&f->targets, &f->cap, f->n + 1, sizeof *f->targets, err) < 0)
        return -1;
    char *copy = strdup(host);
    if (!copy)
        return err_nomem(err);
    f->targets[f->n++] =
        (struct discovered_target){.job = job, .address = copy, .port = port, .https = https};
    return 0;
}
