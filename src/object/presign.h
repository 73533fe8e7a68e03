// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "object/object_store.h"

namespace loam::object {

// A request that whoever holds it may send once or many times until it expires, and no other. The
// headers are part of the signature and must be sent as they are.
struct PresignedRequest {
  std::string method;
  std::string url;
  std::vector<std::pair<std::string, std::string>> headers;
  std::int64_t expires_ms = 0;  // wall time of this machine; for people and for asking anew in time
};

inline constexpr std::chrono::seconds kMaxPresigned{7 * 24 * 3600};  // as S3

// The capability of letting those without credentials at some bytes: each request is confined to
// one key, and a part's number or a range is signed with it. Nothing goes over the network here but
// what fresh credentials may take. Any thread.
class Presigner {
 public:
  virtual ~Presigner() = default;
  // A range of length 0 is kInvalidArgument: no HTTP range says that. An empty `if_match` takes any
  // version; else another version answers 412.
  virtual Result<PresignedRequest> presign_get(const std::string& key, ByteRange range,
                                               const std::string& if_match,
                                               std::chrono::seconds valid) = 0;
  // The ETag header of the answer belongs into MultipartUploads::complete_upload. The number of
  // bytes is signed too, so that the holder cannot store more than was granted.
  virtual Result<PresignedRequest> presign_put_part(const std::string& key,
                                                    const std::string& upload_id, int number,
                                                    std::int64_t length,
                                                    std::chrono::seconds valid) = 0;
  // A whole object in one request.
  virtual Result<PresignedRequest> presign_put(const std::string& key, std::int64_t length,
                                               std::chrono::seconds valid) = 0;
};

}  // namespace loam::object
