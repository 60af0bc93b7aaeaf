/* The program's own libraries: what a command needs only now and then, in lib/profgrab/ beside the directory
 * of the program. */
#ifndef CLI_LIBRARY_H
#define CLI_LIBRARY_H

#include "base/base.h"

/* The first field of what each of them exports. It is made of all that the files of one build have in common:
 * those of two builds must not be mixed, since what they hand each other are structs. A text, whatever else
 * becomes of the struct. */
struct library_mark {
    char build[32];
};

/* Loads `name` ("profgrab.so"), which stays until the process ends, and finds what it exports there, which
 * begins with a mark: `build` must be what it says. It is looked for beside the program, and nowhere else.
 * NULL, and err says what is missing and what to do. */
const void *library_load(const char *name, const char *exported, const char *build, struct err *err);

#endif
