/* A body that is sent piece by piece: when the client has taken a piece, the next one is read and, for gzip,
 * compressed. Memory does not depend on the size. */
#ifndef HTTPD_BODY_H
#define HTTPD_BODY_H

#include "httpd/request.h"

/* The bytes of a body: `fd`, or `data` if fd is -1. */
struct body_source {
    int fd;      /* owned */
    char *data;  /* owned */
    uint64_t at; /* the offset of the first byte */
    uint64_t n;
    bool gzip;
};

/* Sends the status line and the headers that the request has, and then the body. Takes the source, also on
 * failure. */
void body_send(struct httpd_request *r, int status, const struct body_source *source);
void body_free(struct body *b);

#endif
