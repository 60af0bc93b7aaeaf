#include "cli/engine.h"

#include <string.h>

#include "base/banned.h"

static int read_seconds(const char *value, int64_t *ret_ms, struct err *err)
{
    if (text_to_duration(value, ret_ms, err) < 0)
        return err_wrap(err, "--budget seconds");
    return *ret_ms > 0 ? 0 : err_set(err, ERR_USAGE, "--budget seconds wants more than nothing");
}

static int read_bytes(const char *value, uint64_t *ret, struct err *err)
{
    if (text_to_bytes(value, ret) < 0 || *ret == 0)
        return err_set(err, ERR_USAGE, "--budget bytes wants a size such as 200M or 2GB, not \"%.60s\"",
                       value);
    return 0;
}

int engine_check(struct engine_options *o, struct err *err)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < o->budget.n; i++) {
        const char *piece = o->budget.items[i];
        if (strncmp(piece, "bytes=", 6) == 0)
            rc = read_bytes(piece + 6, &o->budget_bytes, err);
        else if (strncmp(piece, "seconds=", 8) == 0)
            rc = read_seconds(piece + 8, &o->budget_ms, err);
        else
            rc = err_set(err, ERR_USAGE, "--budget is bytes=SIZE, seconds=N or both, not \"%.60s\"", piece);
    }
    return rc;
}

int engine_check_sync(const struct engine_options *o, unsigned parallel, const struct targets *targets,
                      struct err *err)
{
    size_t hosts = targets_hosts(targets);
    if (o->sync_deadline_ms > 0 && !o->sync)
        return err_set(err, ERR_USAGE, "--sync-deadline means nothing without --sync");
    if (!o->sync || parallel == 0 || parallel >= hosts)
        return 0;
    err_set(err, ERR_USAGE, "all %zu hosts are opened at once, and --parallel %u allows fewer", hosts,
            parallel);
    return err_hint(err, "profiles that begin at one instant (--sync, --against) need all of them: leave "
                         "--parallel out");
}

void engine_set(const struct engine_options *o, struct fetch_grab *fetch)
{
    fetch->options.sync = o->sync;
    fetch->options.sync_deadline_ms = o->sync_deadline_ms ? o->sync_deadline_ms : FETCH_SYNC_DEADLINE_MS;
    fetch->options.retries = o->retries;
    fetch->options.deadline_ms = o->deadline_ms;
    fetch->options.max_bytes = o->max_bytes;
    fetch->options.concurrent = o->concurrent;
    fetch->options.budget_bytes = o->budget_bytes;
    fetch->options.budget_ms = o->budget_ms;
}

void engine_release(struct engine_options *o)
{
    strlist_release(&o->budget);
}
