// SPDX-License-Identifier: Apache-2.0
#include "control/publisher.h"

#include <map>
#include <utility>
#include <vector>

#include "base/log.h"
#include "control/uploads.h"

namespace loam::control {

namespace {
constexpr std::chrono::milliseconds kInterval{2'000};
constexpr std::size_t kPage = 256;
constexpr const char* kDuty = "publish";
}  // namespace

Publisher::Publisher(const Services& services, Duties& duties, std::function<void()> on_change)
    : services_(services),
      duties_(duties),
      on_change_(std::move(on_change)),
      thread_(kInterval, [this] { round(); }) {}

void Publisher::round() {
  while (!thread_.stopping()) {
    const auto pending =
        services_.read([](db::Session& s) { return jobs::pending_outputs(s, kPage); });
    if (!pending) {
      LOG_WARN("cannot read the publishing journal: {}", pending.error().to_string());
      return;
    }
    if (pending->empty() || !duties_.take(kDuty)) return;
    // By job and epoch.
    std::map<std::pair<std::string, std::int64_t>, std::vector<std::int64_t>> done;
    for (const jobs::PendingOutput& output : *pending) {
      if (thread_.stopping() || !duties_.holds(kDuty)) break;
      const Status published = publish(output);
      if (published) {
        done[{output.job, output.epoch}].push_back(output.index);
        continue;
      }
      LOG_WARN("publishing {} failed: {}", output.file.destination, published.error().to_string());
      if (!is_retryable(published.error().code)) {
        const Status failed = services_.write([&](jobs::Operation& op) {
          return jobs::fail_publishing(op, output.job, output.epoch, published.error().message);
        });
        if (failed) on_change_();
      }
      // A store that does not answer now is asked again in the next round.
      break;
    }
    for (const auto& [attempt, indexes] : done) {
      const Status marked =
          services_.write([&, &of = attempt, &list = indexes](jobs::Operation& op) {
            return jobs::mark_published(op, of.first, of.second, list);
          });
      if (marked) LOG_INFO("published {} files of {}", indexes.size(), attempt.first);
      if (!marked)
        LOG_WARN("cannot mark outputs of {}: {}", attempt.first, marked.error().to_string());
    }
    on_change_();
    if (done.empty()) return;
  }
}

Status Publisher::publish(const jobs::PendingOutput& output) {
  // What was verified at completion must still be there, or something else would be published.
  TRY_VOID(
      verify_objects(services_.store, {{output.file.source, output.file.bytes, output.file.etag}}));
  TRY(services_.store.copy(output.file.source, output.file.destination));
  return {};
}

}  // namespace loam::control
