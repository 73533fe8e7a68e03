// SPDX-License-Identifier: Apache-2.0
#include "object/memory_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/check.h"
#include "base/encoding.h"

namespace loam::object {

namespace {

class MemoryReader final : public ObjectReader {
 public:
  MemoryReader(ObjectInfo info, std::shared_ptr<const std::string> bytes, ByteRange range)
      : info_(std::move(info)),
        bytes_(std::move(bytes)),
        rest_(std::string_view(*bytes_).substr(static_cast<std::size_t>(range.offset),
                                               static_cast<std::size_t>(range.length))),
        length_(range.length) {}

  Result<std::size_t> read(std::span<std::byte> out) override {
    const std::size_t n = std::min(out.size(), rest_.size());
    std::memcpy(out.data(), rest_.data(), n);
    rest_.remove_prefix(n);
    return n;
  }
  const ObjectInfo& info() const override { return info_; }
  std::int64_t length() const override { return length_; }

 private:
  ObjectInfo info_;
  std::shared_ptr<const std::string> bytes_;
  std::string_view rest_;
  std::int64_t length_;
};

Result<std::string> read_source(const std::string& key, const Source& source,
                                std::int64_t expected) {
  std::string bytes;
  std::array<std::byte, 64 * 1024> buffer;
  for (;;) {
    const std::size_t n = TRY(source(buffer));
    CHECK(n <= buffer.size());
    if (n == 0) break;
    bytes.append(reinterpret_cast<const char*>(buffer.data()), n);
    if (expected >= 0 && static_cast<std::int64_t>(bytes.size()) > expected) break;
  }
  if (expected >= 0 && static_cast<std::int64_t>(bytes.size()) != expected) {
    return fail(ErrorCode::kDataCorrupt, fmt::format("'{}' was to have {} bytes, not {}",
                                                     printable(key), expected, bytes.size()));
  }
  return bytes;
}

// The first string that is greater than every one that begins with `prefix`, which ends in '/'.
std::string end_of_prefix(std::string prefix) {
  CHECK(prefix.ends_with('/'));
  prefix.back() = '/' + 1;
  return prefix;
}

}  // namespace

MemoryStore::MemoryStore(const Clock* clock) : clock_(clock) {
  static const SystemClock system_clock;
  if (clock_ == nullptr) clock_ = &system_clock;
}

Result<ObjectInfo> MemoryStore::store(const std::string& key,
                                      std::shared_ptr<const std::string> bytes,
                                      const PutOptions& options) {
  const auto it = entries_.find(key);
  const bool exists = it != entries_.end();
  if (options.if_absent && exists) {
    return fail(ErrorCode::kPreconditionFailed,
                fmt::format("the object '{}' exists already", printable(key)));
  }
  if (!options.if_match.empty() && (!exists || it->second.info.etag != options.if_match)) {
    return fail(ErrorCode::kPreconditionFailed,
                fmt::format("the object '{}' is not version {}", printable(key), options.if_match));
  }
  ObjectInfo info{key, static_cast<std::int64_t>(bytes->size()), fmt::format("v{}", ++version_),
                  clock_->wall_ms()};
  entries_[key] = Entry{info, std::move(bytes)};
  return info;
}

Result<MemoryStore::Entry> MemoryStore::find(const std::string& key) const {
  const auto it = entries_.find(key);
  if (it == entries_.end()) {
    return fail(ErrorCode::kNotFound, fmt::format("there is no object '{}'", printable(key)));
  }
  return it->second;
}

Result<ObjectInfo> MemoryStore::put(const std::string& key, const Source& source,
                                    const PutOptions& options) {
  TRY_VOID(check_put(key, options));
  // The source may be slow or use this very store, so it is read outside the lock.
  auto bytes = std::make_shared<const std::string>(TRY(read_source(key, source, options.length)));
  const std::lock_guard lock(mutex_);
  return store(key, std::move(bytes), options);
}

Result<std::unique_ptr<ObjectReader>> MemoryStore::get(const std::string& key, ByteRange range,
                                                       const std::string& if_match) {
  TRY_VOID(check_key(key));
  const std::lock_guard lock(mutex_);
  Entry entry = TRY(find(key));
  if (!if_match.empty() && entry.info.etag != if_match) {
    return fail(ErrorCode::kPreconditionFailed,
                fmt::format("the object '{}' is version {} now, not {}", printable(key),
                            entry.info.etag, if_match));
  }
  const ByteRange resolved = TRY(resolve_range(range, entry.info.size));
  return std::unique_ptr<ObjectReader>(
      new MemoryReader(std::move(entry.info), std::move(entry.bytes), resolved));
}

Result<ObjectInfo> MemoryStore::head(const std::string& key) {
  TRY_VOID(check_key(key));
  const std::lock_guard lock(mutex_);
  return TRY(find(key)).info;
}

Result<ListPage> MemoryStore::list(const std::string& prefix, const ListOptions& options) {
  TRY_VOID(check_list(prefix, options));
  const std::lock_guard lock(mutex_);
  ListPage page;
  std::string last;
  auto it =
      options.after < prefix ? entries_.lower_bound(prefix) : entries_.upper_bound(options.after);
  while (it != entries_.end() && it->first.starts_with(prefix)) {
    const std::size_t slash =
        options.delimiter ? it->first.find('/', prefix.size()) : std::string::npos;
    const bool group = slash != std::string::npos;
    const std::string name = group ? it->first.substr(0, slash + 1) : it->first;
    if (name > options.after) {
      if (page.objects.size() + page.prefixes.size() == options.limit) {
        page.next_after = last;
        break;
      }
      last = name;
      if (group) page.prefixes.push_back(name);
      if (!group) page.objects.push_back(it->second.info);
    }
    it = group ? entries_.lower_bound(end_of_prefix(name)) : std::next(it);
  }
  return page;
}

Status MemoryStore::remove(const std::string& key) {
  TRY_VOID(check_key(key));
  const std::lock_guard lock(mutex_);
  entries_.erase(key);
  return {};
}

Result<ObjectInfo> MemoryStore::copy(const std::string& from, const std::string& to) {
  TRY_VOID(check_key(from));
  TRY_VOID(check_key(to));
  const std::lock_guard lock(mutex_);
  Entry entry = TRY(find(from));
  return store(to, std::move(entry.bytes), {});
}

}  // namespace loam::object
