/*
 * Tries the methods that the server lists in the order of the configuration, or in OpenSSH's own order. The
 * server may require several (AuthenticationMethods): after a partial success we try the methods of its new
 * list.
 *
 * libssh2 reports a refusal and a partial success alike. After an ambiguous attempt we ask the server for its
 * list again.
 */
#include "gateway/ssh/auth.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gateway/ssh/auth_method.h"
#include "gateway/pool.h"
#include "base/banned.h"

/* No real server requires more. This ends the login at a server that always requires another. */
#define STEPS_MAX 8

static bool may_publickey(const struct ssh_config *c)
{
    return c->publickey;
}

static bool may_keyboard_interactive(const struct ssh_config *c)
{
    return c->keyboard_interactive;
}

static bool may_password(const struct ssh_config *c)
{
    return c->password;
}

/* The order is OpenSSH's. */
static const struct method {
    const char *name;
    bool asks; /* always needs the user */
    bool (*allowed)(const struct ssh_config *c);
    int (*run)(struct auth *a, enum auth_result *ret, struct err *err);
} all_methods[] = {
    {"publickey", false, may_publickey, auth_publickey},
    {"keyboard-interactive", true, may_keyboard_interactive, auth_keyboard_interactive},
    {"password", true, may_password, auth_password},
};
#define N_METHODS (sizeof all_methods / sizeof *all_methods)

/* Checks whether a comma list contains the name. */
static bool list_contains(const char *list, const char *name)
{
    size_t n = strlen(name);
    for (const char *p = list; p; p = strchr(p, ',')) {
        p += *p == ',';
        if (strncmp(p, name, n) == 0 && (p[n] == ',' || p[n] == '\0'))
            return true;
    }
    return false;
}

/* ---- notes --------------------------------------------------------------------------------------------- */

void auth_note(struct auth *a, const char *what, const char *name, const char *why)
{
    struct buf *b = why ? &a->skipped : &a->tried;
    buf_addf(b, "%s%s%s%s%s%s%s", b->len ? ", " : "", what, *name ? " " : "", name, why ? " (" : "",
             why ? why : "", why ? ")" : "");
}

void auth_accepted(struct auth *a, const char *what, const char *name)
{
    buf_addf(&a->steps, "%s%s%s%s", a->steps.len ? " and " : "", what, *name ? " " : "", name);
}

void auth_unsupported(struct auth *a, const char *fmt, ...)
{
    va_list ap;
    if (a->unsupported[0])
        return;
    va_start(ap, fmt);
    vsnprintf(a->unsupported, sizeof a->unsupported, fmt, ap);
    va_end(ap);
}

/* ---- the session --------------------------------------------------------------------------------------- */

bool auth_is_over(const struct auth *a)
{
    return a->s->disconnect[0] || a->s->wire.eof || a->s->wire.error;
}

static int leave_to_openssh(const struct auth *a, struct err *err)
{
    return err_set(err, ERR_UNSUPPORTED, "%s", a->unsupported);
}

/* The server ended the session, usually after too many keys. */
int auth_ended(struct auth *a, int rc, struct err *err)
{
    struct err why = ERR_INIT;
    session_error(a->s, rc, "authentication", &why);
    if (a->unsupported[0])
        return leave_to_openssh(a, err);
    if (a->unsure)
        auth_note(a, a->unsure, "", NULL);
    if (a->tried.len == 0) {
        err_set(err, ERR_FAILED, "%s", why.msg);
        return err_hint(
            err, "its log says why; `ssh -v` to the same address tells whether it does so to everybody");
    }
    err_set(err, ERR_FAILED, "%.300s; until then it had refused %s", why.msg, buf_str(&a->tried));
    if (a->keys_refused == 0)
        return err_hint(err,
                        "is that user right, and is the account locked? `ssh` to the same address tells");
    return err_hint(
        err, "offer only the right key: IdentityFile and `IdentitiesOnly yes` in your ssh configuration, "
             "or `identity:` in the inventory");
}

/* Asks for the server's methods. Sets *ret_in if the server needs no authentication. */
static int list_methods(struct auth *a, bool *ret_in, struct err *err)
{
    struct session *s = a->s;
    const char *user = a->config->user;
    char *methods;
    while (!(methods = libssh2_userauth_list(s->ssh, user, (unsigned)strlen(user)))) {
        int rc = libssh2_session_last_errno(s->ssh);
        *ret_in = libssh2_userauth_authenticated(s->ssh) != 0;
        if (*ret_in)
            return 0;
        if (rc != LIBSSH2_ERROR_EAGAIN)
            return auth_ended(a, rc, err);
        if (session_wait(s, a->deadline, err) < 0)
            return err_wrap(err, "authentication");
    }
    text_printable(a->methods, sizeof a->methods, methods, strlen(methods));
    return 0;
}

int auth_relist(struct auth *a, bool *ret_changed, struct err *err)
{
    char before[sizeof a->methods];
    bool in = false;
    snprintf(before, sizeof before, "%s", a->methods);
    if (list_methods(a, &in, err) < 0)
        return -1;
    *ret_changed = strcmp(before, a->methods) != 0;
    return 0;
}

/* ---- asking a person ----------------------------------------------------------------------------------- */

char *auth_login_name(const struct auth *a, char dst[AUTH_LOGIN_NAME])
{
    const char *host = a->s->options.host, *role = a->hop->is_jump ? "jump host of " : "";
    char shown[260];
    int n = snprintf(dst, AUTH_LOGIN_NAME, "%s@%s", a->s->hop.user, a->s->hop.address);
    if (host && (a->hop->is_jump || strcmp(host, a->config->hostname) != 0))
        snprintf(dst + n, AUTH_LOGIN_NAME - (size_t)n, " (%s%s)", role,
                 text_printable(shown, sizeof shown, host, strlen(host)));
    return dst;
}

bool auth_can_ask(struct auth *a)
{
    const struct gateway_options *options = &a->s->options;
    bool can = options->ask && !options->ask_keys_only && a->config->password_prompts > 0;
    a->would_ask = a->would_ask || !can;
    return can;
}

int auth_ask(struct auth *a, const struct question *question, struct secret *ret, struct err *err)
{
    const struct gateway_options *options = &a->s->options;
    bool is_answered =
        options->ask && question->key && options->ask_keys_only && a->config->password_prompts > 0;
    if (!is_answered && !auth_can_ask(a))
        return err_set(err, ERR_NOT_FOUND, "there is nobody to ask for it");
    struct question q = *question;
    struct err why = ERR_INIT;
    int64_t began = clock_now();
    q.deadline = clock_deadline(gateway_ask_ms(options));
    int rc = options->ask(options->ask_ctx, &q, ret, &why);
    a->deadline += clock_now() - began;
    if (rc < 0 && err)
        *err = why;
    return rc;
}

/* Asks until prompt->check accepts the answer, which becomes *ret. */
static int ask_until_right(struct auth *a, const struct secret_prompt *prompt, struct secret *ret,
                           struct err *err)
{
    struct question q = {.kind = ASK_HIDDEN, .prompt = prompt->prompt, .key = prompt->key};
    for (unsigned i = 0; i < prompt->tries; i++) {
        bool fits = false;
        secret_wipe(ret);
        q.again = i > 0;
        if (auth_ask(a, &q, ret, err) < 0)
            return -1;
        if (ret->len == 0)
            return err_set(err, ERR_NOT_FOUND, "no answer was given");
        if (prompt->check(prompt->ctx, ret, &fits, err) < 0)
            return -1;
        if (fits)
            return 0;
    }
    return err_set(err, ERR_NOT_FOUND, "none of %u answers was right", prompt->tries);
}

int auth_try_secrets(struct auth *a, const struct secret_prompt *prompt, struct err *err)
{
    struct keyring *keyring = pool_keyring(a->s->options.pool);
    struct secret answer = {0};
    struct err why = ERR_INIT;
    bool fits = false;
    int64_t began = clock_now();
    /* The login that asks may need this long for all tries. */
    int rc = keyring_take(keyring, prompt->name, clock_deadline(4 * gateway_ask_ms(&a->s->options)),
                          a->s->options.cancel_fd, &answer, &why);
    a->deadline += clock_now() - began;
    if (rc == 0 && answer.len > 0) {
        rc = prompt->check(prompt->ctx, &answer, &fits, &why);
        if (rc == 0 && !fits)
            rc = err_set(&why, ERR_NOT_FOUND, "what was right elsewhere is not right here");
    } else if (rc == 0) {
        rc = ask_until_right(a, prompt, &answer, &why);
        keyring_settle(keyring, prompt->name, rc == 0 ? &answer : NULL, &why);
    }
    secret_wipe(&answer);
    if (rc < 0 && err)
        *err = why;
    return rc;
}

/* ---- the whole ----------------------------------------------------------------------------------------- */

/* klist only reads the cache. */
#define KLIST_MS 2000

/* krb5.conf can place tickets anywhere: a file, the kernel's keyring, a daemon. So we run klist. */
static bool klist_finds_tickets(const struct auth *a)
{
    const char *const argv[] = {"klist", "-s", NULL};
    struct proc_limits limits = {
        .timeout_ms = KLIST_MS, .cancel_fd = a->s->options.cancel_fd, .max_output = 4096};
    struct proc_result r;
    if (proc_run(argv, &limits, &r, NULL) < 0)
        return false;
    bool found = r.exit_code == 0;
    proc_result_release(&r);
    return found;
}

/* If there are tickets, GSSAPI may work. */
static bool has_tickets(const struct auth *a)
{
    char path[64];
    snprintf(path, sizeof path, "/tmp/krb5cc_%lu", (unsigned long)geteuid());
    return getenv("KRB5CCNAME") || access(path, R_OK) == 0 || klist_finds_tickets(a);
}

static void look_for_others(struct auth *a)
{
    const struct ssh_config *c = a->config;
    if (c->only_openssh[0])
        auth_unsupported(a, "your ssh configuration has %s", c->only_openssh);
    if (c->gssapi && list_contains(a->methods, "gssapi-with-mic") && has_tickets(a))
        auth_unsupported(a, "the server takes GSSAPI (Kerberos), which libssh2 cannot do");
    if (c->hostbased && list_contains(a->methods, "hostbased"))
        auth_unsupported(a, "the server takes HostbasedAuthentication, which only ssh can do");
}

static int refuse(struct auth *a, struct err *err)
{
    bool tried = a->tried.len > 0, keys = list_contains(a->methods, "publickey");
    look_for_others(a);
    if (a->unsupported[0])
        return leave_to_openssh(a, err);
    struct buf b = BUF_INIT(sizeof err->msg);
    buf_addf(&b, "permission denied for user %s: ", a->s->hop.user);
    if (a->steps.len)
        buf_addf(&b, "the server took %s and wants more (%s); ", buf_str(&a->steps), a->methods);
    if (tried)
        buf_addf(&b, "the server refused %s", buf_str(&a->tried));
    else if (keys)
        buf_adds(&b, "there was no key to offer");
    else
        buf_addf(&b, "the server takes only %s", a->methods);
    if (a->skipped.len)
        buf_addf(&b, "; not offered: %s", buf_str(&a->skipped));
    err_set(err, ERR_FAILED, "%s", buf_str(&b));
    buf_release(&b);
    if (a->would_ask)
        return err_hint(err,
                        "on a terminal and without --batch you would be asked; a key that has a passphrase "
                        "can be added to your agent with ssh-add");
    if (!tried && keys)
        return err_hint(err, "load a key into your agent (ssh-add), or name one: IdentityFile in your ssh "
                             "configuration, `identity:` in the inventory");
    if (a->keys_refused > 0)
        return err_hint(err, "is that user right, and is one of these keys in its authorized_keys? "
                             "`ssh -v` to the same address shows what your ssh does");
    return err_hint(err, "is that user right? `ssh -v` to the same address shows what your ssh does");
}

static const struct method *next_of(const struct auth *a, const char *order, const bool over[N_METHODS])
{
    char name[64];
    for (const char *p = order; *p;) {
        size_t n = strcspn(p, ",");
        snprintf(name, sizeof name, "%.*s", (int)(n < sizeof name ? n : sizeof name - 1), p);
        for (size_t i = 0; i < N_METHODS; i++)
            if (strcmp(all_methods[i].name, name) == 0 && !over[i] && all_methods[i].allowed(a->config) &&
                list_contains(a->methods, name))
                return &all_methods[i];
        p += n + (p[n] == ',');
    }
    return NULL;
}

static int try_methods(struct auth *a, struct err *err)
{
    const char *order =
        a->config->preferred ? a->config->preferred : "publickey,keyboard-interactive,password";
    bool over[N_METHODS] = {false};
    const struct method *m;
    for (unsigned steps = 0; !a->hung_up && steps < STEPS_MAX && (m = next_of(a, order, over));) {
        enum auth_result result = AUTH_REFUSED;
        if (m->asks && !auth_can_ask(a)) {
            auth_note(a, m->name, "", "there is nobody to ask");
        } else if (m->run(a, &result, err) < 0) {
            return -1;
        }
        if (result == AUTH_DONE)
            return 0;
        if (result == AUTH_PARTIAL) {
            memset(over, 0, sizeof over);
            steps++;
        } else {
            over[m - all_methods] = true;
        }
    }
    return refuse(a, err);
}

int auth_run(struct session *s, const struct hop *hop, struct err *err)
{
    struct auth a = {.s = s,
                     .hop = hop,
                     .config = hop->config,
                     .deadline = session_deadline(s),
                     .steps = BUF_INIT(sizeof s->hop.authentication - 1),
                     .tried = BUF_INIT(300),
                     .skipped = BUF_INIT(300)};
    bool in = false;
    int rc = list_methods(&a, &in, err);
    if (rc == 0 && in)
        auth_accepted(&a, "none", "");
    else if (rc == 0)
        rc = try_methods(&a, err);
    if (rc == 0)
        snprintf(s->hop.authentication, sizeof s->hop.authentication, "%s", buf_str(&a.steps));
    auth_keys_free(a.keys);
    buf_release(&a.steps);
    buf_release(&a.tried);
    buf_release(&a.skipped);
    return rc;
}
