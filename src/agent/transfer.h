// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "agent/lease.h"
#include "agent/server_api.h"
#include "base/json.h"

namespace loam::agent {

// One file to put under the lease's prefix.
struct UploadFile {
  std::string path;   // below the prefix: "ckpt/…" or "out/…"
  std::string local;  // where its bytes lie
  std::int64_t size = 0;
  std::string crc;  // io::format_checksums of its blocks
};

// One file to fetch.
struct DownloadFile {
  Json ref;           // as the protocol's grants take it
  std::string local;  // final path; its directory exists
  std::int64_t size = 0;
  unsigned mode = 0644;
  std::string sha256;  // checked if not empty
};

// Moves files between this node and what the server hands it, kTransfers at a time, and nothing
// outside the lease: while it may not publish nothing is sent, and a transfer in progress is cut
// off. Errors that may pass (no answer, store unavailable, lease not renewed for the moment) are
// tried again with back-off until `give_up` says stop; others end the whole. kLeaseLost once the
// lease is lost.
class Transfer {
 public:
  Transfer(const ServerApi& api, const Lease& lease, std::function<bool()> give_up);

  // The ETag of each, in order.
  Result<std::vector<std::string>> upload(const std::vector<UploadFile>& files) const;
  Status download(const std::vector<DownloadFile>& files) const;
  // One object of `size` bytes into a sink, which gets each byte once: where a download broke off,
  // the next goes on.
  Status fetch(const Json& ref, std::int64_t size,
               const std::function<Status(std::span<const std::byte>)>& sink) const;

  // Runs a call until it succeeds or cannot: the rules above.
  Status insist(const std::function<Status()>& call) const;

 private:
  // Where one request goes; or, for a large file, the upload whose parts are asked for one by one.
  struct Granted {
    std::string url;
    net::Headers headers;
    std::string upload;
    std::int64_t part_bytes = 0;
  };
  struct Piece {
    std::int64_t offset = 0;
    std::int64_t length = 0;
  };
  Result<Granted> grant(const char* kind, const Json& wanted) const;
  Result<std::string> put_one(const UploadFile& file) const;
  Result<std::string> put_parts(const UploadFile& file, const Granted& upload) const;
  // Sends those bytes of the file to where they were granted; the ETag of what was stored.
  Result<std::string> put_piece(const Granted& to, int fd, Piece piece,
                                const std::string& crc32c) const;
  Status get_one(const DownloadFile& file) const;
  ServerApi::CallOptions options(std::chrono::milliseconds deadline) const;

  const ServerApi& api_;
  const Lease& lease_;
  std::function<bool()> give_up_;
};

}  // namespace loam::agent
