/* The limit of open files. */
#ifndef CAPTURE_OPEN_FILES_H
#define CAPTURE_OPEN_FILES_H

#include "fetch/fetch.h"

/* Makes room for the descriptors of a run, and lowers options.parallel to what the limit of open files
 * allows. *ret_open: that limit. ERR_USAGE if all hosts must be open at once. */
int open_files_make_room(struct fetch_grab *grab, size_t *ret_open, struct err *err);

#endif
