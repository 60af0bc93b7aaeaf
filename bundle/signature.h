/* The part of verify that checks the signature, and reads the manifest's statements on its collector and
 * sender. */
#ifndef BUNDLE_SIGNATURE_H
#define BUNDLE_SIGNATURE_H

#include "bundle/bundle.h"

/* Fills in summary->signature from the bytes of manifest.json and its signature. Fails only if the check is
 * impossible: no memory, an unreadable file of allowed signers, no ssh-keygen. */
int signature_verify(const struct bundle_verify_options *options, const struct buf *manifest,
                     const struct buf *armor, struct bundle_summary *summary, struct err *err);

/* Fills in the manifest's statements. */
int signature_read_statements(const struct manifest *m, struct bundle_summary *summary, struct err *err);

#endif
