// SPDX-License-Identifier: Apache-2.0
#include "net/completion.h"

#include <condition_variable>
#include <mutex>
#include <optional>

namespace loam::net {

class Rendezvous {
 public:
  void set(Result<std::size_t> result) {
    const std::lock_guard lock(mutex_);
    if (!result_) result_ = std::move(result);
    answered_.notify_one();
  }

  Result<std::size_t> wait() {
    std::unique_lock lock(mutex_);
    answered_.wait(lock, [this] { return result_.has_value(); });
    return *result_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable answered_;
  std::optional<Result<std::size_t>> result_;
};

Completion::Completion(std::shared_ptr<Rendezvous> rendezvous)
    : rendezvous_(std::move(rendezvous)) {}

Completion::~Completion() {
  if (rendezvous_) answer(fail(ErrorCode::kUnavailable, "the connection was closed"));
}

void Completion::answer(Result<std::size_t> result) {
  if (!rendezvous_) return;
  rendezvous_->set(std::move(result));
  rendezvous_.reset();
}

PendingAnswer::PendingAnswer() : rendezvous_(std::make_shared<Rendezvous>()) {}

CompletionPtr PendingAnswer::take_completion() {
  return std::make_shared<Completion>(rendezvous_);
}

Result<std::size_t> PendingAnswer::wait() {
  return rendezvous_->wait();
}

}  // namespace loam::net
