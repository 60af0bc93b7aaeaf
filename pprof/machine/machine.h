/*
 * Reports with machine code: disasm, weblist, and the data of weblist as JSON.
 *
 *   output of objdump and nm    objdump.c, parsed as google/pprof does
 *   binaries of the profile     binary.c runs nm, objdump, and llvm-symbolizer or addr2line on them
 *   disasm                      symbols.c finds the functions, disasm.c writes them
 *   weblist                     addresses.c finds the places with samples, code.c their instructions and the
 *                               source line of each, listing.c the functions and lines to show
 *   forms of weblist            weblist.c writes HTML, source_json.c JSON
 *
 * Source: google/pprof internal/report (report.go, source.go), internal/binutils (disasm.go, binutils.go).
 */
#ifndef PPROF_MACHINE_MACHINE_H
#define PPROF_MACHINE_MACHINE_H

#include "proto/proto.h"

struct report;

/*
 * Writes a report whose format is REPORT_DISASM, REPORT_WEBLIST or REPORT_SOURCE: the function for
 * report_callbacks.machine, whose `run` starts the programs (programs_run). A caller that makes the report in
 * a confined child sets the limits of these programs before (programs_allow).
 *
 * disasm is google/pprof's text. It fails if no function with samples matches, and if objdump fails. weblist
 * and source show the sources alone, with the reason, if a binary cannot be read or objdump fails.
 *
 * REPORT_SOURCE is one JSON object:
 *
 *   {"note": why machine code or a part of it is missing, or "",
 *    "files": [{"path", "functions": [{"name", "flat", "cum", "lines": [LINE...]}]}]}
 *
 * with at most 50 files, those with the largest flat values first. flat and cum are texts with a unit; those
 * of a line or an instruction are "" for 0. The members flatShare and cumShare beside them are the
 * percentages of the total, and are missing beside "". A LINE is {"n": its number, "flat", "cum", "text": its
 * source, "code": [{"at": the hexadecimal address in the binary, "flat", "cum", "text": the instruction, ""
 * without a binary, "place": "file.c:12", "file": its path, "line": 12, "inlined": [{"text", "file",
 * "line"}]}]}. `inlined` has the calls that were inlined into this line and lead to the instruction, the
 * outermost first, unless the instruction above has the same ones.
 */
int machine_write(struct report *report);

#endif
