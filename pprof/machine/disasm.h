/* Internals of -disasm: functions of binaries. */
#ifndef PPROF_MACHINE_DISASM_H
#define PPROF_MACHINE_DISASM_H

#include "pprof/machine/binary.h"

/* A function of a binary, from nm's table: the addresses up to the next symbol. */
struct symbol {
    struct binary *binary;
    uint64_t start, end; /* addresses of the file; `end` is the last one */
    size_t name_at;      /* index of its first name */
    size_t n_names;      /* 1, or all names if an address selected the function */
};
struct symbols {
    struct symbol *items;
    size_t n, cap;
    uint32_t *names; /* strings of the profile */
    size_t n_names, cap_names;
};
void symbols_release(struct symbols *s);

/* Finds the functions whose name, mangled or demangled, matches the report's expression. An `address` other
 * than 0 also finds the function at that address of the file. Adds them in the order of addresses. If nm
 * fails, adds none. */
int symbols_find(struct binary *b, uint64_t address, struct symbols *to, struct err *err);

#endif
