/* What an answer other than 200 means, and what to do about it. */
#ifndef FETCH_ANSWER_H
#define FETCH_ANSWER_H

#include "base/base.h"
#include "inventory/inventory.h"

struct answer {
    int status;
    const char *words;  /* printable */
    bool authenticated; /* we said who we are */
};

/* Sets err: ERR_NOT_FOUND for 404, ERR_BUSY where the profiler is somebody else's, else ERR_FAILED.
 * Returns -1. */
int answer_error(const struct answer *a, const struct service *service, struct err *err);

/* Whether the same request will get the same answer as long as the program stays what it is: it is not there
 * (404, 410, 501), or not to be asked for in this way (400, 405). */
bool answer_lasts(int status);

/* The words of an error page: the title of HTML, else its text. */
void answer_words(const char *p, size_t n, char *dst, size_t cap);

#endif
