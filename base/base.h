/* The lowest layer. Every other folder may include it; it includes no other folder. */
#ifndef BASE_BASE_H
#define BASE_BASE_H

#include "base/address.h"
#include "base/array.h"
#include "base/ask.h"
#include "base/atomic_file.h"
#include "base/base64.h"
#include "base/beneath.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/confined.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/finder.h"
#include "base/halves.h"
#include "base/json.h"
#include "base/names.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/secret.h"
#include "base/sha256.h"
#include "base/stop.h"
#include "base/str.h"
#include "base/strlist.h"
#include "base/text.h"
#include "base/thread.h"
#include "base/unix_socket.h"
#include "base/yaml_tree.h"

#endif
