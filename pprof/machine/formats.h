/* The formats with machine code, and their common parts. */
#ifndef PPROF_MACHINE_FORMATS_H
#define PPROF_MACHINE_FORMATS_H

#include "pprof/report.h"

int disasm_write(struct report *report);
int weblist_write(struct report *report);
int source_json_write(struct report *report);

/* Parses an expression that is an address: a number as in Go's sources (0x401136). */
bool machine_parse_address(const char *text, uint64_t *ret);

/* Formats a value; 0 becomes `.`. Returns dst or ".". */
const char *machine_value_or_dot(const struct report *report, char dst[MEASURE_TEXT], int64_t value);

#endif
