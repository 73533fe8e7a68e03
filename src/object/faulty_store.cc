// SPDX-License-Identifier: Apache-2.0
#include "object/faulty_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/encoding.h"

namespace loam::object {

namespace {

tl::unexpected<Error> injected_error(StoreOperation operation, const std::string& key) {
  return fail(
      ErrorCode::kUnavailable,
      fmt::format("injected fault: {} '{}'", store_operation_name(operation), printable(key)));
}

// Lets through the first bytes and then fails.
class TornReader final : public ObjectReader {
 public:
  TornReader(std::unique_ptr<ObjectReader> inner, std::int64_t passes)
      : inner_(std::move(inner)), left_(passes) {}

  Result<std::size_t> read(std::span<std::byte> out) override {
    if (left_ == 0) return injected_error(StoreOperation::kGet, info().key);
    const auto most = std::min(out.size(), static_cast<std::size_t>(left_));
    const std::size_t n = TRY(inner_->read(out.first(most)));
    left_ -= static_cast<std::int64_t>(n);
    return n;
  }
  const ObjectInfo& info() const override { return inner_->info(); }
  std::int64_t length() const override { return inner_->length(); }

 private:
  std::unique_ptr<ObjectReader> inner_;
  std::int64_t left_;
};

}  // namespace

std::string_view store_operation_name(StoreOperation operation) {
  switch (operation) {
    case StoreOperation::kPut:
      return "put";
    case StoreOperation::kGet:
      return "get";
    case StoreOperation::kHead:
      return "head";
    case StoreOperation::kList:
      return "list";
    case StoreOperation::kRemove:
      return "remove";
    case StoreOperation::kCopy:
      return "copy";
  }
  return "?";
}

FaultyStore::FaultyStore(ObjectStore& inner, std::uint64_t seed, StoreFaults faults)
    : inner_(inner), random_(seed), faults_(std::move(faults)) {}

void FaultyStore::set_faults(StoreFaults faults) {
  const std::lock_guard lock(mutex_);
  faults_ = std::move(faults);
}

std::uint64_t FaultyStore::calls(StoreOperation operation) const {
  const std::lock_guard lock(mutex_);
  return calls_.at(static_cast<std::size_t>(operation));
}

std::uint64_t FaultyStore::calls() const {
  const std::lock_guard lock(mutex_);
  return std::accumulate(calls_.begin(), calls_.end(), std::uint64_t{0});
}

std::uint64_t FaultyStore::injected() const {
  const std::lock_guard lock(mutex_);
  return injected_;
}

FaultyStore::Plan FaultyStore::plan(StoreOperation operation, const std::string& key) {
  std::function<void(StoreOperation, const std::string&)> before_call;
  Plan plan;
  {
    const std::lock_guard lock(mutex_);
    ++calls_.at(static_cast<std::size_t>(operation));
    const std::uint64_t number = std::accumulate(calls_.begin(), calls_.end(), std::uint64_t{0});
    // Always the same number of draws, so that one fault does not shift all that follow.
    const double before = random_.unit();
    const double after = random_.unit();
    const double torn = random_.unit();
    plan.torn_at = random_.unit();
    plan.before = before < faults_.error_before || faults_.fail_calls.contains(number);
    plan.after = !plan.before && after < faults_.error_after;
    plan.torn = !plan.before && !plan.after && operation == StoreOperation::kGet &&
                torn < faults_.torn_body;
    if (plan.before || plan.after || plan.torn) ++injected_;
    before_call = faults_.before_call;
  }
  if (before_call) before_call(operation, key);
  return plan;
}

template <typename Call>
auto FaultyStore::with_faults(StoreOperation operation, const std::string& key, const Call& call)
    -> decltype(call()) {
  const Plan faults = plan(operation, key);
  if (faults.before) return injected_error(operation, key);
  auto result = call();
  if (faults.after) return injected_error(operation, key);
  return result;
}

Result<ObjectInfo> FaultyStore::put(const std::string& key, const Source& source,
                                    const PutOptions& options) {
  return with_faults(StoreOperation::kPut, key, [&] { return inner_.put(key, source, options); });
}

Result<std::unique_ptr<ObjectReader>> FaultyStore::get(const std::string& key, ByteRange range,
                                                       const std::string& if_match) {
  const Plan faults = plan(StoreOperation::kGet, key);
  if (faults.before || faults.after) return injected_error(StoreOperation::kGet, key);
  std::unique_ptr<ObjectReader> reader = TRY(inner_.get(key, range, if_match));
  if (!faults.torn || reader->length() == 0) return reader;
  const auto passes =
      static_cast<std::int64_t>(faults.torn_at * static_cast<double>(reader->length()));
  return std::unique_ptr<ObjectReader>(new TornReader(std::move(reader), passes));
}

Result<ObjectInfo> FaultyStore::head(const std::string& key) {
  return with_faults(StoreOperation::kHead, key, [&] { return inner_.head(key); });
}

Result<ListPage> FaultyStore::list(const std::string& prefix, const ListOptions& options) {
  return with_faults(StoreOperation::kList, prefix, [&] { return inner_.list(prefix, options); });
}

Status FaultyStore::remove(const std::string& key) {
  return with_faults(StoreOperation::kRemove, key, [&] { return inner_.remove(key); });
}

Result<ObjectInfo> FaultyStore::copy(const std::string& from, const std::string& to) {
  return with_faults(StoreOperation::kCopy, from, [&] { return inner_.copy(from, to); });
}

}  // namespace loam::object
