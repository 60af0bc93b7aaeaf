/* Writes the summary of a bundle for the note on an issue: the findings, and how to read the bundle. Reads
 * the manifest of the redacted copy. */
#ifndef HANDOFF_SUMMARY_H
#define HANDOFF_SUMMARY_H

#include <stdbool.h>

#include "base/base.h"

struct summary {
    char *text;          /* lines, with host names; at most 32 kB; the last line reports omitted lines */
    const char *reading; /* lines with commands; FILE, KEY and PROFILE are placeholders */
};

/* `manifest` is the text of a manifest. summary_text returns only the text of the summary, made printable,
 * which the caller frees; summary_read also returns how to read the bundle. */
int summary_text(const char *manifest, char **ret, struct err *err);
int summary_read(const char *manifest, bool encrypted, struct summary *ret, struct err *err);
void summary_release(struct summary *s);

#endif
