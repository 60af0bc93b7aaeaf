/*
 * Text of others on an issue, made inert: shown as it is, and acted on by nobody.
 *
 * Lines of profiles and hosts may hold what a tracker takes for orders (GitLab's quick actions, lines that
 * begin with a slash), mentions that send mail (@all), references, macros, markup and HTML. Each line is made
 * printable first (text_printable), so that no line's end is left in it.
 */
#ifndef HANDOFF_ESCAPE_H
#define HANDOFF_ESCAPE_H

#include "base/base.h"

/*
 * Appends the lines of `text` as one block in which nothing is interpreted, with line ends on both sides.
 * Quick actions count only at the beginning of a line, so each is indented by two blanks as well. At most
 * ESCAPE_LINES lines are taken; that some are left out is said.
 */
#define ESCAPE_LINES 400
/* GitLab's Markdown: a fence longer than any run of backticks in it. */
void escape_markdown(struct buf *out, const char *text);
/* Redmine: a <pre> block, which Textile and Markdown understand alike; every `<` gets a blank behind it, and
 * an @ that could begin a mention becomes "(at)". */
void escape_redmine(struct buf *out, const char *text);
/* Request Tracker's text/plain. */
void escape_plain(struct buf *out, const char *text);

#endif
