/* Getting the editor, for lib/profgrab/profgrab.so. */
#include "cli/editor.h"
#include "base/banned.h"

int shell_editor_new(struct shell_input *in, struct shell_editor **ret, struct err *err)
{
    const struct editor_library *library = library_load("editor.so", "profgrab_editor", PROFGRAB_BUILD, err);
    return library ? library->editor_new(in, ret, err) : -1;
}
