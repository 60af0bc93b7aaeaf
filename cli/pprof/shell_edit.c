/*
 * Reads lines with libedit. read_byte, not libedit, waits for input, so that a signal ends the shell cleanly.
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
    locale_t locale; /* the locale of the terminal's characters; 0: ASCII */
    const char *prompt;
    struct sigaction interrupt; /* the previous handler of SIGINT */
    struct signals_terminal terminal;
    bool registered; /* `terminal` has libedit's mode and is registered with signals_register_terminal */
    bool dropped;    /* Ctrl-C dropped the line */
};

static struct shell_editor *editor_of(EditLine *el)
{
    void *e = NULL;
    el_get(el, EL_CLIENTDATA, &e);
    return e;
}

/* The cast drops const: libedit does not change the text. */
static char *prompt_of(EditLine *el)
{
    return (char *)(uintptr_t)editor_of(el)->prompt;
}

/* ---- keys ---------------------------------------------------------------------------------------------- */

/* Registers the terminal with the mode that libedit has set by now, so that the handler of SIGTSTP can
 * restore the normal mode. */
static void register_terminal(struct shell_editor *e)
{
    if (e->registered || tcgetattr(STDIN_FILENO, &e->terminal.asking) < 0)
        return;
    e->registered = true;
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
    register_terminal(e);
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

/* Ctrl-C drops the line. If the line is empty, it ends the shell, as in upstream. */
static unsigned char on_interrupt(EditLine *el, int key)
{
    (void)key;
    const LineInfo *line = el_line(el);
    if (line->lastchar == line->buffer)
        return CC_EOF;
    editor_of(el)->dropped = true;
    return CC_NEWLINE;
}

/* Ctrl-Z stops the process group. The handler of SIGTSTP restores the normal mode of the terminal, and sets
 * libedit's mode again after SIGCONT. */
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
    /* el_set would leak its copies of these strings. */
    el_wset(el, EL_ADDFN, L"pprof-complete", L"completes a word", on_tab);
    el_wset(el, EL_ADDFN, L"pprof-interrupt", L"drops the line", on_interrupt);
    el_wset(el, EL_ADDFN, L"pprof-stop", L"stops the program", on_stop);
    /* With -isig, Ctrl-C and Ctrl-Z are keys and send no signals. */
    el_set(el, EL_SETTY, "-d", "-isig", NULL);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        el_set(el, EL_BIND, keys[i][0], keys[i][1], NULL);
    /* The emacs key map binds the characters 0xa0 to 0xff to functions, so the user could not type them. */
    for (int c = 0xa0; c <= 0xff; c++) {
        char key[8];
        snprintf(key, sizeof key, "\\%o", (unsigned)c);
        el_set(el, EL_BIND, key, "ed-insert", NULL);
    }
}

static void do_nothing(int number)
{
    (void)number;
}

/* Installs an empty handler for SIGINT. At the prompt, Ctrl-C is a key; during a report it ends the report. A
 * SIGINT just after a report must not end the shell. SIG_IGN would not do, because children inherit ignored
 * signals. */
static void catch_interrupts(struct sigaction *before)
{
    struct sigaction act = {.sa_handler = do_nothing, .sa_flags = SA_RESTART};
    if (sigaction(SIGINT, NULL, before) == 0 && before->sa_handler != SIG_IGN)
        sigaction(SIGINT, &act, NULL);
}

static int set_up(struct shell_editor *e, struct err *err)
{
    HistEvent event;
    e->locale = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
    e->history = history_init();
    /* el_init would call fileno(stderr), which fails for a replaced stream (cli/term/standard_streams.h). */
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
    e->registered = e->dropped = false;
    /* Other functions run in the C locale, where a character is one byte. */
    if (e->locale)
        before = uselocale(e->locale);
    tcgetattr(STDIN_FILENO, &e->terminal.normal);
    /* Sets the mode before the prompt appears, so that the user can edit input typed before it. */
    el_set(e->el, EL_PREP_TERM, 1);
    const char *text = el_gets(e->el, ret_n);
    signals_register_terminal(NULL);
    if (e->locale)
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
    if (e->locale)
        freelocale(e->locale);
    sigaction(SIGINT, &e->interrupt, NULL);
    free(e);
}

int shell_editor_new(struct shell_input *in, struct shell_editor **ret, struct err *err)
{
    struct shell_editor *e = malloc(sizeof *e);
    if (!e)
        return err_nomem(err);
    *e = (struct shell_editor){.in = in, .terminal = {.fd = STDIN_FILENO, .prompt = ""}};
    catch_interrupts(&e->interrupt);
    if (set_up(e, err) < 0) {
        shell_editor_free(e);
        return -1;
    }
    *ret = e;
    return 0;
}
