/* The meaning of an HTTP answer other than 200, and hints for the user. */
#ifndef FETCH_ANSWER_H
#define FETCH_ANSWER_H

#include "base/base.h"
#include "inventory/inventory.h"

struct answer {
    int status;
    const char *text;   /* of the answer; printable */
    bool authenticated; /* the request had credentials */
};

/* Sets err: ERR_NOT_FOUND for 404, ERR_BUSY if another client uses the profiler, else ERR_FAILED. Returns -1.
 */
int answer_set_error(const struct answer *a, const struct service *service, struct err *err);

/* Returns whether a repeated request gets the same answer as long as the program does not change: the path
 * does not exist (404, 410, 501), or the request is wrong (400, 405). */
bool answer_is_permanent(int status);

/* Writes a printable text of an error page: the title of an HTML page, else the text of the page. */
void answer_read_text(const char *p, size_t n, char *dst, size_t cap);

#endif
