/*
 * Tries the methods that the server lists, in the order of PreferredAuthentications or in OpenSSH's own
 * order. The server may require several methods (AuthenticationMethods): after a partial success we try the
 * methods of its new list.
 *
 * libssh2 reports a refusal and a partial success alike. After an ambiguous attempt we ask the server for its
 * list again.
 */
#include "gateway/ssh/auth.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gateway/ssh/auth_state.h"
#include "gateway/ssh/failure.h"
#include "base/banned.h"

/* The most methods that a server may require one after the other. No real server requires more, but a hostile
 * server could always require one more. */
#define STEPS_MAX 8

static bool allows_publickey(const struct ssh_config *c)
{
    return c->login.publickey;
}

static bool allows_keyboard_interactive(const struct ssh_config *c)
{
    return c->login.keyboard_interactive;
}

static bool allows_password(const struct ssh_config *c)
{
    return c->login.password;
}

/* In OpenSSH's order. */
static const struct method {
    const char *name;
    bool asks; /* always needs the user */
    bool (*allowed)(const struct ssh_config *c);
    int (*run)(struct auth *a, enum auth_result *ret, struct err *err);
} all_methods[] = {
    {"publickey", false, allows_publickey, auth_publickey},
    {"keyboard-interactive", true, allows_keyboard_interactive, auth_keyboard_interactive},
    {"password", true, allows_password, auth_password},
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

/* The timeout of klist, which only reads the cache of tickets. */
#define KLIST_TIMEOUT_MS 2000

/* krb5.conf can place tickets anywhere: a file, the kernel's keyring, a daemon. So we run klist. */
static bool klist_finds_tickets(const struct auth *a)
{
    const char *const argv[] = {"klist", "-s", NULL};
    struct proc_limits limits = {
        .timeout_ms = KLIST_TIMEOUT_MS, .cancel_fd = session_cancel_fd(a->session), .max_output = 4096};
    struct proc_result r;
    if (proc_run(argv, &limits, &r, NULL) < 0)
        return false;
    bool found = r.exit_code == 0;
    proc_result_release(&r);
    return found;
}

/* Checks for Kerberos tickets, with which GSSAPI may work. */
static bool has_tickets(const struct auth *a)
{
    char path[64];
    snprintf(path, sizeof path, "/tmp/krb5cc_%lu", (unsigned long)geteuid());
    return getenv("KRB5CCNAME") || access(path, R_OK) == 0 || klist_finds_tickets(a);
}

static void record_openssh_methods(struct auth *a)
{
    const struct ssh_config *c = a->config;
    if (c->only_openssh[0])
        auth_record_unsupported(a, FAILURE_NEEDS_OPENSSH_OPTION, FAILURE_DETAILS(c->only_openssh));
    if (c->login.gssapi && list_contains(a->methods, "gssapi-with-mic") && has_tickets(a))
        auth_record_unsupported(a, FAILURE_NEEDS_OPENSSH_KERBEROS, FAILURE_DETAILS(NULL));
    if (c->login.hostbased && list_contains(a->methods, "hostbased"))
        auth_record_unsupported(a, FAILURE_NEEDS_OPENSSH_HOSTBASED, FAILURE_DETAILS(NULL));
}

static int set_refusal(struct auth *a, struct err *err)
{
    bool tried = a->refused.len > 0, allows_keys = list_contains(a->methods, "publickey");
    record_openssh_methods(a);
    if (auth_set_unsupported(a, err) < 0)
        return -1;
    struct buf b = BUF_INIT(sizeof err->msg);
    if (a->accepted.len)
        buf_addf(&b, "the server accepted %s and requires more (%s); ", buf_str(&a->accepted), a->methods);
    if (tried)
        buf_addf(&b, "the server refused %s", buf_str(&a->refused));
    else if (allows_keys)
        buf_addf(&b, "there was no %skey to offer", a->accepted.len ? "other " : "");
    else
        buf_addf(&b, "the server accepts only %s", a->methods);
    if (a->skipped.len)
        buf_addf(&b, "; not offered: %s", buf_str(&a->skipped));
    enum failure f = a->needs_user             ? FAILURE_LOGIN_NEEDS_USER
                     : !tried && allows_keys   ? FAILURE_LOGIN_WITHOUT_KEY
                     : a->n_refused_offers > 0 ? FAILURE_LOGIN_KEYS_REFUSED
                                               : FAILURE_LOGIN_REFUSED;
    failure_set(f, FAILURE_DETAILS(session_facts(a->session)->user, buf_str(&b)), err);
    buf_release(&b);
    return -1;
}

static const struct method *find_next_method(const struct auth *a, const char *order,
                                             const bool finished[N_METHODS])
{
    char name[64];
    for (const char *p = order; *p;) {
        size_t n = strcspn(p, ",");
        snprintf(name, sizeof name, "%.*s", (int)(n < sizeof name ? n : sizeof name - 1), p);
        for (size_t i = 0; i < N_METHODS; i++)
            if (strcmp(all_methods[i].name, name) == 0 && !finished[i] && all_methods[i].allowed(a->config) &&
                list_contains(a->methods, name))
                return &all_methods[i];
        p += n + (p[n] == ',');
    }
    return NULL;
}

static int try_methods(struct auth *a, struct err *err)
{
    const char *order =
        a->config->login.preferred ? a->config->login.preferred : "publickey,keyboard-interactive,password";
    bool finished[N_METHODS] = {false};
    const struct method *m;
    for (unsigned steps = 0;
         !a->aborted && steps < STEPS_MAX && (m = find_next_method(a, order, finished));) {
        enum auth_result result = AUTH_REFUSED;
        if (m->asks && !auth_require_user(a)) {
            auth_record_refused(a, m->name, "", "no user can be asked");
        } else if (m->run(a, &result, err) < 0) {
            return -1;
        }
        if (result == AUTH_DONE)
            return 0;
        if (result == AUTH_PARTIAL) {
            memset(finished, 0, sizeof finished);
            steps++;
        } else {
            finished[m - all_methods] = true;
        }
    }
    return set_refusal(a, err);
}

int auth_run(struct session *s, const struct hop *hop, struct err *err)
{
    struct auth a = {.session = s,
                     .hop = hop,
                     .config = hop->config,
                     .options = hop->options,
                     .deadline = session_deadline(s),
                     .accepted = BUF_INIT(sizeof session_facts(s)->authentication - 1),
                     .refused = BUF_INIT(300),
                     .skipped = BUF_INIT(300)};
    bool authenticated = false;
    int rc = auth_list_methods(&a, &authenticated, err);
    if (rc == 0 && authenticated)
        auth_record_accepted(&a, "none", "");
    else if (rc == 0)
        rc = try_methods(&a, err);
    if (rc == 0)
        snprintf(session_facts(s)->authentication, sizeof session_facts(s)->authentication, "%s",
                 buf_str(&a.accepted));
    auth_keys_free(a.keys);
    buf_release(&a.accepted);
    buf_release(&a.refused);
    buf_release(&a.skipped);
    return rc;
}
