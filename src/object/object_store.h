// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace loam::object {

inline constexpr std::size_t kMaxKeyBytes = 1024;  // as S3

struct ObjectInfo {
  std::string key;
  std::int64_t size = 0;
  std::string etag;              // opaque: compare it, never compute it
  std::int64_t modified_ms = 0;  // wall time, for people and for grace periods of the sweeper
};

// A half-open range of bytes [offset, offset + length); length -1 means to the end. A range that
// begins past the end of the object is kInvalidArgument; one that ends past it is cut short.
struct ByteRange {
  std::int64_t offset = 0;
  std::int64_t length = -1;
};

// Where a put reads from: fills `out`, returns 0 at the end. An error aborts the put and nothing
// becomes visible.
using Source = std::function<Result<std::size_t>(std::span<std::byte> out)>;
Source source_from(std::string_view bytes);  // the bytes must outlive the put

// What a get reads from. Blocks; one thread at a time. A body that ends early is an error
// (kUnavailable), never a short object.
class ObjectReader {
 public:
  virtual ~ObjectReader() = default;
  virtual Result<std::size_t> read(std::span<std::byte> out) = 0;  // 0 at the end
  virtual const ObjectInfo& info() const = 0;                      // of the whole object
  virtual std::int64_t length() const = 0;                         // of the range
};

struct PutOptions {
  std::int64_t length = -1;  // if known: a different count is kDataCorrupt, nothing visible
  bool if_absent = false;    // kPreconditionFailed if the key exists; not with if_match
  std::string if_match;      // kPreconditionFailed unless the key exists with this ETag
};

inline constexpr std::size_t kMaxListLimit = 1000;

struct ListPage {
  std::vector<ObjectInfo> objects;        // ascending by bytes of the key
  std::vector<std::string> prefixes;      // with a delimiter: common prefixes, each ending in it
  std::optional<std::string> next_after;  // pass as `after` for the next page; none at the end
  std::string token;                      // pass with it; may be empty
};
struct ListOptions {
  std::string after;  // only keys, and with a delimiter only prefixes, greater than this
  std::string token;  // of the page that ended with `after`: some services lose keys without it
  std::size_t limit = 1000;  // 1 to kMaxListLimit, objects and prefixes together
  bool delimiter = false;    // group by '/' past the prefix
};

// Makes the options those of the page after `page`; false if that was the last.
bool advance(ListOptions& options, const ListPage& page);

class MultipartUploads;  // multipart.h
class Presigner;         // presign.h

// The durable truth for bytes. All operations are idempotent and may be called from any thread.
// A put is atomic: readers see the whole old or the whole new object; after success it survives a
// power loss. Keys are 1 to 1024 bytes, anything but NUL; bad ones are kInvalidArgument. A missing
// key is kNotFound, to get, head and copy's source.
class ObjectStore {
 public:
  virtual ~ObjectStore() = default;
  virtual Result<ObjectInfo> put(const std::string& key, const Source& source,
                                 const PutOptions& options) = 0;
  // An empty `if_match` takes any version; else kPreconditionFailed if the ETag is another. A
  // reader goes on over the version that it opened, or fails: it never mixes two.
  virtual Result<std::unique_ptr<ObjectReader>> get(const std::string& key, ByteRange range,
                                                    const std::string& if_match) = 0;
  virtual Result<ObjectInfo> head(const std::string& key) = 0;
  virtual Result<ListPage> list(const std::string& prefix, const ListOptions& options) = 0;
  virtual Status remove(const std::string& key) = 0;  // a missing key is success
  // All of them, in fewer requests where the store can; stops at the first error, some removed.
  virtual Status remove_all(const std::vector<std::string>& keys);
  virtual Result<ObjectInfo> copy(const std::string& from, const std::string& to) = 0;
  // "dir:/var/lib/loam/store"; for logs and status.
  virtual std::string describe() const = 0;
  // What only some stores can; null for the others. They live as long as the store.
  virtual MultipartUploads* multipart() { return nullptr; }
  virtual Presigner* presigner() { return nullptr; }
};

// Conveniences over any store.
Result<ObjectInfo> put_bytes(ObjectStore& store, const std::string& key, std::string_view bytes);
// kTooLarge, before anything is read, over `limit` bytes.
Result<std::string> get_bytes(ObjectStore& store, const std::string& key, std::int64_t limit);
// Calls `visit` for every object under the prefix in the order of keys, page by page; stops at the
// first error and returns it.
Status for_each_object(ObjectStore& store, const std::string& prefix,
                       const std::function<Status(const ObjectInfo&)>& visit);

// For implementations: what every store refuses, in the same words.
Status check_key(std::string_view key);
Status check_put(std::string_view key, const PutOptions& options);
Status check_list(std::string_view prefix, const ListOptions& options);
// The range with its length filled in and cut to an object of `size` bytes.
Result<ByteRange> resolve_range(ByteRange range, std::int64_t size);

}  // namespace loam::object
