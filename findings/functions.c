#include <string.h>

#include "findings/functions.h"
#include "base/banned.h"

/* The first elements of the import paths of Go's own packages. Go's rules for import paths reserve these
 * names. Source: go list std. */
static const char *const standard_elements[] = {
    "archive", "bufio",   "bytes",    "cmp",      "compress", "container", "context", "crypto",  "database",
    "debug",   "embed",   "encoding", "errors",   "expvar",   "flag",      "fmt",     "go",      "hash",
    "html",    "image",   "index",    "internal", "io",       "iter",      "log",     "maps",    "math",
    "mime",    "net",     "os",       "path",     "plugin",   "reflect",   "regexp",  "runtime", "slices",
    "sort",    "strconv", "strings",  "structs",  "sync",     "syscall",   "testing", "text",    "time",
    "unicode", "unique",  "unsafe",   "vendor",   "weak",     NULL};

const char *const functions_idle_gc[] = {"runtime.gcDrainMarkWorkerIdle", NULL};
const char *const functions_allocator[] = {"runtime.mallocgc*", NULL};
const char *const functions_profilers[] = {"runtime/pprof.*", "runtime/trace.*", "net/http/pprof.*", NULL};

/* Packages below runtime/ that are not part of the runtime. */
static const char *const not_runtime[] = {"runtime/debug.*", "runtime/metrics.*", NULL};
/* The functions of the runtime. Those without a package are its assembly code. */
static const char *const runtime_names[] = {"runtime.*",
                                            "runtime/*",
                                            "internal/runtime/*",
                                            "internal/abi.*",
                                            "internal/bytealg.*",
                                            "internal/cpu.*",
                                            "gcWriteBarrier*",
                                            "gogo",
                                            "memeqbody",
                                            "cmpbody",
                                            "indexbytebody",
                                            "aeshashbody",
                                            "callRet",
                                            "_rt0_*",
                                            NULL};

bool functions_is_listed(struct str function, const char *const *list)
{
    for (; *list; list++) {
        size_t n = strlen(*list) - 1;
        if ((*list)[n] == '*' ? function.n >= n && memcmp(function.p, *list, n) == 0
                              : str_is(function, *list))
            return true;
    }
    return false;
}

enum functions_origin functions_origin_of(struct str function)
{
    size_t n = 0;
    /* Wrappers that cgo generates. */
    if (memmem(function.p, function.n, "._Cfunc_", 8))
        return FUNCTION_OF_STANDARD;
    if (functions_is_listed(function, functions_profilers))
        return FUNCTION_OF_PROFILERS;
    if (functions_is_listed(function, runtime_names) && !functions_is_listed(function, not_runtime))
        return FUNCTION_OF_RUNTIME;
    while (n < function.n && function.p[n] != '/' && function.p[n] != '.')
        n++;
    for (size_t i = 0; standard_elements[i]; i++)
        if (str_is((struct str){function.p, n}, standard_elements[i]) && n < function.n)
            return FUNCTION_OF_STANDARD;
    return FUNCTION_OF_PROGRAM;
}
