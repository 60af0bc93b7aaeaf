/*
 * Reads lines with libedit. This file waits for the input itself, so that a signal ends the shell cleanly.
 * The prompt and the line are on stderr, as in upstream, because standard output is for reports.
 */
#include <errno.h>
#include <histedit.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>
#include <wchar.h>

#include "cli/pprof/shell.h"
#include "cli/term/signals.h"
#include "base/banned.h"

#define HISTORY 1000
#define WORD_MAX_BYTES 65536

struct shell_editor {
    struct shell_input *in;
    EditLine *el;
    History *history;
    locale_t characters; /* the terminal's; 0: ASCII */
    const char *prompt;
    struct sigaction interrupt; /* the previous handler */
    struct signals_terminal terminal;
    bool held;    /* libedit has changed the terminal's mode */
    bool dropped; /* Ctrl-C dropped the line */
};

static struct shell_editor *editor_of(EditLine *el)
{
    void *e = NULL;
    el_get(el, EL_CLIENTDATA, &e);
    return e;
}

/* libedit does not change the text. */
static char *prompt_of(EditLine *el)
{
    return (char *)(uintptr_t)editor_of(el)->prompt;
}

/* ---- keys ---------------------------------------------------------------------------------------------- */

/* Lets the handler of SIGTSTP restore the terminal's mode. libedit has set its own by now. */
static void hold_terminal(struct shell_editor *e)
{
    if (e->held || tcgetattr(STDIN_FILENO, &e->terminal.asking) < 0)
        return;
    e->held = true;
    signals_register_terminal(&e->terminal);
}

/* Returns 1 for a byte, 0 at the end, -1 to redraw the line after a signal. */
static int read_byte(struct shell_editor *e, char *ret)
{
    struct pollfd fds[2] = {{.fd = STDIN_FILENO, .events = POLLIN},
                            {.fd = e->in->cancel_fd, .events = POLLIN}};
    if (poll(fds, 2, -1) < 0)
        return errno == EINTR ? -1 : 0;
    if (fds[1].revents)
        return 0;
    ssize_t n = read(STDIN_FILENO, ret, 1);
    return n < 0 && (errno == EINTR || errno == EAGAIN) ? -1 : n == 1;
}

static int read_character(EditLine *el, wchar_t *ret)
{
    struct shell_editor *e = editor_of(el);
    mbstate_t state = {0};
    char c;
    hold_terminal(e);
    for (;;) {
        el_resize(el);
        int rc = read_byte(e, &c);
        if (rc == 0)
            return 0;
        if (rc < 0) {
            el_set(el, EL_REFRESH);
            continue;
        }
        size_t n = mbrtowc(ret, &c, 1, &state);
        if (n == (size_t)-1)
            state = (mbstate_t){0};
        else if (n != (size_t)-2)
            return 1;
    }
}

static unsigned char on_tab(EditLine *el, int key)
{
    (void)key;
    struct shell_editor *e = editor_of(el);
    const LineInfo *line = el_line(el);
    struct buf text = BUF_INIT(WORD_MAX_BYTES), old = BUF_INIT(WORD_MAX_BYTES);
    struct str word, typed = {line->buffer, (size_t)(line->cursor - line->buffer)};
    unsigned char rc = CC_ERROR;
    if (shell_complete(e->in->profile, typed, &word, &text)) {
        buf_add(&old, word.p, word.n);
        size_t n = mbstowcs(NULL, buf_str(&old), 0);
        if (n != (size_t)-1) {
            el_deletestr(el, (int)n);
            rc = el_insertstr(el, buf_str(&text)) < 0 ? CC_ERROR : CC_REFRESH;
        }
    }
    buf_release(&text);
    buf_release(&old);
    return rc;
}

/* Drops the line. An empty one ends the shell, as in upstream. */
static unsigned char on_interrupt(EditLine *el, int key)
{
    (void)key;
    const LineInfo *line = el_line(el);
    if (line->lastchar == line->buffer)
        return CC_EOF;
    editor_of(el)->dropped = true;
    return CC_NEWLINE;
}

/* Ctrl-Z. The handler of SIGTSTP restores the terminal's mode, and sets libedit's again. */
static unsigned char on_stop(EditLine *el, int key)
{
    (void)key;
    kill(0, SIGTSTP);
    el_set(el, EL_REFRESH);
    return CC_NORM;
}

/* ---- setting up ---------------------------------------------------------------------------------------- */

static void bind_keys(EditLine *el)
{
    static const char *const keys[][2] = {
        {"^I", "pprof-complete"},       {"^C", "pprof-interrupt"},          {"^Z", "pprof-stop"},
        {"^R", "em-inc-search-prev"},   {"^W", "ed-delete-prev-word"},      {"^U", "vi-kill-line-prev"},
        {"\\033[1;3D", "ed-prev-word"}, {"\\033[1;3C", "em-next-word"},     {"\\033[1;5D", "ed-prev-word"},
        {"\\033[1;5C", "em-next-word"}, {"\\033[3~", "ed-delete-next-char"}};
    /* The function for narrow characters leaks its copies. */
    el_wset(el, EL_ADDFN, L"pprof-complete", L"completes a word", on_tab);
    el_wset(el, EL_ADDFN, L"pprof-interrupt", L"drops the line", on_interrupt);
    el_wset(el, EL_ADDFN, L"pprof-stop", L"stops the program", on_stop);
    /* The characters of signals are keys. */
    el_set(el, EL_SETTY, "-d", "-isig", NULL);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        el_set(el, EL_BIND, keys[i][0], keys[i][1], NULL);
    /* The emacs map binds these characters to functions. */
    for (int c = 0xa0; c <= 0xff; c++) {
        char key[8];
        snprintf(key, sizeof key, "\\%o", (unsigned)c);
        el_set(el, EL_BIND, key, "ed-insert", NULL);
    }
}

static void pass_over(int number)
{
    (void)number;
}

/* Ctrl-C is a key at the prompt, and ends a report. If it arrives just after a report, the shell must not
 * end. This needs a handler, because children inherit ignored signals. */
static void pass_over_interrupts(struct sigaction *before)
{
    struct sigaction act = {.sa_handler = pass_over, .sa_flags = SA_RESTART};
    if (sigaction(SIGINT, NULL, before) == 0 && before->sa_handler != SIG_IGN)
        sigaction(SIGINT, &act, NULL);
}

static int set_up(struct shell_editor *e, struct err *err)
{
    HistEvent event;
    e->characters = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
    e->history = history_init();
    /* fileno has no descriptor for `stderr` as it may be here (cli/term/standard_streams.h). */
    e->el = el_init_fd("profgrab", stdin, stderr, stderr, STDIN_FILENO, STDERR_FILENO, STDERR_FILENO);
    if (!e->history || !e->el)
        return err_nomem(err);
    history(e->history, &event, H_SETSIZE, HISTORY);
    history(e->history, &event, H_SETUNIQUE, 1);
    el_set(e->el, EL_CLIENTDATA, e);
    el_set(e->el, EL_PROMPT, prompt_of);
    el_set(e->el, EL_EDITOR, "emacs");
    el_set(e->el, EL_SIGNAL, 0);
    el_set(e->el, EL_HIST, history, e->history);
    el_set(e->el, EL_GETCFN, read_character);
    bind_keys(e->el);
    return 0;
}

/* ---- a line -------------------------------------------------------------------------------------------- */

static const char *edit_line(struct shell_editor *e, int *ret_n)
{
    locale_t before = (locale_t)0;
    e->held = e->dropped = false;
    /* Other functions run in the C locale, where a character is one byte. */
    if (e->characters)
        before = uselocale(e->characters);
    tcgetattr(STDIN_FILENO, &e->terminal.normal);
    /* Set the mode before the prompt appears, so that early input is edited too. */
    el_set(e->el, EL_PREP_TERM, 1);
    const char *text = el_gets(e->el, ret_n);
    signals_register_terminal(NULL);
    if (e->characters)
        uselocale(before);
    return text;
}

int shell_editor_line(struct shell_editor *e, const char *prompt, struct buf *line, bool *ret_end,
                      struct err *err)
{
    HistEvent event;
    int n = 0;
    e->prompt = prompt;
    const char *text = edit_line(e, &n);
    *ret_end = !text || n <= 0;
    if (*ret_end) {
        fputs("\n", stderr);
        return fd_cancelled(e->in->cancel_fd) ? err_set(err, ERR_CANCELLED, "interrupted") : 0;
    }
    buf_add(line, text, strcspn(text, "\n"));
    if (e->dropped) {
        buf_clear(line);
        fputs("^C\n", stderr);
    }
    if (line->len)
        history(e->history, &event, H_ENTER, buf_str(line));
    return buf_check(line, "a command", err);
}

/* ---- the editor ---------------------------------------------------------------------------------------- */

void shell_editor_free(struct shell_editor *e)
{
    if (!e)
        return;
    if (e->el)
        el_end(e->el);
    if (e->history)
        history_end(e->history);
    if (e->characters)
        freelocale(e->characters);
    sigaction(SIGINT, &e->interrupt, NULL);
    free(e);
}

int shell_editor_new(struct shell_input *in, struct shell_editor **ret, struct err *err)
{
    struct shell_editor *e = malloc(sizeof *e);
    if (!e)
        return err_nomem(err);
    *e = (struct shell_editor){.in = in, .terminal = {.fd = STDIN_FILENO, .prompt = ""}};
    pass_over_interrupts(&e->interrupt);
    if (set_up(e, err) < 0) {
        shell_editor_free(e);
        return -1;
    }
    *ret = e;
    return 0;
}
