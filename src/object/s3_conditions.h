// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>
#include <optional>
#include <string>

#include "base/random.h"
#include "object/object_store.h"
#include "object/s3_endpoint.h"

namespace loam::object {

// What one service does with If-None-Match and If-Match on writes; many ignore them without a word.
// It is tried out once, on an object below the store's prefix that is removed again, when the first
// conditional put asks for it. Any thread.
class S3Conditions {
 public:
  // `endpoint` and `random` must outlive this.
  S3Conditions(S3Endpoint& endpoint, Random& random) : endpoint_(endpoint), random_(random) {}

  struct Support {
    bool put_if_absent = false;
    bool put_if_match = false;
    bool bare_etags = false;  // If-Match on PUT compares with the quotation marks (Ceph before 18)
    bool multipart_if_absent = false;
    bool multipart_if_match = false;
  };
  Result<Support> support();

  // The headers of a conditional write, where the service honours them. Where it does not, the
  // condition is checked here, before the write and not in one step with it; that is logged once.
  Result<NameValues> headers_for(const std::string& whole_key, const PutOptions& options,
                                 bool multipart);

  // A write that was tried more than once has met its own condition, or its own upload gone: true
  // if the object that is there now carries `put_id` and is therefore ours.
  Result<std::optional<ObjectInfo>> was_ours(const std::string& whole_key, const std::string& key,
                                             const std::string& put_id);
  std::string new_put_id();
  static constexpr const char* kPutIdHeader = "x-amz-meta-loam-put";

 private:
  Result<Support> probe();
  Result<bool> refuses(const S3Call& call);
  Result<bool> multipart_refuses(const std::string& key, const char* header,
                                 const std::string& value);

  S3Endpoint& endpoint_;
  Random& random_;
  std::mutex mutex_;
  std::optional<Support> support_;
  bool warned_ = false;
};

}  // namespace loam::object
