#include "cli/capture/fetch_options.h"

#include <string.h>

#include "capture/capture.h"
#include "base/banned.h"

static int read_seconds(const char *value, int64_t *ret_ms, struct err *err)
{
    if (text_to_duration(value, ret_ms, err) < 0)
        return err_wrap(err, "--budget seconds");
    return *ret_ms > 0 ? 0 : err_set(err, ERR_USAGE, "--budget seconds must be more than 0");
}

static int read_bytes(const char *value, uint64_t *ret, struct err *err)
{
    if (text_to_bytes(value, ret) < 0 || *ret == 0)
        return err_set(err, ERR_USAGE, "--budget bytes needs a size such as 200M or 2GB, not \"%.60s\"",
                       value);
    return 0;
}

int fetch_arguments_read_budget(struct fetch_arguments *values, struct err *err)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < values->budget.n; i++) {
        const char *piece = values->budget.items[i];
        if (strncmp(piece, "bytes=", 6) == 0)
            rc = read_bytes(piece + 6, &values->options.budget_bytes, err);
        else if (strncmp(piece, "seconds=", 8) == 0)
            rc = read_seconds(piece + 8, &values->options.budget_ms, err);
        else
            rc = err_set(err, ERR_USAGE, "--budget is bytes=SIZE, seconds=N or both, not \"%.60s\"", piece);
    }
    return rc;
}

int fetch_arguments_check_sync(const struct fetch_arguments *values, unsigned parallel,
                               const struct targets *targets, struct err *err)
{
    if (values->options.sync_deadline_ms > 0 && !values->options.sync)
        return err_set(err, ERR_USAGE, "--sync-deadline needs --sync");
    return capture_check_sync(values->options.sync, parallel, targets, err);
}

struct fetch_options fetch_options_with_defaults(const struct fetch_arguments *values, unsigned parallel)
{
    struct fetch_options options = values->options;
    options.parallel = parallel ? parallel : FETCH_PARALLEL;
    if (options.sync_deadline_ms == 0)
        options.sync_deadline_ms = FETCH_SYNC_DEADLINE_MS;
    return options;
}

void fetch_arguments_release(struct fetch_arguments *values)
{
    strlist_release(&values->budget);
}
