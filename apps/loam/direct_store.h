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

// Whether a path means a store that this process opens itself, without a server: an S3 service
// ("s3://…") or a directory store of this machine ("dir:/…").
bool is_direct(std::string_view text);
bool is_s3(std::string_view text);

// One end of such a command: s3://bucket/key, perhaps with options as in a store's URL (what
// follows a '?' belongs to the key unless all of it is options), or dir:/root/key, where the root
// is the nearest directory that is a store. None is made.
struct DirectEnd {
  std::string root;  // as it is typed: "s3://bucket", "dir:/root"
  std::string url;   // of all of it, with the options
  CopyEnd place;     // in_store; the path is '/' and the key
  std::string key() const { return place.path.substr(1); }
  // What keys below it begin with: "a/b/", or "" for the root itself.
  std::string prefix() const;
  std::string text(std::string_view key) const;  // "s3://bucket/key", as it is typed
};
Result<DirectEnd> parse_direct(std::string_view text);

// A path as either: such an end or a plain path of this machine.
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
