/* Queries or reads all sources of a run, and creates services from their targets. */
#include "discovery/discovery.h"
#include "base/banned.h"

static void report_warning(const struct discovery_options *o, const struct source *s,
                           enum discovery_warning warning, const struct err *why, int64_t at)
{
    if (o->warning)
        o->warning(o->ctx, s, warning, why, at);
}

/* Queries the source and caches the answer. If the query fails, loads an older answer from the cache. */
static int query_source(const struct discovery_options *o, const struct source *s, struct discovered *ret,
                        struct err *err)
{
    struct err why = ERR_INIT, cache_error = ERR_INIT;
    if (o->query(o->ctx, s, ret, &why) == 0) {
        if (discovery_cache_store(s, o->ssh, ret, &cache_error) < 0)
            report_warning(o, s, DISCOVERY_NOT_CACHED, &cache_error, 0);
        return 0;
    }
    if (why.kind != ERR_CANCELLED && discovery_cache_load(s, o->ssh, ret, NULL) == 0) {
        report_warning(o, s, DISCOVERY_OLD_ANSWER, &why, ret->at);
        return 0;
    }
    if (err)
        *err = why;
    return -1;
}

/* Reads the files of the source. For a source with a URL, loads the cached answer if it is not too old, or
 * queries the source. */
static int read_source(const struct discovery_options *o, const struct source *s, struct discovered *ret,
                       struct err *err)
{
    struct err why = ERR_INIT;
    if (!s->endpoint)
        return discovered_read(s, ret, err);
    if (o->policy == DISCOVERY_REFRESH)
        return query_source(o, s, ret, err);
    if (discovery_cache_load(s, o->ssh, ret, &why) == 0) {
        int64_t age = clock_utc() - ret->at;
        if (o->policy == DISCOVERY_CACHED || (age >= 0 && age <= s->max_age_ms))
            return 0;
        discovered_release(ret);
    } else if (why.kind == ERR_FAILED) {
        report_warning(o, s, DISCOVERY_CACHE_DAMAGED, &why, 0);
    }
    if (o->policy == DISCOVERY_AS_NEEDED)
        return query_source(o, s, ret, err);
    if (err)
        *err = why;
    return -1;
}

/* Reads a source and adds its services. The caller releases *ret, also after a failure. */
static int add_source(struct discovery *d, const struct discovery_options *o, struct source_use *use,
                      struct discovered *ret, struct err *err)
{
    struct discovered_counts counts = {0};
    if (read_source(o, use->source, ret, err) < 0)
        return -1;
    int rc = discovery_add(d, use, ret, &counts, err);
    if (o->listed)
        o->listed(o->ctx, use, ret, &counts, rc == 0);
    return rc;
}

/* Adds one of several sources. Counts a failure of the source; only a cancellation ends the run. */
static int add_inventory_source(struct discovery *d, const struct discovery_options *o,
                                const struct source *source, size_t *n_failed, struct err *err)
{
    struct err why = ERR_INIT;
    struct discovered found = {0};
    struct source_use *use = NULL;
    if (targets_use_source(d->targets, source, &use, err) < 0)
        return -1;
    int rc = add_source(d, o, use, &found, &why);
    discovered_release(&found);
    if (rc == 0)
        return 0;
    if (why.kind == ERR_CANCELLED) {
        if (err)
            *err = why;
        return err_wrap(err, "%s", source->name);
    }
    ++*n_failed;
    if (o->failed)
        o->failed(o->ctx, source, &why);
    return targets_note_failed_source(d->targets, source, why.msg, err);
}

int discovery_run(struct discovery *d, const struct discovery_options *o, size_t *ret_failed, struct err *err)
{
    size_t n = 0, failed = 0;
    int rc = 0;
    const struct source *const *sources = inventory_sources(d->inventory, &n);
    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = add_inventory_source(d, o, sources[i], &failed, err);
    if (rc == 0)
        rc = discovery_finish(d, err);
    if (rc == 0)
        *ret_failed = failed;
    return rc;
}

int discovery_run_one(struct discovery *d, struct source_use *use, const struct discovery_options *o,
                      struct discovered *ret, struct err *err)
{
    struct discovered found = {0};
    struct err why = ERR_INIT;
    int rc = add_source(d, o, use, &found, &why);
    bool listed = rc == 0 || (why.kind == ERR_USAGE && found.n > 0);
    if (rc < 0)
        err_wrap(&why, "%s", use->source->name);
    if (listed && discovery_finish(d, &why) < 0)
        rc = -1;
    if (rc < 0 && err)
        *err = why;
    if (listed && ret) {
        *ret = found;
        found = (struct discovered){0};
    }
    discovered_release(&found);
    return rc;
}
