/* SSH keys: file formats, signatures, encryption, and the agent. */
#ifndef KEYS_KEYS_H
#define KEYS_KEYS_H

#include "keys/agent.h"
#include "keys/keyfile.h"
#include "keys/oaep.h"
#include "keys/privkey.h"
#include "keys/pubkey.h"
#include "keys/sshwire.h"

#endif
