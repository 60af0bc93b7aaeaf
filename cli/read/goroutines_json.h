/* `profgrab goroutines --json`. */
#ifndef CLI_READ_GOROUTINES_JSON_H
#define CLI_READ_GOROUTINES_JSON_H

#include "findings/findings.h"

/* Prints the dumps with their names, and all groups, as one JSON object (schema: docs/goroutines.md). */
int goroutines_json(const struct goroutines *g, char *const *names, struct err *err);

#endif
