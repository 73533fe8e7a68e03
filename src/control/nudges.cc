// SPDX-License-Identifier: Apache-2.0
#include "control/nudges.h"

namespace loam::control {

namespace {
constexpr std::chrono::milliseconds kInterval{1'000};
constexpr std::size_t kMostUnread = 10'000;
constexpr std::size_t kMostJobs = 1'000;
constexpr std::chrono::seconds kUnreadKept{60};
}  // namespace

Nudges::Nudges() : thread_(kInterval, [this] { round(); }) {}

void Nudges::wait(const std::string& node, std::chrono::milliseconds longest, Answer answer) {
  Answer earlier;
  Answer now;
  std::vector<std::string> jobs;
  {
    const std::lock_guard lock(mutex_);
    if (const auto it = waiting_.find(node); it != waiting_.end()) {
      earlier = std::move(it->second.answer);
      waiting_.erase(it);
    }
    if (const auto it = unread_.find(node); it != unread_.end()) {
      jobs.assign(it->second.jobs.begin(), it->second.jobs.end());
      unread_.erase(it);
      now = std::move(answer);
    } else {
      waiting_[node] = {std::chrono::steady_clock::now() + longest, std::move(answer)};
    }
  }
  if (earlier) earlier({});
  if (now) now(std::move(jobs));
}

void Nudges::nudge(const std::string& node, const std::string& job) {
  Answer answer;
  {
    const std::lock_guard lock(mutex_);
    const auto it = waiting_.find(node);
    if (it == waiting_.end()) {
      if (unread_.size() >= kMostUnread) return;
      Unread& unread = unread_[node];
      if (unread.jobs.empty()) unread.since = std::chrono::steady_clock::now();
      if (unread.jobs.size() < kMostJobs) unread.jobs.insert(job);
      return;
    }
    answer = std::move(it->second.answer);
    waiting_.erase(it);
  }
  answer({job});
}

void Nudges::round() {
  std::vector<Answer> over;
  {
    const std::lock_guard lock(mutex_);
    const auto now = std::chrono::steady_clock::now();
    for (auto it = waiting_.begin(); it != waiting_.end();) {
      if (it->second.until > now) {
        ++it;
        continue;
      }
      over.push_back(std::move(it->second.answer));
      it = waiting_.erase(it);
    }
    std::erase_if(unread_, [&](const auto& e) { return e.second.since + kUnreadKept < now; });
  }
  for (const Answer& answer : over)
    answer({});
}

void Nudges::stop() {
  thread_.stop();
  std::map<std::string, Waiting> left;
  {
    const std::lock_guard lock(mutex_);
    left.swap(waiting_);
  }
  for (auto& [node, waiting] : left)
    waiting.answer({});
}

}  // namespace loam::control
