// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "control/server_keys.h"
#include "db/database.h"

namespace loam::control {

struct KeyPlace {
  std::string state_file;  // STATE_DIR/server.key
  std::string key_file;    // named by the operator; empty if not
};

// The key of a server, where its database wants it.
//
// A database of one server: in its state file. If the database holds a key, having been loaded from
// a dump, that moves to the file.
//
// A shared database: in the database, in the clear, so that any server unseals what another has
// sealed and derives the same lease tokens; whoever can read that database can read the secrets.
// The first server brings the key of its state file if it has one, so that a database that moved to
// PostgreSQL keeps its secrets. With a key file, which every server must then be given, the
// database holds only the key's fingerprint, by which a wrong file is refused (kConflict).
Result<ServerKeys> keys_of(db::Database& database, const KeyPlace& place, Random& random);

}  // namespace loam::control
