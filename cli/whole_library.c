/* What lib/profgrab/profgrab.so exports. */
#include "cli/whole.h"

#include "base/banned.h"

const struct whole_library profgrab_library = {
    .mark = {PROFGRAB_BUILD}, .share_signals = signals_share, .get = whole_get};
