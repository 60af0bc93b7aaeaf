#include "gateway/ssh/auth_state.h"

#include <stdio.h>
#include <string.h>

#include "base/banned.h"

/* ---- records ------------------------------------------------------------------------------------------- */

void auth_record_refused(struct auth *a, const char *kind, const char *name, const char *why)
{
    struct buf *b = why ? &a->skipped : &a->refused;
    buf_addf(b, "%s%s%s%s%s%s%s", b->len ? ", " : "", kind, *name ? " " : "", name, why ? " (" : "",
             why ? why : "", why ? ")" : "");
}

void auth_record_accepted(struct auth *a, const char *kind, const char *name)
{
    buf_addf(&a->accepted, "%s%s%s%s", a->accepted.len ? " and " : "", kind, *name ? " " : "", name);
}

void auth_record_unsupported(struct auth *a, enum failure why, const char *const details[])
{
    if (a->unsupported.kind == ERR_NONE)
        failure_set(why, details, &a->unsupported);
}

int auth_set_unsupported(const struct auth *a, struct err *err)
{
    if (a->unsupported.kind == ERR_NONE)
        return 0;
    if (err)
        *err = a->unsupported;
    return -1;
}

/* ---- the session --------------------------------------------------------------------------------------- */

bool auth_session_is_closed(const struct auth *a)
{
    return session_is_closed(a->session);
}

int auth_explain_end(struct auth *a, int rc, struct err *err)
{
    struct err why = ERR_INIT;
    session_set_error(a->session, rc, "authentication", &why);
    if (auth_set_unsupported(a, err) < 0)
        return -1;
    if (a->ambiguous_method)
        auth_record_refused(a, a->ambiguous_method, "", NULL);
    if (a->refused.len == 0)
        return failure_set(FAILURE_LOGIN_ENDED, FAILURE_DETAILS(why.msg), err);
    why.msg[300] = '\0';
    return failure_set(a->n_refused_offers ? FAILURE_LOGIN_ENDED_AFTER_KEYS
                                           : FAILURE_LOGIN_ENDED_WITHOUT_KEYS,
                       FAILURE_DETAILS(why.msg, buf_str(&a->refused)), err);
}

int auth_list_methods(struct auth *a, bool *ret_authenticated, struct err *err)
{
    struct session *s = a->session;
    const char *user = a->config->user;
    char *methods;
    while (!(methods = libssh2_userauth_list(session_libssh2(s), user, (unsigned)strlen(user)))) {
        int rc = libssh2_session_last_errno(session_libssh2(s));
        *ret_authenticated = libssh2_userauth_authenticated(session_libssh2(s)) != 0;
        if (*ret_authenticated)
            return 0;
        if (rc != LIBSSH2_ERROR_EAGAIN)
            return auth_explain_end(a, rc, err);
        if (session_wait(s, a->deadline, err) < 0)
            return err_wrap(err, "authentication");
    }
    text_printable(a->methods, sizeof a->methods, methods, strlen(methods));
    return 0;
}

int auth_list_methods_again(struct auth *a, bool *ret_changed, struct err *err)
{
    char before[sizeof a->methods];
    bool authenticated = false;
    snprintf(before, sizeof before, "%s", a->methods);
    if (auth_list_methods(a, &authenticated, err) < 0)
        return -1;
    *ret_changed = strcmp(before, a->methods) != 0;
    return 0;
}

/* ---- questions ----------------------------------------------------------------------------------------- */

char *auth_login_name(const struct auth *a, char dst[AUTH_LOGIN_NAME])
{
    const char *host = a->options->host, *role = a->hop->is_jump ? "jump host of " : "";
    char shown[260];
    int n = snprintf(dst, AUTH_LOGIN_NAME, "%s@%s", session_facts(a->session)->user,
                     session_facts(a->session)->address);
    if (host && (a->hop->is_jump || strcmp(host, a->config->hostname) != 0))
        snprintf(dst + n, AUTH_LOGIN_NAME - (size_t)n, " (%s%s)", role,
                 text_printable(shown, sizeof shown, host, strlen(host)));
    return dst;
}

bool auth_require_user(struct auth *a)
{
    const struct login_options *options = a->options;
    bool can_answer = options->ask && !options->ask_keys_only && a->config->login.password_prompts > 0;
    a->needs_user = a->needs_user || !can_answer;
    return can_answer;
}

int auth_ask(struct auth *a, const struct question *question, struct secret *ret, struct err *err)
{
    const struct login_options *options = a->options;
    bool may_ask_for_key =
        options->ask && question->file && options->ask_keys_only && a->config->login.password_prompts > 0;
    if (!may_ask_for_key && !auth_require_user(a))
        return failure_set(FAILURE_NO_USER, FAILURE_DETAILS(NULL), err);
    struct question q = *question;
    struct err why = ERR_INIT;
    int64_t began = clock_now();
    q.deadline = clock_deadline(a->options->ask_ms);
    int rc = options->ask(options->ask_ctx, &q, ret, &why);
    a->deadline += clock_now() - began;
    if (rc < 0 && err)
        *err = why;
    return rc;
}

/* Asks until prompt->check accepts the answer, which becomes *ret. */
static int ask_until_accepted(struct auth *a, const struct secret_prompt *prompt, struct secret *ret,
                              struct err *err)
{
    struct question q = {
        .kind = ASK_HIDDEN, .prompt = prompt->prompt, .file = prompt->file, .bypass_keyring = true};
    for (unsigned i = 0; i < prompt->max_tries; i++) {
        bool fits = false;
        secret_wipe(ret);
        q.is_retry = i > 0;
        if (auth_ask(a, &q, ret, err) < 0)
            return -1;
        if (ret->len == 0)
            return failure_set(FAILURE_NO_ANSWER, FAILURE_DETAILS(NULL), err);
        if (prompt->check(prompt->ctx, ret, &fits, err) < 0)
            return -1;
        if (fits)
            return 0;
    }
    char number[16];
    snprintf(number, sizeof number, "%u", prompt->max_tries);
    return failure_set(FAILURE_ANSWERS_WRONG, FAILURE_DETAILS(number), err);
}

int auth_try_secrets(struct auth *a, const struct secret_prompt *prompt, struct err *err)
{
    struct keyring *keyring = a->options->keyring;
    struct secret answer = {0};
    struct err why = ERR_INIT;
    bool fits = false;
    int64_t began = clock_now();
    /* Another login may be asking the user and may need this long for all tries. */
    struct keyring_wait wait = {.deadline = clock_deadline(4 * a->options->ask_ms),
                                .cancel_fd = session_cancel_fd(a->session)};
    int rc = keyring_get_or_claim(keyring, prompt->name, &wait, &answer, &why);
    a->deadline += clock_now() - began;
    if (rc == 0 && answer.len > 0) {
        rc = prompt->check(prompt->ctx, &answer, &fits, &why);
        if (rc == 0 && !fits)
            rc = failure_set(FAILURE_ANSWER_WRONG_HERE, FAILURE_DETAILS(NULL), &why);
    } else if (rc == 0) {
        rc = ask_until_accepted(a, prompt, &answer, &why);
        keyring_store_result(keyring, prompt->name, rc == 0 ? &answer : NULL, &why);
    }
    secret_wipe(&answer);
    if (rc < 0 && err)
        *err = why;
    return rc;
}
