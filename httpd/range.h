/* A request for a part of a body (RFC 9110, 14). */
#ifndef HTTPD_RANGE_H
#define HTTPD_RANGE_H

#include <stdint.h>

enum range_result {
    RANGE_NONE,          /* send the whole body */
    RANGE_PART,          /* send a part */
    RANGE_UNSATISFIABLE, /* the part lies behind the end: 416 */
};

/* Reads the header Range for a body of `size` bytes. A header with several ranges, or one that is malformed,
 * asks for the whole body. */
enum range_result range_parse(const char *header, uint64_t size, uint64_t *ret_first, uint64_t *ret_n);

#endif
