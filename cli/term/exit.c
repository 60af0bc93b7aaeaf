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
        return signals_received() ? EXIT_SIGNAL + signals_received() : EXIT_NOTHING;
    case ERR_FAILED:
    case ERR_TIMEOUT:
    case ERR_NOT_FOUND:
    case ERR_EXISTS:
    case ERR_LOCAL_IO:
    case ERR_BUSY:
    case ERR_LOST:
    case ERR_UNSUPPORTED:
    case ERR_DENIED:
    case ERR_LIMIT:
    case ERR_HOST_KEY:
        break;
    }
    return EXIT_NOTHING;
}

int exit_status_help(size_t i, struct exit_status_help *ret)
{
    static const struct exit_status_help rows[] = {
        {"0", "Everything that was asked for is in the bundle; of another command: it went well."},
        {"1",
         "No item arrived whole, or the command failed. A bundle that was written all the same holds only "
         "damaged bodies."},
        {"2", "Wrong usage, a mistake in the inventory, or an unknown kind. Nothing was opened or fetched."},
        {"3", "A bundle was written, but something is missing from it or damaged."},
        {"4",
         "A bundle was written, but could not be handed over (--for, --to, attach). The line that repeats "
         "the hand-off is printed. 4 wins over 3."},
        {"129, 130, 143", "Hung up, interrupted, terminated; with a bundle, if anything had come by then."},
    };
    if (i >= sizeof rows / sizeof *rows)
        return -1;
    *ret = rows[i];
    return 0;
}
