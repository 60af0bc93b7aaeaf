/*
 * The web page of `profgrab pprof -http`: the routes and parameters of `go tool pprof -http`, with a page of
 * our own (web/pprof/main.js).
 *
 * The server (cli/http/serve.h) reads no profile. Its delegate (cli/http/delegate.h) loads the profile once,
 * and forks a child for each request, which makes one view of it (web_answer.c, web_views.c).
 *
 * Source: google/pprof internal/driver/webui.go, settings.go and config.go, whose routes, parameters and
 * settings are the standard.
 */
#ifndef CLI_PPROF_WEB_H
#define CLI_PPROF_WEB_H

#include "cli/http/delegate.h"
#include "cli/pprof/flags.h"

struct json_t;

/* The profile of a run and the options of its command line, for the delegate and its children. */
struct web {
    const struct pprof_options *options; /* of the command line */
    struct profile *profile;
    struct pprof_kept kept;
};

/* The kinds of answers. */
enum web_kind {
    WEB_PAGE,        /* HTML that loads the page's script */
    WEB_JSON,        /* the data of a view */
    WEB_NOTHING,     /* an empty answer */
    WEB_PROFILE,     /* profile.pb.gz */
    WEB_FROZEN_PAGE, /* HTML that loads nothing */
    WEB_KINDS,
};

/* ---- parameters (web_query.c) -------------------------------------------------------------------------- */

/* A parameter and the option that it sets. */
struct web_parameter {
    const char *name, *option;
    bool saved;  /* in settings.json */
    bool filter; /* the parameter `without` can reset it */
};
/* Returns row i, or NULL after the last. Rows are in the order of the keys in settings.json. */
const struct web_parameter *web_parameter_at(size_t i);

/* Copies `from`, removes the filters that the parameter `without` lists (without=f,tf), and sets the options
 * that the other parameters name. The caller releases *ret with shell_options_release. */
int web_read_query(const struct pprof_options *from, const struct delegate_request *r,
                   struct pprof_options *ret, struct err *err);

/* ---- saved settings (web_settings.c) ------------------------------------------------------------------- */

/* Saves the request's parameters under the name in the parameter `config`. */
int web_settings_save(const struct pprof_options *from, const struct delegate_request *r, struct err *err);
/* Removes the settings of that name. */
int web_settings_remove(const struct delegate_request *r, struct err *err);
/* Adds the options as a query, with the question mark, to an address. */
int web_add_query(const struct pprof_options *o, struct buf *to, struct err *err);
/* Adds the options as a JSON object, from parameters to texts, without those that have upstream's default. */
int web_add_defaults(const struct pprof_options *o, struct buf *to, struct err *err);
/* Adds a JSON array of the saved settings, with the query that leads from the request's view to each. */
int web_settings_add_menu(const struct delegate_request *r, struct buf *to, struct err *err);

/* ---- views (web_answer.c) ------------------------------------------------------------------------------ */

/* Answers a request for a path below /ui/. It is the function `answer` of struct delegate_work; ctx is a
 * struct web. */
int web_answer(void *ctx, const struct delegate_request *r, int body_fd, unsigned *ret_kind, struct err *err);

#endif
