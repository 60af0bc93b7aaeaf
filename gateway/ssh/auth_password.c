/*
 * Answers of the user: passwords, and keyboard-interactive (RFC 4256), in which the server asks any number of
 * questions in any number of rounds.
 *
 * After a failed attempt we ask the server for its list of methods: a changed list means that the answer was
 * right and the server requires another method.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gateway/ssh/auth_state.h"
#include "gateway/ssh/login_key.h"
#include "base/banned.h"

/* No real server needs more rounds. */
#define ROUNDS_MAX 32

/* Decides whether a failed attempt was a refusal or a partial success. */
static int classify_attempt(struct auth *a, const char *method, enum auth_result *ret, struct err *err)
{
    bool changed = false;
    a->ambiguous_method = method;
    if (auth_list_methods_again(a, &changed, err) < 0)
        return -1;
    a->ambiguous_method = NULL;
    *ret = changed ? AUTH_PARTIAL : AUTH_REFUSED;
    if (changed)
        auth_record_accepted(a, method, "");
    return 0;
}

/* ---- password ------------------------------------------------------------------------------------------ */

struct password_attempt {
    struct auth *auth;
    enum auth_result result;
    bool expired;
};

/* libssh2 calls this function if the password has expired. We set no new password, so libssh2 ends the
 * attempt. */
static void on_expired(LIBSSH2_SESSION *ssh, char **new_password, int *n, void **abstract)
{
    (void)ssh;
    struct password_attempt *attempt = session_conversation(abstract);
    *new_password = NULL;
    *n = 0;
    attempt->expired = true;
}

static int try_password(void *ctx, const struct secret *password, bool *ret_fits, struct err *err)
{
    struct password_attempt *attempt = ctx;
    struct auth *a = attempt->auth;
    const char *user = a->config->user;
    int rc;
    a->n_tries++;
    while ((rc = libssh2_userauth_password_ex(session_libssh2(a->session), user, (unsigned)strlen(user),
                                              password->text, (unsigned)password->len, on_expired)) ==
           LIBSSH2_ERROR_EAGAIN)
        if (session_wait(a->session, a->deadline, err) < 0)
            return err_wrap(err, "authentication");
    if (attempt->expired) {
        auth_record_unsupported(a, FAILURE_PASSWORD_EXPIRED, FAILURE_DETAILS(NULL));
        return auth_explain_end(a, rc, err);
    }
    if (rc != 0 && auth_session_is_closed(a))
        return auth_explain_end(a, rc, err);
    if (rc == 0)
        attempt->result = AUTH_DONE;
    else if (classify_attempt(a, "password", &attempt->result, err) < 0)
        return -1;
    *ret_fits = attempt->result != AUTH_REFUSED;
    return 0;
}

/* Composes the name under which the keyring stores the password. A password belongs to one login at one
 * server, so the name has all hops and the accepted host key. */
static int name_password(const struct auth *a, struct buf *ret, struct err *err)
{
    buf_adds(ret, "password\n");
    login_key_add_text(ret, session_facts(a->session)->host_key_type);
    login_key_add_text(ret, session_facts(a->session)->host_key);
    login_key_add(ret, a->hop);
    return buf_check(ret, "the configuration of ssh", err);
}

static int try_passwords(struct password_attempt *attempt, struct err *err)
{
    struct auth *a = attempt->auth;
    char login[AUTH_LOGIN_NAME], text[AUTH_LOGIN_NAME + 20];
    struct buf name = BUF_INIT(LOGIN_KEY_MAX);
    snprintf(text, sizeof text, "Password for %s: ", auth_login_name(a, login));
    int rc = name_password(a, &name, err);
    if (rc == 0) {
        struct secret_prompt prompt = {.name = buf_str(&name),
                                       .prompt = text,
                                       .max_tries = a->config->login.password_prompts,
                                       .ctx = attempt,
                                       .check = try_password};
        session_set_conversation(a->session, attempt);
        rc = auth_try_secrets(a, &prompt, err);
        session_set_conversation(a->session, NULL);
    }
    buf_release(&name);
    return rc;
}

int auth_password(struct auth *a, enum auth_result *ret, struct err *err)
{
    struct password_attempt attempt = {.auth = a, .result = AUTH_REFUSED};
    struct err why = ERR_INIT;
    int rc = try_passwords(&attempt, &why);
    *ret = attempt.result;
    if (rc == 0) {
        if (attempt.result == AUTH_DONE)
            auth_record_accepted(a, "password", "");
        return 0;
    }
    if (why.kind == ERR_NOT_FOUND) {
        auth_record_refused(a, "password", "", why.msg);
        return 0;
    }
    if (err)
        *err = why;
    return -1;
}

/* ---- keyboard-interactive ------------------------------------------------------------------------------ */

struct conversation {
    struct auth *auth;
    unsigned rounds, n_answers;
    struct err err; /* why an answer is missing */
};

/* Appends the server's text line by line, made printable. */
static void add_lines(struct buf *b, const char *p, size_t n)
{
    char line[512];
    while (n > 0) {
        const char *newline = memchr(p, '\n', n);
        size_t len = newline ? (size_t)(newline - p) : n;
        text_printable(line, sizeof line, p, len);
        if (*line)
            buf_addf(b, "%s\n", line);
        p += len + (newline != NULL);
        n -= len + (newline != NULL);
    }
}

/* Puts the login in front of each question, so that the user does not give one host's password to another. */
static void add_question(struct buf *b, const struct auth *a, const LIBSSH2_USERAUTH_KBDINT_PROMPT *prompt)
{
    char question[512], login[AUTH_LOGIN_NAME];
    size_t n = prompt->length;
    /* The last line of the prompt is the question. The lines before it are shown above the question, without
     * the login. */
    const char *text = (const char *)prompt->text;
    while (n > 0 && (text[n - 1] == '\n' || text[n - 1] == ' '))
        n--;
    size_t last = n;
    while (last > 0 && text[last - 1] != '\n')
        last--;
    add_lines(b, text, last);
    text_printable(question, sizeof question, text + last, n - last);
    buf_addf(b, "%s: %s ", auth_login_name(a, login), question);
}

static int answer_question(struct conversation *c, struct buf *text,
                           const LIBSSH2_USERAUTH_KBDINT_PROMPT *prompt,
                           LIBSSH2_USERAUTH_KBDINT_RESPONSE *ret)
{
    struct secret answer = {0};
    add_question(text, c->auth, prompt);
    struct question q = {.kind = prompt->echo ? ASK_SHOWN : ASK_HIDDEN, .prompt = buf_str(text)};
    int rc = auth_ask(c->auth, &q, &answer, &c->err);
    if (rc == 0) {
        c->n_answers++;
        /* libssh2 frees the answer without wiping it. */
        ret->text = malloc(answer.len + 1);
        if (ret->text) {
            memcpy(ret->text, answer.text, answer.len + 1);
            ret->length = (unsigned)answer.len;
        } else {
            rc = err_nomem(&c->err);
        }
    }
    secret_wipe(&answer);
    buf_clear(text);
    return rc;
}

/* Shows the text of a round without questions, if it has any. */
static void show_text(struct conversation *c, struct buf *text)
{
    struct question q = {.kind = ASK_NOTICE, .prompt = buf_str(text)};
    if (text->len > 0)
        auth_ask(c->auth, &q, NULL, NULL);
}

static int answer_all(struct conversation *c, struct buf *text, int n,
                      const LIBSSH2_USERAUTH_KBDINT_PROMPT *prompts,
                      LIBSSH2_USERAUTH_KBDINT_RESPONSE *responses)
{
    if (++c->rounds > ROUNDS_MAX)
        return failure_set(FAILURE_QUESTIONS_ENDLESS, FAILURE_DETAILS(NULL), &c->err);
    for (int i = 0; i < n; i++)
        if (answer_question(c, text, &prompts[i], &responses[i]) < 0)
            return -1;
    show_text(c, text);
    return 0;
}

// NOLINTNEXTLINE(readability-function-size): the parameters are libssh2's
static void on_round(const char *name, int name_len, const char *instruction, int instruction_len, int n,
                     const LIBSSH2_USERAUTH_KBDINT_PROMPT *prompts,
                     LIBSSH2_USERAUTH_KBDINT_RESPONSE *responses, void **abstract)
{
    struct conversation *c = session_conversation(abstract);
    struct buf text = BUF_INIT(16384);
    add_lines(&text, name, name && name_len > 0 ? (size_t)name_len : 0);
    add_lines(&text, instruction, instruction && instruction_len > 0 ? (size_t)instruction_len : 0);
    /* End the session if an answer is missing: the server would count an empty answer as an attempt. */
    if (answer_all(c, &text, n, prompts, responses) < 0)
        session_abort(c->auth->session);
    buf_release(&text);
}

/* Runs one conversation. *ret_answered: the user has answered a question. */
static int run_conversation(struct auth *a, enum auth_result *ret, bool *ret_answered, struct err *err)
{
    struct conversation c = {.auth = a};
    const char *user = a->config->user;
    int rc, waited = 0;
    session_set_conversation(a->session, &c);
    while (waited == 0 && (rc = libssh2_userauth_keyboard_interactive_ex(session_libssh2(a->session), user,
                                                                         (unsigned)strlen(user), on_round)) ==
                              LIBSSH2_ERROR_EAGAIN)
        waited = session_wait(a->session, a->deadline, err);
    session_set_conversation(a->session, NULL);
    *ret_answered = c.n_answers > 0;
    if (waited < 0)
        return err_wrap(err, "authentication");
    if (c.err.kind == ERR_NOT_FOUND) {
        a->aborted = true;
        auth_record_refused(a, "keyboard-interactive", "", c.err.msg);
        return 0;
    }
    if (c.err.kind != ERR_NONE) {
        if (err)
            *err = c.err;
        return -1;
    }
    if (rc == 0) {
        *ret = AUTH_DONE;
        auth_record_accepted(a, "keyboard-interactive", "");
        return 0;
    }
    if (auth_session_is_closed(a))
        return auth_explain_end(a, rc, err);
    if (rc != LIBSSH2_ERROR_AUTHENTICATION_FAILED) {
        auth_record_unsupported(a, FAILURE_QUESTIONS_UNREADABLE, FAILURE_DETAILS(libssh2_version(0)));
        return auth_explain_end(a, rc, err);
    }
    return classify_attempt(a, "keyboard-interactive", ret, err);
}

/* libssh2 changed the struct of a question between 1.10 and 1.11, but not the library's soname. */
static bool prompt_layout_matches(void)
{
    return (LIBSSH2_VERSION_NUM >= 0x010b00) == (libssh2_version(0x010b00) != NULL);
}

int auth_keyboard_interactive(struct auth *a, enum auth_result *ret, struct err *err)
{
    bool answered = true;
    *ret = AUTH_REFUSED;
    if (!prompt_layout_matches()) {
        auth_record_unsupported(a, FAILURE_QUESTIONS_OF_OTHER_LIBSSH2,
                                FAILURE_DETAILS(LIBSSH2_VERSION, libssh2_version(0)));
        return 0;
    }
    for (unsigned i = 0;
         answered && !a->aborted && *ret == AUTH_REFUSED && i < a->config->login.password_prompts; i++) {
        a->n_tries++;
        if (run_conversation(a, ret, &answered, err) < 0)
            return -1;
    }
    if (*ret == AUTH_REFUSED && !a->aborted)
        auth_record_refused(a, "keyboard-interactive", "", NULL);
    return 0;
}
