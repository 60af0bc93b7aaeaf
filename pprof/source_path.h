/* The names of source files, without the parts that depend on the machine that compiled them. */
#ifndef PPROF_SOURCE_PATH_H
#define PPROF_SOURCE_PATH_H

#include "pprof/job.h"

/* The end of a file's name that is left by trim_path and source_path. */
struct str source_trim(struct str path, const char *trim_path, const char *source_path);

/* Applies trim_path and source_path to the functions' files. */
int trim_paths(struct job *j);

#endif
