/* The questions of an ssh process: the helper that passes them on, and profgrab, which answers them. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "gateway/gateway.h"
#include "base/keyring.h"
#include "tests/unit/unit.h"
#include "base/banned.h"

/* The user who answers. */
struct user {
    const char *answer; /* NULL: the user gives none, an error of this kind */
    enum err_kind kind;
    unsigned n_asked;
    /* The last question. */
    int question_kind;
    bool is_retry, bypass_keyring;
    char file[300]; /* the key; "": not about a key */
    char prompt[1100];
};

static int answer_question(void *ctx, const struct question *q, struct secret *ret, struct err *err)
{
    struct user *user = ctx;
    user->n_asked++;
    user->question_kind = q->kind;
    user->is_retry = q->is_retry;
    user->bypass_keyring = q->bypass_keyring;
    snprintf(user->file, sizeof user->file, "%s", q->file ? q->file : "");
    snprintf(user->prompt, sizeof user->prompt, "%s", q->prompt);
    if (!user->answer)
        return err_set(err, user->kind, "no answer");
    if (q->kind != ASK_NOTICE) {
        snprintf(ret->text, sizeof ret->text, "%s", user->answer);
        ret->len = strlen(ret->text);
    }
    return 0;
}

/* The program that ssh runs. */
struct program {
    char *name;
    const char *hint, *prompt;
    int rc;
    struct secret answer;
    struct err err;
};

static void *run_askpass(void *ctx)
{
    struct program *p = ctx;
    p->rc = askpass_ask(p->name, p->hint, p->prompt, &p->answer, &p->err);
    return NULL;
}

/* Sends one question and serves it; returns askpass_serve's result. */
static int ask_and_serve_with(struct askpass *a, const struct login_options *options, struct program *program,
                              struct err *err)
{
    pthread_t thread;
    program->name = a->program;
    assert_ok(thread_start(&thread, run_askpass, program, err), err);
    assert_ok(fd_wait(a->listener, POLLIN, clock_deadline(20000), -1, err), err);
    int rc = askpass_serve(a, options, err);
    fd_close(&a->touch_fd);
    pthread_join(thread, NULL);
    return rc;
}

static int ask_and_serve(struct askpass *a, struct user *user, struct program *program, struct err *err)
{
    return ask_and_serve_with(
        a,
        &(struct login_options){
            .limits = {.cancel_fd = -1}, .ask_ms = GATEWAY_ASK_MS, .ask = answer_question, .ask_ctx = user},
        program, err);
}

static struct askpass make_askpass(const char *dir)
{
    struct askpass a;
    struct err err = ERR_INIT;
    assert_ok(askpass_init(&a, dir, "/nowhere/profgrab", &err), &err);
    a.marks_server_prompts = true;
    return a;
}

/* Makes a private key of this passphrase ("": none). */
static void make_key(const char *path, const char *passphrase)
{
    unlink(path);
    RUN_PROGRAM("ssh-keygen", "-q", "-t", "ed25519", "-a", "1", "-N", passphrase, "-f", path);
}

/* Returns ssh's question for the passphrase of that key, a new string. */
static char *format_question(const char *path)
{
    return format_text("Enter passphrase for key '%s': ", path);
}

static void a_passphrase_reaches_ssh(void **state)
{
    struct askpass a = make_askpass(*state);
    struct user user = {.answer = "hush hush"};
    struct program program = {.prompt = "Enter passphrase for key '\x1b[2J/k':\n"};
    struct err err = ERR_INIT;
    char *name = format_text("%s/%s", (char *)*state, ASKPASS_NAME),
         *socket = format_text("%s/ask", (char *)*state);
    assert_string_equal(a.program, name);
    assert_int_equal(scratch_mode(socket), 0600);
    assert_ok(ask_and_serve(&a, &user, &program, &err), &err);
    assert_ok(program.rc, &program.err);
    assert_string_equal(program.answer.text, "hush hush");
    assert_int_equal(program.answer.len, 9);
    assert_int_equal(user.question_kind, ASK_HIDDEN);
    assert_string_equal(user.prompt, "Enter passphrase for key '?[2J/k':");
    assert_string_equal(user.file, "?[2J/k");
    assert_false(user.is_retry);
    /* The same ssh asks again. */
    program.answer.len = 0;
    assert_ok(ask_and_serve(&a, &user, &program, &err), &err);
    assert_true(user.is_retry);
    assert_int_equal(user.n_asked, 2);
    /* A question with another beginning is not about a key. */
    program.prompt = "(ann@host) Enter passphrase for key '/k': ";
    assert_ok(ask_and_serve(&a, &user, &program, &err), &err);
    assert_string_equal(user.file, "");
    /* The reason for a missing answer is stored with the key. */
    user.answer = NULL;
    user.kind = ERR_NOT_FOUND;
    program.prompt = "Enter passphrase for key '/k': ";
    assert_ok(ask_and_serve(&a, &user, &program, &err), &err);
    assert_int_equal(program.rc, -1);
    assert_string_equal(a.missing_reason.msg, "key /k: no answer");
    askpass_release(&a);
    free(name);
    free(socket);
}

static void each_type_of_prompt_has_its_kind_of_question(void **state)
{
    static const struct {
        const char *hint;
        int kind, rc;
    } cases[] = {{NULL, ASK_HIDDEN, 0},
                 {"confirm", ASK_SHOWN, 0},
                 {"anything", ASK_HIDDEN, 0},
                 /* No answer is expected; the prompt stays until the touch. */
                 {"none", ASK_NOTICE, -1}};
    struct askpass a = make_askpass(*state);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct user user = {.answer = "yes", .question_kind = -1};
        struct program program = {.hint = cases[i].hint, .prompt = "well?"};
        struct err err = ERR_INIT;
        assert_ok(ask_and_serve(&a, &user, &program, &err), &err);
        assert_int_equal(program.rc, cases[i].rc);
        assert_int_equal(user.question_kind, cases[i].kind);
    }
    askpass_release(&a);
}

static void a_touch_prompt_needs_no_function_to_ask(void **state)
{
    struct askpass a = make_askpass(*state);
    struct login_options options = {.limits = {.cancel_fd = -1}, .ask_ms = GATEWAY_ASK_MS};
    struct program program = {.name = a.program, .hint = "none", .prompt = "touch it"};
    struct err err = ERR_INIT;
    pthread_t thread;
    assert_ok(thread_start(&thread, run_askpass, &program, &err), &err);
    assert_ok(fd_wait(a.listener, POLLIN, clock_deadline(20000), -1, &err), &err);
    assert_ok(askpass_serve(&a, &options, &err), &err);
    assert_true(a.touch_fd >= 0);
    fd_close(&a.touch_fd);
    pthread_join(thread, NULL);
    assert_int_equal(program.rc, -1);
    askpass_release(&a);
}

static void ssh_gets_no_answer_if_the_user_gives_none(void **state)
{
    static const struct {
        enum err_kind kind;
        int rc;
    } cases[] = {{ERR_NOT_FOUND, 0}, {ERR_FAILED, 0}, {ERR_CANCELLED, -1}, {ERR_TIMEOUT, -1}};
    struct askpass a = make_askpass(*state);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct user user = {.kind = cases[i].kind};
        struct program program = {.prompt = "well?"};
        struct err err = ERR_INIT;
        assert_int_equal(ask_and_serve(&a, &user, &program, &err), cases[i].rc);
        assert_int_equal(user.n_asked, 1);
        assert_refused(program.rc, &program.err, ERR_NOT_FOUND, "profgrab gave no answer");
        assert_int_equal(err.kind, cases[i].rc < 0 ? cases[i].kind : ERR_NONE);
    }
    askpass_release(&a);
}

/* If ssh does not label the questions of a server, a server can imitate ssh's own prompt for a passphrase.
 * profgrab then gives no stored passphrase, and the question to the user names the host. */
static void a_server_that_imitates_sshs_prompt_gets_no_passphrase(void **state)
{
    struct keyring *keyring = NULL;
    struct err err = ERR_INIT;
    struct user user = {.answer = "hush"};
    struct askpass a = make_askpass(*state);
    char *key = format_text("%s/k", (char *)*state), *question = format_question(key),
         *named = format_text("file-04: Enter passphrase for key '%s':", key);
    struct program program = {.prompt = question};
    make_key(key, "hush");
    assert_ok(keyring_new(&keyring, &err), &err);
    assert_ok(ask_and_serve_with(&a,
                                 &(struct login_options){.limits = {.cancel_fd = -1},
                                                         .ask_ms = GATEWAY_ASK_MS,
                                                         .keyring = keyring,
                                                         .ask = answer_question,
                                                         .ask_ctx = &user},
                                 &program, &err),
              &err);
    assert_string_equal(program.answer.text, "hush");
    const struct login_options other = {.limits = {.cancel_fd = -1},
                                        .ask_ms = GATEWAY_ASK_MS,
                                        .keyring = keyring,
                                        .host = "file-04",
                                        .ask = answer_question,
                                        .ask_ctx = &user};
    user.answer = "other";
    a.marks_server_prompts = false;
    assert_ok(ask_and_serve_with(&a, &other, &program, &err), &err);
    assert_string_equal(program.answer.text, "other");
    assert_string_equal(user.prompt, named);
    assert_string_equal(user.file, "");
    assert_int_equal(user.n_asked, 2);
    /* With ask_keys_only, no server can ask a question. */
    struct login_options keys_only = other;
    keys_only.ask_keys_only = true;
    assert_ok(ask_and_serve_with(&a, &keys_only, &program, &err), &err);
    assert_string_equal(program.answer.text, "hush");
    assert_int_equal(user.n_asked, 2);
    askpass_release(&a);
    keyring_free(keyring);
    free(key);
    free(question);
    free(named);
}

/* Two hosts may share one address: the question names the inventory's host, and no answer is stored. */
static void a_password_is_asked_for_at_each_host(void **state)
{
    struct keyring *keyring = NULL;
    struct err err = ERR_INIT;
    struct user user = {.answer = "first"};
    struct askpass a = make_askpass(*state);
    struct program program = {.prompt = "ann@10.0.0.5's password: "};
    assert_ok(keyring_new(&keyring, &err), &err);
    struct login_options options = {.limits = {.cancel_fd = -1},
                                    .ask_ms = GATEWAY_ASK_MS,
                                    .keyring = keyring,
                                    .host = "file-03",
                                    .ask = answer_question,
                                    .ask_ctx = &user};
    assert_ok(ask_and_serve_with(&a, &options, &program, &err), &err);
    assert_string_equal(user.prompt, "file-03: ann@10.0.0.5's password:");
    assert_string_equal(program.answer.text, "first");
    user.answer = "second";
    options.host = "file-04";
    assert_ok(ask_and_serve_with(&a, &options, &program, &err), &err);
    assert_string_equal(user.prompt, "file-04: ann@10.0.0.5's password:");
    assert_string_equal(program.answer.text, "second");
    askpass_release(&a);
    keyring_free(keyring);
}

/* One ssh process of a run: its question, and the side of profgrab that serves it. */
struct dialogue {
    struct askpass a;
    struct login_options options;
    struct program program;
    struct err err;
};

static struct dialogue make_dialogue(const char *dir, const char *name, struct keyring *keyring,
                                     struct user *user)
{
    struct err err = ERR_INIT;
    char *own = format_text("%s/%s", dir, name);
    assert_ok(file_mkdir(own, &err), &err);
    struct dialogue s = {.a = make_askpass(own),
                         .options = {.keyring = keyring,
                                     .limits = {.cancel_fd = -1},
                                     .ask_ms = GATEWAY_ASK_MS,
                                     .ask = answer_question,
                                     .ask_ctx = user}};
    free(own);
    return s;
}

static void *serve_question(void *ctx)
{
    struct dialogue *s = ctx;
    pthread_t thread;
    s->program.name = s->a.program;
    assert_ok(thread_start(&thread, run_askpass, &s->program, &s->err), &s->err);
    assert_ok(fd_wait(s->a.listener, POLLIN, clock_deadline(20000), -1, &s->err), &s->err);
    assert_ok(askpass_serve(&s->a, &s->options, &s->err), &s->err);
    pthread_join(thread, NULL);
    return NULL;
}

/* Three ssh processes of one run, which may need the passphrase of the key `path`. */
struct run {
    struct keyring *keyring;
    struct user user;
    struct dialogue ssh[3];
    char *path, *question;
};

/* `path` becomes the run's. */
static void start_run_with(struct run *r, const char *dir, char *path)
{
    static const char *const names[] = {"1", "2", "3"};
    struct err err = ERR_INIT;
    *r = (struct run){.path = path, .question = format_question(path)};
    make_key(r->path, "hush hush");
    assert_ok(keyring_new(&r->keyring, &err), &err);
    for (size_t i = 0; i < 3; i++) {
        r->ssh[i] = make_dialogue(dir, names[i], r->keyring, &r->user);
        r->ssh[i].program.prompt = r->question;
    }
}

static void start_run(struct run *r, const char *dir)
{
    start_run_with(r, dir, format_text("%s/k", dir));
}

static void end_run(struct run *r)
{
    for (size_t i = 0; i < 3; i++)
        askpass_release(&r->ssh[i].a);
    keyring_free(r->keyring);
    free(r->path);
    free(r->question);
}

static void assert_answered(struct dialogue *s, const char *answer)
{
    assert_ok(s->program.rc, &s->program.err);
    assert_string_equal(s->program.answer.text, answer);
}

/* The user gives this answer to the ssh. */
static void ask_user_for(struct run *r, size_t ssh, const char *answer)
{
    unsigned asked = r->user.n_asked;
    r->user.answer = answer;
    serve_question(&r->ssh[ssh]);
    assert_answered(&r->ssh[ssh], answer);
    assert_int_equal(r->user.n_asked, asked + 1);
}

/* The keyring gives this answer to the ssh. */
static void assert_kept(struct run *r, size_t ssh, const char *answer)
{
    unsigned asked = r->user.n_asked;
    serve_question(&r->ssh[ssh]);
    assert_answered(&r->ssh[ssh], answer);
    assert_int_equal(r->user.n_asked, asked);
}

static void a_passphrase_is_asked_for_once(void **state)
{
    struct run r;
    struct err err = ERR_INIT;
    pthread_t thread;
    start_run(&r, *state);
    ask_user_for(&r, 0, "wrong");
    /* The second ssh waits for the right answer to the first, but not for the end of its login. */
    assert_ok(thread_start(&thread, serve_question, &r.ssh[1], &err), &err);
    ask_user_for(&r, 0, "hush hush");
    pthread_join(thread, NULL);
    assert_answered(&r.ssh[1], "hush hush");
    assert_int_equal(r.user.n_asked, 2);
    end_run(&r);
}

static void a_key_that_changed_is_asked_for_again(void **state)
{
    struct run r;
    start_run(&r, *state);
    ask_user_for(&r, 0, "hush hush");
    make_key(r.path, "other words");
    assert_kept(&r, 1, "hush hush");
    /* The second ssh repeats its question, so the kept answer is wrong. */
    ask_user_for(&r, 1, "wrong");
    assert_true(r.user.is_retry);
    ask_user_for(&r, 1, "other words");
    assert_kept(&r, 2, "other words");
    end_run(&r);
}

static void one_ssh_may_need_a_passphrase_twice(void **state)
{
    struct run r;
    start_run(&r, *state);
    ask_user_for(&r, 0, "hush hush");
    assert_kept(&r, 0, "hush hush");
    /* For that question the answer was wrong. */
    ask_user_for(&r, 0, "hush hush");
    assert_true(r.user.is_retry);
    end_run(&r);
}

/* ssh goes on to its next key after several wrong answers, and may log in with it. */
static void a_wrong_answer_is_not_kept(void **state)
{
    struct run r;
    start_run(&r, *state);
    for (unsigned i = 0; i < 3; i++)
        ask_user_for(&r, 0, "wrong");
    r.ssh[0].program.prompt = "Enter passphrase for key '/other': ";
    ask_user_for(&r, 0, "any");
    ask_user_for(&r, 1, "wrong");
    assert_false(r.user.is_retry);
    /* The login of the second ssh ends. */
    askpass_release(&r.ssh[1].a);
    ask_user_for(&r, 2, "wrong");
    assert_false(r.user.is_retry);
    end_run(&r);
}

/* ssh prints only the beginning of a long name, which two keys may share. */
static void answers_for_cut_key_names_are_not_stored(void **state)
{
    struct run r;
    start_run_with(&r, *state, format_text("%s/%0*d", (char *)*state, 99 - (int)strlen(*state), 0));
    assert_int_equal(strlen(r.path), 100);
    for (size_t i = 0; i < 3; i++) {
        ask_user_for(&r, i, "hush hush");
        assert_true(r.user.bypass_keyring);
    }
    end_run(&r);
}

static void answers_for_files_without_a_passphrase_are_not_kept(void **state)
{
    struct run r;
    start_run(&r, *state);
    make_key(r.path, "");
    ask_user_for(&r, 0, "hush hush");
    unlink(r.path);
    askpass_release(&r.ssh[0].a);
    ask_user_for(&r, 1, "hush hush");
    free(scratch_file(*state, "k", "no key", 6));
    askpass_release(&r.ssh[1].a);
    ask_user_for(&r, 2, "hush hush");
    ask_user_for(&r, 2, "");
    end_run(&r);
}

static void a_declined_question_is_declined_for_all(void **state)
{
    struct run r;
    start_run(&r, *state);
    r.user.kind = ERR_NOT_FOUND;
    for (size_t i = 0; i < 3; i++) {
        serve_question(&r.ssh[i]);
        assert_refused(r.ssh[i].program.rc, &r.ssh[i].program.err, ERR_NOT_FOUND, "profgrab gave no answer");
        assert_int_equal(r.user.n_asked, 1);
    }
    end_run(&r);
}

/* profgrab declines these questions without asking the user, as with strict checking. */
static void questions_about_host_keys_are_declined(void **state)
{
    static const char *const prompts[] = {
        "The authenticity of host 'h' can't be established.\nAre you sure you want to continue connecting "
        "(yes/no/[fingerprint])? ",
        "Please type 'yes', 'no' or the fingerprint: "};
    struct askpass a = make_askpass(*state);
    for (size_t i = 0; i < 2; i++) {
        struct user user = {.answer = "yes"};
        struct program program = {.prompt = prompts[i]};
        struct err err = ERR_INIT;
        assert_ok(ask_and_serve(&a, &user, &program, &err), &err);
        assert_int_equal(user.n_asked, 0);
        assert_int_equal(program.rc, -1);
    }
    askpass_release(&a);
}

/* Other programs of the same user may send any bytes. */
static void damaged_questions_do_not_reach_the_user(void **state)
{
    static const struct {
        const char *bytes;
        size_t n;
    } cases[] = {{"", 0}, {"hno end", 7}, {"\0", 1}};
    struct askpass a = make_askpass(*state);
    struct user user = {.answer = "yes"};
    struct login_options options = {
        .limits = {.cancel_fd = -1}, .ask_ms = GATEWAY_ASK_MS, .ask = answer_question, .ask_ctx = &user};
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s/ask", (char *)*state);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct err err = ERR_INIT;
        int fd = fd_socket(AF_UNIX, NULL);
        assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
        assert_ok(fd_write_all(fd, cases[i].bytes, cases[i].n, &err), &err);
        shutdown(fd, SHUT_WR);
        assert_ok(askpass_serve(&a, &options, &err), &err);
        fd_close(&fd);
    }
    assert_int_equal(user.n_asked, 0);
    askpass_release(&a);
}

static void without_a_listener_the_helper_fails(void **state)
{
    struct secret answer = {.len = 0};
    struct err err = ERR_INIT;
    char *name = format_text("%s/%s", (char *)*state, ASKPASS_NAME);
    assert_int_equal(askpass_ask(name, NULL, "well?", &answer, &err), -1);
    assert_contains(err.msg, "cannot connect to ");
    free(name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH(a_passphrase_reaches_ssh),
        SCRATCH(each_type_of_prompt_has_its_kind_of_question),
        SCRATCH(a_touch_prompt_needs_no_function_to_ask),
        SCRATCH(ssh_gets_no_answer_if_the_user_gives_none),
        SCRATCH(questions_about_host_keys_are_declined),
        SCRATCH(a_passphrase_is_asked_for_once),
        SCRATCH(a_key_that_changed_is_asked_for_again),
        SCRATCH(one_ssh_may_need_a_passphrase_twice),
        SCRATCH(a_wrong_answer_is_not_kept),
        SCRATCH(answers_for_files_without_a_passphrase_are_not_kept),
        SCRATCH(a_declined_question_is_declined_for_all),
        SCRATCH(a_server_that_imitates_sshs_prompt_gets_no_passphrase),
        SCRATCH(answers_for_cut_key_names_are_not_stored),
        SCRATCH(a_password_is_asked_for_at_each_host),
        SCRATCH(damaged_questions_do_not_reach_the_user),
        SCRATCH(without_a_listener_the_helper_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
