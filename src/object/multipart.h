// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "object/object_store.h"

namespace loam::object {

inline constexpr int kMaxParts = 10'000;                // as S3
inline constexpr std::int64_t kMinPartBytes = 5 << 20;  // of all parts but the last, as S3

struct UploadedPart {
  int number = 0;  // from 1
  std::string etag;
  std::int64_t size = 0;
};

struct PendingUpload {
  std::string key;
  std::string upload_id;
  std::int64_t started_ms = 0;  // by the server's clock
};

// The capability of putting an object together from parts that arrive in any order, from anywhere.
// An upload is invisible until it is completed, and costs money until it is completed or aborted.
// An upload that is gone is kNotFound. Any thread.
class MultipartUploads {
 public:
  virtual ~MultipartUploads() = default;
  virtual Result<std::string> begin_upload(const std::string& key) = 0;
  // Idempotent: a part that is put again replaces the one before.
  virtual Result<UploadedPart> put_part(const std::string& key, const std::string& upload_id,
                                        int number, std::string_view bytes) = 0;
  // What is there already, by number: where an interrupted upload goes on.
  virtual Result<std::vector<UploadedPart>> list_parts(const std::string& key,
                                                       const std::string& upload_id) = 0;
  // `parts` ascend by number. The conditions of `options` apply to this moment.
  virtual Result<ObjectInfo> complete_upload(const std::string& key, const std::string& upload_id,
                                             const std::vector<UploadedPart>& parts,
                                             const PutOptions& options) = 0;
  virtual Status abort_upload(const std::string& key, const std::string& upload_id) = 0;
  // The service's clock, as far as it is known: what started_ms is to be compared with.
  virtual std::int64_t service_now_ms() const = 0;
  // Those under a prefix of keys that were neither completed nor aborted.
  virtual Result<std::vector<PendingUpload>> list_uploads(const std::string& prefix) = 0;
};

}  // namespace loam::object
