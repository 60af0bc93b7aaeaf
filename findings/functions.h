/* Finds the origin of a function by its name, and has the lists of functions that several rules use. */
#ifndef FINDINGS_FUNCTIONS_H
#define FINDINGS_FUNCTIONS_H

#include "base/base.h"

enum functions_origin {
    FUNCTION_OF_RUNTIME,   /* package runtime and its internal packages */
    FUNCTION_OF_PROFILERS, /* code that takes profiles: runtime/pprof, runtime/trace, net/http/pprof */
    FUNCTION_OF_STANDARD,  /* the rest of Go's standard library, and the wrappers that cgo generates */
    FUNCTION_OF_PROGRAM,   /* all others: the program and its modules */
};

enum functions_origin functions_origin_of(struct str function);
/* Returns whether a function is in a list, which ends in NULL. An entry that ends in `*` matches every name
 * with that prefix. */
bool functions_is_listed(struct str function, const char *const *list);

/* Lists end in NULL. functions_idle_gc: the garbage collector on processors that are otherwise idle. */
extern const char *const functions_idle_gc[], *const functions_allocator[], *const functions_profilers[];

#endif
