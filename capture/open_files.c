#include "capture/open_files.h"

#include "base/banned.h"

int open_files_make_room(struct fetch_grab *grab, size_t *ret_open, struct err *err)
{
    size_t needed = fetch_descriptors(grab), got = fd_raise_limit(needed);
    *ret_open = got;
    if (got >= needed)
        return 0;
    if (grab->options.sync) {
        err_set(err, ERR_USAGE, "%zu hosts at once need %zu open files, and the limit here is %zu",
                fetch_hosts_at_once(grab), needed, got);
        return err_hint(err, "raise `ulimit -Hn`, or choose fewer hosts with --sample");
    }
    grab->options.parallel = fetch_affordable_hosts(grab, got);
    return 0;
}
