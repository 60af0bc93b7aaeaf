/* What a note on an issue says of a bundle: what was found, and how to read it. From the manifest of the copy
 * that is handed off, which redaction has been through. */
#ifndef HANDOFF_SUMMARY_H
#define HANDOFF_SUMMARY_H

#include <stdbool.h>

#include "base/base.h"

struct summary {
    char *text;          /* lines, host names and all; at most 32 kB, and where something was left out the
                               last one says so */
    const char *reading; /* lines with commands, in which FILE and KEY stand for the reader's own */
};

/* The summary alone, of a manifest's text, made fit for a terminal: a new string. */
int summary_text(const char *manifest, char **ret, struct err *err);
int summary_read(const char *manifest, bool encrypted, struct summary *ret, struct err *err);
void summary_release(struct summary *d);

#endif
