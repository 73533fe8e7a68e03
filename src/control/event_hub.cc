// SPDX-License-Identifier: Apache-2.0
#include "control/event_hub.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "jobs/event.h"

namespace loam::control {

namespace {
constexpr std::chrono::milliseconds kInterval{500};
constexpr std::size_t kPage = 500;
// A comment line goes out after this many rounds without an event, so that proxies keep the
// connection and dead clients are noticed.
constexpr int kKeepAliveRounds = 30;

std::string frame(const jobs::Event& event) {
  return fmt::format("id: {}\nevent: {}\ndata: {}\n\n", event.seq, event.type,
                     dump_json(event.to_json()));
}
}  // namespace

EventHub::EventHub(const Services& services)
    : services_(services), thread_(kInterval, [this] { round(); }) {}

EventHub::~EventHub() {
  stop();
}

void EventHub::stop() {
  thread_.stop();
  const std::lock_guard lock(mutex_);
  for (Subscription& subscription : subscriptions_)
    subscription.stream->close();
  subscriptions_.clear();
}

void EventHub::subscribe(Subscription subscription) {
  {
    const std::lock_guard lock(mutex_);
    subscriptions_.push_back(std::move(subscription));
  }
  poke();
}

std::size_t EventHub::subscribers() {
  const std::lock_guard lock(mutex_);
  return subscriptions_.size();
}

void EventHub::round() {
  const auto last = services_.read([](db::Session& s) { return jobs::last_event(s); });
  if (!last) {
    LOG_WARN("cannot read events: {}", last.error().to_string());
    return;
  }
  const std::lock_guard lock(mutex_);
  const bool quiet = std::all_of(subscriptions_.begin(), subscriptions_.end(),
                                 [&](const Subscription& s) { return s.after >= *last; });
  quiet_rounds_ = quiet ? quiet_rounds_ + 1 : 0;
  if (quiet_rounds_ >= kKeepAliveRounds) keep_alive();
  std::erase_if(subscriptions_, [&](Subscription& s) { return !serve(s, *last); });
}

void EventHub::keep_alive() {
  quiet_rounds_ = 0;
  for (Subscription& subscription : subscriptions_)
    subscription.stream->send(": keep-alive\n\n");
}

bool EventHub::serve(Subscription& subscription, std::int64_t last) {
  while (subscription.after < last) {
    if (!subscription.stream->open()) return false;
    if (!subscription.stream->has_room()) return true;  // it goes on in the next round
    const auto events = services_.read([&](db::Session& s) {
      return jobs::list_events(s, {.after = subscription.after,
                                   .limit = kPage,
                                   .job = subscription.job,
                                   .owner = subscription.owner});
    });
    if (!events) return true;  // tried again in the next round
    for (const jobs::Event& event : *events) {
      if (event.seq > last || !subscription.stream->has_room()) break;
      if (!subscription.stream->send(frame(event))) return false;
      subscription.after = event.seq;
    }
    const bool all = events->empty() || subscription.after == events->back().seq;
    if (all && events->size() < kPage) {
      // The rest up to `last` does not pass the filter.
      subscription.after = std::max(subscription.after, last);
    }
  }
  return subscription.stream->open();
}

}  // namespace loam::control
