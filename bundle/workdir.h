/* What the rest of this folder knows of a work directory beyond bundle.h. */
#ifndef BUNDLE_WORKDIR_H
#define BUNDLE_WORKDIR_H

#include "bundle/bundle.h"

/* Whether the user chose the name; a default one may get a number behind it. */
bool workdir_is_chosen(const struct workdir *w);

#endif
