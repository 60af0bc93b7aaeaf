/* The table of a run's targets. */
#ifndef CLI_CAPTURE_OUTCOME_TABLE_H
#define CLI_CAPTURE_OUTCOME_TABLE_H

#include <stdio.h>

#include "capture/capture.h"

/* Prints the complete targets, then the others with their failures. If many targets are complete and `all` is
 * not set, they share one row. On a terminal, cuts or folds rows that are too wide (cli/term/rows.h). */
void outcome_table_print(const struct outcomes *t, bool all, FILE *out);

#endif
