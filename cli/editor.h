/*
 * Editing lines at a terminal, which only pprof's shell does: in a file of its own, `lib/profgrab/editor.so`,
 * so that libedit is loaded by nothing else. lib/profgrab/profgrab.so loads it where such a line is asked for
 * (editor_load.c); unit tests have all in one.
 *
 * What it needs of the program's one state, such as signals, it calls through struct shell_input: it has a
 * copy of the code it shares with the others.
 */
#ifndef CLI_EDITOR_H
#define CLI_EDITOR_H

#include "cli/library.h"
#include "cli/pprof_shell.h"

/* What it exports. */
struct editor_library {
    struct library_mark mark;
    int (*editor_new)(struct shell_input *in, struct shell_editor **ret, struct err *err);
};
extern const struct editor_library profgrab_editor __attribute__((visibility("default")));

#endif
