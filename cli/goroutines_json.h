#ifndef CLI_GOROUTINES_JSON_H
#define CLI_GOROUTINES_JSON_H

#include "findings/findings.h"

/* Prints the dumps, named so, and all groups as one JSON object: docs/goroutines.md has its schema. */
int goroutines_json(const struct goroutines *g, char *const *names, struct err *err);

#endif
