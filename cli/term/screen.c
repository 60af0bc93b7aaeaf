#include "cli/term/screen.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/term/columns.h"
#include "cli/term/signals.h"
#include "cli/term/standard_streams.h"
#include "base/banned.h"

/* The maximum bytes of a drawing, far above the largest terminal. */
#define FRAME_MAX (1u << 20)

void screen_init(struct screen *s, FILE *out, unsigned rows, unsigned columns)
{
    *s = (struct screen){.out = out, .rows = rows, .columns = columns};
    buf_init(&s->frame, FRAME_MAX);
}

void screen_release(struct screen *s)
{
    buf_release(&s->frame);
}

bool screen_can_redraw(FILE *out)
{
    const char *term = getenv("TERM");
    return isatty(standard_stream_fd(out)) && term && *term && strcmp(term, "dumb") != 0;
}

void screen_max_size(const struct screen *s, size_t *ret_lines, size_t *ret_columns)
{
    struct winsize size = {.ws_row = (unsigned short)s->rows, .ws_col = (unsigned short)s->columns};
    if (!s->rows)
        size = standard_stream_size(s->out);
    *ret_lines = size.ws_row > 3 ? size.ws_row - 2u : 1;
    *ret_columns = size.ws_col > 1 ? size.ws_col - 1u : 1;
}

/* The handler of the first signal has wiped the block, so no drawn lines are left. */
static void notice_signal(struct screen *s)
{
    if (!signals_received() || s->interrupted)
        return;
    s->interrupted = true;
    s->drawn = 0;
    buf_clear(&s->frame);
}

static void move_to_first_line(const struct screen *s, struct buf *b)
{
    buf_addc(b, '\r');
    if (s->drawn > 1)
        buf_addf(b, "\033[%zuA", s->drawn - 1);
}

void screen_wipe(struct screen *s)
{
    struct buf b = BUF_INIT(64);
    notice_signal(s);
    if (s->drawn == 0)
        return;
    move_to_first_line(s, &b);
    buf_adds(&b, "\033[J");
    fputs(buf_str(&b), s->out);
    buf_release(&b);
    signals_set_live_lines(0);
    s->drawn = 0;
    buf_clear(&s->frame);
}

void screen_draw(struct screen *s, const struct strlist *lines)
{
    size_t max_lines, columns;
    struct buf frame = BUF_INIT(FRAME_MAX), b = BUF_INIT(FRAME_MAX + 64);
    screen_max_size(s, &max_lines, &columns);
    size_t n = lines->n < max_lines ? lines->n : max_lines;
    if (n == 0) {
        screen_wipe(s);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        buf_adds(&frame, i ? "\033[K\r\n" : "");
        buf_add(&frame, lines->items[i], columns_fit(lines->items[i], columns));
    }
    notice_signal(s);
    if (!frame.failed && strcmp(buf_str(&frame), buf_str(&s->frame)) != 0) {
        move_to_first_line(s, &b);
        buf_adds(&b, buf_str(&frame));
        buf_adds(&b, "\033[J");
        fputs(buf_str(&b), s->out);
        fflush(s->out);
        s->drawn = n;
        signals_set_live_lines((int)n);
        buf_release(&s->frame);
        s->frame = frame;
        frame = (struct buf){0};
    }
    buf_release(&frame);
    buf_release(&b);
}
