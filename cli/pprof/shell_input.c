/* Reads the shell's lines: with editing on a terminal, otherwise plainly. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/pprof/shell.h"
#include "cli/term/signals.h"
#include "cli/term/standard_streams.h"
#include "base/banned.h"

#define LINE_SIZE_MAX ((size_t)1 << 20)

static bool can_edit(void)
{
    const char *term = getenv("TERM");
    return term && *term && strcasecmp(term, "dumb") != 0 && isatty(STDIN_FILENO) && isatty(STDERR_FILENO);
}

int shell_input_init(struct shell_input *in, const struct profile *p, int cancel_fd, struct err *err)
{
    *in =
        (struct shell_input){.profile = p, .cancel_fd = cancel_fd, .unread = BUF_INIT(LINE_SIZE_MAX + 65536)};
    return can_edit() ? shell_editor_new(in, &in->editor, err) : 0;
}

void shell_input_release(struct shell_input *in)
{
    shell_editor_free(in->editor);
    buf_release(&in->unread);
}

static int read_more(struct shell_input *in, struct err *err)
{
    char block[65536];
    if (fd_wait(STDIN_FILENO, POLLIN, CLOCK_NEVER, in->cancel_fd, err) < 0)
        return -1;
    ssize_t n = read(STDIN_FILENO, block, sizeof block);
    if (n < 0)
        return errno == EINTR || errno == EAGAIN ? 0 : err_sys(err, "cannot read commands");
    in->ended = n == 0;
    buf_add(&in->unread, block, (size_t)n);
    return buf_check(&in->unread, "a command", err);
}

/* Reads a line without editing. The last line may have no end. */
static int read_plainly(struct shell_input *in, const char *prompt, struct buf *line, bool *ret_end,
                        struct err *err)
{
    const char *end;
    if (standard_stream_write(STDOUT_FILENO, prompt, strlen(prompt), err) < 0)
        return -1;
    while (!(end = in->unread.len ? memchr(in->unread.data, '\n', in->unread.len) : NULL) && !in->ended)
        if (read_more(in, err) < 0)
            return -1;
    size_t n = end ? (size_t)(end - in->unread.data) : in->unread.len;
    *ret_end = !end && n == 0;
    if (n)
        buf_add(line, in->unread.data, n);
    buf_consume(&in->unread, n + (end != NULL));
    return buf_check(line, "a command", err);
}

int shell_input_line(struct shell_input *in, const char *prompt, struct buf *line, bool *ret_end,
                     struct err *err)
{
    buf_clear(line);
    return in->editor ? shell_editor_line(in->editor, prompt, line, ret_end, err)
                      : read_plainly(in, prompt, line, ret_end, err);
}
