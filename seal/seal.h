/* Seals: to whom a file is closed (age), and who says so (sshsig). Nothing here knows of bundles. */
#ifndef SEAL_SEAL_H
#define SEAL_SEAL_H

#include "seal/age.h"
#include "seal/sshsig.h"

#endif
