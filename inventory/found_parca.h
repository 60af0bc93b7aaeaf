/* Parca's `profiling_config`: where a job's profiles are, and which it takes. */
#ifndef INVENTORY_FOUND_PARCA_H
#define INVENTORY_FOUND_PARCA_H

#include "inventory/found.h"
#include "inventory/tree.h"

/*
 * Sets the job's path and kinds. The kinds are Parca's own five, as the file changes them, if it has a
 * `pprof_config`: memory is `allocs` there. A profile that is not beside the others is a kind by its path.
 */
int found_parca(const struct tree *tree, const struct tree_node *config, struct found *f,
                struct found_job *job, struct err *err);

/* Sets what `params` of a job say that its requests have beside their own. */
int found_parca_params(const struct tree *tree, const struct tree_node *params, struct found_job *job,
                       struct err *err);

#endif
