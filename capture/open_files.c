#include "capture/open_files.h"

#include "base/banned.h"

int open_files_make_room(struct fetch_job *grab, size_t *ret_limit, struct err *err)
{
    size_t needed = fetch_count_descriptors(grab), limit = fd_raise_limit(needed);
    *ret_limit = limit;
    if (limit >= needed)
        return 0;
    if (grab->options.sync) {
        err_set(err, ERR_USAGE, "%zu hosts at once need %zu open files, and the limit here is %zu",
                fetch_hosts_at_once(grab), needed, limit);
        return err_hint(err, "raise `ulimit -Hn`, or choose fewer hosts with --sample");
    }
    grab->options.parallel = fetch_affordable_hosts(grab, limit);
    return 0;
}
