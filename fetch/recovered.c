#include "fetch/recovered.h"

#include <stdint.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/banned.h"

/* The path of NAME below the work directory, with an ending of raw paths and a suffix; NULL without
 * memory. */
static char *join_path(const struct plan_item *plan, const struct item_context *context, const char *ending,
                       const char *suffix)
{
    char *path = NULL;
    return asprintf(&path, "%s/%s%s%s", context->directory, plan->file, ending, suffix) < 0 ? NULL : path;
}

/* The size of a regular file; -1 if there is none. */
static int64_t get_size(const struct item_context *context, const char *path)
{
    struct stat st;
    bool there = path && beneath_stat(context->work, path, &st, NULL) == 0 && S_ISREG(st.st_mode);
    return there ? (int64_t)st.st_size : -1;
}

/* A possible ending of the item's file: "" alone, unless its type decides; NULL after the last. */
static const char *get_ending(const struct plan_item *plan, size_t i)
{
    return plan->name_by_type ? item_ending(i) : i == 0 ? "" : NULL;
}

/* ---- before the fetch ---------------------------------------------------------------------------------- */

/* Whether a file repeats the secret: nobody has checked a half-written file. -1: not readable. */
static int check_for_secret(const struct item_context *context, const char *path, const struct transfer *t,
                            bool *ret_secret)
{
    int fd = beneath_open(context->work, path, NULL);
    int rc = fd < 0 ? -1 : t ? transfer_reflected(t, fd, ret_secret) : 0;
    fd_close(&fd);
    return rc;
}

/* Renames the file to `waiting` if it is the larger one and has no secret, else removes it. A file that is
 * not readable stays. */
static void set_aside(const struct item_context *context, const char *path, const char *waiting,
                      const struct transfer *t)
{
    int64_t size = get_size(context, path);
    bool secret = false;
    if (size < 0 || (size > 0 && check_for_secret(context, path, t, &secret) < 0))
        return;
    if (size > 0 && size > get_size(context, waiting) && !secret)
        beneath_rename(context->work, path, waiting, NULL);
    else
        beneath_remove(context->work, path, NULL);
}

static void set_all_aside(const struct plan_item *plan, const struct item_context *context,
                          const struct transfer *t)
{
    char *waiting = join_path(plan, context, "", ".earlier"), *part = join_path(plan, context, "", ".part");
    const char *ending;
    for (size_t i = 0; waiting && (ending = get_ending(plan, i)); i++) {
        /* NAME.before: the result of an attempt before a retry. */
        static const char *const suffixes[] = {"", ".damaged", ".before"};
        for (size_t k = 0; k < sizeof suffixes / sizeof *suffixes; k++) {
            char *path = join_path(plan, context, ending, suffixes[k]);
            if (path)
                set_aside(context, path, waiting, t);
            free(path);
        }
    }
    if (waiting && part)
        set_aside(context, part, waiting, t);
    free(part);
    free(waiting);
}

static bool adopt_whole(const struct plan_item *plan, const struct item_context *context,
                        struct fetch_item *ret)
{
    char name[sizeof plan->file + 8];
    const char *ending;
    for (size_t i = 0; (ending = get_ending(plan, i)); i++) {
        char *path = join_path(plan, context, ending, "");
        bool there = get_size(context, path) > 0;
        free(path);
        if (!there)
            continue;
        snprintf(name, sizeof name, "%s%s", plan->file, ending);
        if (item_adopt(plan, context, name, ret) == 0)
            return true;
        fetch_item_release(ret);
    }
    return false;
}

bool recovered_take(const struct plan_item *plan, const struct item_context *context,
                    const struct transfer *t, struct fetch_item *ret)
{
    if (adopt_whole(plan, context, ret))
        return true;
    set_all_aside(plan, context, t);
    return false;
}

/* ---- after the fetch ----------------------------------------------------------------------------------- */

/* The file set aside becomes the item's file, under the name of the new one or NAME.damaged. */
static void restore_waiting(const struct plan_item *plan, const struct item_context *context,
                            const char *waiting, struct fetch_item *item)
{
    struct fetch_item kept = *item;
    struct err err = ERR_INIT;
    if (!kept.file[0])
        snprintf(kept.file, sizeof kept.file, "%s/%s%s.damaged", context->directory, plan->file,
                 plan->name_by_type ? ".bin" : "");
    if (beneath_rename(context->work, waiting, kept.file, NULL) == 0 &&
        item_look_again(context, &kept, &err) == 0) {
        size_t n = strlen(kept.err.msg);
        snprintf(kept.err.msg + n, sizeof kept.err.msg - n, "; the part of an earlier run is kept");
        kept.status = item->status == FETCH_INTERRUPTED ? FETCH_INTERRUPTED : FETCH_DAMAGED;
        *item = kept;
    }
}

void recovered_settle(const struct plan_item *plan, const struct item_context *context,
                      struct fetch_item *item)
{
    char *waiting = join_path(plan, context, "", ".earlier");
    int64_t size = get_size(context, waiting);
    if (size >= 0 && (item->status == FETCH_OK || (item->file[0] && (uint64_t)size <= item->bytes)))
        beneath_remove(context->work, waiting, NULL);
    else if (size >= 0)
        restore_waiting(plan, context, waiting, item);
    free(waiting);
}

/* ---- without a connection ------------------------------------------------------------------------------ */

/* Plans the item again from its words, with an index that contains it. */
static int plan_again(const struct service *service, const struct fetch_planned *item, struct plan *ret,
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

static int find_files(const struct plan_item *plan, const struct item_context *context, bool secret,
                      struct fetch_item *ret, struct err *err)
{
    static const struct err killed = {.kind = ERR_FAILED, .msg = "the run that fetched it was killed"};
    if (adopt_whole(plan, context, ret))
        return 0;
    /* With a secret, use only a file that the earlier run set aside: that run has checked it. */
    if (!secret)
        set_all_aside(plan, context, NULL);
    item_skip(plan, &killed, ret);
    recovered_settle(plan, context, ret);
    if (ret->file[0])
        return 0;
    fetch_item_release(ret);
    return err_set(err, ERR_NOT_FOUND, "nothing is left of it");
}

int fetch_find_left(const struct beneath *directory, const struct target *target,
                    const struct fetch_planned *item, struct fetch_item *ret, struct err *err)
{
    char below[600];
    struct item_context context = {.work = directory, .directory = below};
    struct plan plan = {0};
    snprintf(below, sizeof below, "%s/%s", target->host->name, target->service->name);
    if (plan_again(target->service, item, &plan, err) < 0)
        return -1;
    size_t i = 0;
    while (i < plan.n && !is_planned_item(&plan.items[i], item))
        i++;
    int rc = i < plan.n ? find_files(&plan.items[i], &context,
                                     target->service->auth.secret.source != SECRET_NONE, ret, err)
                        : err_set(err, ERR_NOT_FOUND, "nothing is left of it");
    plan_release(&plan);
    return rc;
}
