/*
 * The program is in three files. `bin/profgrab` has what shows local profiles: pprof, goroutines, merge,
 * diff. `lib/profgrab/profgrab.so` beside it has all that profgrab does. Loading what that needs (libcurl,
 * libssh2, OpenSSL, libarchive and what they bring along) takes several times as long as showing a small
 * profile, so the small file loads the other one only when it comes to something it does not have: for every
 * other command at once, else at one of the doors below.
 *
 * It is the same process, so nothing that was read or printed before is lost. Each file has its own copy of
 * the code they share, and of its few static variables, but that of signals is one. (The third, cli/editor.h,
 * is for the shell at a terminal.)
 */
#ifndef CLI_WHOLE_H
#define CLI_WHOLE_H

#include "cli/library.h"
#include "cli/pprof.h"
#include "cli/signals.h"
#include "cli/source.h"
#include "report/report.h"

struct whole {
    /* Any command, told as main is told. Returns the exit code. */
    int (*run)(int argc, char **argv);

    /* cli/source.h */
    int (*source_entries)(const char *bundle, struct source_keys *keys, struct source_entries *ret,
                          struct err *err);
    int (*source_member)(const char *bundle, const char *member, struct source_keys *keys, struct buf *ret,
                         struct err *err);
    int (*source_announce)(char *const *names, size_t n, struct source_keys *keys, struct err *err);
    int (*source_unlock)(const char *bundle, struct source_keys *keys, struct err *err);
    void (*source_forget)(struct source_keys *keys);
    /* fetch/fetch.h */
    int (*fetch_global_init)(struct err *err);
    void (*fetch_global_cleanup)(void);
    char *(*url_shown)(const char *url);
    /* cli/pprof.h */
    int (*pprof_url)(const char *source, long seconds, long timeout, char **ret_url, long *ret_timeout_s,
                     struct err *err);
    int (*pprof_fetch)(const struct pprof_options *o, const char *url, long timeout_s, struct profile **ret,
                       struct err *err);
    int (*pprof_post)(const struct pprof_options *o, const char *source, struct str addresses,
                      struct buf *ret, struct err *err);
    int (*pprof_shell)(const struct pprof_options *o, struct profile *p, struct err *err);
    /* cli/goroutines_json.h */
    int (*goroutines_json)(const struct goroutines *g, char *const *names, struct err *err);
};

/* All of it: loaded when it is asked for, in bin/profgrab (whole_load.c); just there in the library and in
 * tests (whole.c). NULL, and err says what is missing and what to do. */
const struct whole *whole_get(struct err *err);

/* What lib/profgrab/profgrab.so exports. */
struct whole_library {
    struct library_mark mark;
    void (*share_signals)(struct signals *of); /* cli/signals.h; before the first call of `get` */
    const struct whole *(*get)(struct err *err);
};
extern const struct whole_library profgrab_library __attribute__((visibility("default")));

#endif
