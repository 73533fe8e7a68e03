// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "object/multipart.h"
#include "object/object_store.h"

namespace loam::object {

// The XML that S3 answers with, as pure functions of bytes that may come from anyone. What is not
// the document that was asked for is kUnavailable: it was cut short or came from something in
// between, and the request is worth another try.

struct S3ErrorBody {
  std::string code;     // "NoSuchKey"
  std::string message;  // for people
  std::string region;   // where the bucket is, if that is what went wrong
};
// Nothing if the bytes are no <Error> document.
std::optional<S3ErrorBody> parse_s3_error(std::string_view xml);

struct S3ListBody {
  std::vector<ObjectInfo> objects;  // whole keys
  std::vector<std::string> prefixes;
  bool truncated = false;
  std::string next_token;
};
Result<S3ListBody> parse_s3_list(std::string_view xml);

struct S3UploadsBody {
  std::vector<PendingUpload> uploads;  // whole keys
  bool truncated = false;
  std::string next_key;
  std::string next_upload;
};
Result<S3UploadsBody> parse_s3_uploads(std::string_view xml);

struct S3PartsBody {
  std::vector<UploadedPart> parts;
  bool truncated = false;
  int next_number = 0;
};
Result<S3PartsBody> parse_s3_parts(std::string_view xml);

// The upload id of CreateMultipartUpload.
Result<std::string> parse_s3_upload_id(std::string_view xml);

// The ETag of CompleteMultipartUpload, CopyObject or UploadPartCopy.
Result<std::string> parse_s3_etag(std::string_view xml);

// Which keys DeleteObjects could not delete, with why.
struct S3DeleteFailure {
  std::string key;
  std::string code;
  std::string message;
};
Result<std::vector<S3DeleteFailure>> parse_s3_delete(std::string_view xml);

// The temporary keys of STS's AssumeRoleWithWebIdentity.
struct StsKeys {
  std::string id;
  std::string secret;
  std::string token;
  std::int64_t expires_ms = 0;
};
Result<StsKeys> parse_sts_keys(std::string_view xml);

// Text made safe for XML; nothing where XML 1.0 has no way to write it (most control characters,
// bytes that are not UTF-8).
std::optional<std::string> xml_text(std::string_view text);

// Without the quotation marks around it.
std::string bare_etag(std::string_view etag);

}  // namespace loam::object
