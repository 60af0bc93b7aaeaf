/* What the methods of authentication share: the state of one login. For the files auth*.c. */
#ifndef GATEWAY_AUTH_METHOD_H
#define GATEWAY_AUTH_METHOD_H

#include "base/base.h"
#include "gateway/hop.h"
#include "gateway/session.h"
#include "inventory/inventory.h"

/* What came of a method, or of one attempt at it. */
enum auth_result {
    AUTH_REFUSED, /* there is nothing more to try of it */
    AUTH_PARTIAL, /* the server took it and wants more */
    AUTH_DONE,
};

struct auth_keys; /* publickey's candidates, and what became of them */

struct auth {
    struct session *s;
    const struct hop *hop;
    const struct ssh_config *config; /* the hop's */
    char methods[512];               /* what the server lists */
    int64_t deadline;                /* of the step; put off by the time for which a person is asked */
    unsigned tries;
    struct buf steps;      /* what let the user in, or in part: "key PATH and password" */
    struct buf tried;      /* what was offered and refused */
    struct buf skipped;    /* what could not be offered, and why */
    char unsupported[256]; /* why OpenSSH may do what we cannot; "" if it cannot either */
    const char *unsure;    /* a method of which the server is asked whether it was refused; NULL: none */
    unsigned keys_refused;
    bool would_ask;         /* a person would have been asked, but there is nobody */
    bool hung_up;           /* by us: nobody answers what the server asks */
    struct auth_keys *keys; /* NULL until publickey is tried */
};

/* The methods. Each goes on where it left off when it is called again. -1: there is no use in going on. */
int auth_publickey(struct auth *a, enum auth_result *ret, struct err *err);
int auth_keyboard_interactive(struct auth *a, enum auth_result *ret, struct err *err);
int auth_password(struct auth *a, enum auth_result *ret, struct err *err);
void auth_keys_free(struct auth_keys *keys);

/* Notes what let the user in, or in part. */
void auth_accepted(struct auth *a, const char *what, const char *name);
/* Notes what was offered and refused, or (with a reason) what could not be offered. */
void auth_note(struct auth *a, const char *what, const char *name, const char *why);
/* Notes why OpenSSH may do it; the first reason counts. */
void auth_unsupported(struct auth *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Whether the session is over; auth_ended then says why, or what OpenSSH may do where there is that. */
bool auth_is_over(const struct auth *a);
int auth_ended(struct auth *a, int rc, struct err *err);

/* Asks the server anew which methods it takes. *ret_changed: it now lists others than before. A server counts
 * this as a failed attempt, so it is only asked after one of which libssh2 does not tell how it failed. */
int auth_relist(struct auth *a, bool *ret_changed, struct err *err);

/* Whether there is somebody to ask; notes it if there is not. BatchMode forbids it. */
bool auth_can_ask(struct auth *a);

/* The login that a question is for: "ann@10.0.0.5 (file-03)", or "ann@bastion (jump host of file-03)". Two
 * hosts of one address differ in the name that the inventory gives them. Printable. Returns dst. */
#define AUTH_LOGIN_NAME 700
char *auth_login_name(const struct auth *a, char dst[AUTH_LOGIN_NAME]);

/* Asks a person. ERR_NOT_FOUND: there is nobody, or no answer. The caller wipes *ret. */
int auth_ask(struct auth *a, const struct question *question, struct secret *ret, struct err *err);

/*
 * A secret that is asked for once in a run: has `fits` look at the one that is known, else at what a person
 * says, `tries` times. *ret_fits of `fits` says whether it is the right one, a failure of it ends the matter.
 * ERR_NOT_FOUND: nobody knows it.
 */
struct auth_riddle {
    const char *name;   /* in the keyring: nobody else may have a secret of that name for another purpose */
    const char *prompt; /* printable */
    const char *key;    /* as struct question has it */
    unsigned tries;
    void *ctx;
    int (*fits)(void *ctx, const struct secret *answer, bool *ret_fits, struct err *err);
};
int auth_solve(struct auth *a, const struct auth_riddle *riddle, struct err *err);

#endif
