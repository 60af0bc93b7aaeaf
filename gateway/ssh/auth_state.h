/* The state of one login, which the files auth*.c share. */
#ifndef GATEWAY_SSH_AUTH_STATE_H
#define GATEWAY_SSH_AUTH_STATE_H

#include "base/base.h"
#include "gateway/ssh/failure.h"
#include "gateway/ssh/hop.h"
#include "gateway/ssh/session.h"
#include "gateway/config/config.h"

/* The result of a method, or of one attempt. */
enum auth_result {
    AUTH_REFUSED, /* of an attempt: refused; of a method: it has nothing more to try */
    AUTH_PARTIAL, /* the server accepted it and requires another method */
    AUTH_DONE,
};

struct auth_keys; /* the candidates of publickey and their results */

struct auth {
    struct session *session;
    const struct hop *hop;
    const struct ssh_config *config;     /* the hop's */
    const struct login_options *options; /* the hop's */
    char methods[512];                   /* the server's list of methods */
    int64_t deadline;                    /* of the step; extended by the time that the user's answers take */
    unsigned n_tries;                    /* offered keys, passwords and conversations */
    struct buf accepted;                 /* the accepted methods: "key PATH and password" */
    struct buf refused;                  /* the refused methods and keys */
    struct buf skipped;                  /* the unusable methods and keys, with the reason */
    struct err unsupported;              /* why OpenSSH may succeed; ERR_NONE: no reason */
    const char *ambiguous_method;        /* the method whose refusal is not yet certain; NULL: none */
    unsigned n_refused_offers;           /* of keys */
    bool needs_user;                     /* a method needed a question, but no user can answer */
    bool aborted;                        /* we ended the session, because a question got no answer */
    struct auth_keys *keys;              /* NULL until publickey is tried */
};

/* Each function tries one method; its next call tries the keys or answers that remain. -1: the login has
 * failed. */
int auth_publickey(struct auth *a, enum auth_result *ret, struct err *err);
int auth_keyboard_interactive(struct auth *a, enum auth_result *ret, struct err *err);
int auth_password(struct auth *a, enum auth_result *ret, struct err *err);
void auth_keys_free(struct auth_keys *keys);

/* Records an accepted method. */
void auth_record_accepted(struct auth *a, const char *kind, const char *name);
/* Records a refused method or key if `why` is NULL, else an unusable one with the reason `why`. */
void auth_record_refused(struct auth *a, const char *kind, const char *name, const char *why);
/* Records why OpenSSH may succeed: a row of the failures with its details (see failure_set). Only the first
 * reason is stored. */
void auth_record_unsupported(struct auth *a, enum failure why, const char *const details[]);
/* Sets the recorded reason as the error and returns -1; returns 0 if none is recorded. */
int auth_set_unsupported(const struct auth *a, struct err *err);

/* Checks whether the session has ended, usually because the server refused too many keys. */
bool auth_session_is_closed(const struct auth *a);
/* Sets the error of an ended session: the recorded reason why OpenSSH may succeed, else how the session ended
 * and the refused methods. `rc` is libssh2's result. Returns -1. */
int auth_explain_end(struct auth *a, int rc, struct err *err);

/* Requests the server's list of methods. Sets *ret_authenticated if the server needs no authentication. */
int auth_list_methods(struct auth *a, bool *ret_authenticated, struct err *err);

/*
 * Requests the list again. *ret_changed: the list differs from the last one. A server counts the request as a
 * failed attempt, so we send it only if libssh2 does not report how an attempt failed.
 */
int auth_list_methods_again(struct auth *a, bool *ret_changed, struct err *err);

/* Checks whether the user can answer; if not, sets a->needs_user. BatchMode forbids questions. */
bool auth_require_user(struct auth *a);

/* Names the login of a question: "ann@10.0.0.5 (file-03)", or "ann@bastion (jump host of file-03)". The name
 * from the inventory distinguishes hosts with the same address. Printable. Returns dst. */
#define AUTH_LOGIN_NAME 700
char *auth_login_name(const struct auth *a, char dst[AUTH_LOGIN_NAME]);

/* Asks the user. ERR_NOT_FOUND: no user can answer, or none answered. The caller wipes *ret. */
int auth_ask(struct auth *a, const struct question *question, struct secret *ret, struct err *err);

/* A secret that the user types once in a run. */
struct secret_prompt {
    const char *name;   /* the secret's unique name in the keyring */
    const char *prompt; /* printable */
    const char *file;   /* as in struct question */
    unsigned max_tries; /* answers of the user */
    void *ctx;
    /* Sets *ret_fits to whether the secret is right. */
    int (*check)(void *ctx, const struct secret *secret, bool *ret_fits, struct err *err);
};
/* Calls prompt->check with the keyring's secret, or if the keyring has none with up to max_tries answers of
 * the user. ERR_NOT_FOUND: there is no right secret. A failure of `check` is the failure of this function. */
int auth_try_secrets(struct auth *a, const struct secret_prompt *prompt, struct err *err);

#endif
