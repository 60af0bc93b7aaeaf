/*
 * The protocol: a question is a letter for its kind, the process ID of the asking ssh, a blank, the prompt
 * and a NUL. The answer is '+' and the secret, or '-', then the end of the connection. A question of kind 'n'
 * (a notice) gets no answer: its connection stays open until ssh ends the askpass program.
 */
#include "gateway/openssh/askpass.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gateway/ssh/failure.h"
#include "keys/keys.h"
#include "base/banned.h"

#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0
#endif

#define SOCKET_NAME "ask"
#define QUESTION_MAX 4096
/* The limit for reading a question, which the askpass program sends at once. */
#define QUESTION_TIMEOUT_MS 2000

static int make_address(const char *directory, struct sockaddr_un *ret, struct err *err)
{
    char *path = file_join(directory, SOCKET_NAME);
    int rc = path ? fd_unix_address(path, ret, err) : err_nomem(err);
    free(path);
    return rc;
}

/* ---- the gateway's side -------------------------------------------------------------------------------- */

int askpass_init(struct askpass *a, const char *directory, const char *program, struct err *err)
{
    struct sockaddr_un address;
    *a = (struct askpass){.listener = -1, .touch_fd = -1};
    if (make_address(directory, &address, err) < 0)
        return -1;
    a->program = file_join(directory, ASKPASS_NAME);
    if (!a->program)
        return err_nomem(err);
    if (symlink(program, a->program) < 0)
        return err_sys(err, "cannot make %s", a->program);
    if ((a->listener = fd_socket(AF_UNIX, err)) < 0)
        return -1;
    if (bind(a->listener, (struct sockaddr *)&address, sizeof address) < 0 ||
        chmod(address.sun_path, 0600) < 0 || listen(a->listener, 8) < 0)
        return err_sys(err, "cannot listen on %s", address.sun_path);
    return fd_set_nonblocking(a->listener, true, err);
}

static void forget_question(struct askpass *a)
{
    /* No answer was right: the next login asks the user. */
    if (a->claimed)
        keyring_store_result(a->claimed, a->name, NULL, NULL);
    free(a->question);
    free(a->name);
    a->question = a->name = NULL;
    a->claimed = NULL;
}

void askpass_release(struct askpass *a)
{
    fd_close(&a->listener);
    fd_close(&a->touch_fd);
    forget_question(a);
    free(a->program);
    a->program = NULL;
}

/* Reads up to the NUL that ends the question. */
static int read_question(int fd, int cancel_fd, struct buf *ret, struct err *err)
{
    int64_t deadline = clock_deadline(QUESTION_TIMEOUT_MS);
    for (;;) {
        char chunk[512];
        if (fd_wait(fd, POLLIN, deadline, cancel_fd, err) < 0)
            return -1;
        ssize_t n = recv(fd, chunk, sizeof chunk, 0);
        if (n < 0 && errno != EINTR && errno != EAGAIN)
            return err_sys(err, "cannot read a question");
        if (n == 0)
            return err_set(err, ERR_FAILED, "the connection closed before the end of the question");
        if (n > 0)
            buf_add(ret, chunk, (size_t)n);
        if (buf_check(ret, "a question", err) < 0)
            return -1;
        if (ret->len > 0 && ret->data[ret->len - 1] == '\0')
            return 0;
    }
}

static void send_answer(int fd, const struct secret *s)
{
    char reply[1 + SECRET_MAX];
    size_t n = 1;
    reply[0] = s ? '+' : '-';
    if (s) {
        memcpy(reply + 1, s->text, s->len);
        n += s->len;
    }
    /* If the send fails, the program has abandoned its question. */
    (void)!send(fd, reply, n, MSG_NOSIGNAL);
    explicit_bzero(reply, sizeof reply);
}

/* Checks whether ssh asks to trust a host key. All versions of OpenSSH use one of these texts. We always
 * answer no, as with strict checking. */
static bool is_host_key_question(const char *prompt)
{
    return strstr(prompt, "continue connecting") || strstr(prompt, "'yes', 'no' or the fingerprint");
}

/* Returns 1 if ssh may continue without an answer, -1 with the error if the login must end. */
static int check_may_continue(const struct err *why, struct err *err)
{
    if (why->kind != ERR_CANCELLED && why->kind != ERR_TIMEOUT)
        return 1;
    if (err)
        *err = *why;
    return -1;
}

static int ask_user(const struct login_options *options, const struct question *question, struct secret *ret,
                    struct err *err)
{
    struct question q = *question;
    q.deadline = clock_deadline(options->ask_ms);
    if (!options->ask || is_host_key_question(q.prompt))
        return failure_set(FAILURE_ASKING_FORBIDDEN, FAILURE_DETAILS(NULL), err);
    return options->ask(options->ask_ctx, &q, ret, err);
}

/* Returns 0 with the answer in *ret, 1 without an answer, -1 if the login must end. Adds the host's name to
 * the prompt, because ssh shows at most the address, which several hosts may share. */
static int find_answer(const struct login_options *options, char kind, const char *prompt, struct secret *ret,
                       struct err *err)
{
    struct err why = ERR_INIT;
    char host[260], named[1400];
    struct question q = {.kind = kind == 'n'   ? ASK_NOTICE
                                 : kind == 'c' ? ASK_SHOWN
                                               : ASK_HIDDEN,
                         .prompt = prompt};
    if (options->host && kind != 'n') {
        text_printable(host, sizeof host, options->host, strlen(options->host));
        snprintf(named, sizeof named, "%s: %s", host, prompt);
        q.prompt = named;
    }
    return ask_user(options, &q, ret, &why) == 0 ? 0 : check_may_continue(&why, err);
}

static const char passphrase_prefix[] = "Enter passphrase for key ";

static bool is_question_for_keyring(const struct askpass *a, const struct login_options *options, char kind,
                                    const char *text)
{
    return kind == 'h' && (a->marks_server_prompts || options->ask_keys_only) &&
           strncmp(text, passphrase_prefix, sizeof passphrase_prefix - 1) == 0;
}

/* Extracts the key's file from "Enter passphrase for key 'FILE': ". */
static struct str parse_key_name(const char *text)
{
    const char *name = text + sizeof passphrase_prefix - 1, *end = strrchr(name, '\'');
    name += *name == '\'';
    return (struct str){name, end && end > name ? (size_t)(end - name) : strlen(name)};
}

/* ssh cuts a file's name to this length. */
#define KEY_NAME_MAX 100

static char *format_path(char dst[KEY_NAME_MAX + 1], const char *question)
{
    struct str file = parse_key_name(question);
    snprintf(dst, KEY_NAME_MAX + 1, "%.*s", (int)file.n, file.p);
    return dst;
}

/* Looks up a passphrase that this ssh requests for the first time. Returns 0 with an empty *ret if the user
 * must be asked. A cut name may mean several files, so its passphrase is not shared. */
static int find_in_keyring(struct askpass *a, const struct login_options *options, const char *text,
                           struct secret *ret, struct err *err)
{
    char path[KEY_NAME_MAX + 1];
    struct keyring_wait wait = {.deadline = clock_deadline(2 * options->ask_ms),
                                .cancel_fd = options->limits.cancel_fd};
    forget_question(a);
    a->question = strdup(text);
    if (!a->question)
        return err_nomem(err);
    if (parse_key_name(text).n >= KEY_NAME_MAX)
        return 0;
    a->name = keyring_name_of_file(format_path(path, text));
    if (!a->name)
        return err_nomem(err);
    if (keyring_get_or_claim(options->keyring, a->name, &wait, ret, err) < 0)
        return -1;
    a->claimed = ret->len == 0 ? options->keyring : NULL;
    return 0;
}

/*
 * Stores the user's answer if it opens the key's file. Only that proves that the answer is right: after
 * NumberOfPasswordPrompts wrong answers, ssh goes on to its next key, with which it may log in. Fails only if
 * the user cancels.
 */
static int store_right_answer(struct askpass *a, const struct login_options *options,
                              const struct secret *answer, struct err *err)
{
    const struct passphrase passphrase = {answer, options->limits.cancel_fd};
    struct buf file = {.max = KEYFILE_MAX, .secret = true};
    struct err why = ERR_INIT;
    char path[KEY_NAME_MAX + 1];
    if (!options->keyring || !a->name || answer->len == 0)
        return 0;
    int rc = file_read(format_path(path, a->question), &file, &why);
    if (rc == 0)
        rc = privkey_check_passphrase(buf_str(&file), file.len, &passphrase, &why);
    buf_release(&file);
    if (rc == 0) {
        keyring_store_result(options->keyring, a->name, answer, NULL);
        a->claimed = NULL;
        forget_question(a);
    }
    if (why.kind != ERR_CANCELLED)
        return 0;
    if (err)
        *err = why;
    return -1;
}

/* A question of ssh. */
struct ssh_question {
    const char *text;
    unsigned long asking_ssh; /* the process ID of that ssh */
};

/* Finds the passphrase in the keyring, or asks the user. If ssh repeats its question, the last answer was
 * wrong: asks the user, because the keyring has no right answer. ssh may need a key twice, for example for a
 * certificate: after a right answer of the user, the same question is a new one. */
static int find_passphrase(struct askpass *a, const struct login_options *options,
                           const struct ssh_question *question, struct secret *ret, struct err *err)
{
    const char *text = question->text;
    struct err why = ERR_INIT;
    char key[200], prompt[1024];
    struct str name = parse_key_name(text);
    struct question q = {.kind = ASK_HIDDEN,
                         .prompt = text_printable(prompt, sizeof prompt, text, strlen(text)),
                         .file = text_printable(key, sizeof key, name.p, name.n),
                         .bypass_keyring = true};
    q.is_retry = a->question && strcmp(a->question, text) == 0 && a->asking_ssh == question->asking_ssh;
    a->asking_ssh = question->asking_ssh;
    int rc = q.is_retry ? 0 : find_in_keyring(a, options, text, ret, &why);
    if (rc == 0 && ret->len > 0)
        return 0;
    if (rc == 0) {
        rc = ask_user(options, &q, ret, &why);
        if (rc == 0) {
            rc = store_right_answer(a, options, ret, &why);
        } else if (a->claimed) {
            keyring_store_result(a->claimed, a->name, NULL, &why);
            a->claimed = NULL;
        }
    }
    if (rc == 0)
        return 0;
    a->missing_reason = why;
    err_wrap(&a->missing_reason, "key %s", key);
    return check_may_continue(&why, err);
}

int askpass_serve(struct askpass *a, const struct login_options *options, struct err *err)
{
    struct buf question = BUF_INIT(QUESTION_MAX);
    struct secret secret = {.len = 0};
    struct ssh_question asked;
    char prompt[1024], kind = '\0', *text = NULL;
    int rc = 1, fd = fd_accept(a->listener);
    if (fd < 0 || !unix_socket_peer_is_same_user(fd) ||
        read_question(fd, options->limits.cancel_fd, &question, NULL) < 0 || question.len < 2)
        goto out;
    kind = question.data[0];
    asked.asking_ssh = strtoul(question.data + 1, &text, 10);
    if (*text++ != ' ')
        goto out;
    asked.text = text;
    text_printable(prompt, sizeof prompt, text, strlen(text));
    rc = is_question_for_keyring(a, options, kind, text) ? find_passphrase(a, options, &asked, &secret, err)
                                                         : find_answer(options, kind, prompt, &secret, err);
    if (kind != 'n')
        send_answer(fd, rc == 0 ? &secret : NULL);
    else if (rc >= 0 && a->touch_fd < 0) { /* keep the connection open: ssh waits for the touch */
        a->touch_fd = fd;
        fd = -1;
    }
out:
    secret_wipe(&secret);
    buf_release(&question);
    fd_close(&fd);
    return rc < 0 ? -1 : 0;
}

/* ---- the program's side -------------------------------------------------------------------------------- */

static char question_kind(const char *hint)
{
    if (hint && strcmp(hint, "none") == 0)
        return 'n';
    return hint && strcmp(hint, "confirm") == 0 ? 'c' : 'h';
}

static int send_question(int fd, const char *hint, const char *prompt, struct err *err)
{
    struct buf b = BUF_INIT(QUESTION_MAX);
    buf_addf(&b, "%c%ld %s", question_kind(hint), (long)getppid(), prompt);
    buf_addc(&b, '\0');
    int rc = buf_check(&b, "the question", err);
    if (rc == 0)
        rc = fd_write_all(fd, b.data, b.len, err);
    buf_release(&b);
    return rc;
}

static int read_answer(int fd, struct secret *ret, struct err *err)
{
    char reply[1 + SECRET_MAX];
    size_t n = 0;
    ssize_t got;
    while (n < sizeof reply &&
           ((got = read(fd, reply + n, sizeof reply - n)) > 0 || (got < 0 && errno == EINTR)))
        n += got > 0 ? (size_t)got : 0;
    bool given = n > 0 && n <= SECRET_MAX && reply[0] == '+';
    if (given) {
        *ret = (struct secret){.len = n - 1};
        memcpy(ret->text, reply + 1, n - 1);
    }
    explicit_bzero(reply, sizeof reply);
    return given ? 0 : failure_set(FAILURE_NO_ANSWER_IN_TIME, FAILURE_DETAILS(NULL), err);
}

int askpass_ask(const char *name, const char *hint, const char *prompt, struct secret *ret, struct err *err)
{
    struct sockaddr_un address;
    char *directory = file_dir(name);
    int fd = -1, rc = -1;
    if (!directory)
        return err_nomem(err);
    if (make_address(directory, &address, err) < 0 || (fd = fd_socket(AF_UNIX, err)) < 0)
        goto out;
    if (connect(fd, (struct sockaddr *)&address, sizeof address) < 0)
        err_sys(err, "cannot connect to %s, the socket of the program that started ssh", address.sun_path);
    else if (send_question(fd, hint, prompt, err) == 0)
        rc = read_answer(fd, ret, err);
out:
    fd_close(&fd);
    free(directory);
    return rc;
}
