#include "capture/resume.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "capture/record.h"
#include "capture/run.h"
#include "base/banned.h"

static void send_event(const struct capture_observer *observer, const struct capture_event *event)
{
    if (observer && observer->event)
        observer->event(observer->ctx, event);
}

/* ---- the earlier run ----------------------------------------------------------------------------------- */

static int load_manifest(struct capture_earlier *e, const char *text, size_t n, struct err *err)
{
    if (manifest_read_for_resume(text, n, &e->manifest, err) < 0 ||
        manifest_check_request(e->manifest, err) < 0)
        return err_wrap(err, "%s", e->path);
    return 0;
}

static int open_directory(struct capture_earlier *e, struct err *err)
{
    struct buf text = BUF_INIT(BUNDLE_MAX_MANIFEST);
    int rc = workdir_open(e->path, &e->work, &text, err);
    if (rc == 0)
        rc = load_manifest(e, buf_str(&text), text.len, err);
    buf_release(&text);
    return rc;
}

static int read_manifest(struct capture_earlier *e, struct err *err)
{
    char *text = NULL;
    if (bundle_read_manifest(e->path, NULL, &text, err) < 0)
        return -1;
    int rc = load_manifest(e, text, strlen(text), err);
    free(text);
    return rc;
}

/* Unpacks the bundle into a new work directory. */
static int open_bundle(struct capture_earlier *e, struct err *err)
{
    if (read_manifest(e, err) < 0 ||
        workdir_new_beside(e->path, e->manifest->name, e->output, &e->work, err) < 0)
        return -1;
    const struct bundle_restore_options restore = {
        .path = e->path, .manifest = e->manifest, .work = e->work, .cancel_fd = e->cancel_fd};
    if (bundle_restore(&restore, &e->damage, err) < 0)
        return -1;
    if (e->damage.kind != ERR_NONE)
        send_event(e->observer,
                   &(struct capture_event){.kind = CAPTURE_EARLIER_DAMAGED, .failure = &e->damage});
    return 0;
}

struct file_changes {
    const struct capture_observer *observer;
    size_t n; /* files that differ */
};

static void on_changed(void *ctx, const char *path, const char *difference)
{
    struct file_changes *c = ctx;
    c->n++;
    send_event(c->observer, &(struct capture_event){
                                .kind = CAPTURE_EARLIER_CHANGED, .path = path, .difference = difference});
}

static int compare_files(struct capture_earlier *e, size_t *ret_n_changed, struct err *err)
{
    struct file_changes changes = {.observer = e->observer};
    const struct manifest_compare_options comparison = {
        .work = e->work, .cancel_fd = e->cancel_fd, .changed = on_changed, .ctx = &changes};
    int rc = manifest_compare(e->manifest, &comparison, err);
    *ret_n_changed = changes.n;
    return rc;
}

int capture_earlier_open(struct capture_earlier *e, struct err *err)
{
    struct stat st;
    size_t n_changed = 0;
    confined_budget_init(0, &e->budget);
    e->is_bundle = stat(e->path, &st) < 0 || !S_ISDIR(st.st_mode);
    int rc = e->is_bundle ? open_bundle(e, err) : open_directory(e, err);
    if (rc == 0)
        rc = compare_files(e, &n_changed, err);
    if (rc == 0 && n_changed > 0)
        rc = manifest_save(e->manifest, e->work, err);
    return rc;
}

void capture_earlier_release(struct capture_earlier *e)
{
    if (e->is_bundle && e->work && !e->begun)
        workdir_remove(e->work);
    manifest_free(e->manifest);
    workdir_free(e->work);
    targets_release(&e->targets);
    targets_release(&e->baseline);
    *e = (struct capture_earlier){0};
}

/* ---- the targets of the earlier run -------------------------------------------------------------------- */

static bool is_incomplete(const struct capture_earlier *e, const struct manifest_target *t)
{
    return !manifest_has_all_items(e->manifest, t->host, t->service);
}

size_t capture_earlier_count_incomplete(const struct capture_earlier *e)
{
    size_t n = 0;
    for (size_t i = 0; i < e->manifest->request.n_targets; i++)
        n += is_incomplete(e, &e->manifest->request.targets[i]);
    return n;
}

int capture_earlier_list_hosts(const struct capture_earlier *e, struct strlist *hosts, struct err *err)
{
    for (size_t i = 0; i < e->manifest->request.n_targets; i++) {
        const struct manifest_target *t = &e->manifest->request.targets[i];
        const char *name = t->address ? t->address : t->host;
        /* The targets of one host are neighbours. A search of the whole list would be quadratic. */
        bool is_listed = hosts->n > 0 && strcmp(hosts->items[hosts->n - 1], name) == 0;
        if (!is_listed && strlist_add(hosts, name, err) < 0)
            return -1;
    }
    return 0;
}

static bool has_service(const struct inventory *inv, const char *name)
{
    const char *known;
    for (size_t i = 0; (known = inventory_service_name(inv, i)); i++)
        if (strcmp(known, name) == 0)
            return true;
    return false;
}

/* Selects a service by its name if the inventory has it, else by its address. */
static int select_service(const struct capture_earlier *e, const struct inventory *inventory,
                          const char *service, struct selection *selection, struct err *err)
{
    const struct manifest_request *request = &e->manifest->request;
    if (has_service(inventory, service) || (!request->port && !request->unix_path))
        return strlist_add(&selection->services, service, err);
    selection->port = request->port;
    selection->unix_path = request->unix_path;
    selection->path = request->path;
    selection->https = request->https;
    return 0;
}

/* Checks that the inventory has the host. A target with an address needs no inventory. */
static int check_host(const struct inventory *inventory, const struct manifest_target *t, struct err *err)
{
    const struct host **hosts = NULL;
    size_t n = 0;
    if (t->address)
        return 0;
    if (!text_is_name(t->host))
        return err_set(err, ERR_FAILED, "%s is no name of a host", t->host);
    int rc = inventory_match(inventory, t->host, &hosts, &n, err);
    free(hosts);
    return rc;
}

/* Checks that the selection added only the target of the manifest, at index `from`. */
static int check_selected(const struct targets *all, size_t from, const struct manifest_target *t,
                          struct err *err)
{
    const struct target *found = &all->items[from];
    if (all->n == from + 1 && strcmp(found->host->name, t->host) == 0 &&
        strcmp(found->service->name, t->service) == 0)
        return 0;
    return err_set(err, ERR_FAILED, "%s: %s: these names mean another target in this inventory", t->host,
                   t->service);
}

static int add_target(struct capture_earlier *e, const struct inventory *inventory,
                      const struct manifest_target *t, struct err *err)
{
    struct selection selection = {0};
    size_t from = e->targets.n;
    int rc = -1;
    if (check_host(inventory, t, err) == 0 &&
        strlist_add(&selection.hosts, t->address ? t->address : t->host, err) == 0 &&
        select_service(e, inventory, t->service, &selection, err) == 0 &&
        inventory_select(inventory, &selection, &e->targets, err) == 0)
        rc = check_selected(&e->targets, from, t, err);
    if (rc < 0)
        e->targets.n = from;
    strlist_release(&selection.hosts);
    strlist_release(&selection.services);
    return rc;
}

/* Limits the hosts outside the inventory: a stranger's bundle may name a million, and each is opened. */
static int check_outside_hosts(const struct capture_earlier *e, struct err *err)
{
    size_t n = 0;
    const char *last = "";
    for (size_t i = 0; i < e->manifest->request.n_targets; i++) {
        const struct manifest_target *t = &e->manifest->request.targets[i];
        if (!t->address || strcmp(t->address, last) == 0)
            continue;
        last = t->address;
        n++;
    }
    if (n <= CAPTURE_MAX_OUTSIDE_HOSTS)
        return 0;
    err_set(err, ERR_USAGE, "%s: %zu of its hosts are not in the inventory, more than %d", e->path, n,
            CAPTURE_MAX_OUTSIDE_HOSTS);
    return err_hint(err, "to collect from them, list them in an inventory and make a new capture");
}

int capture_earlier_choose_targets(struct capture_earlier *e, const struct inventory *inventory,
                                   struct err *err)
{
    struct err first = ERR_INIT;
    if (check_outside_hosts(e, err) < 0)
        return -1;
    for (size_t i = 0; i < e->manifest->request.n_targets; i++) {
        const struct manifest_target *t = &e->manifest->request.targets[i];
        struct err why = ERR_INIT;
        if (!is_incomplete(e, t) || add_target(e, inventory, t, &why) == 0)
            continue;
        if (why.kind != ERR_USAGE && why.kind != ERR_FAILED) {
            *err = why;
            return -1;
        }
        e->n_not_in_inventory++;
        if (first.kind == ERR_NONE)
            first = why;
        err_wrap(&why, "%s: %s: not fetched", t->host, t->service);
        send_event(e->observer,
                   &(struct capture_event){.kind = CAPTURE_EARLIER_NOT_IN_INVENTORY, .failure = &why});
    }
    if (e->n_not_in_inventory == 0 || e->targets.n > 0 || !e->is_bundle)
        return 0;
    *err = first;
    return err_wrap(err, "%s", e->path);
}

static int find_baseline_targets(struct capture_earlier *e, struct err *err)
{
    struct targets *baseline = &e->baseline;
    for (size_t i = 0; i < e->targets.n; i++) {
        if (!strlist_has(&e->manifest->request.baseline_hosts, e->targets.items[i].host->name))
            continue;
        if (array_reserve((void **)&baseline->items, &baseline->cap, baseline->n + 1, sizeof *baseline->items,
                          err) < 0)
            return -1;
        baseline->items[baseline->n++] = e->targets.items[i];
    }
    return 0;
}

/* ---- the unrecorded files of the earlier run ----------------------------------------------------------- */

struct recovery {
    struct capture_earlier *earlier;
    int (*check_budget)(void *ctx, const char *directory, uint64_t bytes, struct err *err);
    void *ctx;
    uint64_t bytes; /* of the last checked file; check_budget adds time for them */
};

static int recover_target(struct recovery *r, const struct target *t, struct err *err)
{
    struct capture_earlier *e = r->earlier;
    struct manifest_planned_list planned = {0};
    char dir[600];
    snprintf(dir, sizeof dir, "%s/%s/%s", e->path, t->host->name, t->service->name);
    int rc = manifest_list_planned_without_file(e->manifest, t->host->name, t->service->name, &planned, err);
    for (size_t i = 0; rc == 0 && i < planned.n; i++) {
        const struct manifest_planned *p = &planned.items[i];
        struct fetch_planned planned_item = {
            .kind = p->kind, .argument = p->argument ? p->argument : "", .pair = p->pair};
        const struct fetch_unrecorded unrecorded = {.directory = workdir_files(e->work),
                                                    .target = t,
                                                    .item = &planned_item,
                                                    .cancel_fd = e->cancel_fd};
        struct fetch_item item;
        struct err missing = ERR_INIT;
        rc = r->check_budget(r->ctx, dir, r->bytes, err);
        r->bytes = 0;
        if (rc < 0)
            break;
        if (fetch_find_unrecorded(&unrecorded, &item, &missing) < 0) {
            rc = missing.kind == ERR_CANCELLED ? err_set(err, ERR_CANCELLED, "%s", missing.msg) : 0;
            continue;
        }
        r->bytes = dir_bytes_on_disk(workdir_files(e->work), item.file);
        rc = record_item(e->manifest, t, &item, err);
        fetch_item_release(&item);
    }
    free(planned.items);
    return rc;
}

int capture_earlier_recover(struct capture_earlier *e,
                            int (*check_budget)(void *ctx, const char *directory, uint64_t bytes,
                                                struct err *err),
                            void *ctx, struct err *err)
{
    struct recovery recovery = {.earlier = e, .check_budget = check_budget, .ctx = ctx};
    struct targets *t = &e->targets;
    size_t n = 0;
    for (size_t i = 0; i < t->n; i++) {
        if (recover_target(&recovery, &t->items[i], err) < 0)
            return -1;
        if (!manifest_has_all_items(e->manifest, t->items[i].host->name, t->items[i].service->name))
            t->items[n++] = t->items[i];
    }
    t->n = n;
    return find_baseline_targets(e, err);
}

/* Returns the size of the earlier run's items as this machine measures it. For a bundle, returns the size of
 * the bundle: the limits grow with this size, and a small bundle that inflates to large files must not raise
 * them. */
static uint64_t measure_items(const struct capture_earlier *e)
{
    return e->is_bundle ? file_bytes_on_disk(e->path)
                        : manifest_bytes_on_disk(e->manifest, workdir_files(e->work));
}

/* ---- the run ------------------------------------------------------------------------------------------- */

enum capture_end capture_resume(struct capture_earlier *e, const struct capture_request *caller_request,
                                const struct capture_observer *observer, struct capture_outcome *ret,
                                struct err *err)
{
    struct capture_request request = *caller_request;
    const struct run_output output = {.work = e->work,
                                      .manifest = e->manifest,
                                      .resumed = true,
                                      .from_bundle = e->is_bundle,
                                      .bundle = e->is_bundle && e->damage.kind == ERR_NONE ? e->path : NULL,
                                      .budget = &e->budget,
                                      .missing = e->n_not_in_inventory};
    confined_budget_add(&e->budget, measure_items(e));
    *ret = (struct capture_outcome){.end = CAPTURE_NOT_STARTED};
    request.targets = &e->targets;
    request.baseline = &e->baseline;
    request.kinds = &e->manifest->request.kinds;
    request.options.pair_ms = e->manifest->request.pair_ms;
    request.access.cancel_fd = e->cancel_fd;
    /* The report of the earlier run must not be in the new bundle. */
    if (dir_remove(workdir_files(e->work), BUNDLE_REPORT, err) < 0 ||
        record_resume(e->manifest, workdir_name(e->work), err) < 0)
        return CAPTURE_NOT_STARTED;
    e->begun = true;
    return capture_in_workdir(&request, &output, observer, ret, err);
}
