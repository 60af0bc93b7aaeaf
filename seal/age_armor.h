/*
 * The bytes of a file in the age format, as they stand in it or in ASCII armor: PEM (RFC 7468) in its strict
 * form, lines of 64 characters between two that say what it is. White space may stand before and behind the
 * whole.
 */
#ifndef SEAL_AGE_ARMOR_H
#define SEAL_AGE_ARMOR_H

#include "base/base.h"

/* ---- reading ---- */

struct age_input;
/* Reads from fd, which stays the caller's; whether it is armored is told by how it begins. ERR_CANCELLED,
 * here and later, when cancel_fd (-1: none) is readable. */
int age_input_new(int fd, int cancel_fd, struct age_input **ret, struct err *err);
void age_input_free(struct age_input *in);
/* Fills n bytes; *ret_n is less only at the end, and what armor must have behind it was there.  */
int age_input_read(struct age_input *in, void *p, size_t n, size_t *ret_n, struct err *err);

/* Whether n bytes from the beginning of a file are that of armor, perhaps behind white space. */
bool age_armor_begins(const char *p, size_t n);

/* ---- writing ---- */

struct age_output {
    int fd;        /* the caller's */
    int cancel_fd; /* -1: none */
    bool armor;
    unsigned char rest[48]; /* not a whole line yet */
    size_t n_rest;
    struct buf text; /* armor, before it is written */
};
/* Begins; armor's first line is written with what follows. */
void age_output_init(struct age_output *out, int fd, bool armor);
void age_output_release(struct age_output *out);
int age_output_write(struct age_output *out, const void *p, size_t n, struct err *err);
int age_output_finish(struct age_output *out, struct err *err);

#endif
