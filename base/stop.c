#include "base/stop.h"

#include <inttypes.h>

#include "base/fd.h"
#include "base/proc.h"
#include "base/banned.h"

struct stop stop_begin(int cancel_fd, int64_t cpu_ms)
{
    return (struct stop){.cancel_fd = cancel_fd, .cpu_ms = cpu_ms, .cpu_end_ms = proc_cpu_ms() + cpu_ms};
}

bool stop_is_out_of_time(const struct stop *s)
{
    return s->cpu_ms > 0 && proc_cpu_ms() >= s->cpu_end_ms;
}

int64_t stop_remaining_ms(const struct stop *s)
{
    int64_t left = s->cpu_end_ms - proc_cpu_ms();
    return s->cpu_ms == 0 ? 0 : left > 0 ? left : 1;
}

int stop_check(const struct stop *s, struct err *err)
{
    if (fd_cancelled(s->cancel_fd))
        return err_set(err, ERR_CANCELLED, "interrupted");
    if (stop_is_out_of_time(s))
        return err_set(err, ERR_LIMIT, "it takes more than %" PRId64 " s of processor time",
                       (s->cpu_ms + 999) / 1000);
    return 0;
}
