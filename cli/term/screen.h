/*
 * The live block: lines at the bottom of a terminal that are redrawn in place.
 *
 * Between drawings the cursor is at the end of the block's last line. Lines are cut to the terminal's width
 * minus one column, so that they never wrap. The block has at most the terminal's rows minus two. It uses no
 * colours. Call screen_wipe before printing anything else.
 */
#ifndef CLI_TERM_SCREEN_H
#define CLI_TERM_SCREEN_H

#include <stdio.h>

#include "base/base.h"

struct screen {
    FILE *out;
    unsigned rows, columns; /* 0: query the terminal at each drawing */
    size_t drawn;           /* lines currently shown */
    bool interrupted;       /* a signal arrived, and its handler wiped the block */
    struct buf frame;       /* the last drawing */
};

/* Prepares a screen of the given size; 0: query the size of the terminal. */
void screen_init(struct screen *s, FILE *out, unsigned rows, unsigned columns);
void screen_release(struct screen *s);

/* Returns whether `out` is a terminal that can move its cursor. */
bool screen_can_redraw(FILE *out);

/* Sets *ret_lines to the maximum number of lines, and *ret_columns to the maximum width of a line, for the
 * current size. */
void screen_max_size(const struct screen *s, size_t *ret_lines, size_t *ret_columns);

/* Replaces the block by these lines. Writes nothing if they have not changed. */
void screen_draw(struct screen *s, const struct strlist *lines);
void screen_wipe(struct screen *s);

#endif
