/* SSH keys: the forms in which they are kept, what they can do, and the agents that hold them. */
#ifndef KEYS_KEYS_H
#define KEYS_KEYS_H

#include "keys/agent.h"
#include "keys/keyfile.h"
#include "keys/oaep.h"
#include "keys/privkey.h"
#include "keys/pubkey.h"
#include "keys/sshwire.h"

#endif
