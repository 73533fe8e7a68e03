// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "object/multipart.h"
#include "object/s3_conditions.h"
#include "object/s3_endpoint.h"

namespace loam::object {

// The requests of multipart uploads, on whole keys. `put_id` goes into the object's metadata, where
// S3Conditions::was_ours() finds it; may be empty.
Result<std::string> s3_begin_upload(S3Endpoint& endpoint, const std::string& key,
                                    const std::string& put_id);
Result<UploadedPart> s3_put_part(S3Endpoint& endpoint, const std::string& key,
                                 const std::string& upload_id, int number, std::string_view bytes);
// A part out of bytes that another object of the bucket has, in its version `etag`.
Result<UploadedPart> s3_copy_part(S3Endpoint& endpoint, const std::string& key,
                                  const std::string& upload_id, int number,
                                  const std::string& from_key, const std::string& etag,
                                  ByteRange range);
// An upload that is gone is success.
Status s3_abort_upload(S3Endpoint& endpoint, const std::string& key, const std::string& upload_id);

std::string complete_body(const std::vector<UploadedPart>& parts);
// `body` must outlive the call.
S3Call complete_call(const std::string& key, const std::string& upload_id, std::string_view body);

struct CompleteRequest {
  std::string whole_key;
  std::string key;
  std::string upload_id;
  std::string put_id;  // as it was begun with
  std::vector<UploadedPart> parts;
  PutOptions options;
};
Result<ObjectInfo> s3_complete_upload(S3Endpoint& endpoint, S3Conditions& conditions,
                                      const CompleteRequest& request);

// The copy source header of a key of this bucket.
std::string copy_source(const S3Endpoint& endpoint, const std::string& whole_key);

class S3Uploads final : public MultipartUploads {
 public:
  // Both must outlive this.
  S3Uploads(S3Endpoint& endpoint, S3Conditions& conditions)
      : endpoint_(endpoint), conditions_(conditions) {}
  Result<std::string> begin_upload(const std::string& key) override;
  Result<UploadedPart> put_part(const std::string& key, const std::string& upload_id, int number,
                                std::string_view bytes) override;
  Result<std::vector<UploadedPart>> list_parts(const std::string& key,
                                               const std::string& upload_id) override;
  Result<ObjectInfo> complete_upload(const std::string& key, const std::string& upload_id,
                                     const std::vector<UploadedPart>& parts,
                                     const PutOptions& options) override;
  Status abort_upload(const std::string& key, const std::string& upload_id) override;
  std::int64_t service_now_ms() const override { return endpoint_.server_now_ms(); }
  Result<std::vector<PendingUpload>> list_uploads(const std::string& prefix) override;

 private:
  std::string whole(const std::string& key) const { return endpoint_.options().prefix + key; }
  std::string take_put_id(const std::string& upload_id);

  S3Endpoint& endpoint_;
  S3Conditions& conditions_;
  std::mutex mutex_;
  // What uploads were begun with here, to recognise a completed one whose answer was lost. Whoever
  // begins very many without an end loses that.
  std::map<std::string, std::string> put_ids_;
};

}  // namespace loam::object
