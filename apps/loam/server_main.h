// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "net/tls_identity.h"

namespace loam::cli {

struct ServerOptions {
  std::string state_dir;  // database, key and token files; made if missing, mode 0700
  std::string db;         // "sqlite:PATH" or postgresql://…; default <state_dir>/loam.db
  std::string key_file;   // keeps the servers' key out of a shared database
  std::string store;      // object/store_url.h; default <state_dir>/store
  std::string address = "127.0.0.1";
  std::uint16_t port = 7070;
  std::chrono::milliseconds node_heartbeat{30'000};
  std::chrono::milliseconds node_ttl{75'000};
  std::chrono::milliseconds sweep_grace{3'600'000};
  std::chrono::milliseconds group_commit{50};
  std::shared_ptr<net::TlsIdentity> tls;  // https; without it http
};

// A server with all its threads. Its parts are declared in the order in which they need one
// another.
class ServerProcess {
 public:
  // Opens or makes the database and the store, makes the admin and the default pool token at first
  // start, and listens.
  static Result<std::unique_ptr<ServerProcess>> start(const ServerOptions& options);
  virtual ~ServerProcess() = default;

  virtual std::uint16_t port() const = 0;
  virtual std::string url() const = 0;
  // Requests in progress get a moment to end; then everything stops. Idempotent.
  virtual void stop() = 0;
};

// Where a server keeps its tokens.
std::string admin_token_path(const std::string& state_dir);
std::string pool_token_path(const std::string& state_dir);

}  // namespace loam::cli
