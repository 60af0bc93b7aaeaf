#include "fetch/recovered.h"

#include <stdint.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/banned.h"

/* Returns HOST/SERVICE/NAME + ending + suffix; NULL without memory. */
static char *join_path(const struct plan_item *plan, const struct item_context *context, const char *ending,
                       const char *suffix)
{
    char *path = NULL;
    return asprintf(&path, "%s/%s%s%s", context->directory, plan->file, ending, suffix) < 0 ? NULL : path;
}

/* Returns the size of a regular file; -1 if there is none. */
static int64_t get_size(const struct item_context *context, const char *path)
{
    struct stat st;
    bool exists = path && dir_stat(context->work, path, &st, NULL) == 0 && S_ISREG(st.st_mode);
    return exists ? (int64_t)st.st_size : -1;
}

/* Returns the i-th file ending to try: all known endings if the ending depends on the content type, else only
 * "". NULL after the last. */
static const char *get_ending(const struct plan_item *plan, size_t i)
{
    return plan->ending_by_type ? item_file_ending(i) : i == 0 ? "" : NULL;
}

/* ---- before the fetch ---------------------------------------------------------------------------------- */

/* Checks whether the file contains the secret, because an interrupted run has not checked the file. Returns
 * -1 if the file is not readable. */
static int check_for_secret(const struct item_context *context, const char *path, const struct transfer *t,
                            bool *ret_has_secret)
{
    int fd = dir_open(context->work, path, NULL);
    int rc = fd < 0 ? -1 : t ? transfer_find_secret(t, fd, ret_has_secret) : 0;
    fd_close(&fd);
    return rc;
}

/* Renames the file to `earlier_path` if it is larger than the file there and contains no secret, else removes
 * it. Leaves an unreadable file. */
static void save_as_earlier(const struct item_context *context, const char *path, const char *earlier_path,
                            const struct transfer *t)
{
    int64_t size = get_size(context, path);
    bool has_secret = false;
    if (size < 0 || (size > 0 && check_for_secret(context, path, t, &has_secret) < 0))
        return;
    if (size > 0 && size > get_size(context, earlier_path) && !has_secret)
        dir_rename(context->work, path, earlier_path, NULL);
    else
        dir_remove(context->work, path, NULL);
}

static void save_all_as_earlier(const struct plan_item *plan, const struct item_context *context,
                                const struct transfer *t)
{
    char *earlier_path = join_path(plan, context, "", ".earlier"),
         *part = join_path(plan, context, "", ".part");
    const char *ending;
    for (size_t i = 0; earlier_path && (ending = get_ending(plan, i)); i++) {
        /* .before is the result of the attempt before a retry. */
        static const char *const suffixes[] = {"", ".damaged", ".before"};
        for (size_t k = 0; k < sizeof suffixes / sizeof *suffixes; k++) {
            char *path = join_path(plan, context, ending, suffixes[k]);
            if (path)
                save_as_earlier(context, path, earlier_path, t);
            free(path);
        }
    }
    if (earlier_path && part)
        save_as_earlier(context, part, earlier_path, t);
    free(part);
    free(earlier_path);
}

/* Adopts the first complete file. If there is none, err is ERR_CANCELLED or the error of the last file. */
static bool adopt_complete_file(const struct plan_item *plan, const struct item_context *context,
                                struct fetch_item *ret, struct err *err)
{
    char name[sizeof plan->file + 8];
    const char *ending;
    for (size_t i = 0; (ending = get_ending(plan, i)); i++) {
        char *path = join_path(plan, context, ending, "");
        bool exists = get_size(context, path) > 0;
        free(path);
        if (!exists)
            continue;
        snprintf(name, sizeof name, "%s%s", plan->file, ending);
        if (item_adopt(plan, context, name, ret, err) == 0)
            return true;
        fetch_item_release(ret);
        if (err->kind == ERR_CANCELLED)
            return false;
    }
    return false;
}

bool recovered_adopt(const struct plan_item *plan, const struct item_context *context,
                     const struct transfer *t, struct fetch_item *ret)
{
    struct err err = ERR_INIT;
    if (adopt_complete_file(plan, context, ret, &err))
        return true;
    save_all_as_earlier(plan, context, t);
    return false;
}

/* ---- after the fetch ----------------------------------------------------------------------------------- */

/* Renames the file of the earlier run, which is better, to the name of the item's file, or to NAME.damaged if
 * the item has no file. */
static void restore_earlier(const struct plan_item *plan, const struct item_context *context,
                            const char *earlier_path, struct fetch_item *item)
{
    struct fetch_item kept = *item;
    struct err err = ERR_INIT;
    if (!kept.file[0])
        snprintf(kept.file, sizeof kept.file, "%s/%s%s.damaged", context->directory, plan->file,
                 plan->ending_by_type ? ".bin" : "");
    if (dir_rename(context->work, earlier_path, kept.file, NULL) == 0 &&
        item_measure_file(context, &kept, &err) == 0) {
        err_append(&kept.err, "; the part of an earlier run is kept");
        kept.status = item->status == FETCH_INTERRUPTED ? FETCH_INTERRUPTED : FETCH_DAMAGED;
        *item = kept;
    }
}

void recovered_resolve(const struct plan_item *plan, const struct item_context *context,
                       struct fetch_item *item)
{
    char *earlier_path = join_path(plan, context, "", ".earlier");
    int64_t size = get_size(context, earlier_path);
    if (size >= 0 && (item->status == FETCH_OK || (item->file[0] && (uint64_t)size <= item->bytes)))
        dir_remove(context->work, earlier_path, NULL);
    else if (size >= 0)
        restore_earlier(plan, context, earlier_path, item);
    free(earlier_path);
}

/* ---- without a connection ------------------------------------------------------------------------------ */

/* Makes the plan for this item alone, as if the index page listed it. */
static int rebuild_plan(const struct service *service, const struct fetch_planned *item, struct plan *ret,
                        struct err *err)
{
    char word[300];
    struct index_entry entry = {.count = -1};
    const struct index_page index = {.items = &entry, .n = 1};
    struct strlist words = {0};
    struct request_list requests = {0};
    const struct kind *kind = kind_find(item->kind);
    const char *name = kind ? kind->endpoint + (kind->endpoint[0] == '/') : item->kind;
    snprintf(entry.name, sizeof entry.name, "%s", name);
    snprintf(word, sizeof word, "%s%s%s", item->kind, *item->argument ? "=" : "", item->argument);
    int rc = strlist_add(&words, word, err);
    if (rc == 0)
        rc = request_parse(&words, &requests, err);
    if (rc == 0 && (rc = plan_make(service, &requests, &index, ret, err)) == 0 && item->pair &&
        (rc = plan_pairs(ret, err)) < 0)
        plan_release(ret);
    request_release(&requests);
    strlist_release(&words);
    return rc;
}

static bool is_planned_item(const struct plan_item *p, const struct fetch_planned *item)
{
    return strcmp(p->kind, item->kind) == 0 && strcmp(p->argument, item->argument) == 0 &&
           p->pair == item->pair;
}

static int find_files(const struct plan_item *plan, const struct item_context *context, bool has_secret,
                      struct fetch_item *ret, struct err *err)
{
    static const struct err killed = {.kind = ERR_FAILED, .msg = "the run that fetched it was killed"};
    struct err why = ERR_INIT;
    if (adopt_complete_file(plan, context, ret, &why))
        return 0;
    if (why.kind == ERR_CANCELLED)
        return err_set(err, ERR_CANCELLED, "%s", why.msg);
    /* If the service uses a secret, accept only a file that an earlier run has checked (NAME.earlier). */
    if (!has_secret)
        save_all_as_earlier(plan, context, NULL);
    item_skip(plan, &killed, ret);
    recovered_resolve(plan, context, ret);
    if (ret->file[0])
        return 0;
    fetch_item_release(ret);
    return err_set(err, ERR_NOT_FOUND, "the earlier run left no file of it");
}

int fetch_find_unrecorded(const struct fetch_unrecorded *query, struct fetch_item *ret, struct err *err)
{
    char directory[600];
    const struct service *service = query->target->service;
    struct item_context context = {
        .work = query->directory, .directory = directory, .cancel_fd = query->cancel_fd};
    struct plan plan = {0};
    snprintf(directory, sizeof directory, "%s/%s", query->target->host->name, service->name);
    if (rebuild_plan(service, query->item, &plan, err) < 0)
        return -1;
    size_t i = 0;
    while (i < plan.n && !is_planned_item(&plan.items[i], query->item))
        i++;
    int rc = i < plan.n
                 ? find_files(&plan.items[i], &context, service->auth.secret.kind != SECRET_NONE, ret, err)
                 : err_set(err, ERR_NOT_FOUND, "the earlier run left no file of it");
    plan_release(&plan);
    return rc;
}
