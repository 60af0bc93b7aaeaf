/*
 * The lowest layer. Every other folder may include it; it includes no other folder.
 *
 * base/data works in memory alone: errors, buffers, strings, lists and tables, and parsers of JSON and YAML
 * with limits. The rest calls the system: files, processes, threads, clocks, secrets.
 */
#ifndef BASE_BASE_H
#define BASE_BASE_H

#include "base/data/array.h"
#include "base/data/base64.h"
#include "base/data/buf.h"
#include "base/data/err.h"
#include "base/data/hash_index.h"
#include "base/data/json.h"
#include "base/data/name_map.h"
#include "base/data/path.h"
#include "base/data/str.h"
#include "base/data/strlist.h"
#include "base/data/text.h"
#include "base/data/yaml_tree.h"

#include "base/address.h"
#include "base/ask.h"
#include "base/atomic_file.h"
#include "base/dir.h"
#include "base/clock.h"
#include "base/confined.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/keyring.h"
#include "base/proc.h"
#include "base/secret.h"
#include "base/sha256.h"
#include "base/stop.h"
#include "base/thread.h"
#include "base/unix_socket.h"

#endif
