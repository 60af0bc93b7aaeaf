/* The formats of reports. Each function writes the report to report->out. The table in report.c has a row for
 * each. */
#ifndef PPROF_FORMATS_H
#define PPROF_FORMATS_H

#include "pprof/report.h"

int text_write(struct report *report);
int tree_write(struct report *report); /* also peek, with settings->symbol */
int tags_write(struct report *report);
int traces_write(struct report *report);
int raw_write(struct report *report);
int comments_write(struct report *report);
int dot_write(struct report *report);
int callgrind_write(struct report *report);
int proto_write(struct report *report);
int topproto_write(struct report *report);
int list_write(struct report *report);
/* Formats that google/pprof does not have. */
int folded_write(struct report *report);
int speedscope_write(struct report *report);
/* JSON for the page of -http. */
int text_write_json(struct report *report);
int tags_write_json(struct report *report);

/* Writes a profile as the report, compressed with gzip. */
int proto_write_profile(struct report *report, const struct profile *p);

#endif
