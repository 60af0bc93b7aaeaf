/* The formats of reports. Each function writes the report to j->out. The table in report.c has a row for
 * each. */
#ifndef PPROF_FORMATS_H
#define PPROF_FORMATS_H

#include "pprof/job.h"

int text_write(struct pprof_job *j);
int tree_write(struct pprof_job *j); /* also peek, with settings->symbol */
int tags_write(struct pprof_job *j);
int traces_write(struct pprof_job *j);
int raw_write(struct pprof_job *j);
int comments_write(struct pprof_job *j);
int dot_write(struct pprof_job *j);
int callgrind_write(struct pprof_job *j);
int proto_write(struct pprof_job *j);
int topproto_write(struct pprof_job *j);
int list_write(struct pprof_job *j);
/* Formats that google/pprof does not have. */
int folded_write(struct pprof_job *j);
int speedscope_write(struct pprof_job *j);

/* Writes a profile as the report, compressed with gzip. */
int proto_write_profile(struct pprof_job *j, const struct profile *p);

#endif
