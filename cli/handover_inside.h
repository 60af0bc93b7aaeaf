/* A hand-over from the inside: what both its halves, what is known before and the run, need of it. */
#ifndef CLI_HANDOVER_INSIDE_H
#define CLI_HANDOVER_INSIDE_H

#include "cli/handover.h"

/* Who signs; its key is NULL where the inventory names none. `prompt` asks for its passphrase. */
struct sshsig_signer handover_signer(const struct handover *h, struct prompt *prompt);

/* What the tracker is asked for, without the file and the words that go with it. */
struct handoff_request handover_request(const struct handover *h);

/* Puts in front that the team wants a signature. */
int handover_not_signed(const struct handover *h, struct err *err);

#endif
