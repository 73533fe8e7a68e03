// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/random.h"
#include "net/http_client.h"
#include "object/multipart.h"
#include "object/object_store.h"
#include "object/presign.h"
#include "object/s3_conditions.h"
#include "object/s3_endpoint.h"
#include "object/s3_multipart.h"
#include "object/transfer_pool.h"

namespace loam::object {

// A bucket, or what lies below a prefix of one. Objects of more than one part go up and come down
// in parallel. The ETags of S3 may be made of the content: equal bytes written again may have the
// ETag they had, so `if_match` tells contents apart rather than moments. Readers must not outlive
// the store.
class S3Store final : public ObjectStore, public Presigner {
 public:
  // Nothing goes over the network yet: a wrong endpoint shows at the first call.
  static Result<std::unique_ptr<S3Store>> open(
      S3Options options, const Environment& environment = process_environment());

  Result<ObjectInfo> put(const std::string& key, const Source& source,
                         const PutOptions& options) override;
  Result<std::unique_ptr<ObjectReader>> get(const std::string& key, ByteRange range,
                                            const std::string& if_match) override;
  Result<ObjectInfo> head(const std::string& key) override;
  Result<ListPage> list(const std::string& prefix, const ListOptions& options) override;
  Status remove(const std::string& key) override;
  // A thousand a request.
  Status remove_all(const std::vector<std::string>& keys) override;
  // Within the service; above 1 GiB in parts.
  Result<ObjectInfo> copy(const std::string& from, const std::string& to) override;
  std::string describe() const override;
  MultipartUploads* multipart() override { return &uploads_; }
  Presigner* presigner() override { return this; }

  Result<PresignedRequest> presign_get(const std::string& key, ByteRange range,
                                       const std::string& if_match,
                                       std::chrono::seconds valid) override;
  Result<PresignedRequest> presign_put_part(const std::string& key, const std::string& upload_id,
                                            int number, std::int64_t length,
                                            std::chrono::seconds valid) override;
  Result<PresignedRequest> presign_put(const std::string& key, std::int64_t length,
                                       std::chrono::seconds valid) override;

  S3Endpoint& endpoint() { return endpoint_; }
  const S3Endpoint& endpoint() const { return endpoint_; }
  S3Conditions& conditions() { return conditions_; }

 private:
  S3Store(S3Options options, const Environment& environment);

  Result<std::string> whole_key(const std::string& key) const;
  Result<ListPage> list_once(const std::string& prefix, const ListOptions& options,
                             std::string& token, bool& more);
  Status remove_batch(const std::vector<std::string>& keys);
  Result<PresignedRequest> presigned(S3Call call, std::chrono::seconds valid);

  const SystemClock clock_;
  SystemRandom random_;
  const std::unique_ptr<net::HttpClient> http_;
  S3Endpoint endpoint_;
  S3Conditions conditions_;
  S3Uploads uploads_;
  TransferPool pool_;  // the last: its threads use all the others
};

}  // namespace loam::object
