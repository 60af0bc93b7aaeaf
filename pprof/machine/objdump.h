/* Output of objdump and nm. Both are untrusted, because the binary is. */
#ifndef PPROF_MACHINE_OBJDUMP_H
#define PPROF_MACHINE_OBJDUMP_H

#include "base/base.h"

/* One instruction. The texts point into objdump's output. */
struct instruction {
    uint64_t address; /* in the file */
    struct str text;
    struct str function, file; /* empty: unknown */
    int64_t line;              /* 0: unknown */
};
struct instructions {
    struct instruction *items; /* freed by the caller */
    size_t n;
};

/* Reads the output of `objdump --disassemble --line-numbers`. Ignores lines that it does not know, so that it
 * fails only if memory is exhausted. */
int objdump_read(struct str text, struct instructions *ret, struct err *err);

/* Reads the next symbol from the output of `nm -n`. Skips other lines. Returns false at the end. */
bool nm_next(struct str *rest, uint64_t *ret_address, struct str *ret_name);

#endif
