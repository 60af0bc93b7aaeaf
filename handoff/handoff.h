/*
 * Hand-offs: attaches a bundle to an issue of a team's tracker, where only the team can read it.
 *
 * delivery.h runs a whole hand-off: it makes a copy of the bundle (redacted, signed, encrypted) and sends it.
 * steps.h sends a file to a tracker, step by step. summary.h writes the note on the issue. To add a tracker,
 * add a file with its struct tracker_type, and a row in TRACKER_TYPES (job.h).
 *
 * Nothing in this folder prints. Its functions make texts of the tracker printable, and mask tokens in them.
 */
#ifndef HANDOFF_HANDOFF_H
#define HANDOFF_HANDOFF_H

#include "handoff/delivery.h"
#include "handoff/steps.h"
#include "handoff/summary.h"

#endif
