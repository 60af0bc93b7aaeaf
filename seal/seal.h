/* Encryption (age) and signatures (sshsig). This folder does not depend on bundles. */
#ifndef SEAL_SEAL_H
#define SEAL_SEAL_H

#include "seal/age.h"
#include "seal/sshsig.h"

#endif
