/* Parca's `profiling_config`: the paths and kinds of a job's profiles. */
#ifndef INVENTORY_FOUND_PARCA_H
#define INVENTORY_FOUND_PARCA_H

#include "inventory/found.h"
#include "inventory/tree.h"

/*
 * Sets the job's path and kinds. If there is a `pprof_config`, the kinds are Parca's five defaults with the
 * file's changes; Parca's memory is `allocs`. A profile in another directory becomes a kind named by its
 * path.
 */
int found_parca(const struct tree *tree, const struct tree_node *config, struct found *f,
                struct found_job *job, struct err *err);

/* Sets the job's query from its `params`. */
int found_parca_params(const struct tree *tree, const struct tree_node *params, struct found_job *job,
                       struct err *err);

#endif
