// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include "base/random.h"
#include "object/object_store.h"

namespace loam::object {

enum class StoreOperation { kPut, kGet, kHead, kList, kRemove, kCopy };
inline constexpr std::size_t kStoreOperations = 6;
std::string_view store_operation_name(StoreOperation operation);  // "put"

// What goes wrong, with which probability (0 to 1) per call. Every injected error is kUnavailable.
struct StoreFaults {
  double error_before = 0;  // nothing happened
  double error_after = 0;   // it happened, but the answer was lost
  double torn_body = 0;     // a get's body ends early with an error
  // Calls that fail before any effect, counted from 1 over all operations.
  std::set<std::uint64_t> fail_calls;
  // Called before each operation, outside all locks; may sleep or move a clock.
  std::function<void(StoreOperation, const std::string& key)> before_call;
};

// Wraps any store and lets it fail in the ways that stores fail. The same seed and the same order
// of calls give the same faults. All of it may be called from any thread.
class FaultyStore final : public ObjectStore {
 public:
  // `inner` must outlive this.
  FaultyStore(ObjectStore& inner, std::uint64_t seed, StoreFaults faults = {});

  void set_faults(StoreFaults faults);
  // Calls so far, failed ones included; of one operation, or of all.
  std::uint64_t calls(StoreOperation operation) const;
  std::uint64_t calls() const;
  // Errors and torn bodies that were injected.
  std::uint64_t injected() const;

  Result<ObjectInfo> put(const std::string& key, const Source& source,
                         const PutOptions& options) override;
  Result<std::unique_ptr<ObjectReader>> get(const std::string& key, ByteRange range,
                                            const std::string& if_match) override;
  Result<ObjectInfo> head(const std::string& key) override;
  Result<ListPage> list(const std::string& prefix, const ListOptions& options) override;
  Status remove(const std::string& key) override;
  Result<ObjectInfo> copy(const std::string& from, const std::string& to) override;
  std::string describe() const override { return "faulty+" + inner_.describe(); }

 private:
  struct Plan {
    bool before = false;
    bool after = false;
    bool torn = false;
    double torn_at = 0;  // share of the body that still arrives
  };

  Plan plan(StoreOperation operation, const std::string& key);
  // Runs `call` with this call's faults around it.
  template <typename Call>
  auto with_faults(StoreOperation operation, const std::string& key, const Call& call)
      -> decltype(call());

  ObjectStore& inner_;
  SeededRandom random_;
  mutable std::mutex mutex_;
  StoreFaults faults_;
  std::array<std::uint64_t, kStoreOperations> calls_{};
  std::uint64_t injected_ = 0;
};

}  // namespace loam::object
