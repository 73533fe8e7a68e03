// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "object/object_store.h"
#include "object/s3_conditions.h"
#include "object/s3_endpoint.h"
#include "object/transfer_pool.h"

namespace loam::object {

// What the two below need; all must outlive the call.
struct S3Writer {
  S3Endpoint& endpoint;
  S3Conditions& conditions;
  TransferPool& pool;
};

// One request up to the size of a part; above that a multipart upload, whose parts go in parallel
// while the source is read on. An upload that fails is aborted.
Result<ObjectInfo> s3_put(const S3Writer& writer, const std::string& key, const Source& source,
                          const PutOptions& options);
// Without the bytes coming through here.
Result<ObjectInfo> s3_copy(const S3Writer& writer, const std::string& from, const std::string& to);

}  // namespace loam::object
