/* The limit of open files of this process. */
#ifndef CAPTURE_OPEN_FILES_H
#define CAPTURE_OPEN_FILES_H

#include "fetch/fetch.h"

/* Raises the limit of open files for a run. If the limit stays too low, lowers options.parallel to the number
 * of hosts that the limit allows; ERR_USAGE if all hosts must be open at once. Sets *ret_limit to the limit,
 * also on failure. */
int open_files_make_room(struct fetch_job *grab, size_t *ret_limit, struct err *err);

#endif
