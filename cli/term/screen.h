/*
 * The live block: lines at the bottom of a terminal that are drawn again in place.
 *
 * Between drawings the cursor stands behind the last line of the block. A line is cut to one column less than
 * the terminal has, so that it never wraps, and there are never more lines than the terminal has rows, less
 * two. Colours are not used. Whoever prints anything else wipes the block first.
 */
#ifndef CLI_TERM_SCREEN_H
#define CLI_TERM_SCREEN_H

#include <stdio.h>

#include "base/base.h"

struct screen {
    FILE *out;
    unsigned rows, columns; /* 0: the terminal is asked at every drawing */
    size_t drawn;           /* lines that stand there */
    bool interrupted;       /* a signal has come, and wiped what stood there then */
    struct buf frame;       /* the last drawing */
};

/* `rows` and `columns` are 0, or what to believe instead of the terminal. */
void screen_init(struct screen *s, FILE *out, unsigned rows, unsigned columns);
void screen_release(struct screen *s);

/* Whether a live block can be shown there: a terminal that can move its cursor. */
bool screen_is_live(FILE *out);

/* How many lines and columns a drawing may take now. */
void screen_room(const struct screen *s, size_t *ret_lines, size_t *ret_columns);

/* Draws the lines in place of the block; says nothing when they are the same. */
void screen_draw(struct screen *s, const struct strlist *lines);
void screen_wipe(struct screen *s);

#endif
