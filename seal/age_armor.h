/*
 * Reads and writes the bytes of an age file, binary or in ASCII armor. Armor is strict PEM (RFC 7468): lines
 * of 64 characters, of which the last may be shorter, between a begin line and an end line. At most 1024
 * bytes of white space may precede and follow it.
 */
#ifndef SEAL_AGE_ARMOR_H
#define SEAL_AGE_ARMOR_H

#include "base/base.h"

/* ---- reading ---- */

struct age_input;
/* Reads from fd, which the caller closes. The first bytes show whether the file is armored. ERR_CANCELLED,
 * here and later, if cancel_fd (-1: none) is readable. */
int age_input_new(int fd, int cancel_fd, struct age_input **ret, struct err *err);
void age_input_free(struct age_input *in);
/* Reads n bytes. *ret_n is smaller only at the end of the file, after the end of the armor was checked. */
int age_input_read(struct age_input *in, void *p, size_t n, size_t *ret_n, struct err *err);

/* Returns whether the first n bytes of a file, after optional white space, start armor. */
bool age_armor_begins(const char *p, size_t n);

/* ---- writing ---- */

struct age_output {
    int fd;        /* the caller closes it */
    int cancel_fd; /* -1: none */
    bool armor;
    unsigned char rest[48]; /* bytes of an incomplete line */
    size_t n_rest;
    struct buf text; /* armor not written yet */
};
/* Sets cancel_fd to -1. Writes nothing: the armor's first line is written with the first bytes. */
void age_output_init(struct age_output *out, int fd, bool armor);
void age_output_release(struct age_output *out);
int age_output_write(struct age_output *out, const void *p, size_t n, struct err *err);
/* Writes the rest of the armor, with its last line. */
int age_output_finish(struct age_output *out, struct err *err);

#endif
