/* A profile and a binary for tests of machine code. Simulated programs answer with given texts. */
#ifndef TESTS_UNIT_PPROF_MACHINE_PROFILE_H
#define TESTS_UNIT_PPROF_MACHINE_PROFILE_H

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "pprof/machine/machine.h"
#include "pprof/pprof.h"

/* Makes an ELF file whose addresses 0x401000 to 0x403000 are machine code. Returns its descriptor, and writes
 * its path. */
static inline int machine_elf(char path[40])
{
    struct {
        Elf64_Ehdr header;
        Elf64_Phdr segment;
    } file = {.header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                         .e_type = ET_EXEC,
                         .e_machine = EM_X86_64,
                         .e_version = EV_CURRENT,
                         .e_phoff = sizeof(Elf64_Ehdr),
                         .e_ehsize = sizeof(Elf64_Ehdr),
                         .e_phentsize = sizeof(Elf64_Phdr),
                         .e_phnum = 1},
              .segment = {.p_type = PT_LOAD,
                          .p_flags = PF_R | PF_X,
                          .p_offset = 0x1000,
                          .p_vaddr = 0x401000,
                          .p_filesz = 0x2000,
                          .p_memsz = 0x2000,
                          .p_align = 0x1000}};
    int fd = memfd_create("elf", MFD_CLOEXEC);
    if (fd < 0 || write(fd, &file, sizeof file) != (ssize_t)sizeof file)
        abort();
    snprintf(path, 40, "/proc/self/fd/%d", fd);
    return fd;
}

/* The calls of a location, the innermost first. */
struct machine_call {
    const char *function, *file;
    int64_t line;
};

static inline int machine_add_location(struct profile *p, uint64_t address, const struct machine_call *calls,
                                       size_t n, struct err *err)
{
    struct profile_location l = {.id = p->n_locations + 1, .address = address, .n_lines = (uint32_t)n};
    struct profile_line lines[4] = {0};
    for (size_t i = 0; i < n; i++) {
        struct profile_function f = {.id = p->n_functions + 1};
        if (profile_intern(p, calls[i].function, strlen(calls[i].function), &f.name, err) < 0 ||
            profile_intern(p, calls[i].file, strlen(calls[i].file), &f.filename, err) < 0)
            return -1;
        f.system_name = f.name;
        lines[i] = (struct profile_line){.function = (uint32_t)p->n_functions, .line = calls[i].line};
        if (profile_add_function(p, &f, err) < 0)
            return -1;
    }
    return profile_add_location(p, &l, lines, err);
}

/*
 * Makes a profile of the binary: of 10 samples in leaf, called by main, 7 are in mix, which was inlined into
 * leaf. The sources are src/a.c.
 */
static inline int machine_profile(const char *binary, struct profile **ret, struct err *err)
{
    static const struct machine_call leaf[] = {{"mix", "/src/a.c", 3}, {"leaf", "/src/a.c", 8}},
                                     main_call[] = {{"main", "/src/a.c", 14}};
    struct profile_mapping m = {.id = 1, .start = 0x401000, .limit = 0x403000, .offset = 0x1000};
    struct profile_value_type type = {0};
    struct profile *p = profile_new(err);
    if (!p)
        return -1;
    int rc = profile_intern(p, binary, strlen(binary), &m.file, err);
    if (rc == 0)
        rc = profile_intern(p, "samples", 7, &type.type, err);
    if (rc == 0)
        rc = profile_add_sample_type(p, type, err);
    if (rc == 0)
        rc = profile_add_mapping(p, &m, err);
    if (rc == 0)
        rc = machine_add_location(p, 0x401112, leaf, 2, err);
    if (rc == 0)
        rc = machine_add_location(p, 0x401118, leaf + 1, 1, err);
    if (rc == 0)
        rc = machine_add_location(p, 0x401144, main_call, 1, err);
    for (uint32_t i = 0; rc == 0 && i < 2; i++) {
        const uint32_t stack[] = {i, 2};
        const int64_t value = i ? 3 : 7;
        rc = profile_add_sample(p, &(struct profile_new_sample){.stack = stack, .depth = 2, .values = &value},
                                err);
    }
    if (rc < 0) {
        profile_free(p);
        return -1;
    }
    *ret = p;
    return 0;
}

/* The answers of the programs, by enum symbolize_program. Empty: the program is missing. */
struct machine_answers {
    struct str texts[SYMBOLIZE_LLVM + 1];
};

static inline int machine_run(void *ctx, const struct symbolize_query *call, struct buf *ret, struct err *err)
{
    const struct machine_answers *a = ctx;
    struct str text = a->texts[call->program];
    if (text.n == 0)
        return err_set(err, ERR_NOT_FOUND, "a program is missing");
    buf_add(ret, text.p, text.n);
    return buf_check(ret, "the answer", err);
}

/* Makes a report on the profile of the binary. */
static inline int machine_report(const char *binary, const struct report_settings *settings,
                                 struct machine_answers *answers, struct report_callbacks callbacks,
                                 struct err *err)
{
    const struct report_machine machine = {.write = machine_write, .run = machine_run, .ctx = answers};
    struct profile *p = NULL;
    if (machine_profile(binary, &p, err) < 0)
        return -1;
    callbacks.machine = &machine;
    int rc = report_make(p, settings, &callbacks, err);
    profile_free(p);
    return rc;
}

/* Answers that fit the profile. */
#define MACHINE_NM                                                                                           \
    "0000000000401110 t leaf\n0000000000401110 T leaf_alias\n                 U printf\n"                    \
    "0000000000401140 T main\n0000000000401160 T _fini\n"
#define MACHINE_OBJDUMP                                                                                      \
    "\na.out:     file format elf64-x86-64\n\n\nDisassembly of section .text:\n\n0000000000401110 <leaf>:\n" \
    "leaf():\n/src/a.c:8\n  401110:\tpush   %rbp\n/src/a.c:3 (discriminator 2)\n  401111:\tshl    "          \
    "$0x5,%eax\n"                                                                                            \
    "/src/a.c:9\n  401117:\timul   $0x9e3779b1,%eax,%eax\n  40111d:\tret\n"
#define MACHINE_ADDR2LINE                                                                                    \
    "0x0000000000401110\nleaf\n/src/a.c:8\n0x0000000000401111\nmix\n/src/a.c:3\nleaf\n/src/a.c:8\n"          \
    "0x0000000000401117\nleaf\n/src/a.c:9\n0x000000000040111d\n??\n??:0\n"
/* As of a binary whose lines objdump does not read. */
#define MACHINE_OBJDUMP_BARE                                                                                 \
    "\na.out:     file format elf64-x86-64\n\n\nDisassembly of section .text:\n\n0000000000401110 <leaf>:\n" \
    "leaf():\n  401110:\tpush   %rbp\n  401111:\tshl    $0x5,%eax\n"                                         \
    "  401117:\timul   $0x9e3779b1,%eax,%eax\n  40111d:\tret\n"
#define MACHINE_NM_SIZES "leaf t 401110 10\nmain T 401140 10\n"

static inline struct machine_answers machine_good_answers(void)
{
    return (struct machine_answers){.texts = {[SYMBOLIZE_ADDR2LINE] = STR_INIT(MACHINE_ADDR2LINE),
                                              [SYMBOLIZE_NM] = STR_INIT(MACHINE_NM_SIZES),
                                              [SYMBOLIZE_NM_ALL] = STR_INIT(MACHINE_NM),
                                              [SYMBOLIZE_OBJDUMP] = STR_INIT(MACHINE_OBJDUMP)}};
}

#endif
