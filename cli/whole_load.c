/* Getting the rest of the program, for the file that is started. */
#include "cli/whole.h"
#include "base/banned.h"

const struct whole *whole_get(struct err *err)
{
    const struct whole_library *library =
        library_load("profgrab.so", "profgrab_library", PROFGRAB_BUILD, err);
    if (!library)
        return NULL;
    library->share_signals(signals_own());
    return library->get(err);
}
