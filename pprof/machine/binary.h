/* The binaries of a profile, and what objdump, nm and addr2line know about them. */
#ifndef PPROF_MACHINE_BINARY_H
#define PPROF_MACHINE_BINARY_H

#include "pprof/machine/objdump.h"
#include "pprof/report.h"
#include "pprof/symbolize/symbols.h"

/* The most output of a program. */
#define MACHINE_OUTPUT_MAX ((size_t)1 << 30)

struct binaries;

/* The binary of a mapping. */
struct binary {
    const struct binaries *all;
    struct profile_mapping mapping;
    char *path;
    bool opened; /* false: `why` has the reason */
    struct err why;

    struct elf elf;
    enum { BASE_UNKNOWN, BASE_KNOWN, BASE_WRONG } base_state;
    uint64_t base; /* addresses of the profile are that much larger than those of the file */

    unsigned n_lineless; /* functions in a row for which binary_add_lines found no line */
    bool asked_nm;       /* binary_frames has run nm */
    struct nm nm;
    struct buf nm_text;
};

/* All binaries that a report has used. A zeroed list with `report` is empty. */
struct binaries {
    struct report *report;
    struct binary **items; /* by mapping; NULL: not used yet */
    size_t n;              /* the number of mappings; 0: none is used yet */
};
void binaries_release(struct binaries *b);

/* Finds or opens the binary of a mapping (an index). Sets *ret also if the binary cannot be opened. As for
 * names, opens only those of the first SYMBOLIZE_MAPPINGS mappings. */
int binary_open(struct binaries *all, uint32_t mapping, struct binary **ret, struct err *err);

/* Computes the address in the file. Returns false if the address is outside the mapping, or the binary has no
 * place for it. */
bool binary_file_address(struct binary *b, uint64_t address, uint64_t *ret);

/* Runs a program. */
int binaries_run(const struct binaries *all, const struct symbolize_query *query, struct buf *ret,
                 struct err *err);
/* Returns whether a program's error must end the report: the user cancelled, or memory is exhausted. */
bool machine_must_stop(const struct err *err);

/* The calls at each of some addresses: those of addresses[i] are items[first[i]] up to, but not including,
 * items[first[i + 1]], the innermost first. */
struct call_stacks {
    struct frame *items; /* the texts point into `text` and into the binary's nm_text */
    size_t *first;
    size_t n_addresses;
    bool by_llvm; /* llvm-symbolizer found them */
    struct buf text;
};
void call_stacks_release(struct call_stacks *s);
/* Asks llvm-symbolizer or addr2line for the calls at the file's addresses. Without both, nm gives the
 * functions. If all fail, *ret has no addresses. */
int binary_frames(struct binary *b, const uint64_t *addresses, size_t n, struct call_stacks *ret,
                  struct err *err);

/* The instructions of a range. */
struct disassembly {
    struct buf text; /* objdump's output */
    struct instructions code;
    struct call_stacks stacks; /* of binary_add_lines */
};
void disassembly_release(struct disassembly *d);
/* Disassembles the file's addresses from `start` up to, but not including, `stop`. */
int binary_disassemble(const struct binary *b, uint64_t start, uint64_t stop, struct disassembly *ret,
                       struct err *err);
/* If objdump gives no line for any of the instructions, asks llvm-symbolizer or addr2line as binary_frames
 * does. An instruction gets the place of its innermost call. Without lines, the instructions do not change.
 */
int binary_add_lines(struct binary *b, struct disassembly *d, struct err *err);

#endif
