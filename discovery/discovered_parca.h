/* Parca's `profiling_config`: the paths and kinds of a job's profiles. */
#ifndef DISCOVERY_DISCOVERED_PARCA_H
#define DISCOVERY_DISCOVERED_PARCA_H

#include "discovery/discovered.h"

/*
 * Sets the job's path. If there is a `pprof_config`, also sets the job's kinds: Parca's five default
 * profiles, with the changes of the `pprof_config`. The job's path is a directory: the common one of all
 * enabled profiles, else /debug/pprof. The kind of a profile directly in it comes from its file name (`cpu`
 * for `profile`); the kind of any other profile is its whole path.
 */
int discovered_parca_read(const struct yaml_tree *tree, const struct yaml_node *config,
                          struct discovered *found, struct discovered_job *job, struct err *err);

/* Sets the job's query from its `params`. */
int discovered_parca_params(const struct yaml_tree *tree, const struct yaml_node *params,
                            struct discovered_job *job, struct err *err);

#endif
