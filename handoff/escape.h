/*
 * Escapes untrusted text for an issue, so that the tracker shows it and executes nothing.
 *
 * Lines of profiles and hosts may contain commands of a tracker (GitLab's quick actions, lines that begin
 * with a slash), mentions that send mail (@all), references, macros, markup and HTML. Each line is made
 * printable first (text_printable), so that it contains no line end.
 */
#ifndef HANDOFF_ESCAPE_H
#define HANDOFF_ESCAPE_H

#include "base/base.h"

/*
 * Each function appends a line end and then `text`, as a block of lines that its tracker does not interpret.
 * GitLab executes quick actions only at the beginning of a line, so each line is also indented by two
 * blanks. After ESCAPE_MAX_LINES lines the line "(more lines are omitted)" replaces the rest.
 */
#define ESCAPE_MAX_LINES 400
/* GitLab's Markdown: a fenced block, whose fence is longer than any run of backticks in the text. */
void escape_markdown(struct buf *out, const char *text);
/* Redmine: a <pre> block, which Textile and Markdown both accept. A blank follows every `<`, and "(at)"
 * replaces an @ that could begin a mention. */
void escape_redmine(struct buf *out, const char *text);
/* Request Tracker: indented lines of text/plain. */
void escape_plain(struct buf *out, const char *text);

#endif
