// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/clock.h"
#include "object/object_store.h"

namespace loam::object {

// A store that lives and dies with the process; the reference for what the others must do.
class MemoryStore final : public ObjectStore {
 public:
  // The clock gives modified_ms and must outlive the store; without one the system's is used.
  explicit MemoryStore(const Clock* clock = nullptr);

  Result<ObjectInfo> put(const std::string& key, const Source& source,
                         const PutOptions& options) override;
  Result<std::unique_ptr<ObjectReader>> get(const std::string& key, ByteRange range,
                                            const std::string& if_match) override;
  Result<ObjectInfo> head(const std::string& key) override;
  Result<ListPage> list(const std::string& prefix, const ListOptions& options) override;
  Status remove(const std::string& key) override;
  Result<ObjectInfo> copy(const std::string& from, const std::string& to) override;
  std::string describe() const override { return "memory:"; }

 private:
  struct Entry {
    ObjectInfo info;
    std::shared_ptr<const std::string> bytes;  // shared with readers, so that they outlive a put
  };

  // Under the lock.
  Result<ObjectInfo> store(const std::string& key, std::shared_ptr<const std::string> bytes,
                           const PutOptions& options);
  Result<Entry> find(const std::string& key) const;

  const Clock* clock_;
  mutable std::mutex mutex_;
  std::map<std::string, Entry> entries_;
  std::uint64_t version_ = 0;
};

}  // namespace loam::object
