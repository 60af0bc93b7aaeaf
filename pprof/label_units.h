/* The units of numeric labels. */
#ifndef PPROF_LABEL_UNITS_H
#define PPROF_LABEL_UNITS_H

#include "pprof/report.h"

/* The most labels that get a message because their samples have different units. */
#define LABEL_CONFLICTS 100
/* Finds the units of numeric labels. Call it before any change of the samples. */
int label_units_find(struct report *report);
/* Returns the unit of the numbers with this key; empty if no label with the key is a number. */
struct str label_unit(const struct report *report, uint32_t key);

#endif
