/* What lib/profgrab/editor.so exports. */
#include "cli/editor.h"

#include "base/banned.h"

const struct editor_library profgrab_editor = {.mark = {PROFGRAB_BUILD}, .editor_new = shell_editor_new};
