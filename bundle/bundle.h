/*
 * Bundles: a tarball with a manifest that contains the hashes of its files.
 *
 * During a capture all files are in a work directory beside the output, `NAME.partial`. At the end this
 * directory is packed into `NAME.tar.gz` (temporary name, fsync, rename, no overwriting, mode 0600) and
 * removed. If packing fails, the work directory stays, and its manifest describes its files.
 *
 * The code of bundle/ connects to no host: capture/ adds the manifest's records. docs/formats.md has the
 * manifest's JSON schema.
 */
#ifndef BUNDLE_BUNDLE_H
#define BUNDLE_BUNDLE_H

#include "bundle/archive.h"
#include "bundle/copy.h"
#include "bundle/manifest.h"
#include "bundle/workdir.h"

#endif
