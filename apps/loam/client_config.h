// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/result.h"

namespace loam::cli {

// The seam to environment variables.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;
Environment process_environment();

// What the user said on the command line; empty where nothing was said.
struct ClientFlags {
  std::string server;
  std::string token_file;
  std::string ca_file;
};

struct ClientConfig {
  std::string server;        // "http://host:port", without a trailing '/'
  std::string token;         // may be empty: the server then says what it needs
  std::string token_source;  // for messages: "LOAM_TOKEN", a file
  std::string ca_file;       // of a private authority; empty: those that the system trusts
};

// ${XDG_CONFIG_HOME:-~/.config}/loam/client.json, which `loam up` writes; empty without a home.
std::string client_config_path(const Environment& environment);

// The server: --server, LOAM_SERVER, the file. The token: --token-file, LOAM_TOKEN, the file; the
// file's token goes only to the file's server, so that naming another server hands nothing to it.
// The authority: --ca-file, LOAM_CA_FILE. kUnavailable if no server is known.
Result<ClientConfig> resolve_client_config(const ClientFlags& flags,
                                           const Environment& environment);

// Writes the file {server, token}, readable by its owner only.
Status save_client_config(const std::string& path, const std::string& server,
                          const std::string& token);

}  // namespace loam::cli
