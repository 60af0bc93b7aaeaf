#include "cli/exit.h"

#include "cli/signals.h"
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
