#include "capture/capture.h"

#include <stdlib.h>

#include "capture/run.h"
#include "http/http.h"
#include "base/banned.h"

int capture_global_init(struct err *err)
{
    if (gateway_global_init(err) < 0)
        return -1;
    if (http_global_init(err) == 0)
        return 0;
    gateway_global_cleanup();
    return -1;
}

void capture_global_cleanup(void)
{
    http_global_cleanup();
    gateway_global_cleanup();
}

bool capture_is_complete(const struct capture_outcome *o)
{
    return o->end == CAPTURE_PACKED && o->counts.damaged + o->counts.missing == 0 && !o->cancelled;
}

void capture_outcome_release(struct capture_outcome *o)
{
    outcomes_release(&o->targets);
    free(o->bundle);
    free(o->directory);
    *o = (struct capture_outcome){0};
}

enum capture_end capture_run(const struct capture_request *caller_request,
                             const struct capture_observer *observer, int cancel_fd,
                             struct capture_outcome *ret, struct err *err)
{
    struct capture_request request = *caller_request;
    struct run_output output = {0};
    int64_t started = clock_utc();
    *ret = (struct capture_outcome){.end = CAPTURE_NOT_STARTED};
    request.access.cancel_fd = cancel_fd;
    if (workdir_new(request.output, request.subject, started, &output.work, err) < 0)
        return CAPTURE_NOT_STARTED;
    if (record_new(workdir_name(output.work), request.reason, started, &output.manifest, err) < 0 ||
        record_request(output.manifest, &request, err) < 0)
        workdir_remove(output.work);
    else
        capture_in_workdir(&request, &output, observer, ret, err);
    manifest_free(output.manifest);
    workdir_free(output.work);
    return ret->end;
}
