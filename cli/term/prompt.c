#include "cli/term/prompt.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>
#ifdef __APPLE__
#include <mach-o/dyld.h>
#endif

#include "cli/term/signals.h"
#include "cli/term/standard_streams.h"
#include "base/banned.h"

/* Returns the path of the running program, with links resolved, as a new string; NULL if it is unknown. */
static char *find_own_path(void)
{
    char path[4096];
#ifdef __APPLE__
    uint32_t size = sizeof path;
    return _NSGetExecutablePath(path, &size) == 0 ? realpath(path, NULL) : NULL;
#else
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    if (n <= 0)
        return NULL;
    path[n] = '\0';
    return strdup(path);
#endif
}

void prompt_init(struct prompt *p)
{
    *p = (struct prompt){.program = find_own_path()};
    pthread_mutex_init(&p->mutex, NULL);
    /* If memory runs out, there is no keyring, and the prompt may ask the user for the same secret again. */
    keyring_new(&p->keyring, NULL);
}

void prompt_release(struct prompt *p)
{
    free(p->program);
    secret_wipe(&p->passphrase);
    keyring_free(p->keyring);
    pthread_mutex_destroy(&p->mutex);
}

int prompt_use_file(struct prompt *p, const char *file, int64_t wait_ms, struct err *err)
{
    int64_t deadline = clock_deadline(wait_ms);
    if (secret_read_line(file, deadline, signals_cancel_fd(), &p->passphrase, err) < 0)
        return err_wrap(err, "--passphrase-file");
    p->passphrase_file = file;
    return 0;
}

/* The file has only one passphrase, so a second question for the same key fails. */
static int answer_from_file(const struct prompt *p, const struct question *q, struct secret *ret,
                            struct err *err)
{
    if (q->is_retry)
        return err_set(err, ERR_NOT_FOUND, "the first line of %s is not the right passphrase",
                       p->passphrase_file);
    *ret = p->passphrase;
    return 0;
}

/* ---- on the terminal ----------------------------------------------------------------------------------- */

/* Returns -1 if there is no terminal or profgrab runs in the background. */
static int open_terminal(void)
{
    int tty = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (tty >= 0 && tcgetpgrp(tty) != getpgrp())
        fd_close(&tty);
    return tty;
}

bool prompt_has_terminal(const struct prompt *p)
{
    int tty = p->batch || !isatty(STDERR_FILENO) ? -1 : open_terminal();
    bool has_terminal = tty >= 0;
    fd_close(&tty);
    return has_terminal;
}

/* Reads a line, without its end. Ctrl-D alone gives an empty line. */
static int read_line(int tty, int64_t deadline, struct secret *ret, struct err *err)
{
    for (;;) {
        if (fd_wait(tty, POLLIN, deadline, signals_cancel_fd(), err) < 0)
            return -1;
        ssize_t n = read(tty, ret->text + ret->len, SECRET_MAX - 1 - ret->len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_sys(err, "cannot read from the terminal");
        ret->len += (size_t)n;
        bool complete = ret->len > 0 && ret->text[ret->len - 1] == '\n';
        ret->len -= complete;
        ret->text[ret->len] = '\0';
        if (complete || n == 0)
            return 0;
        if (ret->len == SECRET_MAX - 1)
            return err_set(err, ERR_FAILED, "the answer is longer than %d bytes", SECRET_MAX - 2);
    }
}

static int ask_on_terminal(int tty, const struct question *q, struct secret *ret, struct err *err)
{
    struct signals_terminal t = {.fd = tty, .prompt = q->prompt};
    if (tcgetattr(tty, &t.normal) < 0)
        return err_sys(err, "cannot read the terminal's settings");
    t.asking = t.normal;
    t.asking.c_lflag |= ICANON | ISIG;
    if (q->kind == ASK_HIDDEN)
        t.asking.c_lflag &= ~(tcflag_t)(ECHO | ECHOE | ECHOK | ECHONL);
    signals_register_terminal(&t);
    int rc = -1;
    if (tcsetattr(tty, TCSAFLUSH, &t.asking) < 0)
        err_sys(err, "cannot change the terminal's settings");
    else if (standard_stream_write(tty, q->prompt, strlen(q->prompt), err) == 0)
        rc = read_line(tty, q->deadline, ret, err);
    tcsetattr(tty, TCSAFLUSH, &t.normal);
    signals_register_terminal(NULL);
    /* The terminal has not echoed the end of the line. */
    if (q->kind == ASK_HIDDEN || rc < 0)
        (void)!write(tty, "\n", 1);
    return rc;
}

/* ---- through SSH_ASKPASS ------------------------------------------------------------------------------- */

static bool is_variable_set(const char *variable)
{
    const char *value = getenv(variable);
    return value && *value;
}

/* Returns whether ssh(1) would use SSH_ASKPASS: if SSH_ASKPASS_REQUIRE is `force`, or, with a display, if it
 * is `prefer` or there is no terminal. */
static bool must_use_askpass(bool has_terminal)
{
    const char *require = getenv("SSH_ASKPASS_REQUIRE");
    bool has_display = is_variable_set("DISPLAY") || is_variable_set("WAYLAND_DISPLAY");
    if (!is_variable_set("SSH_ASKPASS") || (require && strcmp(require, "never") == 0))
        return false;
    if (require && strcmp(require, "force") == 0)
        return true;
    return has_display && (!has_terminal || (require && strcmp(require, "prefer") == 0));
}

static int run_askpass(const struct question *q, struct secret *ret, struct err *err)
{
    const char *const argv[] = {getenv("SSH_ASKPASS"), q->prompt, NULL};
    int64_t left = q->deadline - clock_now();
    struct proc_limits limits = {.timeout_ms = left > 0 ? left : 0,
                                 .cancel_fd = signals_cancel_fd(),
                                 .max_output = SECRET_MAX - 1,
                                 .secret_output = true};
    struct proc_result r;
    if (proc_run(argv, &limits, &r, err) < 0)
        return err_wrap(err, "SSH_ASKPASS");
    int rc = 0;
    if (r.exit_code != 0) {
        rc = err_set(err, ERR_NOT_FOUND, "SSH_ASKPASS gave no answer");
    } else {
        ret->len = strcspn(buf_str(&r.out), "\r\n");
        memcpy(ret->text, buf_str(&r.out), ret->len);
        ret->text[ret->len] = '\0';
    }
    proc_result_release(&r);
    return rc;
}

/* ---- questions ----------------------------------------------------------------------------------------- */

static int ask_user(const struct question *q, struct secret *ret, struct err *err)
{
    if (clock_now() >= q->deadline)
        return err_set(err, ERR_TIMEOUT, "the user did not answer in time");
    int tty = open_terminal();
    int rc;
    if (must_use_askpass(tty >= 0))
        rc = run_askpass(q, ret, err);
    else if (tty >= 0)
        rc = ask_on_terminal(tty, q, ret, err);
    else
        rc = err_set(err, ERR_NOT_FOUND, "there is no terminal to ask on");
    fd_close(&tty);
    return rc;
}

static int ask_without_keyring(struct prompt *p, const struct question *q, struct secret *ret,
                               struct err *err)
{
    pthread_mutex_lock(&p->mutex);
    if (p->pause)
        p->pause(p->ctx);
    *ret = (struct secret){0};
    int rc = ask_user(q, ret, err);
    if (rc < 0)
        secret_wipe(ret);
    if (p->resume)
        p->resume(p->ctx);
    pthread_mutex_unlock(&p->mutex);
    return rc;
}

/* Gets the answer from the keyring. *ret is empty if profgrab must ask the user. If the user did not answer
 * an earlier question for the same key, profgrab asks again, because the user may answer now. */
static int get_stored_answer(struct prompt *p, const struct question *q, const char *name, struct secret *ret,
                             struct err *err)
{
    struct keyring_wait wait = {.deadline = q->deadline, .cancel_fd = signals_cancel_fd()};
    struct err why = ERR_INIT;
    if (q->is_retry)
        keyring_forget(p->keyring, name);
    int rc = keyring_get_or_claim(p->keyring, name, &wait, ret, &why);
    if (rc < 0 && why.kind == ERR_NOT_FOUND) {
        keyring_forget(p->keyring, name);
        why = (struct err)ERR_INIT;
        rc = keyring_get_or_claim(p->keyring, name, &wait, ret, &why);
    }
    if (rc < 0)
        *err = why;
    return rc;
}

static int ask_with_keyring(struct prompt *p, const struct question *q, struct secret *ret, struct err *err)
{
    char *name = keyring_name_of_file(q->file);
    if (!name)
        return err_nomem(err);
    int rc = get_stored_answer(p, q, name, ret, err);
    if (rc == 0 && ret->len == 0) {
        rc = ask_without_keyring(p, q, ret, err);
        /* An empty answer means that the user does not know the passphrase. */
        keyring_store_result(p->keyring, name, rc == 0 && ret->len > 0 ? ret : NULL, NULL);
    }
    free(name);
    return rc;
}

static void print_notice(struct prompt *p, const struct question *q)
{
    size_t n = strlen(q->prompt);
    pthread_mutex_lock(&p->mutex);
    if (p->pause)
        p->pause(p->ctx);
    fprintf(stderr, "%s%s", q->prompt, n && q->prompt[n - 1] == '\n' ? "" : "\n");
    if (p->resume)
        p->resume(p->ctx);
    pthread_mutex_unlock(&p->mutex);
}

int prompt_ask(void *ctx, const struct question *q, struct secret *ret, struct err *err)
{
    struct prompt *p = ctx;
    struct err why = ERR_INIT;
    int rc = 0;
    if (q->file && p->passphrase_file)
        return answer_from_file(p, q, ret, err);
    if (p->batch && q->kind != ASK_NOTICE)
        return err_set(err, ERR_NOT_FOUND, "no user can be asked for it");
    if (q->kind == ASK_NOTICE)
        print_notice(p, q);
    else
        rc = q->file && !q->bypass_keyring ? ask_with_keyring(p, q, ret, &why)
                                           : ask_without_keyring(p, q, ret, &why);
    if (rc < 0 && why.kind == ERR_TIMEOUT)
        err_set(&why, ERR_TIMEOUT, "the user did not answer in time");
    if (rc < 0 && err)
        *err = why;
    return rc;
}
