#include "cli/term/exit.h"

#include "cli/term/signals.h"
#include "base/banned.h"

int exit_status_of(const struct err *err)
{
    switch (err->kind) {
    case ERR_NONE:
        return EXIT_OK;
    case ERR_USAGE:
        return EXIT_USAGE;
    case ERR_CANCELLED:
        return signals_received() ? EXIT_SIGNAL + signals_received() : EXIT_FAILED;
    case ERR_FAILED:
    case ERR_TIMEOUT:
    case ERR_NOT_FOUND:
    case ERR_UNRECOGNIZED:
    case ERR_NO_KEY:
    case ERR_EXISTS:
    case ERR_LOCAL_IO:
    case ERR_PIPE:
    case ERR_BUSY:
    case ERR_LOST:
    case ERR_UNSUPPORTED:
    case ERR_DENIED:
    case ERR_LIMIT:
    case ERR_HOST_KEY:
        break;
    }
    return EXIT_FAILED;
}

int exit_status_help(size_t i, struct exit_status_help *ret)
{
    static const struct exit_status_help rows[] = {
        {"0", "The bundle has every requested item; for other commands: success."},
        {"1", "No item is intact, or the command failed. If there is a bundle, it has only damaged bodies."},
        {"2", "Wrong usage, an error in the inventory, or an unknown kind. Nothing was opened or fetched."},
        {"3", "The bundle lacks items, or some are damaged."},
        {"4", "The bundle was written, but the hand-off failed (--for, --to, attach). profgrab prints the "
              "command that repeats it. 4 takes precedence over 3."},
        {"129, 130, 143",
         "Stopped by SIGHUP, SIGINT or SIGTERM. A capture writes a bundle if it has collected an item."},
        {"141",
         "The reader of standard output, such as head, ended before profgrab had written everything. "
         "profgrab prints no message about this. A capture still writes its bundle, and prints the path on "
         "standard error."},
    };
    if (i >= sizeof rows / sizeof *rows)
        return -1;
    *ret = rows[i];
    return 0;
}
