#include "fetch/leftover.h"

#include <stdint.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/banned.h"

/* The path of NAME below the work directory, an ending of raw paths, and what stands behind that; NULL
 * without memory. */
static char *path_of(const struct plan_item *plan, const struct item_context *context, const char *ending,
                     const char *suffix)
{
    char *path = NULL;
    return asprintf(&path, "%s/%s%s%s", context->directory, plan->file, ending, suffix) < 0 ? NULL : path;
}

/* The size of a regular file; -1: there is none. */
static int64_t size_of(const struct item_context *context, const char *path)
{
    struct stat st;
    bool there = path && beneath_stat(context->work, path, &st, NULL) == 0 && S_ISREG(st.st_mode);
    return there ? (int64_t)st.st_size : -1;
}

/* An ending that the item's file may have: "" alone, unless its type decides. */
static const char *ending_at(const struct plan_item *plan, size_t i)
{
    return plan->name_by_type ? item_ending(i) : i == 0 ? "" : NULL;
}

/* ---- before it is fetched ------------------------------------------------------------------------------ */

/* What was half written when the run was killed, nobody has looked at. -1: nobody can now. */
static int tells(const struct item_context *context, const char *path, const struct transfer *t,
                 bool *ret_tells)
{
    int fd = beneath_open(context->work, path, NULL);
    int rc = fd < 0 ? -1 : t ? transfer_told(t, fd, ret_tells) : 0;
    fd_close(&fd);
    return rc;
}

/* The larger one of it and what waits already will wait, unless there is a secret in it. What cannot be
 * looked at stays where it is. */
static void set_aside(const struct item_context *context, const char *path, const char *waiting,
                      const struct transfer *t)
{
    int64_t size = size_of(context, path);
    bool secret = false;
    if (size < 0 || (size > 0 && tells(context, path, t, &secret) < 0))
        return;
    if (size > 0 && size > size_of(context, waiting) && !secret)
        beneath_rename(context->work, path, waiting, NULL);
    else
        beneath_remove(context->work, path, NULL);
}

static void make_way(const struct plan_item *plan, const struct item_context *context,
                     const struct transfer *t)
{
    char *waiting = path_of(plan, context, "", ".earlier"), *part = path_of(plan, context, "", ".part");
    const char *ending;
    for (size_t i = 0; waiting && (ending = ending_at(plan, i)); i++) {
        /* NAME.before: what an attempt has left that was being repeated. */
        static const char *const suffixes[] = {"", ".damaged", ".before"};
        for (size_t k = 0; k < sizeof suffixes / sizeof *suffixes; k++) {
            char *path = path_of(plan, context, ending, suffixes[k]);
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

static bool adopt(const struct plan_item *plan, const struct item_context *context, struct fetch_item *ret)
{
    char name[sizeof plan->file + 8];
    const char *ending;
    for (size_t i = 0; (ending = ending_at(plan, i)); i++) {
        char *path = path_of(plan, context, ending, "");
        bool there = size_of(context, path) > 0;
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

bool leftover_take(const struct plan_item *plan, const struct item_context *context, const struct transfer *t,
                   struct fetch_item *ret)
{
    if (adopt(plan, context, ret))
        return true;
    make_way(plan, context, t);
    return false;
}

/* ---- once it was --------------------------------------------------------------------------------------- */

/* The item is what waited: under the name that the new one has, or NAME.damaged. */
static void take_back(const struct plan_item *plan, const struct item_context *context, const char *waiting,
                      struct fetch_item *item)
{
    struct fetch_item kept = *item;
    struct err err = ERR_INIT;
    if (!kept.file[0])
        snprintf(kept.file, sizeof kept.file, "%s/%s%s.damaged", context->directory, plan->file,
                 plan->name_by_type ? ".bin" : "");
    if (beneath_rename(context->work, waiting, kept.file, NULL) == 0 &&
        item_look_again(context, &kept, &err) == 0) {
        size_t n = strlen(kept.err.msg);
        snprintf(kept.err.msg + n, sizeof kept.err.msg - n, "; what an earlier run has got of it is kept");
        kept.status = item->status == FETCH_INTERRUPTED ? FETCH_INTERRUPTED : FETCH_DAMAGED;
        *item = kept;
    }
}

void leftover_settle(const struct plan_item *plan, const struct item_context *context,
                     struct fetch_item *item)
{
    char *waiting = path_of(plan, context, "", ".earlier");
    int64_t size = size_of(context, waiting);
    if (size >= 0 && (item->status == FETCH_OK || (item->file[0] && (uint64_t)size <= item->bytes)))
        beneath_remove(context->work, waiting, NULL);
    else if (size >= 0)
        take_back(plan, context, waiting, item);
    free(waiting);
}

/* ---- where nothing is opened ----------------------------------------------------------------------------
 */

/* The words that come to the item, and an index that has it. */
static int plan_again(const struct service *service, const struct fetch_planned *item, struct plan *ret,
                      struct err *err)
{
    char word[300];
    struct index_entry entry = {.count = -1};
    const struct index_page index = {.items = &entry, .n = 1};
    struct strlist words = {0};
    struct wanted_list wanted = {0};
    const struct kind *kind = kind_find(item->kind);
    const char *name = kind ? kind->endpoint + (kind->endpoint[0] == '/') : item->kind;
    snprintf(entry.name, sizeof entry.name, "%s", name);
    snprintf(word, sizeof word, "%s%s%s", item->kind, *item->argument ? "=" : "", item->argument);
    int rc = strlist_add(&words, word, err);
    if (rc == 0)
        rc = wanted_parse(&words, &wanted, err);
    if (rc == 0 && (rc = plan_make(service, &wanted, &index, ret, err)) == 0 && item->pair &&
        (rc = plan_pairs(ret, err)) < 0)
        plan_release(ret);
    wanted_release(&wanted);
    strlist_release(&words);
    return rc;
}

static bool is_it(const struct plan_item *p, const struct fetch_planned *item)
{
    return strcmp(p->kind, item->kind) == 0 && strcmp(p->argument, item->argument) == 0 &&
           p->pair == item->pair;
}

static int find(const struct plan_item *plan, const struct item_context *context, bool secret,
                struct fetch_item *ret, struct err *err)
{
    static const struct err killed = {.kind = ERR_FAILED, .msg = "the run that fetched it was killed"};
    if (adopt(plan, context, ret))
        return 0;
    /* What an earlier run has set aside was looked at then. */
    if (!secret)
        make_way(plan, context, NULL);
    item_skip(plan, &killed, ret);
    leftover_settle(plan, context, ret);
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
    while (i < plan.n && !is_it(&plan.items[i], item))
        i++;
    int rc = i < plan.n ? find(&plan.items[i], &context, target->service->auth.secret.source != SECRET_NONE,
                               ret, err)
                        : err_set(err, ERR_NOT_FOUND, "nothing is left of it");
    plan_release(&plan);
    return rc;
}
