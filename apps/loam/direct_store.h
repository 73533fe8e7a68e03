// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "loam/store_path.h"
#include "object/object_store.h"

namespace loam::cli {

// Whether a path means an S3 service that this process talks to itself, without a server: "s3://…".
bool is_direct(std::string_view text);

// One end of such a command: s3://bucket/key, perhaps with options as in a store's URL. What
// follows a
// '?' belongs to the key unless all of it is options.
struct DirectEnd {
  std::string bucket;
  std::string url;  // of the whole bucket, with the options
  CopyEnd place;    // in_store; the path is '/' and the key
  std::string key() const { return place.path.substr(1); }
  // What keys below it begin with: "a/b/", or "" for the bucket itself.
  std::string prefix() const;
  std::string text(std::string_view key) const;  // "s3://bucket/key", as it is typed
};
Result<DirectEnd> parse_direct(std::string_view text);

// A path as either: an s3:// end or one of this machine.
struct AnyEnd {
  std::optional<DirectEnd> direct;
  CopyEnd place;
  std::string text;
};
Result<AnyEnd> parse_any_end(std::string_view text);

Result<std::unique_ptr<object::ObjectStore>> open_direct(const DirectEnd& end);

// The object with exactly this key, if there is one.
Result<std::optional<object::ObjectInfo>> find_direct(object::ObjectStore& store,
                                                      const std::string& key);
Result<bool> is_direct_directory(object::ObjectStore& store, const DirectEnd& end);

// {"key"} or, for bytes that JSON cannot hold, {"key_b64"} beside a readable form.
void set_key(Json& out, const std::string& key);

}  // namespace loam::cli
