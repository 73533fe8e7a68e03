// SPDX-License-Identifier: Apache-2.0
#include "control/claim_desk.h"

#include <vector>

#include "base/log.h"
#include "jobs/queue.h"

namespace loam::control {

namespace {
constexpr std::chrono::milliseconds kInterval{250};
constexpr std::size_t kBatch = 32;
// Batches that serve nobody before a round gives up: those nodes cannot run what is in the queue.
constexpr int kMostFruitless = 8;
}  // namespace

ClaimDesk::ClaimDesk(const Services& services)
    : services_(services), thread_(kInterval, [this] { round(); }) {}

ClaimDesk::~ClaimDesk() {
  stop();
}

void ClaimDesk::stop() {
  thread_.stop();
  for (Waiting& waiting : take_batch(SIZE_MAX))
    waiting.answer(std::optional<jobs::Claimed>());
}

void ClaimDesk::wait(Waiting waiting) {
  {
    const std::lock_guard lock(mutex_);
    line_.push_back(std::move(waiting));
  }
  // The queue may have changed between the caller's own try and now.
  poke();
}

void ClaimDesk::dismiss(const std::string& node) {
  {
    const std::lock_guard lock(mutex_);
    for (Waiting& waiting : line_) {
      if (waiting.request.node == node) waiting.until = {};
    }
  }
  poke();
}

std::size_t ClaimDesk::waiting() {
  const std::lock_guard lock(mutex_);
  return line_.size();
}

std::vector<ClaimDesk::Waiting> ClaimDesk::take_batch(std::size_t limit) {
  const std::lock_guard lock(mutex_);
  std::vector<Waiting> batch;
  while (!line_.empty() && batch.size() < limit) {
    batch.push_back(std::move(line_.front()));
    line_.pop_front();
  }
  return batch;
}

bool ClaimDesk::anything_ready() {
  const auto ready = services_.read([](db::Session& s) { return jobs::queue_has_ready(s); });
  return ready && *ready;
}

void ClaimDesk::round() {
  // Each that waits is tried at most once per round.
  std::size_t left = waiting();
  int fruitless = 0;
  while (left > 0 && fruitless < kMostFruitless && anything_ready()) {
    const std::size_t size = std::min(left, kBatch);
    left -= size;
    fruitless = try_batch(take_batch(size)) > 0 ? 0 : fruitless + 1;
  }
  // What has waited long enough, or whose node has gone, leaves the line.
  const auto now = std::chrono::steady_clock::now();
  std::vector<Waiting> over;
  {
    const std::lock_guard lock(mutex_);
    for (auto it = line_.begin(); it != line_.end();) {
      if (it->until > now && it->connected()) {
        ++it;
        continue;
      }
      over.push_back(std::move(*it));
      it = line_.erase(it);
    }
  }
  for (Waiting& waiting : over)
    waiting.answer(std::optional<jobs::Claimed>());
}

std::size_t ClaimDesk::try_batch(std::vector<Waiting> batch) {
  std::vector<Outcome> outcomes;
  const Status committed = services_.write([&](jobs::Operation& op) -> Status {
    outcomes.clear();
    for (const Waiting& waiting : batch) {
      if (!waiting.connected()) {
        outcomes.emplace_back(std::optional<jobs::Claimed>());
        continue;
      }
      Outcome outcome = jobs::claim_job(op, waiting.request);
      // A claim that is refused has written nothing; anything else spoils the whole transaction.
      if (!outcome && outcome.error().code == ErrorCode::kInternal) return fail(outcome.error());
      outcomes.push_back(std::move(outcome));
    }
    return {};
  });
  if (!committed) LOG_WARN("claims failed: {}", committed.error().to_string());
  std::size_t served = 0;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    if (committed && (!outcomes[i] || outcomes[i]->has_value())) {
      ++served;
      batch[i].answer(std::move(outcomes[i]));
      continue;
    }
    const std::lock_guard lock(mutex_);
    line_.push_back(std::move(batch[i]));
  }
  return served;
}

}  // namespace loam::control
