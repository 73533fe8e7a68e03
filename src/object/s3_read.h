// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "object/object_store.h"
#include "object/s3_endpoint.h"
#include "object/transfer_pool.h"

namespace loam::object {

// Opens one object for reading. The first piece is fetched here, which also tells size and ETag, so
// a small object costs one request; further pieces are fetched ahead in parallel, each pinned by
// If-Match to the version of the first. `endpoint` and `pool` must outlive the reader.
Result<std::unique_ptr<ObjectReader>> open_s3_reader(S3Endpoint& endpoint, TransferPool& pool,
                                                     const std::string& whole_key,
                                                     const std::string& key, ByteRange range,
                                                     const std::string& if_match);

// Size, ETag and time out of the headers of an answer to HEAD.
Result<ObjectInfo> s3_head(S3Endpoint& endpoint, const std::string& whole_key,
                           const std::string& key);

std::string quoted_etag(std::string_view etag);
// The header of a half-open range of at least one byte; length -1 is to the end.
std::string range_header(ByteRange range);

}  // namespace loam::object
